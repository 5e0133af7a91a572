"""What speaks for a list, a key and a way of paging, worked out by hand."""

import jmespath
import pytest
from hypothesis import given, strategies as st

from halflife.recognition.guess import TrialAnswer, header_hints
from halflife.recognition.pagination import (
    CURSOR,
    LINK_HEADER,
    LONGEST,
    NEXT_LINK,
    OFFSET,
    PAGE_NUMBER,
    ListAnswer,
    find_paging,
    find_total,
    pages_of,
)
from halflife.recognition.record_keys import check_key, find_keys
from halflife.recognition.record_lists import DEPTH, SAMPLED, at_path, find_lists

URL = "http://a.example/x"
ONE = {"id": 1}


def score(document, path=""):
    return next(one.score for one in find_lists(document) if one.path == path)


@pytest.mark.parametrize(
    ("document", "path", "expected"),
    [
        # records / 20, plain fields / 8, a usual name, 0.1 for each name before it
        ([{"a": 1}], "", 1 / 20 + 1 / 8),
        ([{"a": 1, "b": 2, "c": []}] * 10, "", 0.5 + 2 / 8),
        ([dict.fromkeys("abcdef", 1)] * 40, "", 1.0 + 4 / 8),
        ({"teas": [{"a": 1}]}, "teas", 1 / 20 + 1 / 8 - 0.1),
        ({"Items": [{"a": 1}]}, "Items", 1 / 20 + 1 / 8 + 0.5 - 0.1),
        ({"x": {"links": [{"a": 1}]}}, "x.links", 1 / 20 + 1 / 8 - 1.0 - 0.2),
        ({"a": ONE, "b": ONE, "c": ONE}, "", 3 / 20 + 1 / 8 - 0.3),
    ],
)
def test_how_likely_a_list_is_meant(document, path, expected):
    assert score(document, path) == pytest.approx(expected)


@given(st.integers(1, 30), st.integers(0, 5))
def test_a_list_needs_nine_objects_in_ten(objects, others):
    found = find_lists([*[ONE] * objects, *["x"] * others])
    assert bool(found) == (objects >= 0.9 * (objects + others))
    if found:
        assert found[0].size == objects + others
        assert len(found[0].records) == objects


@pytest.mark.parametrize(
    ("members", "is_found"),
    [
        ([{"x": 1}] * 3, True),
        ([{"x": 1}] * 2, False),  # too few to be alike by anything but chance
        ([{"x": 1}, {"x": 1}, {"y": 1}], False),  # nothing is common to all
        ([{"x": 1}, {"x": 1}, dict.fromkeys("xyz", 1)], True),
        ([{"x": 1}, {"x": 1}, dict.fromkeys("xyzw", 1)], False),  # half of the most
        ([{"x": 1}, {"x": 1}, 5], False),
    ],
)
def test_members_of_an_object_are_records_if_they_are_alike(members, is_found):
    document = {f"k{n}": one for n, one in enumerate(members)}
    found = [one for one in find_lists(document) if one.path == ""]
    assert [one.named for one in found] == [True] * is_found


@pytest.mark.parametrize("depth", [1, DEPTH, DEPTH + 1])
def test_lists_are_found_down_to_a_depth(depth):
    document = [ONE] * 2
    for _ in range(depth):
        document = {"x": document}
    assert bool(find_lists(document)) == (depth <= DEPTH)


def test_of_a_connection_the_nodes_are_the_records():
    document = {"jobs": {"edges": [{"node": {"id": n}} for n in range(4)]}}
    (found,) = find_lists(document)
    assert jmespath.search(found.path, document) == list(found.records)
    mixed = {"edges": [{"node": ONE}, {"node": 5}]}
    assert [one.path for one in find_lists(mixed)] == ["edges"]


