"""From what we saw to what we believe."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.keys import Chosen
from halflife.core.view import Survival, View

FIRST_PAUSE = 5.0 / 1440.0  # days to leave an item alone after one failed look
LONGEST_PAUSE = 1.0
AHEAD = 30.0  # days; no clock that is nearly right is set back so far


class Belief(Protocol):
    """Anything that turns evidence into a view."""

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        ...


@runtime_checkable
class Piecemeal(Protocol):
    """A belief that can tell of some items at a time: of many, few fit in memory."""

    def learn(self, evidence: Evidence, now: float) -> bool:
        """Take in what is new; return whether ``some`` can tell of this evidence."""
        ...

    def some(self, evidence: Evidence, rows: Ints, now: float, since: float) -> View:
        """Return what we believe of the items at these rows, as learned last."""
        ...


@runtime_checkable
class LengthAware(Protocol):
    """A belief to which the lengths of pages say something."""

    def measure(self, lengths: Mapping[str, float]) -> None:
        """Take note of how long pages are, by their names; the first length counts."""
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
    """Return the view that follows from the evidence and from what rates we believe.

    With ``rows``, of these items only; rates and survival are of them, too.
    """
    at: Ints | slice = slice(None) if rows is None else rows
    looks, tried = evidence.looks[at].copy(), evidence.tried_at[at]
    age = days_since(evidence.last_at[at], now)
    return View(
        now=now,
        keys=evidence.keys if rows is None else Chosen(evidence.keys, rows),
        # Looks change none of these, and a new weight comes in a new column.
        weight=evidence.weight[at],
        cost=evidence.cost[at],
        group=evidence.group[at],
        rate=rate,
        survival=survival,
        age=age,
        looks=looks,
        changes=evidence.changes[at].copy(),
        # A look stamped later than now was made before the clock was set back.
        looked=(tried >= since) & (tried <= now),
        changed=evidence.changed[at].copy(),
        ready=ready(evidence.failures[at], tried, now),
        due=np.zeros(0),
        exposure=age.copy(),
        doubt=np.zeros(age.size),
        room=np.broadcast_to(np.inf, age.size),
    )


def days_since(at: Floats, now: float) -> Floats:
    """Return the days since looks, never negative.

    A look a little ahead of now was made before the clock was set back, just now. One
    far ahead was stamped by a wrong clock, and may be as old as that was wrong.
    """
    days = now - at
    return np.where(days < -AHEAD, -days, np.maximum(days, 0.0))


def ready(failures: Ints, tried_at: Floats, now: float) -> Bools:
    """Return which items may be asked for: the pause doubles with each failure."""
    if not failures.any():
        return np.ones(failures.size, dtype=np.bool_)
    return paused(failures, tried_at, now) <= 0.0


def paused(failures: Ints, tried_at: Floats, now: float) -> Floats:
    """Return the days until items may be asked for again; 0 or less is now."""
    pause = np.minimum(
        FIRST_PAUSE * np.exp2(np.minimum(failures, 20) - 1.0), LONGEST_PAUSE
    )
    return np.where(failures == 0, 0.0, pause - days_since(tried_at, now))
