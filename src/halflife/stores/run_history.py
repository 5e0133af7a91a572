"""Past runs, failed fetches, and answers that were rejected: the SQL."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from halflife.stores.database import Database

_RECENT = """
SELECT run.id, state, began, ended, sources FROM run
WHERE EXISTS (SELECT 1 FROM json_each(run.sources) WHERE value = ?)
ORDER BY run.id DESC LIMIT ?
"""
_OBSERVATIONS = """
SELECT item, at, seen, digest FROM observation
WHERE item IN (SELECT CAST(value AS INTEGER) FROM json_each(?1)) AND seen <= 1
    AND at >= coalesce((SELECT max(at) FROM observation AS b
        WHERE b.item = observation.item AND b.seen <= 1 AND b.at < ?2), ?2)
ORDER BY item, at
"""
_FAILED = """
SELECT item, run, at, note FROM observation AS o
WHERE item IN (SELECT CAST(value AS INTEGER) FROM json_each(?1)) AND at >= ?2
    AND seen = 2
    AND NOT EXISTS (SELECT 1 FROM observation AS b
        WHERE b.item = o.item AND b.at = o.at AND b.seen = 0)
ORDER BY at LIMIT ?3
"""
_REJECTED = """
SELECT at, note FROM snapshot JOIN source ON source.id = snapshot.source
WHERE source.name = ? AND at >= ? AND valid = 0 ORDER BY at
"""
MOST = 10_000  # failures that are returned


class FailedFetch(NamedTuple):
    """A failed fetch of an item: its number, the run, the time and the reason."""

    item: int
    run: int
    at: float
    note: str


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run as the store remembers it.

    Attributes:
        id: Its number.
        state: ``running``, ``done`` or ``interrupted``.
        began: When it began, in days.
        ended: When it ended; None if it has not.
        sources: The sources that it covered.
        requests: Requests that were charged to it, without those of compacted days.

    """

    id: int
    state: str
    began: float
    ended: float | None
    sources: tuple[str, ...]
    requests: int


def recent(db: Database, source: str, most: int) -> list[PastRun]:
    """Return the latest runs that covered a source, latest first."""
    rows = db.execute(_RECENT, (source, most)).fetchall()
    first = min((row[0] for row in rows), default=0)
    charged = db.execute(
        "SELECT run, sum(requests) FROM ledger WHERE run >= ? GROUP BY run", (first,)
    )
    requests = dict(charged.fetchall()) if rows else {}
    return [
        PastRun(
            run, state, began, ended, tuple(json.loads(names)), requests.get(run, 0)
        )
        for run, state, began, ended, names in rows
    ]


def observations(
    db: Database, items: Sequence[int], since: float
) -> list[tuple[int, float, bool]]:
    """Return good observations of items: which, when, and whether it found a change.

    The first observation of an item finds none; one before ``since`` is only compared
    with.
    """
    found = []
    before: tuple[object, ...] = ()
    for item, at, *rest in db.execute(_OBSERVATIONS, (json.dumps(list(items)), since)):
        current = (item, *rest)
        if at >= since:
            changed = before[:1] == (item,) and before != current
            found.append((item, at, changed))
        before = current
    return found


def failures(db: Database, items: Sequence[int], since: float) -> list[FailedFetch]:
    """Return the failed fetches of items since a moment, in order of time."""
    parameters = json.dumps(list(items)), since, MOST
    return [FailedFetch(*row) for row in db.execute(_FAILED, parameters)]


def rejected(db: Database, source: str, since: float) -> list[tuple[float, str]]:
    """Return when a set source gave no usable answer, and why."""
    return db.execute(_REJECTED, (source, since)).fetchall()
