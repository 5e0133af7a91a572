"""Functions read every way of paging through their session, and replay the same."""

import asyncio
import tomllib

import pytest

import halflife
from halflife.kinds.listing import function, recorded_source
from halflife.kinds.listing.recorded_pagination import PAGINGS
from halflife.net.access import Access, GateSettings
from halflife.net.gate import Gate
from halflife.replay.world import RecordedTransport, as_json
from listing_parts import ORIGIN
from web_parts import Book, Clock, Coins


def objects(count):
    there = {f"k{i:03}": {"n": i} for i in range(count)}
    return lambda now: there


def looked(source, api):
    """Let a function read; return the listing, the trouble and what was sent."""
    clock = Clock()
    transport = RecordedTransport({ORIGIN: api}, clock)

    async def scene():
        settings = GateSettings("x", delay=0.0)
        gate = Gate(settings, hosts=Book(), clock=clock, transport=transport)
        async with gate:
            access = Access(robots=False)
            return await function.fetch_records(gate, source, access, Coins())

    return *asyncio.run(scene()), transport.sent


def reader(*path, **how):
    """Return a function that reads pages and yields what stands at a path of each."""

    @halflife.listing(key="_key")
    async def read(session):
        async for page in session.pages(f"{ORIGIN}/objects", **how):
            found = page.json()
            for name in path:
                found = found[name]
            for record in found:
                yield record

    return read


@pytest.mark.parametrize("way", ["header", "cursor", "page", "offset"])
def test_a_function_names_its_paging_as_the_settings_do(way):
    given = tomllib.loads(PAGINGS[way].settings)
    path = () if way == "header" else ("objects",)
    read = reader(*path, paging=given["paging"], records=".".join(path))
    listing, trouble, sent = looked(read, recorded_source.listing(objects(60), 25, way))
    assert (trouble, listing.complete) == ("", True)
    assert list(listing.records) == list(objects(60)(0))
    assert len(sent) == 3 + (way in {"page", "offset"})


@pytest.mark.parametrize("way", ["body", "graphql"])
def test_a_function_sends_a_body_with_every_page(way):
    given = tomllib.loads(PAGINGS[way].settings)
    path, asked, paging = ("objects",), given.get("body"), given.get("paging")
    if way == "graphql":
        path = ("data", "objects", "nodes")
        asked = {"query": given["graphql"]["query"], "variables": {}}
        at = given["graphql"]["cursor"]
        paging = {"kind": "cursor", "at": at, "body": "variables.after"}
        paging["more"] = at.replace("endCursor", "hasNextPage")
    read = reader(*path, paging=paging, body=asked)
    listing, trouble, sent = looked(read, recorded_source.listing(objects(60), 25, way))
    assert (trouble, listing.complete, len(sent)) == ("", True, 3)
    assert {one.method for one in sent} == {"POST"}
    assert len(listing.records) == 60


def test_pages_that_lead_in_a_circle_fail_and_are_not_all_of_the_list():
    api = lambda asked, now: as_json({"objects": [{"_key": "a"}], "next": "/objects"})  # noqa: E731
    listing, trouble, sent = looked(reader("objects", next="next"), api)
    assert "lead in a circle" in trouble
    assert not listing.complete
    assert len(sent) == 1


def test_a_function_that_stops_before_the_end_has_not_read_all_of_it():
    read = reader("objects", next="next", most=2)
    listing, trouble, _ = looked(read, recorded_source.listing(objects(60), 25))
    assert (len(listing.records), listing.complete, trouble) == (50, False, "")
    listing, _, _ = looked(read, recorded_source.listing(objects(50), 25))
    assert listing.complete


@pytest.mark.parametrize(("pages", "said"), [(3, ""), (1, "first page again")])
def test_a_server_that_repeats_its_last_page_does_not_hold_a_function(pages, said):
    def api(asked, now):
        number = min(int(asked.url.query["p"]), pages)
        return as_json({"objects": [{"_key": f"k{number}"}]})

    read = reader(
        "objects", paging={"kind": "page", "parameter": "p"}, records="objects"
    )
    listing, trouble, sent = looked(read, api)
    assert (len(listing.records), len(sent)) == (pages, pages + 1)
    assert said in trouble
    assert listing.complete is (not said)


def test_a_way_that_is_none_is_named_in_a_line():
    read = reader("objects", paging={"kind": "cursor", "parameter": "c"})
    listing, trouble, _ = looked(read, recorded_source.listing(objects(5), 25))
    assert listing is None
    assert "at: field required" in trouble


def test_a_function_posts_and_sees_headers_but_no_cookies():
    @halflife.listing(key="id")
    async def read(session):
        page = await session.post(f"{ORIGIN}/x", {"q": "a b"}, form=True)
        yield {"id": page.headers["x-total"], "cookie": page.headers.get("Set-Cookie")}

    def api(asked, now):
        assert (asked.method, asked.body) == ("POST", b"q=a+b")
        answer = as_json({})
        return answer._replace(
            headers={**answer.headers, "X-Total": "7", "Set-Cookie": "a=1"}
        )

    listing, trouble, _ = looked(read, api)
    assert trouble == ""
    assert listing.records == {"7": {"id": "7", "cookie": None}}
