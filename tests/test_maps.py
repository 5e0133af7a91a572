"""Sitemaps and feeds: what they list is believed, what they try is not."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given, strategies as st

from halflife.readers import maps, xml_stream
from halflife.readers.maps import MOST, MapEntry, may_be_map, read_map, root_name

HOME = "https://example.org/map"
SITEMAP = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <url><loc>https://example.org/a</loc><lastmod>2024-10-01</lastmod></url>
  <url><loc> https://example.org/b?y=1&amp;x=2 </loc>
       <lastmod>2024-10-01T12:00:00+02:00</lastmod><priority>0.5</priority></url>
  <url><lastmod>2024-10-01</lastmod><loc>https://EXAMPLE.org:443/c#top</loc></url>
  <url><loc>https://example.org/d</loc><lastmod>last week</lastmod></url>
  <url><loc>https://example.org/a</loc></url>
  <url></url>
</urlset>"""


def listed(text: str | bytes, **options) -> list[MapEntry] | None:
    body = text.encode() if isinstance(text, str) else text
    found = read_map(body, HOME, **options)
    return None if found is None else list(found.entries)


def test_a_sitemap_lists_pages_with_their_dates():
    assert listed(SITEMAP) == [
        MapEntry("https://example.org/a", 19997.0),
        MapEntry("https://example.org/b?y=1&x=2", 19997.0 + 10 / 24),
        MapEntry("https://example.org/c", 19997.0),
        MapEntry("https://example.org/d", None),
    ]


def test_a_zipped_sitemap_is_unzipped():
    assert listed(gzip.compress(SITEMAP.encode())) == listed(SITEMAP)


def test_an_index_lists_sitemaps():
    text = (
        "<sitemapindex><sitemap><loc>https://example.org/1.xml</loc>"
        "<lastmod>2024</lastmod></sitemap></sitemapindex>"
    )
    found = read_map(text.encode(), HOME)
    assert found.kind == "sitemapindex"
    assert found.entries == (MapEntry("https://example.org/1.xml", 19723.0),)


FEEDS = [
    (
        "<rss version='2.0'><channel><item><link>https://example.org/a</link>"
        "<pubDate>Tue, 01 Oct 2024 12:00:00 GMT</pubDate></item></channel></rss>"
    ),
    (
        "<feed xmlns='http://www.w3.org/2005/Atom'><entry>"
        "<link href='https://example.org/a'/><published>2020-01-01T00:00:00Z</published>"
        "<updated>2024-10-01T12:00:00Z</updated></entry></feed>"
    ),
    (
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' "
        "xmlns='http://purl.org/rss/1.0/' xmlns:dc='http://purl.org/dc/elements/1.1/'>"
        "<item><link>https://example.org/a</link>"
        "<dc:date>2024-10-01T12:00:00Z</dc:date></item></rdf:RDF>"
    ),
    (
        "<rss><channel><item><link>https://example.org/a</link><title>Q & A</title>"
        "<pubDate>Tue, 01 Oct 2024 12:00:00 GMT</pubDate>"
    ),  # broken, cut short
]


@pytest.mark.parametrize("text", FEEDS, ids=["rss", "atom", "rdf", "broken"])
def test_a_feed_lists_pages_with_their_dates(text):
    assert listed(text) == [MapEntry("https://example.org/a", 19997.5)]


def test_the_same_listing_has_the_same_text():
    one, two = read_map(FEEDS[0].encode(), HOME), read_map(FEEDS[1].encode(), HOME)
    assert one.text() == two.text() != read_map(SITEMAP.encode(), HOME).text()


