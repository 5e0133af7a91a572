"""What the budget's window has left, without adding up the whole ledger each time.

A transaction that charges the ledger holds its lock to the end. So rows become visible
in the order of their numbers, and a sum that was true at one number is kept true by
adding the rows with larger ones and subtracting those that have left the window.
"""

import math
from time import monotonic
from typing import NamedTuple

from halflife.stores import compaction
from halflife.stores.database import Database
from halflife.stores.postgres import work_schema

RESUM_AFTER = 60.0  # seconds after which all is summed again: old days leave the ledger
_NOW = """
SELECT extract(epoch FROM clock_timestamp())::float8 / 86400.0,
    (SELECT coalesce(max(id), 0) FROM ledger)
"""
# New rows are found by their numbers, not by their times (the OFFSET forces that).
_MOVED = """
WITH t AS (SELECT extract(epoch FROM clock_timestamp())::float8 / 86400.0 AS now),
came AS (SELECT id, at, requests FROM ledger WHERE id > ? OFFSET 0)
SELECT t.now, (SELECT coalesce(max(id), 0) FROM ledger),
    (SELECT coalesce(sum(requests), 0) FROM came
     WHERE at > t.now - ?::float8 AND at <= t.now + ?::float8),
    (SELECT coalesce(sum(requests), 0) FROM ledger
     WHERE at > ? AND at <= t.now - ?::float8 AND id <= ?)
FROM t
"""


class BudgetWindow(NamedTuple):
    """The budget: at most ``requests`` in every window of ``days``."""

    requests: int
    days: float


class _Sum(NamedTuple):
    """The requests charged after a moment, by all rows up to a number."""

    window: BudgetWindow
    after: float
    newest: int
    spent: int
    made: float  # by a clock that cannot be set


class LedgerWindow:
    """Sums the requests charged in a window that moves with the time."""

    def __init__(self) -> None:
        self._sum: _Sum | None = None

    def room(self, db: Database, window: BudgetWindow) -> tuple[float, int]:
        """Return the time in days, and what is left; other chargers wait meanwhile."""
        db.execute(work_schema.LEDGER_LOCK)
        now, total = self._update(db, window) or _add_up(db, window)
        self._sum = total
        return now, window.requests - total.spent

    def _update(self, db: Database, window: BudgetWindow) -> tuple[float, _Sum] | None:
        """Return the time and the updated sum; None if there is none to update."""
        old, days = self._sum, window.days
        if old is None or old.window != window or monotonic() - old.made > RESUM_AFTER:
            return None
        parameters = old.newest, days, days, old.after, days, old.newest
        now, newest, came, left = db.execute(_MOVED, parameters).fetchone()
        if newest < old.newest or now - days < old.after:
            return None
        spent = old.spent + int(came) - int(left)
        new = old._replace(after=now - days, newest=int(newest), spent=spent)
        return float(now), new


def _add_up(db: Database, window: BudgetWindow) -> tuple[float, _Sum]:
    now, newest = db.execute(_NOW).fetchone()
    after = float(now) - window.days
    end = math.nextafter(now + window.days, math.inf)
    spent = compaction.spent(db, math.nextafter(after, math.inf))
    spent -= compaction.spent(db, end)
    return float(now), _Sum(window, after, int(newest), spent, monotonic())
