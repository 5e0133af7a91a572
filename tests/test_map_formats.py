"""Sitemaps and feeds as sites really write them."""

import asyncio

import pytest
from hypothesis import given, strategies as st

from faults.evil import Evil, response
from halflife.core.observation import Seen
from halflife.core.request import Fetch
from halflife.kinds.pages.client import PageClient, SiteSettings
from halflife.net.dates import from_mail
from halflife.readers.maps import MapEntry, may_be_map, read_map
from web_parts import HOME as ACCESS, TODAY, Coins, make_gate

HOME = "https://example.org/feeds/map"
A, B = "https://example.org/a", "https://example.org/b"
ATOM = "http://www.w3.org/2005/Atom"
DAY = 19997.0  # 2024-10-01


def entries(text: str | bytes, **options) -> list[MapEntry]:
    body = text if isinstance(text, bytes) else text.encode()
    assert may_be_map(body)
    found = read_map(body, HOME, **options)
    assert not found.trouble
    return list(found.entries)


def keys(text: str | bytes) -> list[str]:
    return [entry.key for entry in entries(text)]


# Which element is the address


def test_an_image_before_the_address_is_not_the_address():
    image = "<image:image><image:loc>/a.png</image:loc></image:image>"
    for space in ("xmlns:image='http://www.google.com/schemas/sitemap-image/1.1'", ""):
        text = f"<urlset {space}><url>{image}<loc>{A}</loc></url></urlset>"
        assert keys(text) == [A]
    bare = f"<urlset><url><image:loc>/a.png</image:loc><loc>{A}</loc></url></urlset>"
    assert keys(bare) == [A]


def test_the_languages_of_a_page_are_not_the_page():
    text = (
        "<urlset xmlns:xhtml='http://www.w3.org/1999/xhtml'><url>"
        f"<xhtml:link rel='alternate' hreflang='de' href='{B}'/><loc>{A}</loc>"
        "</url></urlset>"
    )
    assert keys(text) == [A]


def test_an_entry_is_not_the_feed_it_was_taken_from():
    source = (
        f"<source><id>{B}</id><link href='{B}'/><updated>2020-01-01</updated></source>"
    )
    text = (
        f"<feed xmlns='{ATOM}'><entry>{source}<link href='{A}'/>"
        "<updated>2024-10-01T00:00:00Z</updated></entry></feed>"
    )
    assert entries(text) == [MapEntry(A, DAY)]


def test_links_are_relative_to_the_nearest_base():
    text = (
        f"<feed xmlns='{ATOM}' xml:base='/x/'><entry xml:base='y/'>"
        "<link xml:base='z/' href='a'/></entry><entry><link href='b'/></entry></feed>"
    )
    assert keys(text) == ["https://example.org/x/y/z/a", "https://example.org/x/b"]


@pytest.mark.parametrize(
    ("guid", "found"),
    [
        (f"<guid>{A}</guid>", [A]),
        (f"<guid isPermaLink='true'>{A}</guid>", [A]),
        (f"<guid isPermaLink='false'>{A}</guid>", []),
        (f"<guid ISPERMALINK=' False '>{A}</guid>", []),
        ("<guid>4711</guid>", []),
        (f"<guid>{A}</guid><link>{B}</link>", [B]),
    ],
)
def test_a_name_is_an_address_only_if_it_says_so(guid, found):
    assert keys(f"<rss><channel><item>{guid}</item></channel></rss>") == found


def test_comments_and_references_inside_an_address_are_no_part_of_it():
    for written in (
        "https://example.org/<!-- x -->p?a=1&amp;b=2",
        "https://example.org/p?a=1&#38;b=2",
        "<![CDATA[https://example.org/p?a=1&b=2]]>",
        "https://example.org/<?x y?>p<![CDATA[?a=1]]>&amp;b=2",
        "<![CDATA[https://example.org/p?a=1&amp;b=2]]>",  # escaped twice
    ):
        text = f"<urlset><url><loc>{written}</loc></url></urlset>"
        assert keys(text) == ["https://example.org/p?a=1&b=2"]


def test_links_of_atom_in_rss_count_and_links_of_media_do_not():
    text = (
        f"<rss xmlns:atom='{ATOM}' xmlns:media='http://search.yahoo.com/mrss/'><channel>"
        f"<item><media:link href='{B}'/><atom:link rel='self' href='{B}'/>"
        f"<atom:link href='{A}'/></item></channel></rss>"
    )
    assert keys(text) == [A]


def test_of_several_links_the_web_page_is_taken():
    text = (
        f"<feed xmlns='{ATOM}'><entry><link type='application/json' href='{B}'/>"
        f"<link rel='ALTERNATE' type='text/html; x=y' href='{A}'/></entry></feed>"
    )
    assert keys(text) == [A]


# What the document is


