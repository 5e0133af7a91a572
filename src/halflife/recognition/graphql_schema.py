"""GraphQL queries for the lists of a server, built from its introspection schema.

A list that needs no arguments becomes a query: a Relay connection (``edges { node }``
or ``nodes``, with ``pageInfo``), or a plain list of objects. The query selects the
scalar fields of each object.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Types are wrapped by "not null" and "list of", four times at most in "[T!]!".
_TYPE = "kind name ofType { kind name ofType { kind name ofType { kind name } } }"
INTROSPECTION = (
    "query { __schema { queryType { name } types { kind name fields { name "
    "args { name defaultValue type { kind name ofType { name } } } type { "
    + _TYPE
    + " } } } } }"
)
PAGE = 100  # records that a query requests at a time
MOST = 40  # fields of a record
_NAME = re.compile(r"[_A-Za-z][_0-9A-Za-z]{0,200}")
_PLAIN = frozenset({"SCALAR", "ENUM"})


@dataclass(frozen=True, slots=True)
class GraphList:
    """A list that a server can return.

    Attributes:
        name: Its field of the root.
        query: The query for it.
        records: The JMESPath of the records in the answer.
        pages: Whether the query can request the next page.

    """

    name: str
    query: str
    records: str
    pages: bool


def find_queries(document: object) -> list[GraphList]:
    """Return the lists in an introspection answer; those with pages come first.

    >>> find_queries({"data": None})
    []
    """
    data = document.get("data") if isinstance(document, Mapping) else None
    schema = data.get("__schema") if isinstance(data, Mapping) else None
    if not isinstance(schema, Mapping):
        return []
    types = {t["name"]: t for t in _objects(schema.get("types")) if _is_name(t)}
    root = schema.get("queryType")
    name = root.get("name") if isinstance(root, Mapping) else None
    lists = [_graph_list(types, field) for field in _fields(types, name)]
    return sorted(filter(None, lists), key=lambda entry: not entry.pages)


def _graph_list(types: Mapping[str, Any], field: Mapping[str, Any]) -> GraphList | None:
    """Return the query for a field of the root; None if it is no list of objects."""
    name, (kinds, inner) = field["name"], _unwrapped(field.get("type"))
    if "LIST" in kinds:
        values = _values(types, inner)
        query = f"query {{ {name} {{ {values} }} }}"
        return GraphList(name, query, f"data.{name}", pages=False) if values else None
    within = {inside["name"]: inside for inside in _fields(types, inner)}
    shape = _connection(types, within)
    if not shape:
        return None
    arguments = {arg["name"]: arg for arg in _objects(field.get("args"))}
    cursor = _cursor_type(arguments.get("after", {}))
    info = _unwrapped(within.get("pageInfo", {}).get("type"))[1]
    known = {inside["name"] for inside in _fields(types, info)}
    pages = bool(cursor) and {"endCursor", "hasNextPage"} <= known
    given = [f"first: {PAGE}"] if "first" in arguments else []
    given += ["after: $after"] if pages else []
    call = f"({', '.join(given)})" if given else ""
    parts = ["totalCount"] if "totalCount" in within else []
    parts += [shape, *(["pageInfo { endCursor hasNextPage }"] if pages else [])]
    head = f"query ($after: {cursor})" if pages else "query"
    query = f"{head} {{ {name}{call} {{ {' '.join(parts)} }} }}"
    place = "nodes" if shape.startswith("nodes") else "edges[].node"
    return GraphList(name, query, f"data.{name}.{place}", pages=pages)


def _cursor_type(argument: Mapping[str, Any]) -> str:
    """Return the type of an argument; empty if it must not be null."""
    kind = argument.get("type")
    if not isinstance(kind, Mapping) or not _is_name(kind):
        return ""
    return str(kind["name"])


def _connection(types: Mapping[str, Any], within: Mapping[str, Any]) -> str:
    """Return the selection of the records of a connection; empty if it is none."""
    if "nodes" in within:
        values = _values(types, _unwrapped(within["nodes"].get("type"))[1])
        return f"nodes {{ {values} }}" if values else ""
    if "edges" not in within:
        return ""
    edge = _unwrapped(within["edges"].get("type"))[1]
    node = next((f for f in _fields(types, edge) if f["name"] == "node"), {})
    values = _values(types, _unwrapped(node.get("type"))[1])
    return f"edges {{ node {{ {values} }} }}" if values else ""


def _values(types: Mapping[str, Any], name: str) -> str:
    """Return the scalar fields of an object, as a query selects them."""
    plain = (
        field["name"]
        for field in _fields(types, name)
        if (kind := _unwrapped(field.get("type")))[0] and kind[0][-1] in _PLAIN
        and "LIST" not in kind[0]
    )  # fmt: skip
    return " ".join(name for name, _ in zip(plain, range(MOST), strict=False))


def _fields(types: Mapping[str, Any], name: object) -> Iterator[Mapping[str, Any]]:
    """Yield the fields of a type that need no arguments."""
    own = types.get(name) if isinstance(name, str) else None
    for field in _objects(own.get("fields") if isinstance(own, Mapping) else None):
        if _is_name(field) and not any(map(_is_required, _objects(field.get("args")))):
            yield field


def _is_required(argument: Mapping[str, Any]) -> bool:
    kind = argument.get("type")
    needed = isinstance(kind, Mapping) and kind.get("kind") == "NON_NULL"
    return needed and argument.get("defaultValue") is None


def _unwrapped(given: object) -> tuple[Sequence[str], str]:
    """Return the kinds of a type from the outside in, and the name of the innermost."""
    kinds: list[str] = []
    name: object = ""
    while isinstance(given, Mapping) and len(kinds) < 5:
        kinds.append(str(given.get("kind")))
        name, given = given.get("name"), given.get("ofType")
    return kinds, name if isinstance(name, str) else ""


def _objects(given: object) -> list[Mapping[str, Any]]:
    return (
        [value for value in given if isinstance(value, Mapping)]
        if isinstance(given, list)
        else []
    )


def _is_name(given: Mapping[str, Any]) -> bool:
    """Return whether a member has a name that is safe to repeat in a query."""
    name = given.get("name")
    return isinstance(name, str) and _NAME.fullmatch(name) is not None
