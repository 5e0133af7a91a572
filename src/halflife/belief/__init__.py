"""Beliefs: they turn evidence into a view of the items' state and change rates."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.keys import KeySubset
from halflife.core.view import Survival, View

FIRST_PAUSE = 5.0 / 1440.0  # days to wait after one failed fetch of an item
LONGEST_PAUSE = 1.0
AHEAD = 30.0  # days; no clock that is nearly right is set back so far


class Belief(Protocol):
    """Anything that turns evidence into a view."""

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; items fetched since ``since`` count as done."""
        ...


@runtime_checkable
class PartialBelief(Protocol):
    """A belief that can view a few rows at a time, where all do not fit in memory."""

    def learn(self, evidence: Evidence, now: float) -> bool:
        """Learn from new evidence; return whether ``view_rows`` can use it."""
        ...

    def view_rows(
        self, evidence: Evidence, rows: Ints, now: float, since: float
    ) -> View:
        """Return the view of the items at these rows, as of the last ``learn``."""
        ...


@runtime_checkable
class LengthAware(Protocol):
    """A belief that uses the lengths of pages."""

    def measure(self, lengths: Mapping[str, float]) -> None:
        """Note the lengths of pages by key; the first length of a page is kept."""
        ...


def view_of(
    evidence: Evidence,
    now: float,
    since: float,
    rate: Floats,
    survival: Survival,
    *,
    rows: Ints | None = None,
) -> View:
    """Return the view that follows from the evidence and the believed rates.

    With ``rows``, view these items only; rates and survival then cover them alone.
    """
    at: Ints | slice = slice(None) if rows is None else rows
    looks, tried = evidence.looks[at].copy(), evidence.tried_at[at]
    age = days_since(evidence.last_at[at], now)
    return View(
        now=now,
        keys=evidence.keys if rows is None else KeySubset(evidence.keys, rows),
        # Observations change none of these; a new weight comes in a new column.
        weight=evidence.weight[at],
        cost=evidence.cost[at],
        group=evidence.group[at],
        rate=rate,
        survival=survival,
        age=age,
        looks=looks,
        changes=evidence.changes[at].copy(),
        # An observation later than now was made before the clock was set back.
        looked=(tried >= since) & (tried <= now),
        changed=evidence.changed[at].copy(),
        ready=ready(evidence.failures[at], tried, now),
        due=np.zeros(0),
        exposure=age.copy(),
        doubt=np.zeros(age.size),
        room=np.broadcast_to(np.inf, age.size),
    )


def days_since(at: Floats, now: float) -> Floats:
    """Return the days since observations, never negative.

    An observation slightly ahead of now was made just before the clock was set back.
    One far ahead has the time of a wrong clock, and may be as old as that clock was
    wrong.
    """
    days = now - at
    return np.where(days < -AHEAD, -days, np.maximum(days, 0.0))


def ready(failures: Ints, tried_at: Floats, now: float) -> Bools:
    """Return which items may be fetched: the pause doubles with each failure."""
    if not failures.any():
        return np.ones(failures.size, dtype=np.bool_)
    return pause_left(failures, tried_at, now) <= 0.0


def pause_left(failures: Ints, tried_at: Floats, now: float) -> Floats:
    """Return the days until items may be fetched again; 0 or less means now."""
    pause = np.minimum(
        FIRST_PAUSE * np.exp2(np.minimum(failures, 20) - 1.0), LONGEST_PAUSE
    )
    return np.where(failures == 0, 0.0, pause - days_since(tried_at, now))
