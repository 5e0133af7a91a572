"""What the budget's window has left, without adding the whole ledger up each time.

Whoever charges the ledger holds its lock until the end of its transaction. So rows
become visible in the order of their numbers, and a sum that was true at one number is
kept true by the rows with larger ones and by those that the window has left behind.
"""

import math
from time import monotonic
from typing import NamedTuple

from halflife.stores import compaction
from halflife.stores.database import Database
from halflife.stores.postgres import work_schema

ANEW = 60.0  # seconds after which all is added up again: old days leave the ledger
_NOW = """
SELECT extract(epoch FROM clock_timestamp())::float8 / 86400.0,
    (SELECT coalesce(max(id), 0) FROM ledger)
"""
# New rows are found by their numbers, not by their times (the OFFSET sees to that).
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
    """The budget: so many requests in every window of so many days."""

    requests: int
    days: float


class _Sum(NamedTuple):
    """What was charged after a moment, by all rows up to a number."""

    window: BudgetWindow
    after: float
    newest: int
    spent: int
    made: float  # by the clock that nobody can set


class LedgerWindow:
    """Knows what was charged in a window that moves with the time."""

    def __init__(self) -> None:
        self._sum: _Sum | None = None

    def room(self, db: Database, window: BudgetWindow) -> tuple[float, int]:
        """Return the time in days, and what is left; nobody else charges meanwhile."""
        db.execute(work_schema.LEDGER_LOCK)
        now, found = self._moved(db, window) or _added_up(db, window)
        self._sum = found
        return now, window.requests - found.spent

    def _moved(self, db: Database, window: BudgetWindow) -> tuple[float, _Sum] | None:
        """Return the time and the sum as of now; None if none is known."""
        old, days = self._sum, window.days
        if old is None or old.window != window or monotonic() - old.made > ANEW:
            return None
        given = old.newest, days, days, old.after, days, old.newest
        now, newest, came, left = db.execute(_MOVED, given).fetchone()
        if newest < old.newest or now - days < old.after:
            return None
        spent = old.spent + int(came) - int(left)
        new = old._replace(after=now - days, newest=int(newest), spent=spent)
        return float(now), new


def _added_up(db: Database, window: BudgetWindow) -> tuple[float, _Sum]:
    now, newest = db.execute(_NOW).fetchone()
    after = float(now) - window.days
    end = math.nextafter(now + window.days, math.inf)
    spent = compaction.spent(db, math.nextafter(after, math.inf))
    spent -= compaction.spent(db, end)
    return float(now), _Sum(window, after, int(newest), spent, monotonic())
