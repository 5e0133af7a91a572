"""Listings over real HTTP on loopback."""

import asyncio
import json

import pytest

from faults.evil import Evil, response
from halflife.core.errors import BudgetSpent
from halflife.kinds.listing.client import ListingSettings, fetch_listing
from halflife.readers.records import RecordReader
from web_parts import HOME, Coins, make_gate


def page(keys, following=None):
    jobs = [{"id": key} for key in keys]
    body = json.dumps({"jobs": jobs, "next": following})
    return response(body, Content_Type="application/json")


def looked(pages, *, coins=None, reader=None, **settings):
    """Serve pages, look at them, return listing, trouble and what was asked for."""

    async def scene():
        async with Evil() as evil:
            evil.pages |= pages
            given = {
                "urls": (evil.url("/jobs"),),
                **{
                    name: value.replace("BASE", evil.url(""))
                    if isinstance(value, str)
                    else value
                    for name, value in settings.items()
                },
            }
            how = ListingSettings(
                reader or RecordReader("id", "json", "jobs", next="next"),
                access=HOME,
                **given,
            )
            async with make_gate() as gate:
                listing, trouble = await fetch_listing(gate, how, coins or Coins())
            return listing, trouble, [hit.path for hit in evil.hits]

    return asyncio.run(scene())


def test_all_pages_are_one_look():
    listing, trouble, asked = looked(
        {
            "/jobs": page("ab", "/jobs/2"),
            "/jobs/2": page("bc", "/jobs/3"),
            "/jobs/3": page("d"),
        }
    )
    assert list(listing.records) == ["a", "b", "c", "d"]
    assert (listing.complete, trouble) == (True, "")
    assert asked == ["/jobs", "/jobs/2", "/jobs/3"]


def test_a_page_that_fails_leaves_the_listing_incomplete():
    listing, trouble, _ = looked(
        {"/jobs": page("ab", "/jobs/2"), "/jobs/2": response("", status=500)}
    )
    assert list(listing.records) == ["a", "b"]
    assert not listing.complete
    assert "it answered 500" in trouble == listing.note


def test_without_the_first_page_there_is_no_listing():
    listing, trouble, _ = looked({"/jobs": response("oops")})
    assert listing is None
    assert "not json" in trouble


def test_an_empty_purse_stops_a_walk_and_an_empty_one_begins_none():
    pages = {"/jobs": page("ab", "/jobs/2"), "/jobs/2": page("c")}
    coins = Coins(1)
    listing, trouble, asked = looked(pages, coins=coins)
    assert list(listing.records) == ["a", "b"]
    assert not listing.complete
    assert "empty" in trouble
    assert (coins.paid, len(asked)) == (1, 1)
    with pytest.raises(BudgetSpent):
        looked(pages, coins=Coins(0))


def test_pages_that_lead_in_a_circle_end_and_are_not_all_of_the_list():
    listing, trouble, asked = looked(
        {"/jobs": page("a", "/jobs/2"), "/jobs/2": page("b", "/jobs")}
    )
    assert list(listing.records) == ["a", "b"]
    assert not listing.complete
    assert "page 2 leads back to page 1" in trouble
    assert len(asked) == 2


def test_no_more_pages_are_read_than_allowed():
    pages = {"/jobs": page("a", "/jobs/2"), "/jobs/2": page("b", "/jobs/3")}
    listing, trouble, asked = looked(pages, max_pages=2)
    assert (list(listing.records), len(asked)) == (["a", "b"], 2)
    assert not listing.complete
    assert trouble == "it has more than 2 pages"


@pytest.mark.parametrize(
    "link", ["https://elsewhere.example/2", "file:///etc/passwd", "http://[::"]
)
def test_the_next_page_must_lie_on_the_same_host(link):
    listing, trouble, asked = looked({"/jobs": page("a", link)})
    assert not listing.complete
    assert "its next page" in trouble
    assert len(asked) == 1


def test_numbered_pages_end_with_the_first_that_has_nothing_new():
    pages = {f"/list/{n}": page(keys) for n, keys in enumerate(["ab", "bc", "c"], 1)}
    settings = {"urls": (), "page_url": "BASE/list/{n}"}
    listing, trouble, asked = looked(pages, **settings)
    assert (list(listing.records), trouble) == (["a", "b", "c"], "")
    assert asked == ["/list/1", "/list/2", "/list/3"]
    assert listing.complete


def test_numbered_pages_end_with_the_first_that_is_not_there():
    settings = {"urls": (), "page_url": "BASE/list/{n}"}
    pages = {"/list/1": page("ab"), "/list/2": page("c")}  # others are 404
    listing, trouble, asked = looked(pages, **settings)
    assert (list(listing.records), trouble) == (["a", "b", "c"], "")
    assert asked == ["/list/1", "/list/2", "/list/3"]
    assert listing.complete
    listing, trouble, _ = looked({}, **settings)
    assert listing is None
    assert "404" in trouble


def test_a_source_that_shows_only_a_part_is_never_complete():
    listing, _, _ = looked({"/jobs": page("a")}, complete=False)
    assert not listing.complete


def test_too_many_bad_records_leave_the_listing_incomplete():
    listing, trouble, _ = looked({"/jobs": page(["a", None])})
    assert not listing.complete
    assert "1 bad records" in listing.note
    assert trouble == ""


