"""What an answer is, guessed from its bytes, its headers and its address."""

import json
import time
from urllib.parse import parse_qsl, urlencode, urlsplit

import jmespath
import pytest
from hypothesis import given, strategies as st

from halflife.kinds.guesses import recognise
from halflife.kinds.listing.recognition import check_second, read_page
from halflife.recognition.guess import Corrections, TrialAnswer
from halflife.recognition.pagination import (
    ListAnswer,
    find_paging,
    find_total,
    pages_of,
    with_parameter,
)
from halflife.recognition.record_keys import find_keys
from halflife.recognition.record_lists import find_lists, quoted

URL = "http://a.example/list"
TEAS = [{"id": n, "name": f"tea {n % 3}", "price": n % 7} for n in range(40)]
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
JSON = st.recursive(
    SCALARS | st.floats(allow_nan=True),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=30,
)
NAMES = st.text("abcxyz-. @'\"\\é\x1b\n", min_size=1, max_size=6)


def answer(body, content_type="application/json", url=URL, headers=None, **better):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return TrialAnswer(url, data, content_type, headers or {}, Corrections(**better))


def best(*given, **named):
    return recognise(answer(*given, **named))[0]


# What it is


@pytest.mark.parametrize(
    ("body", "content_type", "kind", "what"),
    [
        (b"<!doctype html><title>x</title><p>hello", "text/html", "pages", "page"),
        (
            b"<urlset><url><loc>http://a.example/1</loc></url></urlset>",
            "text/xml",
            "pages",
            "sitemap",
        ),
        (
            (
                b"<rss><channel><item><link>http://a.example/1</link></item></channel>"
                b"</rss>"
            ),
            "text/xml",
            "pages",
            "feed",
        ),
        (
            b"<feed><entry><link href='http://a.example/1'/></entry></feed>",
            "application/atom+xml",
            "pages",
            "feed",
        ),
        (
            (
                b'{"version":"https://jsonfeed.org/version/1.1","items":'
                b'[{"id":"1","url":"http://a.example/1"}]}'
            ),
            "application/feed+json",
            "pages",
            "feed",
        ),
        (b"http://a.example/1\nhttp://a.example/2\n", "text/plain", "pages", "sitemap"),
        (TEAS, "application/json", "listing", "JSON listing"),
        (b'{"id":1}\n{"id":2}\n', "application/x-ndjson", "listing", "JSON Lines"),
        (b"id,name\n1,a\n2,b\n", "text/csv", "listing", "table"),
        (b"id,name\n1,a\n2," + b"x" * 200_000, "text/csv", "listing", "table"),
        (b"id;name\n1;a\n2;b\n3;c\n", "text/plain", "listing", "table"),
        (
            (
                b'<OpenSearchDescription><Url type="application/json" '
                b'template="http://a.example/s?q={searchTerms}"/></OpenSearchDescription>'
            ),
            "application/xml",
            "search",
            "OpenSearch",
        ),
        (b"<OAI-PMH><Identify/></OAI-PMH>", "text/xml", "oai", "OAI-PMH"),
        (b"just some words\nand more", "text/plain", "pages", "document"),
        (b"\x89PNG\r\n\x1a\n\0\0", "image/png", "pages", "document"),
        ({"title": "one thing", "id": 3}, "application/json", "pages", "document"),
    ],
)
def test_formats_are_told_apart_by_their_content(body, content_type, kind, what):
    found = best(body, content_type)
    assert (found.kind, found.what[: len(what)]) == (kind, what)


def test_what_needs_another_package_says_which():
    found = best(b"<OAI-PMH><Identify/></OAI-PMH>", "text/xml")
    assert found.package == "halflife-oai"
    assert not found.usable


def test_a_web_page_offers_its_feed_its_form_and_its_list_besides():
    items = "".join(f"<li><a href='/{n}'>thing {n}</a></li>" for n in range(9))
    page = (
        "<!doctype html><link rel=alternate type='application/rss+xml' href='/f.xml'>"
        f"<form action='/s'><input name=q></form><ul class=all>{items}</ul>"
        "<a rel=next href='/?p=2'>more</a>"
    )
    page, listing, form = recognise(answer(page.encode(), "text/html"))
    assert page.settings == {"pages": (URL,)}
    assert "a feed at http://a.example/f.xml" in page.hints[0]
    assert listing.settings["records"] == "ul.all > li"
    assert listing.settings["next"] == "a[rel~=next]@href"
    assert (listing.records, listing.sample[0]["key"]) == (9, "/0")
    assert form.settings["attributes"] == {"q": {"kind": "keyword"}}


