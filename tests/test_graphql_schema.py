"""Questions in GraphQL, made from what a server says of itself."""

import pytest
from hypothesis import given, strategies as st

from halflife.recognition.graphql_schema import find_queries

STRING = {"kind": "SCALAR", "name": "String", "ofType": None}


def a(kind, inner=None, name=None):
    return {"kind": kind, "name": name, "ofType": inner}


def field(name, kind, *args):
    return {"name": name, "type": kind, "args": list(args)}


def argument(name, kind=STRING, default=None):
    return {"name": name, "type": kind, "defaultValue": default}


TEA = a("OBJECT", name="Tea")
TYPES = {
    "Tea": [
        field("id", a("NON_NULL", STRING)),
        field("name", STRING),
        field("shop", a("OBJECT", name="Shop")),
        field("tags", a("LIST", STRING)),
        field("price", STRING, argument("currency", a("NON_NULL"))),
    ],
    "Edge": [field("node", TEA), field("cursor", STRING)],
    "PageInfo": [field("endCursor", STRING), field("hasNextPage", STRING)],
    "TeaConnection": [
        field("edges", a("NON_NULL", a("LIST", a("OBJECT", name="Edge")))),
        field("pageInfo", a("NON_NULL", a("OBJECT", name="PageInfo"))),
    ],
    "Nodes": [field("nodes", a("LIST", TEA)), field("totalCount", STRING)],
}


def schema(*fields):
    types = {**TYPES, "Query": list(fields)}
    rows = [{"kind": "OBJECT", "name": n, "fields": f} for n, f in types.items()]
    return {"data": {"__schema": {"queryType": {"name": "Query"}, "types": rows}}}


@pytest.mark.parametrize(
    ("asked", "query", "records"),
    [
        (field("teas", a("OBJECT", name="TeaConnection"),
               argument("first"), argument("after")),
         ("query ($after: String) { teas(first: 100, after: $after) { edges { node "
         "{ id name } } pageInfo { endCursor hasNextPage } } }"),
         "data.teas.edges[].node"),
        (field("teas", a("OBJECT", name="Nodes"), argument("first")),
         "query { teas(first: 100) { totalCount nodes { id name } } }",
         "data.teas.nodes"),
        (field("teas", a("NON_NULL", a("LIST", a("NON_NULL", TEA)))),
         "query { teas { id name } }", "data.teas"),
    ],
)  # fmt: skip
def test_a_list_becomes_a_question_for_its_plain_values(asked, query, records):
    (found,) = find_queries(schema(asked))
    assert (found.query, found.records) == (query, records)


def test_lists_with_pages_come_first_and_what_needs_an_argument_is_left_out():
    plain = field("all", a("LIST", TEA))
    paged = field("teas", a("OBJECT", name="TeaConnection"), argument("after"))
    needs = field("mine", a("LIST", TEA), argument("user", a("NON_NULL")))
    single = field("tea", TEA)
    found = find_queries(schema(plain, needs, single, paged))
    assert [one.name for one in found] == ["teas", "all"]


def test_a_name_that_is_none_gets_into_no_question():
    assert find_queries(schema(field("x } evil {", a("LIST", TEA)))) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["Query", "x", "LIST"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["data", "__schema", "types", "queryType", "name", "kind",
                         "fields", "args", "type", "ofType"]), inner, max_size=4),
    max_leaves=25,
)  # fmt: skip


@given(JSON)
def test_whatever_a_server_says_nothing_breaks(document):
    assert isinstance(find_queries(document), list)
    assert isinstance(find_queries({"data": {"__schema": document}}), list)


def test_no_more_values_of_a_record_are_asked_for_than_forty():
    names = [f"f{i}" for i in range(60)]
    wide = [field(name, STRING) for name in names]
    document = schema(field("all", a("LIST", a("OBJECT", name="Wide"))))
    document["data"]["__schema"]["types"].append(
        {"kind": "OBJECT", "name": "Wide", "fields": wide}
    )
    (found,) = find_queries(document)
    assert found.query == f"query {{ all {{ {' '.join(names[:40])} }} }}"


@pytest.mark.parametrize(
    ("wraps", "is_found"), [(2, True), (3, True), (4, True), (5, False)]
)
def test_types_are_unwrapped_five_deep(wraps, is_found):
    inner = TEA
    for _ in range(wraps - 1):
        inner = a("NON_NULL", inner)
    found = find_queries(schema(field("all", a("LIST", inner))))
    assert bool(found) is is_found


def connection(*missing, cursor=STRING, default=None):
    info = [f for f in TYPES["PageInfo"] if f["name"] not in missing]
    after = argument("after", cursor, default)
    document = schema(field("teas", a("OBJECT", name="TeaConnection"), after))
    for one in document["data"]["__schema"]["types"]:
        if one["name"] == "PageInfo":
            one["fields"] = info
    return find_queries(document)[0]


def test_a_server_has_pages_if_it_tells_where_they_end_and_takes_that_back():
    assert connection().pages
    assert connection().query.startswith("query ($after: String) { teas(after: $after)")
    for missing in ("endCursor", "hasNextPage"):
        one = connection(missing)
        assert not one.pages
        assert one.query == "query { teas { edges { node { id name } } } }"
    # A cursor that must not be null cannot be asked for as a first page is.
    assert not connection(cursor=a("NON_NULL", STRING), default="x").pages


def test_an_argument_with_a_default_is_not_needed():
    kind = a("NON_NULL", STRING)
    for default, is_found in (("10", True), (None, False)):
        asked = field("all", a("LIST", TEA), argument("size", kind, default))
        assert bool(find_queries(schema(asked))) is is_found


@pytest.mark.parametrize(("length", "is_found"), [(201, True), (202, False)])
def test_names_have_an_end(length, is_found):
    asked = field("x" * length, a("LIST", TEA))
    assert bool(find_queries(schema(asked))) is is_found
