import json

import pytest
from hypothesis import given, strategies as st

from halflife.core.errors import ConfigError, SourceError
from halflife.readers.records import LARGEST, RecordReader

JOBS = [{"id": 7, "title": "cook", "pay": 1.5}, {"id": "8", "title": None, "pay": 2}]
READ = {
    "7": {"id": 7, "title": "cook", "pay": 1.5},
    "8": {"id": "8", "title": None, "pay": 2},
}


def read(text, key="id", content_type="", name="", **settings):
    body = text if isinstance(text, bytes) else text.encode()
    return RecordReader(key, **settings).read(body, content_type, name)


@pytest.mark.parametrize(
    ("document", "records"),
    [
        (JOBS, ""),
        ({"count": 2, "jobs": JOBS}, ""),
        ({"a": {"b": JOBS}, "c": []}, "a.b"),
        ({"x": JOBS[0], "y": JOBS[1]}, ""),
        ({"all": [{"job": j} for j in JOBS]}, "all[].job"),
    ],
)
def test_json_records_are_found_where_they_are(document, records):
    assert read(json.dumps(document), records=records).records == READ


def test_members_of_an_object_are_named_by_it():
    page = read('{"gpt": {"price": 1}, "llama": {"price": 2}}', key="")
    assert page.records == {"gpt": {"price": 1}, "llama": {"price": 2}}


def test_fields_are_chosen_and_named():
    text = json.dumps([{"meta": {"id": "x"}, "pay": {"from": 3}, "rest": 1}])
    page = read(text, "meta.id", fields={"least": "pay.from", "none": "no.where"})
    assert page.records == {"x": {"least": 3, "none": None}}


def test_the_key_may_be_one_of_the_fields():
    page = read('[{"meta": {"id": "x"}}]', "key", fields={"key": "meta.id"})
    assert page.records == {"x": {"key": "x"}}


def test_a_name_with_dots_is_a_name():
    assert list(read('[{"a.b": "k"}]', "a.b").records) == ["k"]


def test_values_with_parts_become_text_in_one_order():
    one = read('[{"id": 1, "v": {"b": [1, "é"], "a": null}}]')
    other = read('[{"id": 1, "v": {"a": null, "b": [1, "é"]}}]')
    assert one.records == other.records
    assert one.records["1"]["v"] == '{"a": null, "b": [1, "é"]}'


def test_numbers_that_are_none_are_nothing():
    page = read('[{"id": 1, "a": NaN, "b": Infinity, "c": 1e999}]')
    assert page.records["1"] == {"id": 1, "a": None, "b": None, "c": None}


def test_of_double_names_in_an_object_the_last_counts():
    assert read('[{"id": 1, "a": 1, "a": 2}]').records["1"]["a"] == 2


def test_of_double_keys_the_first_record_is_kept():
    page = read('[{"id": 1, "a": 1}, {"id": "1", "a": 2}]')
    assert (page.records["1"]["a"], page.duplicates) == (1, 1)
    assert page.note() == "1 duplicate keys"


@pytest.mark.parametrize(
    "bad",
    [
        "17",
        "null",
        '{"title": "no key"}',
        '{"id": null}',
        '{"id": true}',
        '{"id": 1.5}',
        '{"id": []}',
        '{"id": "  "}',
        '{"id": "a\\u0000b"}',
        '{"id": "\\ud800"}',
        json.dumps({"id": "x" * 1001}),
        json.dumps({"id": "big", "text": "x" * (LARGEST + 1)}),
    ],
)
def test_a_bad_record_is_put_aside_with_a_reason(bad):
    page = read(f'[{{"id": "good"}}, {bad}]')
    assert list(page.records) == ["good"]
    assert page.refused == 1
    assert page.reasons[0].startswith("record 2: ")
    assert "1 bad records (record 2" in page.note()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not json"),
        ("", "not json"),
        (b"\xff\xfe[", "not"),
        ("[" * 100_000, "nested too deeply"),
        ("[" + "9" * 5000 + "]", "not json"),
        ('"text"', "no list"),
        ('{"a": [], "b": []}', "no list"),
        ('[{"no": 1}]', "none of its records can be used"),
    ],
)
def test_what_cannot_be_read_at_all_is_an_error(text, said):
    with pytest.raises(SourceError, match=said):
        read(text, format="json")


def test_nothing_at_the_given_place_is_an_error():
    with pytest.raises(SourceError, match=r"nothing at 'data\.jobs'"):
        read('{"data": {}}', records="data.jobs")


def test_an_empty_list_lists_nothing():
    assert read("[]").records == {}


def test_a_list_without_a_key_is_refused():
    for kind in ("json", "jsonl"):
        with pytest.raises(SourceError, match="which field is the key"):
            read("[{}]", key="", format=kind)