@pytest.mark.parametrize(
    ("page", "link", "instead"),
    [
        ("/api/teas/", "/api/teas/?format=json", True),  # Django REST framework
        ("/garage/cars", "http://a.example/garage/cars.json", True),  # Datasette
        ("/about", "/wp-json/wp/v2/pages/2", False),  # WordPress: another thing
        ("/about", "http://b.example/about.json", False),
        ("/about", "http://[/about.json", False),
    ],
)
def test_a_page_that_shows_data_names_the_data(page, link, instead):
    body = f"<!doctype html><link rel=alternate type='application/json' href='{link}'>"
    found = best(body.encode(), "text/html", url=f"http://a.example{page}")
    assert bool(found.instead) == instead


def test_rows_of_datasette_are_asked_for_as_objects():
    body = {
        "rows": [[1, "a"]],
        "columns": ["id", "x"],
        "primary_keys": ["id"],
        "suggested_facets": [{"name": str(n), "url": str(n)} for n in range(3)],
    }
    found = recognise(answer(body, url="http://a.example/d/t.json?_size=40"))
    there = "http://a.example/d/t.json?_size=40&_shape=objects"
    assert [one.instead for one in found if one.instead] == [there]


FEEDS = {
    "rss": b"<rss><channel><title>x</title><item><title>A</title><link>http://a.example/1"
    b"</link><guid isPermaLink='false'>g1</guid><pubDate>x</pubDate></item><item><link>"
    b"http://a.example/2</link></item></channel></rss>",
    "atom": b"<feed><entry><id>g1</id><title>A <b>!</b></title>"
    b"<link rel='self' href='/s'/><link href='/1'/></entry>"
    b"<entry><id>g2</id><link href='/2'/></entry></feed>",
    "rdf": b"<rdf:RDF><item rdf:about='g1'><title>A</title></item>"
    b"<item rdf:about='g2'/></rdf:RDF>",
}


@pytest.mark.parametrize("name", FEEDS)
def test_a_feed_can_be_kept_as_a_listing_of_its_entries(name):
    pages, listing = sorted(recognise(answer(FEEDS[name], "text/xml")),
                            key=lambda guess: guess.kind == "listing")  # fmt: skip
    assert listing.settings["format"] == "feed"
    assert listing.settings["complete"] is False
    assert listing.score < pages.score or name == "rdf"
    assert (listing.records, listing.sample[0]["key"]) == (2, "g1")
    assert listing.sample[0]["title"].startswith("A")


def test_a_json_feed_can_be_kept_as_a_listing_that_shows_the_latest():
    entries = [{"id": str(n), "url": f"http://a.example/{n}"} for n in range(3)]
    feed = {"version": "https://jsonfeed.org/version/1.1", "items": entries}
    pages, listing = recognise(answer(feed, "application/feed+json"))
    assert pages.settings == {"maps": (URL,)}
    assert listing.settings["records"] == "items"
    assert listing.settings["complete"] is False


# Where records are, and their key


@pytest.mark.parametrize(
    ("body", "records", "key"),
    [
        (TEAS, "", "id"),
        ({"count": 40, "next": None, "results": TEAS}, "results", "id"),
        (
            {"rows": TEAS, "columns": [{"name": "id"}], "query": {"params": {}}},
            "rows",
            "id",
        ),
        (
            {"query": {"allpages": [{"pageid": n, "ns": 0} for n in range(9)]}},
            "query.allpages",
            "pageid",
        ),
        (
            {"data": {"teas": {"edges": [{"node": t, "cursor": "c"} for t in TEAS]}}},
            "data.teas.edges[].node",
            "id",
        ),
        ({"_embedded": {"teas": TEAS}, "_links": {}}, "_embedded.teas", "id"),
        ({"hydra:member": TEAS}, '"hydra:member"', "id"),
        (
            {"features": [{"properties": {"code": n}, "id": "x"} for n in range(5)]},
            "features",
            "properties.code",
        ),
        ({"products": [{"product_id": n, "shop_id": 9 - n} for n in range(5)]},
         "products", "product_id"),
        ({"data": [{"sys": {"id": f"e{n}"}, "n": 1} for n in range(4)]}, "data",
         "sys.id"),
        ({"links": [{"href": str(n)} for n in range(9)], "jobs": TEAS[:3]}, "jobs",
         "id"),
    ],
)  # fmt: skip
def test_records_and_their_key_are_found(body, records, key):
    found = best(body)
    assert found.settings.get("records", "") == records
    assert found.settings["key"] == key
    assert found.usable
    assert found.sample


def test_members_of_an_object_are_named_by_it():
    body = {f"T{n}": {"pay": n, "open": True} for n in range(5)}
    found = best(body)
    assert "key" not in found.settings
    assert found.sample[0]["key"] == "T0"