@given(st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_what_an_expression_found_is_a_list_if_it_has_objects(objects, others, named):
    values = [ONE] * objects + [5] * others
    given_ = {str(n): one for n, one in enumerate(values)} if named else values
    found = at_path(given_, "p")
    if not objects:
        assert found is None
    else:
        assert (found.path, found.size, found.named) == ("p", len(values), named)
        assert len(found.records) == objects


def test_a_long_list_is_judged_by_its_first_records():
    many = [ONE] * (SAMPLED + 1)
    assert at_path("no list", "") is None
    for found in (at_path(many, ""), find_lists(many)[0]):
        assert (found.size, len(found.records)) == (SAMPLED + 1, SAMPLED)


@pytest.mark.parametrize(
    ("name", "noun", "expected"),
    [
        ("id", "", 1.0), ("ID", "", 1.0), ("slug", "", 0.85), ("title", "", 0.4),
        ("tea_id", "teas", 0.93), ("teaid", "Teas", 0.93), ("tea", "teas", 0.93),
        ("tea_id", "", 0.45), ("teaId", "", 0.45), ("colour", "", 0.2),
        ("created_at", "", None), ("price", "", None), ("Views", "", None),
    ],
)  # fmt: skip
def test_what_the_name_of_a_field_says_for_it(name, noun, expected):
    found = find_keys([{name: 1}, {name: 2}], noun)
    assert [one.score for one in found] == ([] if expected is None else [expected])


def test_a_field_inside_counts_a_little_less():
    records = [{"node": {"id": n}, "name": f"n{n}"} for n in range(3)]
    keys = [(one.key, one.score) for one in find_keys(records)]
    assert keys == [("node.id", pytest.approx(0.95)), ("name", 0.5)]
    assert find_keys([{"other": {"id": n}} for n in range(3)]) == []
    assert find_keys([{"node": {"id": 1}}, {"node": None}]) == []


@pytest.mark.parametrize(
    ("records", "name", "said"),
    [
        ([{"id": 1}], "id", "'id' is in the one record there is"),
        ([{"id": 1}, {"id": 2}], "id",
         "'id' is in all 2 records, each with a different value"),
        ([{"wing": 1}, {"wing": 2}], "wing",
         ("'wing' is in all 2 records, each with a different value; "
          "its name does not say that it is a key")),
    ],
)  # fmt: skip
def test_why_a_field_is_the_key(records, name, said):
    (found,) = find_keys(records)
    assert (found.key, found.why) == (name, said)


@pytest.mark.parametrize(
    ("value", "may_be_key"),
    [
        (1, True), ("a", True), ("x" * 200, True), ("x" * 201, False), ("", False),
        (" ", False), ("a\nb", False), (True, False), (1.5, False), (None, False),
        ([], False),
    ],
)  # fmt: skip
def test_what_a_key_may_be(value, may_be_key):
    assert bool(find_keys([{"id": value}])) == may_be_key
    assert (check_key([{"id": value}], "id") == "") == may_be_key


def test_a_key_that_a_person_names_is_checked():
    assert check_key([{"a": 1}, {"a": 2}], "a") == ""
    assert check_key([{"a": 1}, {}], "a") == "not every record has 'a'"
    assert check_key([{"a": 1}, {"a": "1"}], "a") == "2 records have 1 different 'a'"


def listed(document=None, url=URL, headers=None, path="", size=20):
    return ListAnswer(url, document, headers or {}, path, size)


@pytest.mark.parametrize(
    ("document", "headers", "many"),
    [
        ({"total": 20}, {}, 20), ({"total": 19}, {}, None), ({"total": True}, {}, None),
        ({"total": 10**12 - 1}, {}, 10**12 - 1), ({"total": 10**12}, {}, None),
        ({}, {"x-total-count": "20"}, 20), ({}, {"x-total-count": "19"}, None),
        ({}, {"x-total-count": "9" * 12}, 10**12 - 1),
        ({}, {"x-total-count": "9" * 13}, None), ({}, {"x-total-count": "-9"}, None),
        ({}, {"content-range": "items 0-19/20"}, 20),
        ({}, {"content-range": "items 0-19/19"}, None),
        ({}, {"content-range": "items 0-19/*"}, None),
    ],
)  # fmt: skip
def test_a_total_is_no_less_than_what_is_shown(document, headers, many):
    assert find_total(listed(document, headers=headers)).many == many


@given(st.none() | st.integers(0, 500), st.integers(0, 50))
def test_a_full_read_takes_as_many_requests_as_there_are_pages(total, size):
    expected = None if total is None or not size else max(-(-total // size), 1)
    assert pages_of(total, size) == expected


def second(document=None, total=None, **how):
    found = find_paging(listed(document, **how), total)
    return found.style, found.second.removeprefix(URL), found.first


@pytest.mark.parametrize(
    ("url", "document", "total", "expected"),
    [
        (f"{URL}?offset=40", {}, None, (OFFSET, "?offset=60", 40)),
        (f"{URL}?offset=", {}, 41, (PAGE_NUMBER, "?offset=&page=2", 1)),
        (URL, {"offset": 0, "limit": 20}, 41, (OFFSET, "?offset=20", 0)),
        (URL, {"offset": 0, "limit": 20}, 20, (OFFSET, "", 0)),
        (URL, {"offset": 0}, 20, ("", "", 0)),
        (URL, {"offset": -1, "limit": 20}, 20, ("", "", 0)),
        (f"{URL}?page=1", {}, None, (PAGE_NUMBER, "?page=2", 1)),
        (f"{URL}?page=0", {}, None, (PAGE_NUMBER, "?page=1", 0)),
        (f"{URL}?page=2", {}, None, ("", "", 0)),
        (URL, {"page": 1, "total_pages": 3}, None, (PAGE_NUMBER, "?page=2", 1)),
        (URL, {"page": 0, "total_pages": 3}, None, (PAGE_NUMBER, "?page=1", 0)),
        (URL, {"page": 1, "total_pages": 1}, None, (PAGE_NUMBER, "", 1)),
        (URL, {"pages": 3}, None, ("", "", 0)),
        (URL, {"pages": 3}, 41, (PAGE_NUMBER, "?page=2", 1)),
        (URL, {}, 41, (PAGE_NUMBER, "?page=2", 1)),
        (URL, {}, 20, ("", "", 0)),
    ],
)
def test_counted_pages_go_on_where_this_one_ends(url, document, total, expected):
    assert second(document, total, url=url) == expected


@given(st.integers(1, 1100))
def test_a_list_of_a_usual_length_may_go_on(size):
    usual = {10, 20, 25, 30, 40, 50, 100, 200, 250, 500, 1000}
    why = find_paging(listed([ONE] * 2, size=size)).why
    assert ("one page of several" in why) == (size in usual)


@pytest.mark.parametrize(
    ("size", "total", "said"),
    [
        (20, 20, "all 20 records are on this page"),
        (20, None, "exactly 20 records may be one page of several"),
        (21, None, "no sign of further pages"),
    ],
)
def test_what_is_said_of_a_list_that_does_not_seem_to_go_on(size, total, said):
    found = find_paging(listed({}, size=size), total)
    assert said in found.why
    assert not found.style


@pytest.mark.parametrize(
    ("document", "style", "where"),
    [
        ({"next": "/2"}, NEXT_LINK, "next"),
        ({"links": {"next": {"href": "?p=2"}}}, NEXT_LINK, "links.next.href"),
        ({"next": None}, NEXT_LINK, "next"),
        ({"next": "abc"}, CURSOR, "next"),
        ({"next": "/" + "a" * LONGEST}, "", ""),
        ({"meta": {"next_cursor": "c" * LONGEST}}, CURSOR, "meta.next_cursor"),
        ({"meta": {"next_cursor": "c" * (LONGEST + 1)}}, "", ""),
        ({"meta": {"next_cursor": ""}}, "", ""),
        ({"a": {"b": {"c": {"d": {"next_cursor": "x"}}}}}, CURSOR,
         "a.b.c.d.next_cursor"),
        ({"a": {"b": {"c": {"d": {"e": {"next_cursor": "x"}}}}}}, "", ""),
        ({"rows": [{"next_cursor": "x"}]}, "", ""),
        ({"continue": {"continue": "-||", "apcontinue": "B"}}, CURSOR,
         '"continue".apcontinue'),
        ({"continue": {"continue": "-||", "apcontinue": ""}}, "", ""),
    ],
)  # fmt: skip
def test_where_the_next_page_is_named(document, style, where):
    found = find_paging(listed(document, size=21))
    assert (found.style, found.where) == (style, where)


def test_what_the_records_hold_says_nothing_of_the_list():
    document = {"teas": {"next_cursor": "x", "b": {}}}
    assert find_paging(listed(document, path="teas", size=21)).style == ""
    assert find_paging(listed(document, path="b", size=21)).style == CURSOR


@pytest.mark.parametrize(
    ("header", "target"),
    [
        ("</2>; rel=next", "http://a.example/2"),
        ('</1>; rel=prev, </3>; rel="last Next"', "http://a.example/3"),
        ("</2>; title=next", None),
        ("<http://[]@/>; rel=next", ""),
    ],
)
def test_the_header_names_the_next_page(header, target):
    found = find_paging(listed([], headers={"link": header}, size=21))
    assert found.style == ("" if target is None else LINK_HEADER)
    assert found.second == (target or "")


def test_a_token_goes_back_in_the_parameter_that_the_address_has_already():
    for url, param in [
        (URL, "cursor"),
        (f"{URL}?after=a", "after"),
        (f"{URL}?after=a&next_cursor=b", "next_cursor"),
        (f"{URL}?next_cursor=a&cursor=b", "cursor"),
    ]:
        found = find_paging(listed({"next_cursor": "x"}, url=url))
        assert found.param == param
        assert f"{param}=x" in found.second


def test_validators_are_named_only_where_there_are_any():
    for headers in ({}, {"etag": ""}):
        assert header_hints(TrialAnswer(URL, b"", headers=headers)) == ()
    both = {"etag": "x", "last-modified": "y"}
    told = header_hints(TrialAnswer(URL, b"", headers=both))
    assert [one.partition(":")[0] for one in told] == ["ETag", "Last-Modified"]
