"""Guess where the records of a JSON document are, from its shape."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from json import dumps
from typing import Any

DEPTH = 6  # names from the root to a list; the deepest seen (GraphQL) has 5
PLACES = 2000  # objects that are searched; longer documents repeat themselves
MEMBERS = 200  # names of one object that are searched
SAMPLED = 1000  # records by which a list is judged
NAMED = 3  # members of an object, at least, that may be named records
_BARE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# Names under which web APIs put their records.
_USUAL = frozenset({
    "results", "result", "items", "data", "rows", "records", "entries", "hits", "docs",
    "documents", "objects", "list", "values", "value", "features", "nodes", "edges",
    "content", "contents", "elements", "pages", "member", "hydra:member", "@graph",
    "posts", "articles", "products", "events", "jobs", "users",
})  # fmt: skip
# Names of lists that describe the answer rather than being it.
_BESIDE = frozenset({
    "links", "_links", "errors", "warnings", "columns", "facets", "filters", "fields",
    "headers", "included", "aggregations", "authors", "tags", "sorts", "parameters",
    "suggested_facets", "facet_results", "meta", "extensions",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class RecordList:
    """A list of objects in a document.

    Attributes:
        path: Its JMESPath; empty if it is the document itself.
        records: The first of its objects.
        size: The number of objects.
        named: Whether the objects are members of an object, each with a name.
        score: How likely it holds the records of the answer.

    """

    path: str
    records: tuple[Mapping[str, Any], ...]
    size: int
    named: bool = False
    score: float = 0.0


def quoted(name: str) -> str:
    """Return a member's name quoted for JMESPath if needed.

    >>> quoted("items"), quoted("hydra:member")
    ('items', '"hydra:member"')
    """
    return name if _BARE.fullmatch(name) else dumps(name, ensure_ascii=False)


def find_lists(document: object) -> list[RecordList]:
    """Return the lists of objects in a document, the likeliest first.

    >>> [lst.path for lst in find_lists({"meta": {}, "items": [{"id": 1}]})]
    ['items']
    """
    lists = [candidate for candidate in _walk(document) if candidate is not None]
    return sorted(lists, key=lambda candidate: -candidate.score)


def at_path(records: object, path: str) -> RecordList | None:
    """Return the result of an expression as a list; None if it holds no objects."""
    named = isinstance(records, Mapping)
    values = list(records.values()) if isinstance(records, Mapping) else records
    if not isinstance(values, list):
        return None
    inner = tuple(value for value in values[:SAMPLED] if isinstance(value, Mapping))
    return RecordList(path, inner, len(values), named=named) if inner else None


def _walk(document: object) -> Iterator[RecordList | None]:
    """Yield candidate lists by level, so that a deep branch hides no shallow one."""
    level: list[tuple[tuple[str, ...], object]] = [((), document)]
    visited = 0
    while level and visited < PLACES:
        below: list[tuple[tuple[str, ...], object]] = []
        for names, value in level[: PLACES - visited]:
            visited += 1
            path = ".".join(map(quoted, names))
            if isinstance(value, list):
                yield _list(path, value, names)
            elif isinstance(value, Mapping):
                yield _members(path, value, names)
                if len(names) < DEPTH:
                    inner = islice(value.items(), MEMBERS)
                    below += [((*names, str(name)), item) for name, item in inner]
        level = [pair for pair in below if isinstance(pair[1], list | Mapping)]


def _list(
    path: str, values: Sequence[Any], names: tuple[str, ...]
) -> RecordList | None:
    objects = [value for value in values[:SAMPLED] if isinstance(value, Mapping)]
    if not objects or len(objects) < 0.9 * len(values[:SAMPLED]):
        return None
    nodes = [record.get("node") for record in objects]
    if all(isinstance(node, Mapping) for node in nodes):  # a connection of GraphQL
        path, objects = f"{path}[].node", [n for n in nodes if isinstance(n, Mapping)]
    found = RecordList(path, tuple(objects), len(values))
    return _scored(found, names)


def _members(
    path: str, value: Mapping[str, Any], names: tuple[str, ...]
) -> RecordList | None:
    """Return an object as a list if its members are records by their shape."""
    inner = list(islice(value.values(), SAMPLED))
    if len(inner) < NAMED or not all(isinstance(value, Mapping) for value in inner):
        return None
    common = set.intersection(*(set(record) for record in inner))
    if len(common) < max(1, max(map(len, inner)) // 2):
        return None
    found = RecordList(path, tuple(inner), len(value), named=True)
    return _scored(found, names)


def _scored(found: RecordList, names: tuple[str, ...]) -> RecordList:
    last = names[-1].lower() if names else ""
    scalars = sum(not isinstance(v, list | Mapping) for v in found.records[0].values())
    score = min(found.size, 20) / 20.0 + min(scalars, 4) / 8.0
    score += 0.5 if last in _USUAL else 0.0
    score -= 1.0 if last in _BESIDE else 0.0
    score -= 0.1 * len(names) + (0.3 if found.named else 0.0)
    return RecordList(found.path, found.records, found.size, found.named, score)
