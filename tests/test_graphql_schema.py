"""Questions in GraphQL, made from what a server says of itself."""

import pytest
from hypothesis import given, strategies as st

from halflife.recognition.graphql_schema import find_questions

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
    (found,) = find_questions(schema(asked))
    assert (found.query, found.records) == (query, records)


def test_lists_with_pages_come_first_and_what_needs_an_argument_is_left_out():
    plain = field("all", a("LIST", TEA))
    paged = field("teas", a("OBJECT", name="TeaConnection"), argument("after"))
    needs = field("mine", a("LIST", TEA), argument("user", a("NON_NULL")))
    single = field("tea", TEA)
    found = find_questions(schema(plain, needs, single, paged))
    assert [one.name for one in found] == ["teas", "all"]


def test_a_name_that_is_none_gets_into_no_question():
    assert find_questions(schema(field("x } evil {", a("LIST", TEA)))) == []


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
    assert isinstance(find_questions(document), list)
    assert isinstance(find_questions({"data": {"__schema": document}}), list)
