"""What is no URL, wherever a remote answer may hold one: a reason, never a crash."""

import asyncio

import pytest
from hypothesis import given, strategies as st

from halflife.core.errors import HalflifeError, SourceError, UsageError
from halflife.core.observation import Seen
from halflife.core.request import Fetch
from halflife.kinds.form.description import describe_form
from halflife.kinds.listing.client import ListingSettings, fetch_listing
from halflife.kinds.pages.client import PageClient, SiteSettings
from halflife.kinds.pages.links import read_links, spelled
from halflife.kinds.search.answers import AnswerReader
from halflife.kinds.search.client import SearchSettings
from halflife.kinds.search.description import description_link, read_description
from halflife.kinds.search.discovery import DatabaseRequest
from halflife.net.addresses import canonical, host_of, parse_url, resolve
from halflife.readers.maps import read_map
from halflife.readers.records import RecordReader
from site_parts import html, running, settings, sync
from web_parts import HOME, Coins, make_gate

PAGE = "http://example.org/a/b"
BROKEN = [
    "http://[]@/",
    "//[]@/",
    "http://[/",
    "//[",
    "http://[]/",
    "http://[::1",
    "http://[v1.x]/",
    "http://[::1]x/",
    "http://a:b:c/",
    "http://a:99999/",
    "http://\u2100/",
    "http://xn--a/",
    "http://%/",
    "http://0x100000000/",
]


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_no_url_is_a_usage_error_with_a_reason(text):
    for read in (canonical, parse_url, lambda t: resolve(PAGE, t)):
        with pytest.raises(UsageError) as caught:
            read(text)
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", BROKEN)
def test_a_link_base_or_canonical_that_is_no_url_is_left_out(text):
    page = f'<a href="{text}">x</a><link rel=canonical href="{text}"><a href=c>y</a>'
    assert read_links(page, PAGE).to == ("http://example.org/a/c",)
    assert read_links(page, PAGE).canonical == ""
    based = read_links(f'<base href="{text}"><a href=c>y</a>', PAGE)
    assert based.to == ("http://example.org/a/c",)
    assert spelled(text) == ""


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize(
    "form",
    [
        "<urlset><url><loc>{}</loc></url><url><loc>{}/c</loc></url></urlset>",
        "<rss><item><link>{}</link></item><item><link>{}/c</link></item></rss>",
    ],
)
def test_an_entry_of_a_map_that_is_no_url_is_left_out(form, text):
    found = read_map(form.format(text, "http://example.org").encode(), PAGE)
    assert [entry.key for entry in found.entries] == ["http://example.org/c"]
    assert found.left_out == 1


@pytest.mark.parametrize("text", BROKEN)
def test_a_next_page_that_is_no_url_ends_a_listing_with_a_reason(text):
    async def scene(url):
        reader = RecordReader(format="json", records="items", key="id", next="next")
        settings = ListingSettings(reader, (url,), access=HOME)
        async with make_gate() as gate:
            return await fetch_listing(gate, settings, Coins())

    with running({"/": f'{{"items": [{{"id": 1}}], "next": "{text}"}}'}) as site:
        listing, trouble = asyncio.run(scene(site.url + "/"))
    assert len(listing.records) == 1
    assert not listing.complete
    assert "its next page has no address" in trouble


@pytest.mark.parametrize("text", BROKEN)
def test_a_form_that_is_sent_to_no_url_is_refused_with_a_reason(text):
    page = f'<form action="{text}"><input name=q>'
    try:
        found = describe_form(page, PAGE)
    except SourceError as error:
        assert "no address" in str(error)  # noqa: PT017  (either way will do)
    else:
        with pytest.raises(UsageError):
            parse_url(found.url)


@pytest.mark.parametrize("text", BROKEN)
def test_a_search_template_that_is_no_url_is_refused_with_a_reason(text):
    body = (
        "<OpenSearchDescription xmlns='http://a9.com/-/spec/opensearch/1.1/'>"
        f"<Url type='application/json' template='{text}?q={{searchTerms}}'/>"
        "</OpenSearchDescription>"
    )
    try:
        found = read_description(body.encode(), PAGE)
    except SourceError as error:
        assert "names no address" in str(error)  # noqa: PT017  (either way will do)
        return
    with pytest.raises(SourceError, match="cannot be asked"):
        SearchSettings(found.url, AnswerReader(), HOME).address("x", 0)


@pytest.mark.parametrize("text", ["http://[/{query}", "http://[]@/{query}", "//["])
def test_a_search_or_form_that_is_added_at_no_url_is_refused_in_words(text):
    with pytest.raises(UsageError):
        DatabaseRequest(text).source({"search_url": text})


def test_a_description_at_no_url_is_not_followed():
    tag = '<link rel=search type="application/opensearchdescription+xml" href="//[">'
    assert description_link(tag, PAGE) == ""


def test_pages_that_lead_nowhere_are_looked_at_all_the_same():
    async def scene(url):
        async with make_gate() as gate:
            pages = PageClient(gate, {"s": SiteSettings(HOME)}, source_of=lambda _: "s")
            keys = [*BROKEN, url]
            return [
                o
                async for b in pages.perform([*map(Fetch, keys)], 1.0, Coins())
                for o in b
            ]

    with running({"/": html("fine")}) as site:
        looks = asyncio.run(scene(site.url + "/"))
    assert [o.seen for o in looks] == [Seen.FAILED] * len(BROKEN) + [Seen.PRESENT]
    assert all(o.note for o in looks[:-1])


def test_a_site_full_of_them_is_crawled_to_its_end(tmp_path):
    bad = "http://[]@/"
    home = '<link rel="canonical" href="http://[]@/">'
    pages = {
        "/robots.txt": "User-agent: *\n",
        "/": html("home", bad, "/a", "/go", "/map.xml", "//[", head=home),
        "/a": html("a", bad, "/b"),
        "/b": html("b"),
        "/go": (302, bad),
        "/map.xml": f"<urlset><url><loc>{bad}</loc></url></urlset>",
    }
    with running(pages) as site:
        outcome = sync(settings(site, tmp_path, requests=30))
        assert {*pages} == {*site.asked}
    assert outcome.total("failed") == 1  # the redirect
    assert outcome.total("looks") == 4


parts = [*"[]@:/?#%\\ .\t\n\u2100\u00fc\ud800axn-019", "http://", "//", "xn--"]
shreds = st.lists(st.sampled_from(parts), max_size=20).map("".join)


@given(shreds)
def test_no_text_at_all_raises_anything_else(text):
    for read in (canonical, parse_url, host_of, lambda t: resolve(PAGE, t)):
        try:
            read(text)
        except HalflifeError as error:
            assert str(error).isprintable()  # noqa: PT017  (it may also be a URL)
    read_links(f"<a href='{text}'><base href='{text}'>", PAGE)
