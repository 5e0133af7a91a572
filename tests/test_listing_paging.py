"""Each way of paging reads all of a list, ends, and never takes a part for all."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from halflife.config import Config
from halflife.core.errors import ConfigError
from halflife.kinds.listing import recorded_source, requests
from halflife.kinds.listing.pagination import (
    AddressPlace,
    Cursor,
    LinkHeader,
    ListingRequest,
    NextLink,
    Offset,
    PageAnswer,
    PageNumber,
    TokenPlace,
    link_of,
    total_of,
)
from halflife.kinds.listing.recorded_pagination import PAGINGS
from halflife.net.access import Access
from halflife.readers.expressions import compiled
from halflife.replay.world import RecordedAnswer, as_json
from listing_parts import read, read_over_http, source_of
from web_parts import Coins

HEAD = 'url = "BASE/objects"\nformat = "json"\nkey = "_key"\n'
JOBS = 'url = "BASE/jobs"\nrecords = "jobs"\nkey = "id"\n'
COUNTED = {
    "page": 1,
    "header": 0,
    "cursor": 0,
    "offset": 0,
}  # requests that find no more


def objects(count):
    there = {f"k{i:03}": {"n": i} for i in range(count)}
    return lambda now: there


def jobs(keys, **more):
    return as_json({"jobs": [{"id": key} for key in keys], **more})


@pytest.mark.parametrize("way", PAGINGS)
def test_every_way_of_paging_reads_all_of_a_list(way):
    api = recorded_source.listing(objects(103), 25, way)
    found = read(source_of(HEAD + PAGINGS[way].settings), api)
    assert found.trouble == ""
    assert found.complete
    assert found.keys == list(objects(103)(0))
    assert len(found.sent) == 5 + COUNTED.get(way, 0) == found.paid


@pytest.mark.parametrize("way", PAGINGS)
def test_a_recording_is_sent_what_a_server_is_sent(way):
    api = recorded_source.listing(objects(60), 25, way)
    text = HEAD + PAGINGS[way].settings
    live, seen = read_over_http(text, api)
    again = read(source_of(text), api)
    assert live.keys == again.keys == list(objects(60)(0))
    assert live.complete
    assert seen == [
        (s.method, s.url[len("http://a.example") :], s.body) for s in again.sent
    ]


@pytest.mark.parametrize("way", PAGINGS)
@pytest.mark.parametrize("count", [0, 1, 24, 25, 26])
def test_lists_that_just_fill_a_page_are_read_whole(way, count):
    api = recorded_source.listing(objects(count), 25, way)
    found = read(source_of(HEAD + PAGINGS[way].settings), api)
    assert (found.keys, found.trouble) == (list(objects(count)(0)), "")
    assert found.complete


@settings(max_examples=40, deadline=None)
@given(
    way=st.sampled_from(sorted(PAGINGS)),
    count=st.integers(0, 40),
    size=st.integers(1, 9),
    coins=st.integers(1, 12),
)
def test_a_pass_that_ends_early_is_never_complete(way, count, size, coins):
    """However many requests there are: complete only if everything was read."""
    api = recorded_source.listing(objects(count), size, way)
    found = read(source_of(HEAD + PAGINGS[way].settings), api, coins=Coins(coins))
    assert len(found.sent) <= coins
    assert found.keys == list(objects(count)(0))[: len(found.keys)]
    if found.complete:
        assert len(found.keys) == count
    else:
        assert found.trouble


LOOPS = {
    "next = 'next'": lambda asked, n: jobs([n], next=["/jobs?b", "/jobs"][n % 2]),
    "paging = {kind = 'link', at = 'next'}": lambda a, n: jobs([n], next="/jobs"),
    "paging = {kind = 'header'}": lambda a, n: jobs([n])._replace(
        headers={"Content-Type": "application/json", "Link": "</jobs>; rel=next"}
    ),
    "paging = {kind = 'cursor', at = 'c', parameter = 'c'}": lambda a, n: jobs(
        [n], c=["x", "y"][n % 2]
    ),
    "method = 'POST'\npaging = {kind = 'cursor', at = 'c', body = 'c'}": (
        lambda a, n: jobs([n], c=7)
    ),
    "paging = {kind = 'page', parameter = 'page'}": lambda a, n: jobs(["a", "b"]),
    "paging = {kind = 'offset', parameter = 'from'}": lambda a, n: jobs(["a", "b"]),
}


@pytest.mark.parametrize("paging", LOOPS)
def test_pages_that_lead_in_a_circle_are_a_clear_failure(paging):
    asked = []

    def api(request, now):
        asked.append(request)
        return LOOPS[paging](request, len(asked) - 1)

    found = read(source_of(JOBS + paging), api)
    assert "lead in a circle" in found.trouble or "first page again" in found.trouble
    assert not found.complete
    assert len(asked) <= 4


def test_a_cursor_that_never_repeats_ends_at_the_most_pages():
    count = iter(range(10**6))
    text = (
        f"{JOBS}max_pages = 7\npaging = {{kind = 'cursor', at = 'c', parameter = 'c'}}"
    )
    found = read(source_of(text), lambda a, n: jobs(["a"], c=str(next(count))))
    assert len(found.sent) == 7
    assert found.trouble == "it has more than 7 pages"
    assert not found.complete


def test_more_without_a_cursor_is_a_failure():
    paging = "paging = {kind = 'cursor', at = 'c', parameter = 'c', more = 'more'}"
    found = read(source_of(JOBS + paging), lambda a, n: jobs("a", more=True))
    assert not found.complete
    assert "there is more, and has no cursor at 'c'" in found.trouble


@pytest.mark.parametrize("token", [{"a": 1}, ["x"], "x" * 5000, "é" * 3000, "\ud800"])
def test_what_is_no_cursor_is_not_sent_back(token):
    paging = "paging = {kind = 'cursor', at = 'c', parameter = 'c'}"
    found = read(source_of(JOBS + paging), lambda a, n: jobs("a", c=token))
    assert "is no cursor" in found.trouble
    assert len(found.sent) == 1


def test_a_cursor_is_sent_as_it_came_whatever_it_holds():
    token = "a+b/c==&x=1 é#"
    seen = []

    def api(asked, now):
        seen.append(asked.url.query.get("c"))
        return jobs([len(seen)], c=token if len(seen) == 1 else None)

    paging = "paging = {kind = 'cursor', at = 'c', parameter = 'c'}"
    found = read(source_of(JOBS + paging), api)
    assert (seen, found.trouble) == ([None, token], "")


def test_offsets_go_on_by_what_came_not_by_what_was_asked_for():
    """A server that gives 2 where 100 are wanted must not lose the rest."""

    def api(asked, now):
        begin = int(asked.url.query["skip"])
        return jobs("abcde"[begin : begin + 2])

    paging = (
        "paging = {kind='offset', parameter='skip', limit=100, limit_parameter='n'}"
    )
    found = read(source_of(JOBS + paging), api)
    assert (found.keys, found.complete) == (list("abcde"), True)
    assert found.urls[:2] == ["/jobs?n=100&skip=0", "/jobs?n=100&skip=2"]


def test_a_reported_total_ends_a_counted_list_and_is_held_against_it():
    def api(asked, now):
        page = int(asked.url.query["page"])
        return jobs(["ab", "cd", ""][page - 1], meta={"all": total})

    text = JOBS + "total = 'meta.all'\npaging = {kind = 'page', parameter = 'page'}"
    total = 4
    found = read(source_of(text), api)
    assert (found.keys, found.complete, len(found.sent)) == (list("abcd"), True, 2)
    total = 5
    found = read(source_of(text), api)
    assert not found.complete
    assert "it reports 5 records and 4 were read" in found.trouble


@pytest.mark.parametrize(
    ("key", "name"), [("total", "meta.all"), ("total_header", "X-All")]
)
def test_a_total_that_the_settings_name_must_be_there(key, name):
    found = read(source_of(f"{JOBS}{key} = '{name}'"), lambda a, n: jobs("ab"))
    assert not found.complete
    assert f"it reports no number of records at '{name}'" in found.trouble


def test_the_page_after_the_last_may_be_missing_but_not_the_first():
    def api(asked, now):
        page = int(asked.url.query["p"])
        return jobs(["ab", "c"][page]) if page < 2 else RecordedAnswer(404)

    text = JOBS + "paging = {kind = 'page', parameter = 'p', first = 0}"
    found = read(source_of(text), api)
    assert (found.keys, found.complete) == (list("abc"), True)
    found = read(source_of(text), lambda a, n: RecordedAnswer(404))
    assert found.listing is None


def test_a_button_that_does_nothing_ends_pages_for_people():
    def api(asked, now):
        last = "2" in asked.url.query_string
        link = "#" if last else "?p=2"
        body = f"<p id={'b' if last else 'a'}>x<a class=next href='{link}'>next</a>"
        return RecordedAnswer(200, body.encode(), {"Content-Type": "text/html"})

    text = "url='BASE/'\nformat='html'\nrecords='p'\nkey='@id'\nnext='a.next'"
    found = read(source_of(text), api)
    assert (found.keys, found.complete, found.trouble) == (["a", "b"], True, "")


def test_several_addresses_are_paged_each_by_itself():
    def api(asked, now):
        place, page = asked.url.path[1:], int(asked.url.query["page"])
        some = [f"{place}{page}{i}" for i in range(2)] if page < 3 else []
        return jobs(some, total=4)

    text = (
        "urls = ['BASE/x', 'BASE/y']\nrecords = 'jobs'\nkey = 'id'\ntotal = 'total'\n"
    )
    text += "paging = {kind = 'page', parameter = 'page'}"
    found = read(source_of(text), api)
    assert (len(found.keys), found.complete, len(found.sent)) == (8, True, 4)


def test_pages_that_are_known_from_another_address_do_not_end_a_list():
    def api(asked, now):
        page = int(asked.url.query["page"])
        return jobs(
            [["ab", "cd", ""], ["ab", "ef", ""]][asked.url.path == "/y"][page - 1]
        )

    text = "urls = ['BASE/x', 'BASE/y']\nrecords = 'jobs'\nkey = 'id'\n"
    text += "paging = {kind = 'page', parameter = 'page'}"
    found = read(source_of(text), api)
    assert (sorted(found.keys), found.complete) == (list("abcdef"), True)


def test_a_page_that_moved_back_while_the_list_was_read_does_not_end_it():
    """Four records come in front after two pages: the third page has none new."""

    def api(asked, now):
        page = int(asked.url.query["page"])
        rows = "abcdefgh" if page < 3 else "wxyzabcdefgh"
        return jobs(rows[(page - 1) * 3 : page * 3])

    text = JOBS + "paging = {kind = 'page', parameter = 'page'}"
    found = read(source_of(text), api)
    assert found.keys == list("abcdefgh")
    assert len(found.sent) == 5  # the third has "cde" only, the fifth has nothing


@pytest.mark.parametrize("beyond", ["last", "first"])
def test_servers_that_answer_beyond_the_end_with_a_page_again_end(beyond):
    def api(asked, now):
        page = int(asked.url.query["page"])
        pages = ["ab", "cd", "e"]
        return jobs(
            pages[page - 1] if page < 4 else pages[{"last": 2, "first": 0}[beyond]]
        )

    text = JOBS + "paging = {kind = 'page', parameter = 'page'}"
    found = read(source_of(text), api)
    assert (found.keys, found.complete, len(found.sent)) == (list("abcde"), True, 4)


def test_plain_parameters_are_in_the_first_address_and_links_are_left_alone():
    def api(asked, now):
        return jobs("b") if "p" in asked.url.query else jobs("a", next="/jobs?p=2")

    text = JOBS + "next = 'next'\nparameters = {per_page = '50', q = 'a b'}"
    found = read(source_of(text), api)
    assert found.urls == ["/jobs?per_page=50&q=a%20b", "/jobs?p=2"]
    assert found.complete


def test_a_form_body_holds_the_number_of_the_page():
    bodies = []

    def api(asked, now):
        bodies.append((asked.method, asked.headers["Content-Type"], asked.body))
        return jobs("ab" if len(bodies) == 1 else "")

    text = JOBS + "body = {q = 'x y'}\nbody_format = 'form'\n"
    text += "paging = {kind = 'page', body = 'page'}"
    found = read(source_of(text), api)
    form = "application/x-www-form-urlencoded"
    assert found.complete
    assert bodies == [("POST", form, b"q=x+y&page=1"), ("POST", form, b"q=x+y&page=2")]


GRAPHQL = """
url = 'BASE/graphql'
records = 'data.jobs.nodes'
key = 'id'
[source.graphql]
query = 'query ($after: String, $first: Int) { jobs { nodes { id } } }'
variables = {first = 2, filter = {open = true, tags = ['a', 'b']}}
cursor = 'data.jobs.pageInfo.endCursor'
"""


def test_graphql_sends_its_question_and_the_cursor_among_the_variables():
    bodies = []

    def api(asked, now):
        bodies.append(json.loads(asked.body))
        more = len(bodies) < 3
        info = {"endCursor": f"c{len(bodies)}", "hasNextPage": more}
        nodes = [{"id": len(bodies)}]
        return as_json({"data": {"jobs": {"nodes": nodes, "pageInfo": info}}})

    found = read(source_of(GRAPHQL), api)
    assert (found.keys, found.complete) == (["1", "2", "3"], True)
    given = {"first": 2, "filter": {"open": True, "tags": ["a", "b"]}}
    asked = [given, {**given, "after": "c1"}, {**given, "after": "c2"}]
    assert [body["variables"] for body in bodies] == asked
    assert len({body["query"] for body in bodies}) == 1


@pytest.mark.parametrize("data", [None, {"jobs": {"nodes": [{"id": 1}]}}])
def test_an_error_of_graphql_is_a_failed_fetch_with_its_reason(data):
    errors = [{"message": "too\nmany   requests"}, {"message": "x"}]
    found = read(
        source_of(GRAPHQL), lambda a, n: as_json({"data": data, "errors": errors})
    )
    assert found.listing is None
    assert "answered with an error: too many requests (and 1 more)" in found.trouble


def test_a_refused_question_is_reported_with_its_reason():
    refusal = as_json({"errors": [{"message": "no field jobz"}]}, 400)
    found = read(source_of(GRAPHQL), lambda a, n: refusal)
    assert found.trouble.endswith("it answered 400: no field jobz")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("next = 'n'\npaging = {kind = 'header'}", "only one of them"),
        ("paging = {kind = 'cursor', at = 'c'}", "parameter or with body"),
        ("paging = {kind = 'cursor', parameter = 'c'}", "paging.at: field required"),
        ("paging = {kind = 'page', body = 'page'}", 'give method = "POST"'),
        (
            "paging = {kind = 'sideways'}",
            "'link', 'header', 'cursor', 'page', 'offset'",
        ),
        ("paging = {kind = 'offset', parameter = 'o', limit = 5}", "go together"),
        ("method = 'GET'\nbody = {a = 1}", 'a body needs method = "POST"'),
        ("body = {a = [1]}\nbody_format = 'form'", "plain values only"),
        ("graphql = {query = '{a}'}\nbody = {a = 1}", "leave out method, body"),
        ("total = 'a'\ntotal_header = 'b'", "not both"),
        ("paging = {kind = 'link', at = 'n', more = 'm'}", "known keys are kind, at"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused_in_a_line(text, said):
    with pytest.raises(ConfigError) as caught:
        source_of(JOBS + text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


# The pure functions: what the next request is, from a request and its answer.

DOCUMENT = {"next": "/jobs?p=2", "meta": {"cursor": "tok", "more": True}}


def answered(
    document=DOCUMENT, *, url="http://a.example/jobs?p=1", records=2, **headers
):
    def find(path):
        return compiled(path).search(document)

    return PageAnswer(url, headers, records, find)


@pytest.mark.parametrize(
    ("way", "url"),
    [
        (NextLink("next"), "http://a.example/jobs?p=2"),
        (LinkHeader(), "http://a.example/jobs?p=9"),
        (
            Cursor("meta.cursor", TokenPlace("after")),
            "http://a.example/jobs?p=1&after=tok",
        ),
        (PageNumber(TokenPlace("p")), "http://a.example/jobs?p=2"),
        (Offset(TokenPlace("p")), "http://a.example/jobs?p=3"),
        (
            PageNumber(AddressPlace("http://a.example/jobs?p={n}")),
            "http://a.example/jobs?p=2",
        ),
    ],
)
def test_any_way_of_paging_can_be_tried_on_an_answer(way, url):
    asked = ListingRequest("http://a.example/jobs?p=1")
    answer = answered(Link='<?p=9>; rel="next"')
    assert way.following(asked, answer).url == url
    assert way.following(asked, answered({}, records=0)) is None
    assert set(way.wanted) <= {"next", "meta.cursor"}


def test_a_cursor_is_put_deep_into_a_body_and_the_rest_stays():
    asked = ListingRequest("http://a.example/", "POST", {"a": {"b": 1}, "c": [2]})
    after = Cursor("meta.cursor", TokenPlace(body="a.page.after")).following(
        asked, answered()
    )
    assert after.body == {"a": {"b": 1, "page": {"after": "tok"}}, "c": [2]}
    assert asked.body == {"a": {"b": 1}, "c": [2]}


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ('<http://b/?a=1,2&c="x>; rel="next"', 'http://b/?a=1,2&c="x'),
        ("</1>; rel=prev, </2>; title=\"a, b\"; rel='x' , </3>;REL=Next", "/3"),
        ('</4>; rel="last next"', "/4"),
        ("</5>", ""),
        ("garbage, <;>;;rel=next", ""),
        ("", ""),
    ],
)
def test_the_header_link_is_read_as_the_standard_has_it(header, found):
    assert link_of({"Link": header}, "next") == found


@given(text=st.text(max_size=60))
def test_no_header_upsets_the_reader(text):
    assert isinstance(link_of({"Link": text}, "next"), str)
    found = total_of({"X": text}, "X")
    assert found is None or found >= 0


def test_the_examples_of_the_documentation_are_settings():
    """Each block of the chapter on pages is one source or two of a listing."""
    text = (Path(__file__).parents[1] / "docs" / "listings.md").read_text()
    chapters = text.partition("## Pages\n")[2].partition("## A function")[0]
    blocks = re.findall(r"```toml\n(.*?)```", chapters, re.DOTALL)
    found = [one for block in blocks for one in Config.parse(block).source]
    ways = [type(requests.settings(one, Access()).way).__name__ for one in found]
    assert ways == [
        "NextLink",
        "LinkHeader",
        "Cursor",
        "Cursor",
        "PageNumber",
        "PageNumber",
        "Offset",
        "Cursor",
        "NextLink",
        "NextLink",
    ]
    assert found[-2].since
    assert found[-1].group_request


@pytest.mark.parametrize(
    ("more", "headers", "said"),
    [
        ({"has_more": True}, {}, "it says at 'has_more' that it has a next page"),
        ({"next_cursor": "x"}, {},
         'paging = {kind = "cursor", at = "next_cursor", parameter = "cursor"}'),
        ({}, {"Link": "</jobs?page=2>; rel=next"}, 'paging = {kind = "header"}'),
    ],
)  # fmt: skip
def test_one_page_of_several_is_not_taken_for_all(more, headers, said):
    answer = jobs(["a", "b"], **more)
    answer = answer._replace(headers={"Content-Type": "application/json", **headers})
    found = read(source_of(JOBS), lambda *_: answer)
    assert found.keys == ["a", "b"]
    assert not found.complete
    assert said in found.trouble
