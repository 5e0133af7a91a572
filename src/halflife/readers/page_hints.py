"""Hints of a JSON answer about its list: the total and the next page.

Web APIs write both beside the records, under a few usual names; some give a token for
the next page, or only a flag that there is one. Hints reveal pages that the settings do
not configure.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

# Seen in Django REST framework, json-server, JSON:API, HAL, OData, Spring Data, Solr,
# Elasticsearch, Algolia, Meilisearch, Datasette and Google's APIs.
TOTALS = (
    "count", "total", "total_count", "totalCount", "total_results", "totalResults",
    "total_items", "totalItems", "totalElements", "numFound", "nbHits",
    "estimatedTotalHits", "filtered_table_rows_count", "@odata.count", "odata.count",
    "total.value",
)  # fmt: skip
NEXTS = (
    "next", "next.href", "next_url", "nextUrl", "next_page_url", "nextPageUrl",
    "nextLink", "next_link", "@odata.nextLink", "odata.nextLink",
)  # fmt: skip
PARTS = (
    "", "meta", "links", "_links", "pagination", "paging", "page", "response", "hits",
    "metadata", "pageInfo", "page_info", "response_metadata",
)  # fmt: skip
# A token in the answer, and the parameter that takes it in the next request.
TOKENS = {
    "nextPageToken": "pageToken", "next_page_token": "page_token",
    "next_cursor": "cursor", "nextCursor": "cursor", "next_token": "next_token",
    "nextToken": "nextToken", "continuation_token": "continuation_token",
    "continuationToken": "continuationToken", "continuation": "continuation",
    "nextCursorMark": "cursorMark", "offset": "offset",
    "endCursor": "after", "end_cursor": "after", "cursor": "cursor", "after": "after",
    "next": "cursor",
}  # fmt: skip
_LAST_HAS_THEM = {"endCursor", "end_cursor", "cursor", "after"}  # not a sign of more
FLAGS = (
    "has_more", "hasMore", "has_next", "hasNext", "hasNextPage", "has_next_page",
    "is_truncated", "isTruncated", "truncated", "exceededTransferLimit",
)  # fmt: skip
_ENDS = ("last", "isLast", "is_last")  # flags that are false until the last page
_PLAIN = re.compile(r"[\w@.\-\"]*(\[\*?\])?")  # a path that selects all records
_BARE = re.compile(r"[A-Za-z_]\w*")


class PageHints(NamedTuple):
    """The hints of an answer about its list.

    Attributes:
        total: The number of records in the list; None if it is not stated.
        next_at: The JMESPath of the address of the next page; empty if there is none.
        next: That address, as written.
        more_at: The JMESPath of a token for the next page, or of a flag that there is
            one; empty if there is neither.
        parameter: The parameter that usually takes the token; empty for a flag.

    """

    total: int | None = None
    next_at: str = ""
    next: str = ""
    more_at: str = ""
    parameter: str = ""


NO_HINTS = PageHints()


def find_hints(document: object, records: str = "") -> PageHints:
    """Return the hints of a JSON answer about its list.

    ``records`` is the JMESPath of its records. If it selects only some records, a total
    is ignored, because it counts all of them.

    >>> hints = find_hints({"count": 400, "next": "/jobs?page=2", "results": [{}]})
    >>> hints.total, hints.next_at, hints.next
    (400, 'next', '/jobs?page=2')
    """
    inside = _parts(document, records)
    total = None
    if _PLAIN.fullmatch(records):
        found = (member(part, name) for _, part in inside for name in TOTALS)
        total = max((n for n in map(_count, found) if n is not None), default=None)
    for place, part in inside:
        for name in NEXTS:
            link = member(part, name)
            if isinstance(link, str) and _is_address(link):
                return PageHints(total, _path(place, name), link)
    more = next(filter(None, (_more(*part) for part in inside)), ("", ""))
    return PageHints(total, more_at=more[0], parameter=more[1])


Part: TypeAlias = tuple[tuple[str, ...], Mapping[str, object]]  # where, and what


def _parts(document: object, records: str) -> list[Part]:
    """Return the objects that may have hints: the root, and those around the list."""
    found: list[Part] = []
    names: list[str] = []
    inner = records.partition("[")[0].split(".")
    for step in ("", *inner[:-1]):
        if step:
            names.append(step.strip('"'))
            document = document.get(names[-1]) if isinstance(document, Mapping) else 0
        if not isinstance(document, Mapping):
            break
        parts = [(p, document if not p else document.get(p)) for p in PARTS]
        found += [
            ((*names, p) if p else tuple(names), part)
            for p, part in parts
            if isinstance(part, Mapping)
        ]
    return found


def _more(place: tuple[str, ...], part: Mapping[str, object]) -> tuple[str, str] | None:
    """Return where an object shows a next page, and the parameter for the token."""
    wiki = part.get("continue")  # in MediaWiki a token has its parameter's name
    inner = wiki if isinstance(wiki, Mapping) else {}
    if given := next((str(name) for name in inner if name != "continue"), ""):
        return _path((*place, "continue"), given), given
    for name, parameter in TOKENS.items():
        token = part.get(name)
        if isinstance(token, str) and token and name not in _LAST_HAS_THEM:
            return _path(place, name), parameter
    for names, value in ((FLAGS, True), (_ENDS, False)):
        for name in names:
            if part.get(name) is value:
                return _path(place, name), ""
    return None


def member(part: Mapping[str, object], name: str) -> object:
    """Return a member by its name, or by a path of two names."""
    if name in part:
        return part[name]
    outer, _, inner = name.partition(".")
    found = part.get(outer) if inner else None
    return found.get(inner) if isinstance(found, Mapping) else None


def _count(value: object) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and isinstance(value, int) else None


def _is_address(link: str) -> bool:
    """Say whether this can be an address, rather than a cursor or a page number."""
    return link.startswith(("http://", "https://", "/", "?", "./"))


def _path(place: tuple[str, ...], name: str) -> str:
    """Return the JMESPath of a member."""
    whole = name.startswith("@") or name == "odata.nextLink"
    names = [*place, *([name] if whole else name.split("."))]
    return ".".join(n if _BARE.fullmatch(n) else f'"{n}"' for n in names)
