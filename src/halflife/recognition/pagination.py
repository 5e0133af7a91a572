"""Guess from an answer how a list is paged, and how many records it has.

An answer may show it in its body (the address of the next page, a token for it, the
number of the page or an offset) or in its headers (``Link``, totals). The styles are
tried in this order, the surest first.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from math import ceil
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from halflife.core.errors import UsageError
from halflife.net.addresses import resolve
from halflife.readers.page_hints import NEXTS, TOKENS, TOTALS, find_hints, member
from halflife.recognition.record_lists import quoted

DEPTH = 4  # names from the root to the paging information of a list
PARTS = 300  # objects that are searched
LONGEST = 4096  # characters of a token or an address
NEXT_LINK, LINK_HEADER, CURSOR = "next link", "Link header", "cursor"
PAGE_NUMBER, OFFSET = "page number", "offset"
_HEADER_TOTALS = (
    "x-total-count", "x-total", "x-wp-total", "total-count", "x-count",
    "x-pagination-total-count", "x-total-results",
)  # fmt: skip
_PAGES = (
    "total_pages", "totalPages", "last_page", "lastPage", "page_count", "pageCount",
    "num_pages", "nbPages", "pages",
)  # fmt: skip
_NOW = ("page", "current_page", "currentPage", "page_number", "pageNumber", "number")
_PAGE_PARAMS = ("page", "_page", "paged", "pg", "p", "page_number", "pageNumber")
_OFFSETS = ("offset", "_start", "start", "skip", "$skip", "from", "startAt")
_LIMITS = {"offset": "limit", "_start": "_limit", "start": "rows", "skip": "limit",
           "$skip": "$top", "from": "size", "startAt": "maxResults"}  # fmt: skip
# The parameter of the offset or page number, by the one that limits the page size.
_BESIDE = {
    "limit": "offset", "rows": "start", "$limit": "$offset", "$top": "$skip",
    "take": "skip", "_limit": "_start", "maxResults": "startAt", "size": "from",
    "per_page": "page", "perPage": "page", "page_size": "page", "pageSize": "page",
}  # fmt: skip
_USUAL = ("page", "offset", "start", "skip", "from")
_KEYSETS = ("starting_after", "after")  # parameters for the last record's key
_TRIES = 4  # requests to try other styles
_ROUND = frozenset({10, 20, 25, 30, 40, 50, 100, 200, 250, 500, 1000})
_LINK = re.compile(r"<([^<>]{1,4096})>((?:\s*;\s*[^,;]{1,500}){1,20})")
_REL = re.compile(r"""rel\s*=\s*"?([^";]+)""", re.IGNORECASE)
_RANGE = re.compile(r"[^/]{1,100}/\s*(\d{1,12})\s*")


@dataclass(frozen=True, slots=True)
class PagingGuess:
    """A guess of how a list is paged.

    Attributes:
        style: The style of paging; empty if nothing indicates a next page.
        where: The JMESPath of the next page's address or token.
        param: The parameter for the token, the page number or the offset.
        limit: The parameter for the number of records.
        first: The number of this page, or its offset.
        more: The JMESPath of the flag for another page.
        second: The address of the second page; empty if this is the only one, or if
            the second page has no address of its own.
        why: The reason for the guess.

    """

    style: str = ""
    where: str = ""
    param: str = ""
    limit: str = ""
    first: int = 0
    second: str = ""
    why: str = ""
    more: str = ""


@dataclass(frozen=True, slots=True)
class TotalGuess:
    """The number of records of a list.

    Attributes:
        many: The number; None if it is unknown.
        where: Its JMESPath, or the name of its header.
        header: Whether it is in a header.

    """

    many: int | None = None
    where: str = ""
    header: bool = False


@dataclass(frozen=True, slots=True)
class ListAnswer:
    """An answer with a list in it.

    Attributes:
        url: Its address.
        document: Its JSON; None if it is of another format.
        headers: Its headers, by their names in lower case.
        path: The JMESPath of the records.
        size: The number of records in it.
        key: The key field of a record; empty if it is not known.
        last: The key of the last record.

    """

    url: str
    document: object
    headers: Mapping[str, str]
    path: str = ""
    size: int = 0
    key: str = ""
    last: str = ""


def find_total(answer: ListAnswer) -> TotalGuess:
    """Return the number of records of the whole list.

    >>> find_total(ListAnswer("", {"count": 41}, {}, size=20)).many
    41
    """
    for path, part in _parts(answer):
        for name in TOTALS:
            value = member(part, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            if whole and isinstance(value, int) and answer.size <= value < 10**12:
                return TotalGuess(value, _joined(path, name, part))
    for name in _HEADER_TOTALS:
        text = answer.headers.get(name, "").strip()
        if text.isdecimal() and len(text) < 13 and int(text) >= answer.size:
            return TotalGuess(int(text), name, header=True)
    ranged = _RANGE.fullmatch(answer.headers.get("content-range", ""))
    if ranged and int(ranged[1]) >= answer.size:
        return TotalGuess(int(ranged[1]), "content-range", header=True)
    return TotalGuess()


def find_paging(answer: ListAnswer, total: int | None = None) -> PagingGuess:
    """Return how to get the pages after this one; ``total`` is the list's length.

    >>> find_paging(ListAnswer("http://a.example/x", {"next": "/x?p=2"}, {})).second
    'http://a.example/x?p=2'
    """
    for style in (_next_link, _link_header, _continue, _cursor, _empty_next):
        guess = style(answer)
        if guess is not None:
            return guess
    more = total is not None and total > answer.size > 0
    return (
        _offset(answer, more=more)
        or _page_number(answer, more=more)
        or PagingGuess(why=_why_last(answer, total))
    )


def alternatives(
    answer: ListAnswer, guess: PagingGuess, total: int | None = None
) -> list[PagingGuess]:
    """Return usual styles that are worth a request each, where ``guess`` is unsure.

    A list may have more pages although its answer does not show how to get them: it
    reports more records than it shows, a flag says that there are more, or the page
    seems to be full.

    >>> answer = ListAnswer("http://a.example/x?rows=10", {"count": 41}, {}, size=10)
    >>> [guess.param for guess in alternatives(answer, PagingGuess(), 41)]
    ['start', 'page', 'offset', 'skip']
    """
    flag = find_hints(answer.document, answer.path).more_at
    more = bool(flag) or (total is not None and total > answer.size)
    full = total is None and answer.size in _ROUND
    if guess.style in {NEXT_LINK, LINK_HEADER, CURSOR} or not (more or full):
        return []
    parts = urlsplit(answer.url)
    params = dict(parse_qsl(parts.query))
    names = [_BESIDE[name] for name in params if name in _BESIDE]
    names += ["$offset"] if "x-soda2-fields" in answer.headers else []  # Socrata
    # A full page alone is weak evidence, and none for a file such as `index.json`.
    most = _TRIES if more else 0 if "." in parts.path.rpartition("/")[2] else 2
    usual = [name for name in _USUAL if name not in names][: max(most - len(names), 0)]
    wanted = [name for name in (*names, *usual) if name != guess.param]
    counted = [
        _numbered(answer, name, 1, "tried")
        if name == "page"
        else _skipped(answer, name, "tried")
        for name in wanted
    ]
    return [*_keysets(answer, flag), *counted][:_TRIES]


def _keysets(answer: ListAnswer, flag: str) -> list[PagingGuess]:
    """Return guesses that continue after the key of the last record, as Stripe does."""
    if not (flag and answer.key and answer.last and "[" not in answer.path):
        return []
    where = f"{answer.path}[-1].{quoted(answer.key)}"
    return [
        PagingGuess(
            CURSOR, where, name, more=flag,
            second=with_parameter(answer.url, name, answer.last),
            why=f"the parameter {name!r} takes the key of the last record",
        )
        for name in _KEYSETS
    ]  # fmt: skip


def _skipped(answer: ListAnswer, name: str, why: str) -> PagingGuess:
    second = with_parameter(answer.url, name, str(answer.size))
    reason = f"the parameter {name!r} leaves records out: {why}"
    return PagingGuess(OFFSET, "", name, "", 0, second, reason)


def pages_of(total: int | None, size: int) -> int | None:
    """Return the requests of a full read; None if the length of the list is unknown.

    >>> pages_of(41, 20), pages_of(3, 1), pages_of(0, 20)
    (3, 3, 1)
    >>> pages_of(None, 20), pages_of(41, 0)
    (None, None)
    """
    return max(ceil(total / size), 1) if total is not None and size > 0 else None


def with_parameter(url: str, name: str, value: str) -> str:
    """Return an address with a parameter set; ``{n}`` stays as it is.

    >>> with_parameter("http://a.example/x?q=1&page=1", "page", "{n}")
    'http://a.example/x?q=1&page={n}'
    """
    parts = urlsplit(url)
    kept = parts.query.split("&") if parts.query else []
    spelled = f"{quote(name, safe='$_')}={quote(value, safe='{}')}"
    names = [dict(parse_qsl(pair, keep_blank_values=True)) for pair in kept]
    query = [
        spelled if name in n else pair for pair, n in zip(kept, names, strict=True)
    ]
    query += [] if spelled in query else [spelled]
    return urlunsplit((*parts[:3], "&".join(query), ""))


def _next_link(answer: ListAnswer) -> PagingGuess | None:
    for path, part in _parts(answer):
        for name in (*NEXTS, "hydra:next"):
            link, where = member(part, name), _joined(path, name, part)
            if isinstance(link, Mapping):
                link, where = link.get("href"), f"{where}.href"
            if isinstance(link, str) and _is_address(link):
                why = f"{where!r} is the address of the next page"
                second = _absolute(answer.url, link)
                return PagingGuess(NEXT_LINK, where, second=second, why=why)
    return None


def _empty_next(answer: ListAnswer) -> PagingGuess | None:
    """Return a member for the next page that is empty on the last one."""
    for path, part in _parts(answer):
        for name in NEXTS:
            if name in part and part[name] is None:
                where = _joined(path, name, part)
                why = f"{where!r} is empty: this page is the only one so far"
                return PagingGuess(NEXT_LINK, where, why=why)
    return None


def _link_header(answer: ListAnswer) -> PagingGuess | None:
    for link, rest in _LINK.findall(answer.headers.get("link", "")[: 4 * LONGEST]):
        rel = _REL.search(rest)
        if rel and "next" in rel[1].lower().split():
            second = _absolute(answer.url, link)
            why = "the Link header has the address of the next page"
            return PagingGuess(LINK_HEADER, second=second, why=why)
    return None


def _continue(answer: ListAnswer) -> PagingGuess | None:
    """Return the paging of MediaWiki, whose ``continue`` names the parameter itself."""
    document = answer.document
    given = document.get("continue") if isinstance(document, Mapping) else None
    if not isinstance(given, Mapping):
        return None
    for name, value in given.items():
        if name != "continue" and isinstance(value, str | int) and value != "":
            where = f'"continue".{quoted(name)}'
            second = with_parameter(answer.url, name, str(value)[:LONGEST])
            why = f"{where} is a token that the parameter {name!r} takes"
            return PagingGuess(CURSOR, where, name, second=second, why=why)
    return None


def _cursor(answer: ListAnswer) -> PagingGuess | None:
    given = dict(parse_qsl(urlsplit(answer.url).query))
    for path, part in _parts(answer):
        for name, usual in TOKENS.items():
            token = part.get(name)
            if not (isinstance(token, str) and 0 < len(token) <= LONGEST):
                continue
            params = [p for p in (usual, name, *TOKENS.values()) if p in given]
            param = params[0] if params else usual
            where = _joined(path, name, part)
            why = f"{where!r} is a token that the parameter {param!r} takes"
            second = with_parameter(answer.url, param, token)
            return PagingGuess(CURSOR, where, param, second=second, why=why)
    return None


def _offset(answer: ListAnswer, *, more: bool) -> PagingGuess | None:
    params = dict(parse_qsl(urlsplit(answer.url).query))
    counts = {n for _, part in _parts(answer) for n in part if _is_count(part[n])}
    for name in _OFFSETS:
        limit = _LIMITS[name]
        if not (name in params or (name in counts and limit in counts)):
            continue
        first = int(params[name]) if params.get(name, "").isdecimal() else 0
        second = with_parameter(answer.url, name, str(first + answer.size))
        where = "the address" if name in params else "the answer"
        why = f"{where} has the offset {name!r}"
        follow = second if more or name in params else ""
        return PagingGuess(OFFSET, "", name, limit, first, follow, why)
    return None


def _page_number(answer: ListAnswer, *, more: bool) -> PagingGuess | None:
    params = dict(parse_qsl(urlsplit(answer.url).query))
    for name in _PAGE_PARAMS:
        if params.get(name) in {"0", "1"}:
            return _numbered(answer, name, int(params[name]), "the address has it")
    for path, part in _parts(answer):
        now = next((n for n in _NOW if _is_count(part.get(n))), "")
        last = next((n for n in _PAGES if _is_count(part.get(n))), "")
        if last and (now or more):
            why = f"{_joined(path, last, part)} = {part[last]} counts the pages"
            first = 0 if now and part[now] == 0 else 1
            return _numbered(answer, "page", first, why, ends=part[last] == 1)
    if "x-wp-totalpages" in answer.headers:
        return _numbered(answer, "page", 1, "the header X-WP-TotalPages counts them")
    if more:
        why = "it reports more records than it shows, and this way is the usual one"
        return _numbered(answer, "page", 1, why)
    return None


def _numbered(
    answer: ListAnswer, name: str, first: int, why: str, *, ends: bool = False
) -> PagingGuess:
    second = "" if ends else with_parameter(answer.url, name, str(first + 1))
    reason = f"pages are numbered by the parameter {name!r}: {why}"
    return PagingGuess(PAGE_NUMBER, "", name, "", first, second, reason)


def _why_last(answer: ListAnswer, total: int | None) -> str:
    if total is not None and total <= answer.size:
        return f"all {total} records are on this page"
    if answer.size in _ROUND:
        return (
            f"no sign of further pages; exactly {answer.size} records may be one "
            "page of several, so check, and correct it with --next"
        )
    return "no sign of further pages"


def _parts(
    answer: ListAnswer,
) -> Iterator[tuple[tuple[str, ...], Mapping[str, object]]]:
    """Yield the objects that may hold paging information, shallow ones first.

    Objects inside lists are skipped, and the object whose members are the records.
    """
    level: list[tuple[tuple[str, ...], object]] = [((), answer.document)]
    left = PARTS
    while level and left > 0:
        below: list[tuple[tuple[str, ...], object]] = []
        for names, part in level[:left]:
            path = ".".join(map(quoted, names))
            if not isinstance(part, Mapping) or (path and path == answer.path):
                continue
            left -= 1
            yield names, part
            if len(names) < DEPTH:
                inner = islice(part.items(), PARTS)
                below += [((*names, str(n)), v) for n, v in inner]
        level = [pair for pair in below if isinstance(pair[1], Mapping)]


def _joined(path: tuple[str, ...], name: str, part: Mapping[str, object]) -> str:
    names = (name,) if name in part else name.split(".")
    return ".".join(map(quoted, (*path, *names)))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_address(link: str) -> bool:
    return len(link) <= LONGEST and link.startswith(
        ("http://", "https://", "/", "?", "./")
    )


def _absolute(url: str, link: str) -> str:
    try:
        return resolve(url, link)
    except UsageError:
        return ""
