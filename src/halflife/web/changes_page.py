"""The page of changes: of all sources or of one, newest first."""

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
from halflife.web.remote_text import field_text, link, reveal, shorten
from halflife.web.survey import Survey

PAGE = 50  # changes at a time
NAMED = 200  # sources up to which a list of their names is offered
FIELDS = 6  # fields of a change that are shown
LATEST = 2**62
SMALL = 64 * 1024  # bytes of a page whose differing lines are shown in the list
LINES = 3  # differing lines that are shown in the list
LONGEST = 160  # characters of such a line
ROOM = 1024 * 1024  # bytes of pages compared for one list; 0.1 s
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
    """Return the changes that match the parameters of the address."""
    wanted, wrong = _wanted(params)
    with bootstrap.reading(seen.config) as store:
        part, turned = _slice(store, wanted, params)
        results = change_rows(store, part.changes)
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
    part = store.changes.older(ChangeFilter(source), LATEST, most)
    return change_rows(store, part.changes)


def _wanted(params: Params) -> tuple[ChangeFilter, str]:
    """Parse the filter of an address; also return what is wrong with it."""
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
    """Parse a time; also return the end of its day if it is a date."""
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
        part = store.changes.newer(wanted, int(after), PAGE)
        found = part.changes
        older = found[-1].seq if found else int(after) + 1
        return part, {"newer": part.next, "older": older, "searching": False}
    start = int(before) if api_values.is_whole(before) else LATEST
    part = store.changes.older(wanted, start, PAGE)
    found = part.changes
    newer = None
    if start < LATEST:
        newer = found[0].seq if found else start - 1
    searching = part.next is not None and len(found) < PAGE
    return part, {"newer": newer, "older": part.next, "searching": searching}


def _query(params: Params) -> dict[str, str]:
    """Return the filters of an address, for links to other pages of the list."""
    names = ("source", "kind", "item", "q", "since", "until")
    return {name: params[name] for name in names if params.get(name)}


def change_rows(store: Store, changes: Sequence[Change]) -> list[Answer]:
    """Return changes as pages show them and as JSON."""
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
    """Return a time in ISO 8601, rounded up to the next microsecond.

    >>> exact(19722.75)
    '2023-12-31T18:00:00.000001Z'
    """
    micro = math.ceil(days * 86400e6) + 1
    moment = datetime.fromtimestamp(micro // 10**6, tz=UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{micro % 10**6:06}Z"


def utc(text: str) -> str:
    """Return a time in ISO 8601 as plain text, for places that allow no elements.

    >>> utc("2023-12-31T18:00:00Z")
    '2023-12-31 18:00 UTC'
    """
    return f"{text[:10]} {text[11:16]} UTC"


def _differing(
    store: Store, key: str, pair: tuple[PageVersion, ...]
) -> tuple[list[Answer], int]:
    """Return the first differing lines of a small page, and the bytes read.

    Each line is in parts: the words that differ, and the others.
    """
    if max(version.packed for version in pair) > SMALL:
        return [], 0
    bodies = [store.versions.content(key, version) for version in pair]
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
    """Return the parts of a line, cut to a length, and whether each differs."""
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
    """Return a change formatted for the list on a page."""
    kind = cast("ChangeKind", row["kind"])
    fields = row["fields"]
    if row["page"]:  # a fingerprint is useless to people
        fields = {name: pair for name, pair in fields.items() if name != "text"}
    shown, held = list(fields.items())[:FIELDS], kind == "held"
    return {
        "said": KINDS[kind],
        "waits": held,
        "is_whole": kind in {"new", "returned"},
        "was_other": kind == "changed",
        "key": shorten(reveal(row["key"]), 160),
        "link": link(row["key"]) if row["page"] else "",
        "why": field_text(fields["why"][1]) if held and "why" in fields else "",
        "fields": [_field(name, *pair) for name, pair in shown if name != "why"],
        "more": max(len(fields) - FIELDS, 0),
    }


def _field(name: str, old: object, new: object) -> Answer:
    return {
        "name": shorten(reveal(name), 60),
        "old": shorten(field_text(old)),
        "new": shorten(field_text(new)),
        "had": old is not None,
        "has": new is not None,
        "link": link(new),
    }
