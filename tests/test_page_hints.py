"""What JSON answers say of the list they are a part of."""

import json

import jmespath
import pytest
from hypothesis import given, strategies as st

from halflife.readers.page_hints import NEXTS, NO_HINTS, PARTS, TOTALS, find_hints
from halflife.readers.records import RecordReader

REST = {"count": 400, "next": "http://x/jobs?page=2", "results": [{"id": 1}]}


def test_the_usual_envelope_reports_its_size_and_its_next_page():
    hints = find_hints(REST, "results")
    assert (hints.total, hints.next_at, hints.next) == (400, "next", REST["next"])


@pytest.mark.parametrize("document", [[], [{"count": 3}], "x", None, 7, {}])
def test_what_is_no_envelope_says_nothing(document):
    assert find_hints(document) == NO_HINTS


def test_a_cursor_and_the_number_of_a_page_are_no_addresses():
    for link in ("eyJpZCI6MX0=", "2", "", None, 2, True):
        assert find_hints({"next": link}).next_at == ""


def test_records_that_are_picked_are_not_held_against_the_number_of_all():
    assert find_hints(REST, "results[?open]").total is None
    assert find_hints(REST, "results | [:10]").total is None
    assert find_hints(REST, "results[*]").total == 400


def test_a_flag_is_no_count():
    assert find_hints({"count": True, "total": 2.5}).total is None


@given(
    part=st.sampled_from(PARTS),
    name=st.sampled_from(NEXTS),
    total=st.sampled_from(TOTALS),
    count=st.integers(0, 10**9),
)
def test_the_path_of_a_hint_finds_the_address_that_it_names(part, name, total, count):
    inner = {}
    for key, value in ((name, "/jobs?page=2"), (total, count)):
        outer, _, last = key.partition(".")
        if last and "odata" not in key:
            inner.setdefault(outer, {})[last] = value
        else:
            inner[key] = value
    document = {part: inner} if part else inner
    hints = find_hints(document)
    assert hints.total == count
    assert jmespath.search(hints.next_at, document) == "/jobs?page=2"
    reader = RecordReader("id", "json", "jobs", next=hints.next_at)
    page = reader.read(json.dumps({**document, "jobs": []}).encode())
    assert page.next == "/jobs?page=2"


@pytest.mark.parametrize(
    ("document", "records", "where", "parameter"),
    [
        ({"data": [{}], "has_more": True}, "data", "has_more", ""),
        ({"content": [{}], "last": False}, "content", "last", ""),
        ({"items": [{}], "nextPageToken": "t"}, "items", "nextPageToken", "pageToken"),
        ({"records": [{}], "offset": "itr10"}, "records", "offset", "offset"),
        ({"x": [{}], "response_metadata": {"next_cursor": "d"}}, "x",
         "response_metadata.next_cursor", "cursor"),
        ({"continue": {"apcontinue": "B", "continue": "-||"}, "query": {"all": []}},
         "query.all", "continue.apcontinue", "apcontinue"),
        ({"data": {"teas": {"edges": [{}], "pageInfo": {"hasNextPage": True}}}},
         "data.teas.edges[].node", "data.teas.pageInfo.hasNextPage", ""),
    ],
)  # fmt: skip
def test_a_token_or_a_flag_says_that_a_list_goes_on(
    document, records, where, parameter
):
    hints = find_hints(document, records)
    assert (hints.more_at, hints.parameter) == (where, parameter)
    assert jmespath.search(hints.more_at, document) is not None


@pytest.mark.parametrize(
    "document",
    [
        {"has_more": False, "data": [{}]},
        {"last": True, "content": [{}]},
        {"nextPageToken": "", "items": [{}]},
        {"offset": 0, "limit": 10, "items": [{}]},
        {"pageInfo": {"hasNextPage": False, "endCursor": "x"}, "items": [{}]},
        {"paging": {"cursors": {"after": "x"}}, "data": [{}]},
        {"results": [{"has_more": True, "next_cursor": "of a record"}]},
    ],
)
def test_the_last_page_of_a_list_promises_no_other(document):
    assert find_hints(document).more_at == ""