def test_json_lines_lose_only_the_bad_ones():
    page = read('{"id": 1}\n\nnot json\n[2]\n{"id": 3}\n', format="jsonl")
    assert list(page.records) == ["1", "3"]
    assert page.refused == 2
    assert page.reasons[0].startswith("line 3: not JSON")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_csv_goes_by_its_columns(separator):
    text = '\ufeffid,title\r\n1,"a\nb"\r\n2,c\r\n'.replace(",", separator)
    page = read(text, format="csv")
    assert page.records == {
        "1": {"id": "1", "title": "a\nb"},
        "2": {"id": "2", "title": "c"},
    }


def test_a_csv_field_beyond_the_limit_of_python_costs_its_own_record_alone():
    long = "x" * 200_000  # Python's own limit is 131072
    page = read(f'id,t\n1,"{long}"\n2,b\n', format="csv")
    assert page.records == {"2": {"id": "2", "t": "b"}}
    assert page.reasons == ["line 2: it is too large"]


def test_csv_rows_of_the_wrong_length_are_put_aside():
    page = read("id,t\n1,a\n2\n3,b,c\n4,d\n", format="csv")
    assert list(page.records) == ["1", "4"]
    assert page.refused == 2
    with pytest.raises(SourceError, match="no column 'key'"):
        read("id,t\n1,a\n", "key", format="csv")


PAGE = """
<ul><li data-id=1><a href="/a">First <b>one</b></a><i>10</i>
<li data-id=2><a href="/b">Second</a>
<li>no key</ul><a rel=next href="?page=2">more</a>
"""


def test_html_goes_by_selectors():
    page = read(
        PAGE,
        "@data-id",
        format="html",
        records="li",
        fields={"title": "a", "link": "a@href", "pay": "i"},
        next="a[rel=next]",
    )
    assert page.records == {
        "1": {"title": "First one", "link": "/a", "pay": "10"},
        "2": {"title": "Second", "link": "/b", "pay": None},
    }
    assert (page.refused, page.next) == (1, "?page=2")


@pytest.mark.parametrize(
    ("expressions", "body", "said"),
    [
        ({"next": "next && join('', ['?a=', next])"}, b"<p>back soon</p>", "no CSS"),
        ({"records": "data[?open]"}, b"<p>back soon</p>", "no CSS selector"),
        ({"records": "li.car a"}, b'{"error": "back soon"}', "no JMESPath"),
    ],
)
def test_an_answer_in_another_format_than_the_settings_are_for_is_unreadable(
    expressions, body, said
):
    reader = RecordReader(**{"key": "id", "records": "rows", **expressions})
    with pytest.raises(SourceError, match=said):
        reader.read(body)


def test_html_without_fields_keeps_the_text():
    page = read(PAGE, "a@href", format="html", records="li")
    assert page.records["/b"] == {"text": "Second"}


def test_html_that_would_hold_up_the_parser_is_refused():
    page = "<div>" * 200_000
    with pytest.raises(SourceError, match=r"it takes more than \d"):
        read(page, "a", format="html", records="li")


def test_json_says_where_it_goes_on():
    text = json.dumps({"jobs": JOBS, "links": {"next": "/p/2"}})
    assert read(text, records="jobs", next="links.next").next == "/p/2"
    text = json.dumps({"jobs": JOBS, "links": None})
    assert read(text, records="jobs", next="links.next").next == ""


@pytest.mark.parametrize(
    ("text", "content_type", "name"),
    [
        ("id\n1\n", "text/csv; charset=utf-8", ""),
        ('{"id": 1}\n{"id": 2}', "application/x-ndjson", ""),
        ('[{"id": 1}]', "application/vnd.api+json", "x.csv"),
        ("id\n1\n", "", "jobs.CSV"),
        ('{"id": 1}', "", "jobs.ndjson"),
        ('[{"id": 1}]', "text/plain", ""),
        ("id\n1\n", "text/plain", ""),
    ],
)
def test_the_format_is_told_by_type_name_or_looks(text, content_type, name):
    assert "1" in read(text, content_type=content_type, name=name).records


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"format": "xml"}, "format must be one of"),
        ({"format": "json", "records": "a["}, "no JMESPath"),
        ({"format": "json", "key": "]"}, "no JMESPath"),
        ({"format": "html", "records": "li"}, "needs records and key"),
        ({"format": "html", "records": "li[", "key": "a"}, "no CSS selector"),
    ],
)
def test_settings_that_cannot_work_are_refused_at_once(settings, said):
    with pytest.raises(ConfigError, match=said):
        RecordReader(**settings)


@given(st.binary(max_size=60), st.sampled_from(["json", "jsonl", "csv", "html", ""]))
def test_any_bytes_are_records_or_one_error(body, kind):
    settings = {"records": "li"} if kind == "html" else {}
    try:
        page = RecordReader("id", kind, **settings).read(body)
    except SourceError:
        return
    assert all(isinstance(k, str) and k for k in page.records)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(json_values)
def test_any_json_is_records_or_one_error(value):
    try:
        page = RecordReader("id").read(json.dumps([{"id": "k", "v": value}]).encode())
    except SourceError:
        return
    kept = page.records["k"]["v"]
    assert kept is None or isinstance(kept, str | int | float | bool)
    json.dumps(kept, allow_nan=False).encode()
