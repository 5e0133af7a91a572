"""Where the records of a JSON document are, guessed from its shape."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from json import dumps
from typing import Any

DEPTH = 6  # names from the root to a list; the deepest seen (GraphQL) has 5
PLACES = 2000  # objects that are looked into; documents of many parts repeat themselves
MEMBERS = 200  # names of one object that are looked at
SAMPLED = 1000  # records by which a list is judged
NAMED = 3  # objects side by side that may be records by their names
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
        size: How many it has.
        named: Whether the objects are members of an object, each with a name.
        score: How likely it is what the answer is about.

    """

    path: str
    records: tuple[Mapping[str, Any], ...]
    size: int
    named: bool = False
    score: float = 0.0


def quoted(name: str) -> str:
    """Return a member's name as JMESPath writes it.

    >>> quoted("items"), quoted("hydra:member")
    ('items', '"hydra:member"')
    """
    return name if _BARE.fullmatch(name) else dumps(name, ensure_ascii=False)


def find_lists(document: object) -> list[RecordList]:
    """Return the lists of objects in a document, the likeliest first.

    >>> [found.path for found in find_lists({"meta": {}, "items": [{"id": 1}]})]
    ['items']
    """
    found = [one for one in _walk(document) if one is not None]
    return sorted(found, key=lambda one: -one.score)


def at_path(records: object, path: str) -> RecordList | None:
    """Return what an expression found as a list; None if it is none of objects."""
    named = isinstance(records, Mapping)
    values = list(records.values()) if isinstance(records, Mapping) else records
    if not isinstance(values, list):
        return None
    inner = tuple(one for one in values[:SAMPLED] if isinstance(one, Mapping))
    return RecordList(path, inner, len(values), named=named) if inner else None


def _walk(document: object) -> Iterator[RecordList | None]:
    """Look into objects, level by level, so that a deep branch hides no shallow one."""
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
                    below += [((*names, str(name)), one) for name, one in inner]
        level = [one for one in below if isinstance(one[1], list | Mapping)]


def _list(
    path: str, values: Sequence[Any], names: tuple[str, ...]
) -> RecordList | None:
    objects = [one for one in values[:SAMPLED] if isinstance(one, Mapping)]
    if not objects or len(objects) < 0.9 * len(values[:SAMPLED]):
        return None
    nodes = [one.get("node") for one in objects]
    if all(isinstance(node, Mapping) for node in nodes):  # a connection of GraphQL
        path, objects = f"{path}[].node", [n for n in nodes if isinstance(n, Mapping)]
    found = RecordList(path, tuple(objects), len(values))
    return _scored(found, names)


def _members(
    path: str, value: Mapping[str, Any], names: tuple[str, ...]
) -> RecordList | None:
    """Return an object whose members are records, if they are alike."""
    inner = list(islice(value.values(), SAMPLED))
    if len(inner) < NAMED or not all(isinstance(one, Mapping) for one in inner):
        return None
    common = set.intersection(*(set(one) for one in inner))
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