def test_html_pages_lead_on_by_their_links():
    first = response('<p id=1>a<p id=2>b<a class=next href="/jobs2">next</a>')
    second = response("<p id=3>c")

    async def scene():
        async with Evil() as evil:
            evil.pages |= {"/jobs": first, "/jobs2": second}
            reader = RecordReader("@id", "html", "p", {"name": ""}, "a.next")
            how = ListingSettings(reader, (evil.url("/jobs"),), access=HOME)
            async with make_gate() as gate:
                return await fetch_listing(gate, how, Coins())

    listing, trouble = asyncio.run(scene())
    assert listing.records["2"] == {"name": "b next"}
    assert list(listing.records) == ["1", "2", "3"]
    assert trouble == ""


def counted(keys, total, following=None):
    jobs = [{"id": key} for key in keys]
    body = json.dumps({"count": total, "jobs": jobs, "next": following})
    return response(body, Content_Type="application/json")


def test_a_forgotten_next_leaves_the_listing_incomplete_and_is_named():
    pages = {"/jobs": counted("ab", 5, "/jobs?page=2")}
    listing, trouble, asked = looked(pages, reader=RecordReader("id", "json", "jobs"))
    assert list(listing.records) == ["a", "b"]
    assert not listing.complete
    assert "it reports 5 records and 2 were read" in trouble
    assert 'write next = "next"' in trouble
    assert asked == ["/jobs"]


def test_a_next_page_nobody_reads_is_enough_without_a_count():
    pages = {"/jobs": page("ab", "/jobs?page=2")}
    listing, trouble, _ = looked(pages, reader=RecordReader("id", "json", "jobs"))
    assert not listing.complete
    assert 'write next = "next"' in trouble


def test_a_reported_count_larger_than_what_was_read_is_never_ignored():
    pages = {"/jobs": counted("ab", 5, "/jobs/2"), "/jobs/2": counted("bc", 5)}
    listing, trouble, _ = looked(pages)
    assert list(listing.records) == ["a", "b", "c"]
    assert not listing.complete
    assert "it reports 5 records and 3 were read" in trouble


def test_a_count_that_was_read_in_full_says_nothing():
    for total in (3, 2, 0):
        pages = {"/jobs": counted("ab", total, "/jobs/2"), "/jobs/2": counted("c", 3)}
        listing, trouble, _ = looked(pages)
        assert (listing.complete, trouble) == (True, "")


def test_a_key_twice_on_one_page_is_read_and_on_two_pages_hides_another():
    double = {"/jobs": counted("aab", 3)}
    assert looked(double)[0].complete
    moved = {"/jobs": counted("ab", 4, "/jobs/2"), "/jobs/2": counted("bc", 4)}
    assert not looked(moved)[0].complete


def test_pages_that_somebody_listed_by_hand_need_no_next():
    async def scene():
        async with Evil() as evil:
            evil.pages |= {
                "/jobs": page("ab", evil.url("/jobs/2")),
                "/jobs/2": page("c"),
            }
            urls = (evil.url("/jobs"), evil.url("/jobs/2"))
            how = ListingSettings(RecordReader("id", "json", "jobs"), urls, access=HOME)
            async with make_gate() as gate:
                return await fetch_listing(gate, how, Coins())

    listing, trouble = asyncio.run(scene())
    assert (len(listing.records), listing.complete, trouble) == (3, True, "")


def test_a_listing_that_is_said_to_be_a_part_is_not_held_against_its_count():
    pages = {"/jobs": counted("ab", 500, "/jobs?page=2")}
    how = {"reader": RecordReader("id", "json", "jobs"), "complete": False}
    listing, trouble, _ = looked(pages, **how)
    assert (listing.complete, trouble) == (False, "")


def test_a_broken_line_leaves_the_listing_incomplete():
    lines = [json.dumps({"id": n}) for n in range(100)]
    lines[40] = '{"id": 40'
    pages = {"/jobs": response("\n".join(lines))}
    listing, trouble, _ = looked(pages, reader=RecordReader("id", "jsonl"))
    assert len(listing.records) == 99
    assert not listing.complete
    assert "line 41" in trouble
    assert "not JSON" in trouble


def test_a_broken_row_of_a_table_leaves_the_listing_incomplete():
    rows = ["id,pay", *(f"{n},10" for n in range(100)), "100"]
    pages = {"/jobs": response("\n".join(rows), Content_Type="text/csv")}
    listing, trouble, _ = looked(pages, reader=RecordReader("id", "csv"))
    assert (len(listing.records), listing.complete) == (100, False)
    assert "line 102" in trouble


HTML = response("<html><ul><li>Jobs API</li></ul></html>", Content_Type="text/html")


@pytest.mark.parametrize("kind", ["json", "jsonl", "csv", ""])
def test_html_where_data_was_expected_is_no_empty_listing(kind):
    reader = RecordReader("id", kind, "" if kind in {"csv", "jsonl"} else "jobs")
    listing, trouble, _ = looked({"/jobs": HTML}, reader=reader)
    assert listing is None
    assert "/jobs: its answer cannot be read as the settings say" in trouble
    if kind == "json":
        assert "it answered HTML where json was expected" in trouble


def test_a_later_page_in_another_format_leaves_the_listing_incomplete():
    pages = {"/jobs": page("ab", "/jobs/2"), "/jobs/2": HTML}
    reader = RecordReader("id", "", "jobs", next="next")
    listing, trouble, _ = looked(pages, reader=reader)
    assert (list(listing.records), listing.complete) == (["a", "b"], False)
    assert "it answered html after json" in trouble


def test_an_empty_list_is_a_list():
    listing, trouble, _ = looked({"/jobs": page("")})
    assert (dict(listing.records), listing.complete, trouble) == ({}, True, "")


def test_a_failed_page_is_named_by_its_address():
    _, trouble, _ = looked({"/jobs": response("", status=404)})
    assert "/jobs: it answered 404" in trouble
