"""What changed: of all sources or of one, newest first, page by page."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from starlette.exceptions import HTTPException

from halflife.core import side_by_side
from halflife.core.change import CHANGE_KINDS, Change, ChangeKind
from halflife.core.observation import Content
from halflife.engine import bootstrap, change_feed
from halflife.stores import Store
from halflife.stores.change_search import ChangeFilter, ChangeSlice
from halflife.stores.page_versions import PageVersion
from halflife.web import api_values, words
from halflife.web.pages import Answer, Params
from halflife.web.remote_text import link, reveal, said, shorten
from halflife.web.survey import Survey

PAGE = 50  # changes at a time
NAMED = 200  # sources up to which a list of their names is offered
FIELDS = 6  # of a change that are shown
LATEST = 2**62
SMALL = 64 * 1024  # bytes of a page whose differing lines are shown in the list
LINES = 3  # differing lines that are shown in the list
LONGEST = 160  # characters of such a line
ROOM = 1024 * 1024  # bytes of pages that are compared for one list; 0.1 s
KINDS: Mapping[ChangeKind, str] = {
    "new": "arrived",
    "changed": "updated",
    "gone": "gone",
    "returned": "returned",
    "moved": "moved",
    "held": "held",
    "accepted": "accepted",
}


def changes(seen: Survey, params: Params) -> Answer:
    """Return changes as the address asks for them."""
    wanted, wrong = _wanted(params)
    with bootstrap.reading(seen.config) as store:
        some, turned = _slice(store, wanted, params)
        results = listed(store, some.changes)
        removed = store.changes.removed()
    names = [row.name for row in seen.rows] if len(seen.rows) <= NAMED else []
    return {
        "at": words.date(seen.now),
        "source": reveal(wanted.source),
        "kind": ",".join(wanted.kinds),
        "item": reveal(wanted.key),
        "q": reveal(wanted.text),
        "since": params.get("since", "") if not wrong else "",
        "until": params.get("until", "") if not wrong else "",
        "wrong": wrong,
        "results": results,
        **turned,
        "removed": removed,
        "sources": names,
        "kinds": {kind: KINDS[kind] for kind in CHANGE_KINDS},
        "query": _query(params),
    }


def latest(store: Store, source: str, most: int) -> list[Answer]:
    """Return the last changes of a source."""
    some = store.changes.older(ChangeFilter(source), LATEST, most)
    return listed(store, some.changes)


def _wanted(params: Params) -> tuple[ChangeFilter, str]:
    """Return which changes an address asks for, and what is wrong with it."""
    given = params.get("kind", "").split(",")
    kinds = tuple(kind for kind in CHANGE_KINDS if kind in given)
    known: dict[str, Any] = {
        "source": params.get("source", ""),
        "kinds": kinds,
        "key": params.get("item", ""),
        "text": params.get("q", "").strip(),
    }
    try:
        since, until = _moment(params, "since"), _moment(params, "until")
    except HTTPException as error:
        return ChangeFilter(**known), str(error.detail)
    return ChangeFilter(**known, since=since[0], until=until[1]), ""


def _moment(params: Params, name: str) -> tuple[float, float]:
    """Return a moment out of an address, and the end of its day if it is a day."""
    text = params.get(name, "").strip()
    if not text:
        return -math.inf, math.inf
    at = api_values.moment(name, text)
    return at, at if "T" in text else at + 1.0


def _slice(
    store: Store, wanted: ChangeFilter, params: Params
) -> tuple[ChangeSlice, Answer]:
    """Return the changes of one page, and where the pages beside it begin."""
    before, after = params.get("before", ""), params.get("after", "")
    if api_values.is_whole(after):
        some = store.changes.newer(wanted, int(after), PAGE)
        found = some.changes
        older = found[-1].seq if found else int(after) + 1
        return some, {"newer": some.next, "older": older, "searching": False}
    start = int(before) if api_values.is_whole(before) else LATEST
    some = store.changes.older(wanted, start, PAGE)
    found = some.changes
    newer = None
    if start < LATEST:
        newer = found[0].seq if found else start - 1
    searching = some.next is not None and len(found) < PAGE
    return some, {"newer": newer, "older": some.next, "searching": searching}


def _query(params: Params) -> dict[str, str]:
    """Return the filters of an address, for links to other pages of the list."""
    names = ("source", "kind", "item", "q", "since", "until")
    return {name: params[name] for name in names if params.get(name)}


def listed(store: Store, changes: Sequence[Change]) -> list[Answer]:
    """Return changes as programs and pages are told of them."""
    left, rows = ROOM, []
    sets = set(store.collections())
    for change in changes:
        row = dict(change_feed.row(change, words.date(change.at)))
        is_page = bool(change.key) and store.source_of(change.key) == change.source
        pair = _versions(store, change) if is_page and change.kind == "changed" else ()
        row["page"] = is_page
        row["versions"] = bool(change.key) and (is_page or change.source in sets)
        row["from"], row["to"] = (exact(v.at) for v in pair) if pair else (None, None)
        row["lines"] = []
        if pair and left > 0:
            row["lines"], read = _differing(store, change.key, pair)
            left -= read
        rows.append(row)
    return rows


def _versions(store: Store, change: Change) -> tuple[PageVersion, ...]:
    """Return the version before a change and the one after, if both are kept."""
    kept = store.versions.of(change.key)
    for old, new in zip(kept[1:], kept, strict=False):
        if new.at == change.at:
            return old, new
    return ()


def exact(days: float) -> str:
    """Return a moment in ISO 8601 that is not before it, to the microsecond.

    >>> exact(19722.75)
    '2023-12-31T18:00:00.000001Z'
    """
    micro = math.ceil(days * 86400e6) + 1
    moment = datetime.fromtimestamp(micro // 10**6, tz=UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{micro % 10**6:06}Z"


def utc(text: str) -> str:
    """Return a moment in ISO 8601 as plain text, for places where no element may stand.

    >>> utc("2023-12-31T18:00:00Z")
    '2023-12-31 18:00 UTC'
    """
    return f"{text[:10]} {text[11:16]} UTC"


def _differing(
    store: Store, key: str, pair: tuple[PageVersion, ...]
) -> tuple[list[Answer], int]:
    """Return the first lines of a small page that differ, and how much was read.

    Each line is in parts: those words that differ, and the others.
    """
    if max(one.packed for one in pair) > SMALL:
        return [], 0
    bodies = [store.versions.content(key, one) for one in pair]
    read = sum(len(body.body) for body in bodies if body is not None)
    texts = [_text(body) for body in bodies]
    if texts[0] is None or texts[1] is None:
        return [], read
    found = side_by_side.compare(
        texts[0].splitlines(), texts[1].splitlines(), context=0, most=LINES
    )
    lines: list[Answer] = []
    for row in found.rows:
        if row.mark in {"changed", "removed"} and row.old is not None:
            lines.append({"sign": "-", "parts": _line(row.old)})
        if row.mark in {"changed", "added"} and row.new is not None:
            lines.append({"sign": "+", "parts": _line(row.new)})
    return lines[: 2 * LINES], read


def _line(parts: side_by_side.Line) -> list[tuple[str, bool]]:
    """Return the parts of a line, and whether each differs; not too much of it."""
    found, room = [], LONGEST
    for part in parts:
        if room > 0:
            found.append((shorten(reveal(part.text), room), part.differs))
            room -= len(found[-1][0])
    return found


def _text(body: Content | None) -> str | None:
    from halflife.readers.text import readable  # noqa: PLC0415  (slow)

    if body is None or len(body.body) > SMALL:
        return None
    return readable(body.media_type, body.body)


def show(row: Answer) -> Answer:
    """Return a change as the list on a page writes it."""
    kind = cast("ChangeKind", row["kind"])
    fields = row["fields"]
    if row["page"]:  # a fingerprint tells people nothing
        fields = {name: pair for name, pair in fields.items() if name != "text"}
    shown = list(fields.items())[:FIELDS]
    return {
        "said": KINDS[kind],
        "waits": kind == "held",
        "is_whole": kind in {"new", "returned"},
        "was_other": kind == "changed",
        "key": shorten(reveal(row["key"]), 160),
        "link": link(row["key"]) if row["page"] else "",
        "why": said(fields["why"][1]) if kind == "held" and "why" in fields else "",
        "fields": [_field(name, *pair) for name, pair in shown if name != "why"],
        "more": max(len(fields) - FIELDS, 0),
    }


def _field(name: str, old: object, new: object) -> Answer:
    return {
        "name": shorten(reveal(name), 60),
        "old": shorten(said(old)),
        "new": shorten(said(new)),
        "had": old is not None,
        "has": new is not None,
        "link": link(new),
    }