def test_without_a_key_nothing_can_be_written_and_the_reason_is_told():
    guess = next(g for g in recognise(answer([{"a": 1}] * 9)) if g.kind == "listing")
    assert (guess.missing, guess.usable) == (("key",), False)
    assert "--key" in guess.reasons["key"]


def test_a_person_knows_better():
    body = {"results": TEAS, "others": [{"no": n} for n in range(3)]}
    found = best(body, records="others", key="no", next="more")
    assert found.settings["records"] == "others"
    assert (found.settings["key"], found.settings["next"]) == ("no", "more")
    assert recognise(answer(body, records="nothing.here")) == []


def test_a_key_that_is_twice_the_same_is_told():
    found = best(TEAS, key="name")
    assert "40 records have 3 different 'name'" in found.reasons["key"]


@given(JSON)
def test_whatever_json_comes_a_guess_can_be_read_or_says_what_it_lacks(body):
    for guess in recognise(answer(body)):
        assert 0.0 <= guess.score <= 1.0
        if guess.kind == "listing" and guess.usable:
            page = read_page(guess, answer(body))
            assert page.records
            assert page.duplicates == 0


@given(
    st.binary(max_size=200), st.sampled_from(["", "text/html", "text/csv", "text/xml"])
)
def test_whatever_bytes_come_something_is_guessed(body, content_type):
    assert recognise(answer(body, content_type))


@given(st.lists(NAMES, max_size=4), st.integers(2, 30))
def test_a_list_is_found_wherever_it_lies(names, many):
    records = [{"id": n, "pay": 1} for n in range(many)]
    document = records
    for name in reversed(names):
        document = {name: document}
    found = find_lists(document)[0]
    assert found.size == many
    if names:
        assert found.path == ".".join(map(quoted, names))
        assert jmespath.search(found.path, document) == records


@given(st.lists(st.integers(), min_size=1, max_size=20))
def test_a_key_is_never_twice_the_same(values):
    keys = [one.key for one in find_keys([{"id": v} for v in values])]
    assert (keys == ["id"]) == (len(set(values)) == len(values))


@pytest.mark.parametrize(
    "body",
    [
        b"[" * (4 << 20) + b"]" * (4 << 20),
        b'{"a":' * 1_000_000 + b"1" + b"}" * 1_000_000,
        b"[" + b'{"id":1,"a":[{}]},' * 400_000 + b"{}]",
        b'{"a":{"b":1}}\n' * 600_000,
        b"a,b\n" * 2_000_000,
        b'"' * (8 << 20),
        b"<" * (8 << 20),
        b"<urlset>" * (1 << 20),
        b"{" + b",".join(b'"%d":{"%d":{}}' % (n, n) for n in range(150_000)) + b"}",
    ],
    ids=[
        "lists",
        "objects",
        "wide",
        "lines",
        "table",
        "quotes",
        "tags",
        "xml",
        "names",
    ],
)
def test_a_hostile_answer_of_8_mb_is_read_in_seconds(body):
    began = time.process_time()
    recognise(answer(body, ""))
    assert time.process_time() - began < 8.0


def test_a_page_that_breaks_the_reader_of_lists_is_still_a_page():
    body = b"<!doctype html>" + b"<div><a href=x><b>" * 60_000
    began = time.monotonic()
    found = recognise(answer(body, "text/html"))
    assert found[0].what == "page"
    assert time.monotonic() - began < 60.0


# How it goes on


