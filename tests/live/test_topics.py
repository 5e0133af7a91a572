"""Pages of a site are filed under topics as they are downloaded."""

import asyncio

import pytest

from halflife.engine import bootstrap
from halflife.kinds.pages import crawl as pages_crawl
from halflife.kinds.pages.runner import keeping
from halflife.kinds.pages.topics import Topics
from halflife.readers.titles import MOST, terms
from hand_clock import Hands
from site_parts import html, running, settings

TEAS = [f"/tea/{i}" for i in range(4)]
CARS = [f"/car/{i}" for i in range(4)]


@pytest.fixture
def site():
    pages = {"/": html("start", "/tea/", "/car/")}
    pages["/tea/"] = html("tea assam leaves", *TEAS)
    pages["/car/"] = html("engine wheel motor", *CARS)
    pages |= {path: html("tea cup") for path in TEAS}
    pages |= {path: html("engine oil") for path in CARS}
    pages["/tea/3"] = html("...")  # it says nothing itself
    with running(pages) as site:
        yield site


def crawled(config, store):
    """Crawl the site; return the topics that its pages are filed under."""

    async def scene():
        async with keeping(config, store, config.source, Hands()) as keeper:
            await pages_crawl.turns(keeper, keeper.allowance())

    asyncio.run(scene())
    return Topics(store, ["town"])


def names(categories, row):
    return {
        categories.names[j]
        for j in range(len(categories))
        if row in categories.members(j)
    }


def test_each_page_is_filed_by_its_copy_and_its_links(site, tmp_path):
    config = settings(site, tmp_path)
    with bootstrap.writing(config) as store:
        filed = crawled(config, store).book.filed
        tea = filed[site.url + "/tea/0"]
        assert "tea" in tea
        assert "engine" not in tea
        assert "engine" in filed[site.url + "/car/2"]
        assert "tea" in filed[site.url + "/tea/3"]  # known by the page that links to it
        assert len(filed) == 11


def test_topics_have_a_row_for_each_item(site, tmp_path):
    config = settings(site, tmp_path)
    with bootstrap.writing(config) as store:
        filed, evidence = crawled(config, store), store.evidence(["town"])
        found = filed.commonest(evidence.keys)
        assert found.n_items == len(evidence)
        tea, car = (
            names(found, evidence.row(site.url + p)) for p in ("/tea/3", CARS[0])
        )
        assert "tea" in tea
        assert "engine" in car
        assert "engine" not in tea


def test_a_store_without_copies_has_no_topics(site, tmp_path):
    config = settings(site, tmp_path)
    with bootstrap.writing(config) as store:
        assert len(Topics(store, ["town"]).commonest([])) == 0


def test_terms_are_those_of_titles_and_headings():
    page = "<TITLE>Tea &amp; Sugar</TITLE><p>text</p><h2 class=x>Green <i>tea</i>s</h2>"
    assert terms(page) == ("tea", "sugar", "green")
    assert (
        terms("<title>" + " ".join(f"w{chr(97 + i % 26)}{i}" for i in range(99)))[MOST:]
        == ()
    )
    assert terms("") == ()


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "page", ["<title>" * 99_999, "<h1 " * 99_999, "<h1>" + "x" * 10**6]
)
def test_terms_of_a_hostile_page_take_one_pass(page):
    assert len(terms(page)) <= MOST
