"""Search in the log of changes: newest first, filtered, page by page.

A page of results ends with a number at which the next begins. Numbers are never used
twice, so paging shows each change once, whatever is written meanwhile.
"""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from halflife.core.change import Change, ChangeKind
from halflife.stores.database import Database

# The limits of one page: about 0.1 s of SQL, or 0.1 s of comparing text.
WINDOW = 100_000  # changes that are scanned
COMPARED = 20_000  # changes whose text is compared
_COLUMNS = "change.at, source.name, change.key, change.kind, change.fields, change.seq"


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """A filter of changes; an empty field matches all.

    Attributes:
        source: The source.
        kinds: The kinds of changes.
        key: The page or record.
        text: Text that the key or the fields contain, in upper or lower case.
        since: Observed at this moment or later, in days.
        until: Observed before this moment.

    """

    source: str = ""
    kinds: tuple[ChangeKind, ...] = ()
    key: str = ""
    text: str = ""
    since: float = -math.inf
    until: float = math.inf

    def matches(self, change: Change, fields: str) -> bool:
        """Return whether a change matches; ``fields`` is the JSON of its fields."""
        return (
            self.source in {"", change.source}
            and (not self.kinds or change.kind in self.kinds)
            and self.key in {"", change.key}
            and self.since <= change.at < self.until
            and self.has_text(change.key, fields)
        )

    def has_text(self, key: str, fields: str) -> bool:
        """Return whether the text is in the key or in the fields."""
        wanted = self.text.casefold()
        return wanted in key.casefold() or wanted in fields.casefold()


class ChangeSlice(NamedTuple):
    """Some changes, newest first.

    Attributes:
        changes: The changes.
        next: The number at which the next page begins; None at the end.

    """

    changes: list[Change]
    next: int | None


def older(db: Database, wanted: ChangeFilter, before: int, most: int) -> ChangeSlice:
    """Return the newest changes with smaller numbers than ``before``."""
    (first,) = db.execute("SELECT min(seq) FROM change").fetchone()
    if first is None or before <= first:
        return ChangeSlice([], None)
    (last,) = db.execute("SELECT max(seq) FROM change").fetchone()
    before = min(before, last + 1)
    edge = _edge(db, wanted.source, before, "<") or first
    edge = max(first, edge)
    rows = _rows(db, wanted, (edge, before - 1), "DESC")
    found, stop = _matching(rows, wanted, most)
    if stop is not None or edge == first:
        return ChangeSlice(found, stop)
    return ChangeSlice(found, edge)


def newer(db: Database, wanted: ChangeFilter, after: int, most: int) -> ChangeSlice:
    """Return the oldest changes with larger numbers than ``after``, newest first."""
    (last,) = db.execute("SELECT max(seq) FROM change").fetchone()
    if last is None or after >= last:
        return ChangeSlice([], None)
    edge = min(last, _edge(db, wanted.source, after, ">") or last)
    rows = _rows(db, wanted, (after + 1, edge), "ASC")
    found, stop = _matching(rows, wanted, most)
    if stop is None and edge < last:
        stop = edge
    return ChangeSlice(found[::-1], stop)


def _edge(db: Database, source: str, start: int, sign: str) -> int | None:
    """Return the number of the last change that a page scans; None if the log ends."""
    if not source:
        return start - WINDOW if sign == "<" else start + WINDOW
    order = "DESC" if sign == "<" else "ASC"
    query = (
        "SELECT seq FROM change WHERE source = (SELECT id FROM source WHERE name = ?)"  # noqa: S608
        f" AND seq {sign} ? ORDER BY seq {order} LIMIT 1 OFFSET ?"
    )
    row = db.execute(query, (source, start, WINDOW)).fetchone()
    return None if row is None else int(row[0])


def _matching(
    rows: Iterable[tuple[Any, ...]], wanted: ChangeFilter, most: int
) -> tuple[list[Change], int | None]:
    """Return the first matching changes, and the last number if there may be more."""
    found: list[Change] = []
    last = 0
    for n, (at, source, key, kind, text, seq) in enumerate(rows):
        if len(found) == most or (wanted.text and n == COMPARED):
            return found, last
        last = seq
        if not wanted.text or wanted.has_text(key, text):
            fields = {name: tuple(pair) for name, pair in json.loads(text).items()}
            found.append(Change(at, source, key, kind, fields, seq))
    return found, None


def _rows(
    db: Database, wanted: ChangeFilter, span: tuple[int, int], order: str
) -> Iterator[tuple[Any, ...]]:
    """Return the rows within a range of numbers."""
    tests = ["change.seq BETWEEN ? AND ?"]
    values: list[Any] = list(span)
    for test, value in (
        ("change.source = (SELECT id FROM source WHERE name = ?)", wanted.source),
        ("change.key = ?", wanted.key),
        ("change.kind IN (SELECT value FROM json_each(?))", wanted.kinds),
    ):
        if value:
            tests.append(test)
            values.append(value if isinstance(value, str) else json.dumps(value))
    for test, moment in (
        ("+change.at >= ?", wanted.since),
        ("+change.at < ?", wanted.until),
    ):
        if math.isfinite(moment):  # ordered by number, not by the index of times
            tests.append(test)
            values.append(moment)
    query = (
        f"SELECT {_COLUMNS} FROM change CROSS JOIN source ON source.id = change.source"  # noqa: S608  (constants)
        f" WHERE {' AND '.join(tests)} ORDER BY change.seq {order}"
    )
    return iter(db.execute(query, values))


def search(
    log: Iterable[Change], wanted: ChangeFilter, most: int, *, upwards: bool = False
) -> ChangeSlice:
    """Return the first matching changes of a log in memory."""
    found: list[Change] = []
    for change in log:
        fields = dict(change.fields)
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        if not wanted.matches(change, text):
            continue
        if len(found) == most:
            return ChangeSlice(found[::-1] if upwards else found, found[-1].seq)
        found.append(change)
    return ChangeSlice(found[::-1] if upwards else found, None)
