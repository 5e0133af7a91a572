"""Sampling by topic in the live program, with topics from what was crawled."""

import asyncio

import numpy as np
import pytest

from halflife.engine import bootstrap
from halflife.grouping.topic_book import TopicBook
from halflife.kinds.pages.runner import keeping
from halflife.kinds.pages.topics import Topics
from halflife.policies.view_rows import take_rows
from hand_clock import BEGAN, Hands
from site_parts import html, running, settings, sync

EACH = 12
TEAS = [f"/tea/{i}" for i in range(EACH)]
CARS = [f"/car/{i}" for i in range(EACH)]


def town(tea="first", car="first"):
    pages = {"/robots.txt": "", "/": html("start", "/tea/", "/car/")}
    pages["/tea/"] = html("tea leaves", *TEAS)
    pages["/car/"] = html("engine motor", *CARS)
    pages |= {path: html(f"tea cup {path[5:]}") + tea for path in TEAS}
    pages |= {path: html(f"engine oil {path[5:]}") + car for path in CARS}
    return pages


@pytest.fixture
def site():
    with running(town()) as site:
        yield site


def crawled(site, folder, policy):
    config = settings(site, folder, f'policy = "{policy}"\nnoise = 0.0')
    sync(config)
    return config


def turned(config, now, requests):
    """Return the paths that a turn of so many requests fetches, in order."""
    fetched = []

    async def scene():
        with bootstrap.writing(config) as store:
            opened = keeping(config, store, config.source, Hands(now))
            async with opened as keeper:
                await keeper.turn(requests, lambda looks: fetched.extend(looks.keys))

    asyncio.run(scene())
    return ["/" + key.partition("//")[2].partition("/")[2] for key in fetched]


@pytest.mark.parametrize("policy", ["topic-sampling", "topic-sampling-proportional"])
def test_a_turn_samples_the_topics_and_refreshes_the_one_that_changed(
    policy, site, tmp_path
):
    config = crawled(site, tmp_path, policy)
    site.pages.update(town(tea="second"))
    fetched = turned(config, BEGAN + 3.0, 13)  # robots.txt is one
    assert len(fetched) == len(set(fetched)) == 12
    teas = [path.startswith("/tea/") for path in fetched]
    assert not all(teas[:6])  # the sample: half of the requests at most
    assert sum(teas[6:]) >= (6 if policy == "topic-sampling" else 4)


def test_topics_come_from_the_copies_and_links_of_the_store(site, tmp_path):
    config = crawled(site, tmp_path, "topic-sampling")
    with bootstrap.reading(config) as store:
        seen = bootstrap.outlook(config, store, config.source, BEGAN + 1.0)
        found, keys = seen.view.topics(), list(seen.view.keys)
        some = take_rows(seen.view, np.array([3, 1])).topics()
    tea = {keys[row] for row in found.members(found.names.index("tea"))}
    assert tea >= {f"{site.url}{path}" for path in TEAS}
    assert not tea & {f"{site.url}{path}" for path in CARS}
    assert found.n_items == len(keys)
    for new, old in enumerate((3, 1)):
        mine = {found.names[j] for j in found.category[found.item == old]}
        assert {some.names[j] for j in some.category[some.item == new]} == mine


def test_what_is_planned_names_the_topics(site, tmp_path):
    config = crawled(site, tmp_path, "topic-sampling")
    with bootstrap.reading(config) as store:
        seen = bootstrap.outlook(config, store, config.source, BEGAN + 1.0)
        whys = [step.why for step in seen.plan(12)]
    assert len(whys) == 12
    assert "sampled for its category" in whys
    assert any(why.startswith(("tea:", "cup:", "engine:", "oil:")) for why in whys)


def test_no_copy_is_read_twice_for_its_topics(site, tmp_path):
    config = crawled(site, tmp_path, "topic-sampling")
    with bootstrap.writing(config) as store:
        filed = Topics(store, ["town"])
        before = dict(filed.book.filed)
        site.pages["/"] = html("start", "/tea/", "/car/", "/late/")
        site.pages["/late/"] = html("tea party")
        sync(config, BEGAN + 40.0, everything=True)
        filed.refresh()
    assert set(filed.book.filed) - set(before) == {f"{site.url}/late/"}
    assert all(filed.book.filed[key] == topics for key, topics in before.items())


def test_the_commonest_terms_are_topics_but_not_those_on_most_pages():
    book = TopicBook(k=2)
    for i in range(6):
        words = ["corp", "tea" if i < 3 else "car", f"only{i}"]
        book.download(f"p{i}", words, [f"p{i + 1}"] if i == 2 else [])
    assert book.commonest(5) == ("car", "tea")
    found = book.filed_under(book.commonest(5), ["p0", "p3", "p9"])
    assert [found.members(j).tolist() for j in range(2)] == [[1], [0, 1]]