def test_a_listing_with_other_dates_is_the_same_listing():
    later = SITEMAP.replace("2024", "2025")
    assert later != SITEMAP
    assert (
        read_map(later.encode(), HOME).text() == read_map(SITEMAP.encode(), HOME).text()
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<",
        b"<!doctype html><html><body><urlset></urlset>",
        b"<html><rss>",
        b"{}",
        b"\x1f\x8b",
        gzip.compress(b"not a map", mtime=0),
        gzip.compress(SITEMAP.encode(), mtime=0)[:-30],
        b"<?xml version='1.0'?>",
        b"<!-- <urlset> ",
    ],
)
def test_what_is_no_map_is_none(body):
    assert read_map(body, HOME) is None


def test_a_map_is_known_by_its_root_and_not_by_what_stands_before_it():
    before = "<?xml version='1.0'?>\n<?xml-stylesheet href='x'?><!-- a > b --> \n"
    assert root_name(f"\ufeff{before}<x:urlset>".encode()) == b"urlset"
    assert may_be_map(f"{before}<feed/>".encode())
    assert not may_be_map(f"{before}<html>".encode())


def test_pages_on_other_hosts_are_not_believed():
    text = "".join(
        f"<url><loc>{url}</loc></url>"
        for url in (
            "https://example.org/a",
            "https://evil.test/b",
            "https://example.org:8443/c",
            "https://example.org@evil.test/d",
            "ftp://example.org/e",
            "javascript:alert(1)",
            "https://www.example.org/f",
        )
    )
    found = read_map(f"<urlset>{text}</urlset>".encode(), HOME)
    assert [entry.key for entry in found.entries] == ["https://example.org/a"]
    assert found.left_out == 6
    keys = listed(f"<urlset>{text}</urlset>", hosts=["www.example.org"])
    assert keys[-1] == MapEntry("https://www.example.org/f")


def test_no_more_pages_are_taken_than_the_protocol_allows():
    text = "".join(
        f"<url><loc>https://example.org/{i}</loc></url>" for i in range(MOST + 10)
    )
    found = read_map(f"<urlset>{text}</urlset>".encode(), HOME)
    assert len(found.entries) == MOST
    assert found.left_out == 10


KNOTS = [
    "<{root}>" + "<x>" * 100_000,
    "<{root}>" + "<a b='" * 100_000,
    "<{root}>" + "&" * 300_000,
    "<{root}>" + "<" * 300_000,
    "<{root}>" + "<![CDATA[" * 50_000,
    "<{root} " + " ".join(f"a{i}='1'" for i in range(50_000)) + ">",
    "<{root}>" + "".join(f"<a xmlns:b{i}='u'>" for i in range(20_000)),
]


@pytest.mark.parametrize("root", ["urlset", "rss", "feed"])
@pytest.mark.parametrize("knot", KNOTS, ids=lambda knot: knot[6:18])
def test_no_knot_in_a_map_can_hold_us_up(knot, root):
    assert read_map(knot.format(root=root).encode(), HOME).entries == ()


def test_only_the_link_to_the_page_itself_is_taken():
    text = (
        "<feed xmlns='http://www.w3.org/2005/Atom'>"
        "<link href='https://example.org/'/><entry>"
        "<link rel='edit' href='/edit'/><link rel='alternate' href='/a'/>"
        "</entry></feed>"
    )
    assert listed(text) == [MapEntry("https://example.org/a")]


def test_images_of_a_page_are_not_taken_for_pages():
    text = (
        "<urlset xmlns:image='i'><url><loc>https://example.org/a</loc><image:image>"
        "<image:loc>https://example.org/a.png</image:loc></image:image></url></urlset>"
    )
    assert listed(text) == [MapEntry("https://example.org/a")]


def test_a_sitemap_is_read_as_far_as_it_goes():
    cut = SITEMAP[: SITEMAP.index("<priority>")]
    assert listed(cut)[0] == MapEntry("https://example.org/a", 19997.0)


