"""What is removed from the state file when it has served its purpose.

Nothing that a forecast or a plan goes by is touched. Old looks are folded into what
was rolled up (``rolled``) before they leave the log: the one exception to the rule
that the log only grows. Each step is one short transaction, so that a sync waits for
none of them long, and a crash leaves some steps done and the others not begun.
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
LONGEST_WINDOW = 31.0  # days; what was charged within a budget's window must stay
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
class Keep:
    """How long things are kept, in days; of what has versions, how many.

    Attributes:
        observations: Single looks; their sum is kept for ever. Forecasts and checks.
        ledger: Single charges; their sum by day is kept for ever.
        runs: Runs of which nothing else is kept.
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
class Cleared:
    """How many rows were removed, by what they were."""

    observations: int = 0
    ledger: int = 0
    runs: int = 0
    messages: int = 0
    summaries: int = 0
    forecasts: int = 0
    changes: int = 0
    page_versions: int = 0


def clear(store: "TableStore", keep: Keep, now: float) -> Cleared:
    """Remove what is older than it is to be kept."""
    with store.trusted(), store.clearing():
        looks = _looks(store, now - keep.observations, now)
        charges = _ledger(store, now - max(keep.ledger, LONGEST_WINDOW))
        with store.together() as db:
            runs = db.execute(_OLD_RUNS, (now - keep.runs,)).rowcount
        with store.together() as db:
            messages = db.execute(_OLD_MESSAGES, (now - keep.messages,)).rowcount
            messages += db.execute(_OLD_ALARMS, (now - keep.messages,)).rowcount
        with store.together() as db:
            summaries = _summaries(db, keep.summaries)
        with store.together() as db:
            told = forecasts.remove(db, now - keep.observations)
        changes = _changes(store, now - keep.changes, now)
        with store.together() as db:
            versions = page_versions.trim_all(db, keep.page_versions)
    return Cleared(looks, charges, runs, messages, summaries, told, changes, versions)


def _changes(store: "TableStore", cutoff: float, now: float) -> int:
    """Remove old changes; whoever has not read them is told that they are gone."""
    removed = 0
    while True:
        with store.together() as db:
            some = change_log.remove_before(db, cutoff, now, CHUNK)
        removed += some
        if some < CHUNK:
            return removed


def _looks(store: "TableStore", cutoff: float, now: float) -> int:
    """Roll up the looks before the first recent one, and remove them from the log."""
    with store.looking() as db:
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
    """Return the number of the last look before the first recent one.

    A look from a future that a wrong clock made up is not recent. The very last look
    stays, so that no number is given twice.
    """
    recent = db.execute(_FIRST_RECENT, (cutoff, now, done)).fetchone()[0]
    newest = db.execute("SELECT max(id) FROM observation").fetchone()[0] or 0
    return int(min(newest - 1, newest if recent is None else recent - 1))


def _left_over(store: "TableStore", done: int) -> int:
    """Remove looks that were kept as the last good ones, and are no longer."""
    removed, after = 0, 0
    while after < done:
        with store.together() as db:
            row = db.execute(_NTH, (after, done, CHUNK - 1)).fetchone()
            upto = row[0] if row else done
            removed += db.execute(f"DELETE {_NOT_HELD}", (after, upto)).rowcount
            after = upto
    return removed


def _ledger(store: "TableStore", cutoff: float) -> int:
    # Whole days only: what is given back is written down with the time of its draw.
    day = float(int(cutoff))
    with store.together() as db:
        db.execute(_ROLL_LEDGER, (day,))
        return db.execute("DELETE FROM ledger WHERE at < ?", (day,)).rowcount


def _summaries(db: Database, most: int) -> int:
    """Remove the oldest versions of summaries; the one in use always stays."""
    removed = 0
    for source, body in db.execute(_VERSIONS).fetchall():
        with suppress(ValueError, LookupError, TypeError):  # nobody knows what is old
            kept = json.loads(body)
            old = (source, int(kept["latest"]) - most, int(kept["current"]))
            removed += db.execute(_OLD_SUMMARIES, old).rowcount
    return removed