@pytest.mark.parametrize("name", ["RSS", "Rss", "rss"])
def test_names_of_elements_may_be_in_capitals(name):
    text = f"<{name}><CHANNEL><ITEM><LINK>{A}</LINK></ITEM></CHANNEL></{name}>"
    assert keys(text) == [A]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_a_map_may_be_in_utf_16(encoding):
    text = (
        "<?xml version='1.0' encoding='utf-16'?><urlset><url>"
        "<loc>https://example.org/caf\u00e9</loc></url></urlset>"
    )
    assert keys(text.encode(encoding)) == ["https://example.org/caf%C3%A9"]


def test_a_map_may_be_in_another_encoding():
    text = (
        "<?xml version='1.0' encoding='windows-1251'?><urlset><url>"
        "<loc>https://example.org/\u0436</loc></url></urlset>"
    )
    assert keys(text.encode("cp1251")) == ["https://example.org/%D0%B6"]
    odd = text.replace("windows-1251", "hex").encode()
    assert keys(odd) == ["https://example.org/%D0%B6"]


def test_a_list_of_addresses_is_a_sitemap():
    for end in ("\n", "\r\n"):
        found = read_map(end.join(["\ufeff" + A, "", B, ""]).encode(), HOME)
        assert (found.kind, [e.key for e in found.entries]) == ("urlset", [A, B])


@pytest.mark.parametrize(
    "text",
    [f"{A} is a page", f"see {A}", f"{A}\nand more", "http", "https://", f"{A}<br>{B}"],
)
def test_a_text_with_addresses_in_it_is_none(text):
    assert not may_be_map(text.encode())
    assert read_map(text.encode(), HOME) is None


def test_a_json_feed_is_read():
    text = """{"version": "https://jsonfeed.org/version/1.1", "title": "x", "items": [
      {"id": "1", "url": "/a", "date_published": "2024-01-01T00:00:00Z",
       "date_modified": "2024-10-01T00:00:00Z"},
      {"id": "2", "external_url": "https://example.org/b"},
      {"id": "https://example.org/c"}, {"id": "4"}, 5, {"url": 6}]}"""
    assert entries(text) == [
        MapEntry(A, DAY),
        MapEntry(B),
        MapEntry("https://example.org/c"),
    ]
    assert entries(text.replace("/", "\\/"))[0].key == A


def test_json_that_is_no_feed_lists_nothing():
    assert not may_be_map(b'{"items": [{"url": "/a"}]}')
    found = read_map(b'{"about": "jsonfeed.org", "items": [{"url": "/a"}]}', HOME)
    assert found.entries == ()
    assert found.trouble == "it is no JSON Feed"


def test_an_old_feed_may_name_its_document_type():
    text = (
        '<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" '
        '"http://my.netscape.com/publish/formats/rss-0.91.dtd"><rss><channel><item>'
        f"<title>a&nbsp;b</title><link>{A}</link></item></channel></rss>"
    )
    assert keys(text) == [A]


# When it changed


def test_news_tell_when_they_came_out():
    text = (
        "<urlset xmlns:news='http://www.google.com/schemas/sitemap-news/0.9'><url>"
        f"<loc>{A}</loc><news:news><news:publication><news:name>x</news:name>"
        "</news:publication><news:publication_date>2024-10-01</news:publication_date>"
        "</news:news></url></urlset>"
    )
    assert entries(text) == [MapEntry(A, DAY)]
    dated = text.replace("<news:news>", "<lastmod>2024-10-02</lastmod><news:news>")
    assert entries(dated) == [MapEntry(A, DAY + 1)]


@pytest.mark.parametrize(
    ("zone", "hours"),
    [
        ("+02:00", 2), ("-0330", -3.5), ("GMT", 0), ("Z", 0), ("UT", 0), ("MET", 1),
        ("ET", -5), ("PT", -8), ("EDT", -4), ("CEST", 2), ("GMT+0100", 1), ("", 0),
        ("+0200 (CEST)", 2), ("XYZ", 0),
    ],
)  # fmt: skip
def test_zones_of_dates_are_understood(zone, hours):
    moment = from_mail(f"Tue, 01 Oct 2024 12:00:00 {zone}")
    assert moment == pytest.approx(DAY + 0.5 - hours / 24, abs=1e-9)


@given(st.text(st.sampled_from("Tue, 01Oct2024:+-()GMTZ \t"), max_size=50))
def test_any_text_is_a_date_or_none(text):
    moment = from_mail(text)
    assert moment is None or -1e7 < moment < 1e7


# What becomes of it


def test_a_map_that_cannot_all_be_read_is_a_page_with_a_reason():
    body = b"<urlset><url><loc>/a</loc></url><url></wrong>"

    async def scene():
        async with Evil() as evil, make_gate() as gate:
            sites = {"site": SiteSettings(ACCESS)}
            source = PageClient(gate, sites, source_of=lambda _: "site")
            evil.pages["/map"] = response(body, Content_Type="text/xml")
            url = evil.url("/map")
            found = []
            async for looks in source.perform([Fetch(url)], TODAY, Coins()):
                found += looks
            return found

    page, hint = asyncio.run(scene())
    assert page.seen is Seen.PRESENT
    assert page.note == "not all of this map can be read: line 1: mismatched tag"
    assert hint.key.endswith("/a")