@pytest.fixture
def canary(tmp_path):
    """A file and a server that nobody may read; yields how they could be named."""
    calls: list[str] = []

    class Trap(BaseHTTPRequestHandler):
        def do_GET(self):
            calls.append(self.path)
            self.send_error(404)

        def log_message(self, *args):
            calls.append("log")

    file = tmp_path / "canary.txt"
    file.write_text("https://example.org/CANARY")
    with ThreadingHTTPServer(("127.0.0.1", 0), Trap) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield file.as_uri(), f"http://127.0.0.1:{server.server_port}/trap", calls
        server.shutdown()
        thread.join()


PAYLOADS = [
    "<!DOCTYPE x [<!ENTITY e SYSTEM '{file}'>]>{open}&e;{close}",
    "<!DOCTYPE x [<!ENTITY e SYSTEM '{url}'>]>{open}&e;{close}",
    "<!DOCTYPE x SYSTEM '{url}'>{open}https://example.org/a{close}",
    "<!DOCTYPE x [<!ENTITY % p SYSTEM '{url}'> %p;]>{open}https://example.org/a{close}",
    "<!doctype x [<!ENTITY e SYSTEM '{file}'>]>{open}&e;{close}",
    "<?xml-stylesheet href='{url}'?>{open}https://example.org/{close}",
    "<x xmlns:xi='http://www.w3.org/2001/XInclude'><xi:include href='{file}'/></x>",
]
SHAPES = [
    ("<urlset><url><loc>", "</loc></url></urlset>"),
    ("<rss><channel><item><link>", "</link></item></channel></rss>"),
    ("<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>", "</id></entry></feed>"),
]


@pytest.mark.parametrize("shape", SHAPES, ids=["sitemap", "rss", "atom"])
@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_map_can_make_us_read_neither_files_nor_other_servers(payload, shape, canary):
    file, url, calls = canary
    start, end = shape
    text = payload.format(file=file, url=url, open=start, close=end)
    for body in (text.encode(), f"<?xml version='1.0'?>{text}".encode()):
        found = read_map(body, HOME)
        assert "CANARY" not in (found.text() if found else "")
    assert calls == []


def test_behind_the_refusal_of_a_doctype_stands_a_second_wall(canary):
    file, url, calls = canary
    for named in (file, url):
        text = (
            f"<!DOCTYPE x [<!ENTITY e SYSTEM '{named}'>]>"
            "<urlset><url><loc>&e;</loc></url></urlset>"
        )
        told, why = xml_stream.parse(
            xml_stream.whole(text.encode()), lambda: maps._Entries("urlset")
        )
        assert (told.entries(), why) == ([], "it defines entities")
    assert calls == []


def test_laughing_a_billion_times_takes_no_time():
    levels = "".join(
        f"<!ENTITY l{i} '{f'&l{i - 1};' * 10}'>" if i else "<!ENTITY l0 'lol'>"
        for i in range(10)
    )
    for start, end in SHAPES:
        text = f"<!DOCTYPE x [{levels}]>{start}&l9;{end}"
        assert read_map(text.encode(), HOME) is None
        assert read_map(f"<?xml version='1.0'?>{text}".encode(), HOME) is None


def test_an_entity_that_nobody_defined_is_not_resolved():
    text = "<urlset><url><loc>https://example.org/&xxe;</loc></url></urlset>"
    found = listed(text)
    assert all("xxe" not in entry.key for entry in found)


@given(st.binary(max_size=200), st.sampled_from(SHAPES))
def test_no_bytes_in_a_map_can_stop_us(junk, shape):
    start, end = (part.encode() for part in shape)
    read_map(start + junk + end, HOME)
    read_map(start + b"https://example.org/" + junk, HOME)


@given(st.text(max_size=60))
def test_no_date_can_stop_us(date):
    safe = date.replace("<", "").replace("&", "")
    text = f"<rss><item><link>https://example.org/a</link><pubDate>{safe}</pubDate>"
    read_map(text.encode("utf-8", "replace"), HOME)
    text = f"<urlset><url><loc>https://example.org/a</loc><lastmod>{safe}</lastmod>"
    read_map(text.encode("utf-8", "replace"), HOME)
