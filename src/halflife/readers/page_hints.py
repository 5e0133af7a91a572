"""What a JSON answer says about the list it is a part of: its size and its next page.

Web APIs write both beside the records, under a few usual names. They show when
somebody forgot to say in the settings that there are more pages.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

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
    "metadata",
)  # fmt: skip
_PLAIN = re.compile(r"[\w@.\-\"]*(\[\*?\])?")  # a path that leaves no record out
_BARE = re.compile(r"[A-Za-z_]\w*")


class PageHints(NamedTuple):
    """What an answer says of the list that it is a part of.

    Attributes:
        total: How many records the list has; None if it does not say.
        next_at: The JMESPath at which the address of the next page stands; empty if
            there is none.
        next: That address, as written.

    """

    total: int | None = None
    next_at: str = ""
    next: str = ""


NO_HINTS = PageHints()


def find_hints(document: object, records: str = "") -> PageHints:
    """Return what a JSON answer says of its list.

    ``records`` is the JMESPath of its records. If it picks some records only, the
    number of all of them says nothing about those.

    >>> find_hints({"count": 400, "next": "/jobs?page=2", "results": [{}]})
    PageHints(total=400, next_at='next', next='/jobs?page=2')
    """
    if not isinstance(document, Mapping):
        return NO_HINTS
    parts = [(p, document if not p else document.get(p)) for p in PARTS]
    inside = [(p, part) for p, part in parts if isinstance(part, Mapping)]
    total = None
    if _PLAIN.fullmatch(records):
        found = (_at(part, name) for _, part in inside for name in TOTALS)
        total = max((n for n in map(_count, found) if n is not None), default=None)
    for place, part in inside:
        for name in NEXTS:
            link = _at(part, name)
            if isinstance(link, str) and _is_address(link):
                return PageHints(total, _path(place, name), link)
    return PageHints(total)


def _at(part: Mapping[str, object], name: str) -> object:
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
    """Say whether this can be an address; a cursor, or the number of a page, cannot."""
    return link.startswith(("http://", "https://", "/", "?", "./"))


def _path(place: str, name: str) -> str:
    """Return the JMESPath of a member."""
    names = [place] if place else []
    names += (
        [name] if name.startswith("@") or name == "odata.nextLink" else name.split(".")
    )
    return ".".join(n if _BARE.fullmatch(n) else f'"{n}"' for n in names)
