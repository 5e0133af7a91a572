"""Removal of old data from the state file.

Nothing that a forecast or a plan uses is removed. Old observations are folded into the
tables ``rolled`` before they leave the log: the one exception to the rule that the log
only grows. Each step is one short transaction, so that a sync never waits long for it,
and a crash leaves some steps done and the others not begun.
"""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflife.stores import change_log, compaction, forecasts, page_versions
from halflife.stores.database import Database
from halflife.stores.page_versions import MOST

if TYPE_CHECKING:
    from halflife.stores.table_store import TableStore

CHUNK = 5_000  # rows removed in one transaction
LONGEST_WINDOW = 31.0  # days; charges within a budget's window must stay
_FIRST_RECENT = "SELECT min(id) FROM observation WHERE at >= ? AND at <= ? AND id > ?"
_NTH = (
    "SELECT id FROM observation WHERE id > ? AND id <= ? ORDER BY id LIMIT 1 OFFSET ?"
)
_NOT_HELD = """
FROM observation AS o WHERE o.id > ? AND o.id <= ? AND NOT EXISTS
    (SELECT 1 FROM evidence AS e WHERE e.item = o.item AND e.held = o.id)
"""
_ROLL_LEDGER = """
INSERT INTO rolled_ledger
SELECT CAST(at AS INTEGER) AS d, sum(requests) FROM ledger WHERE at < ? GROUP BY d
ON CONFLICT (day) DO UPDATE
SET requests = rolled_ledger.requests + excluded.requests
"""
_OLD_RUNS = """
DELETE FROM run WHERE state <> 'running' AND coalesce(ended, began) < ?
    AND id NOT IN (SELECT run FROM observation)
    AND id NOT IN (SELECT run FROM ledger)
    AND id NOT IN (SELECT run FROM staged)
    AND id NOT IN (SELECT run FROM lease)
    AND id NOT IN (SELECT max(id) FROM run GROUP BY sources)
"""
_VERSIONS = "SELECT source, body FROM note WHERE kind = 'summary_versions'"
_OLD_SUMMARIES = """
DELETE FROM note WHERE kind = 'summary' AND source = ? AND number <= ? AND number <> ?
"""
_OLD_MESSAGES = "DELETE FROM message WHERE state <> 'waiting' AND ended < ?"
_OLD_ALARMS = "DELETE FROM alarm WHERE raised = 0 AND turning IS NULL AND seen < ?"


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """How long data is kept, in days; of versions, how many.

    Attributes:
        observations: Observations, forecasts and checks; folds are kept for ever.
        ledger: Single charges; their sum by day is kept for ever.
        runs: Runs that no other row refers to.
        messages: Messages that were delivered or given up.
        summaries: Versions of the summary of each database.
        changes: Changes of pages and records.
        page_versions: Bodies of each page, the current one included.

    """

    observations: float = 90.0
    ledger: float = 60.0
    runs: float = 90.0
    messages: float = 30.0
    summaries: int = 20
    changes: float = 90.0
    page_versions: int = MOST


@dataclass(frozen=True, slots=True)
class RemovedRows:
    """How many rows were removed, by kind."""

    observations: int = 0
    ledger: int = 0
    runs: int = 0
    messages: int = 0
    summaries: int = 0
    forecasts: int = 0
    changes: int = 0
    page_versions: int = 0


def clear(store: "TableStore", limits: RetentionLimits, now: float) -> RemovedRows:
    """Remove what is older than the limits."""
    with store.damage_errors(), store.clearing():
        observations = _observations(store, now - limits.observations, now)
        charges = _ledger(store, now - max(limits.ledger, LONGEST_WINDOW))
        with store.together() as db:
            runs = db.execute(_OLD_RUNS, (now - limits.runs,)).rowcount
        with store.together() as db:
            messages = db.execute(_OLD_MESSAGES, (now - limits.messages,)).rowcount
            messages += db.execute(_OLD_ALARMS, (now - limits.messages,)).rowcount
        with store.together() as db:
            summaries = _summaries(db, limits.summaries)
        with store.together() as db:
            predictions = forecasts.remove(db, now - limits.observations)
        changes = _changes(store, now - limits.changes, now)
        with store.together() as db:
            versions = page_versions.trim_all(db, limits.page_versions)
    counts = (
        observations,
        charges,
        runs,
        messages,
        summaries,
        predictions,
        changes,
        versions,
    )
    return RemovedRows(*counts)


def _changes(store: "TableStore", cutoff: float, now: float) -> int:
    """Remove old changes; the log records up to which number they are gone."""
    removed = 0
    while True:
        with store.together() as db:
            count = change_log.remove_before(db, cutoff, now, CHUNK)
        removed += count
        if count < CHUNK:
            return removed


def _observations(store: "TableStore", cutoff: float, now: float) -> int:
    """Fold the observations before the first recent one, and remove them."""
    with store.reading() as db:
        done = compaction.until(db)
        last = _last_old(db, cutoff, now, done)
    removed = _left_over(store, done)
    while done < last:
        with store.together() as db:
            done = compaction.until(db)  # another process may clear at the same time
            row = db.execute(_NTH, (done, last, CHUNK - 1)).fetchone()
            upto = max(row[0] if row else last, done)
            compaction.roll(db, upto, now)
            removed += db.execute(f"DELETE {_NOT_HELD}", (done, upto)).rowcount
            done = upto
    return removed


def _last_old(db: Database, cutoff: float, now: float, done: int) -> int:
    """Return the number of the last observation before the first recent one.

    An observation with a future time, from a wrong clock, is not recent. The very last
    observation stays, so that no number is given twice.
    """
    recent = db.execute(_FIRST_RECENT, (cutoff, now, done)).fetchone()[0]
    newest = db.execute("SELECT max(id) FROM observation").fetchone()[0] or 0
    return int(min(newest - 1, newest if recent is None else recent - 1))


def _left_over(store: "TableStore", done: int) -> int:
    """Remove observations that were kept as last good ones, and are no longer."""
    removed, after = 0, 0
    while after < done:
        with store.together() as db:
            row = db.execute(_NTH, (after, done, CHUNK - 1)).fetchone()
            upto = row[0] if row else done
            removed += db.execute(f"DELETE {_NOT_HELD}", (after, upto)).rowcount
            after = upto
    return removed


def _ledger(store: "TableStore", cutoff: float) -> int:
    # Whole days only: requests given back are charged at the time of their draw.
    day = float(int(cutoff))
    with store.together() as db:
        db.execute(_ROLL_LEDGER, (day,))
        return db.execute("DELETE FROM ledger WHERE at < ?", (day,)).rowcount


def _summaries(db: Database, most: int) -> int:
    """Remove the oldest versions of summaries; the current one always stays."""
    removed = 0
    for source, body in db.execute(_VERSIONS).fetchall():
        with suppress(ValueError, LookupError, TypeError):  # unreadable: keep all
            kept = json.loads(body)
            old = (source, int(kept["latest"]) - most, int(kept["current"]))
            removed += db.execute(_OLD_SUMMARIES, old).rowcount
    return removed