@pytest.mark.parametrize(
    ("document", "headers", "style", "where", "second"),
    [
        ({"next": "http://a.example/list?page=2"}, {}, "next link", "next",
         f"{URL}?page=2"),
        ({"next": "?cursor=x"}, {}, "next link", "next", f"{URL}?cursor=x"),
        ({"links": {"next": "/list?p=2"}}, {}, "next link", "links.next", f"{URL}?p=2"),
        ({"_links": {"next": {"href": "/list?p=2"}}}, {}, "next link",
         "_links.next.href", f"{URL}?p=2"),
        ({"@odata.nextLink": "/list?$skip=2"}, {}, "next link", '"@odata.nextLink"',
         f"{URL}?$skip=2"),
        ({"next": None}, {}, "next link", "next", ""),
        ({}, {"link": f'<{URL}?page=2>; rel="next", <{URL}>; rel="first"'},
         "Link header", "", f"{URL}?page=2"),
        ({}, {"link": f"<{URL}>; rel=prev, </list?page=3>; title=x; rel=next"},
         "Link header", "", f"{URL}?page=3"),
        ({"continue": {"apcontinue": "B C", "continue": "-||"}}, {}, "cursor",
         '"continue".apcontinue', f"{URL}?apcontinue=B%20C"),
        ({"nextPageToken": "abc"}, {}, "cursor", "nextPageToken",
         f"{URL}?pageToken=abc"),
        ({"meta": {"next_cursor": "abc"}}, {}, "cursor", "meta.next_cursor",
         f"{URL}?cursor=abc"),
        ({"page": 1, "total_pages": 5}, {}, "page number", "", f"{URL}?page=2"),
        ({"page": 0, "totalPages": 5}, {}, "page number", "", f"{URL}?page=1"),
        ({"total": 100}, {}, "page number", "", f"{URL}?page=2"),
        ({"offset": 0, "limit": 20, "total": 90}, {}, "offset", "", f"{URL}?offset=20"),
        ({"total": 20}, {}, "", "", ""),
        ({}, {}, "", "", ""),
        ([], {}, "", "", ""),
        ({"next": 7, "continue": "x", "cursor": ["a"]}, {}, "", "", ""),
    ],
)  # fmt: skip
def test_ways_of_paging_are_told_apart(document, headers, style, where, second):
    seen = ListAnswer(URL, document, headers, "results", 20)
    found = find_paging(seen, find_total(seen).many)
    assert (found.style, found.where, found.second) == (style, where, second)
    assert found.why


def test_a_number_in_the_address_is_the_pages_number_or_an_offset():
    page = find_paging(ListAnswer(f"{URL}?q=x&page=1", [], {}, "", 20))
    assert (page.style, page.second) == ("page number", f"{URL}?q=x&page=2")
    offset = find_paging(ListAnswer(f"{URL}?offset=40&limit=20", [], {}, "", 20))
    assert (offset.style, offset.second) == ("offset", f"{URL}?offset=60&limit=20")


def test_a_token_goes_into_the_parameter_that_the_address_has():
    found = find_paging(ListAnswer(f"{URL}?after=a", {"next": "b"}, {}, "", 20))
    assert found.second == f"{URL}?after=b"


@pytest.mark.parametrize(
    ("document", "headers", "many"),
    [
        ({"count": 41}, {}, 41),
        ({"meta": {"total": 41}}, {}, 41),
        ({"hits": {"total": {"value": 41}}}, {}, 41),
        ({}, {"x-total-count": "41"}, 41),
        ({}, {"content-range": "items 0-19/41"}, 41),
        ({"count": 3}, {}, None),  # fewer than there are: it counts something else
        ({"count": True, "total": "41"}, {"x-total-count": "many"}, None),
        ({"total": 10**30}, {"x-total": "9" * 40}, None),
    ],
)
def test_totals_are_read_from_bodies_and_headers(document, headers, many):
    assert find_total(ListAnswer(URL, document, headers, "", 20)).many == many


def test_a_full_read_takes_a_request_for_each_page():
    assert pages_of(190, 40) == 5
    assert pages_of(0, 40) == 1
    assert pages_of(190, 0) is None


@given(NAMES, st.text(max_size=9), st.dictionaries(NAMES, st.text(max_size=3)))
def test_a_parameter_that_is_set_is_the_only_one_of_its_name(name, value, others):
    url = with_parameter(f"{URL}?{urlencode(others)}", name, value)
    found = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    assert dict(found) == {**others, name: value}


def test_the_second_page_confirms_the_paging_or_takes_it_back():
    body = {"count": 80, "results": TEAS}
    first = answer(body)
    guess = recognise(first)[0]
    way = {"kind": "page", "parameter": "page", "first": 1}
    assert guess.settings["paging"] == way
    more = {"count": 80, "results": [{"id": 100 + n} for n in range(40)]}
    good = check_second(guess, first, answer(more))
    assert good.settings == guess.settings
    assert "40 records that the first has not" in good.reasons["paging"]
    for bad in (body, b"<html>no"):
        taken = check_second(guess, first, answer(bad))
        assert taken.settings["url"] == URL
        assert "paging" not in taken.settings
        assert "only the first page" in taken.reasons["paging"]


def test_hints_of_changes_are_named():
    records = [{"id": n, "updated_at": "2026-01-01"} for n in range(3)]
    found = best(records, headers={"etag": '"a"', "last-modified": "x"})
    assert [hint.partition(":")[0] for hint in found.hints[:2]] == [
        "ETag",
        "Last-Modified",
    ]
    assert "'updated_at' says when each record changed" in found.hints


@pytest.mark.parametrize("name", ["records", "key", "next"])
def test_one_correction_is_enough_to_be_heeded(name):
    assert Corrections(**{name: "x"}).given
    assert not Corrections().given
