"""The belief behind a schedule that is solved for and then kept to."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from halflife.belief import Belief
from halflife.belief.poisson import PoissonBelief
from halflife.core.arrays import Floats
from halflife.core.evidence import Evidence
from halflife.core.view import View

Schedule: TypeAlias = Callable[[View, float], Floats]
"""Turns a view and requests a day into fetches a day of each item."""

_MEMORY = 7.0  # days over which requests a day are averaged


class RequestPace:
    """The recent number of requests a day, for which a schedule is solved.

    Only successful fetches are counted. As long as no time has passed, the rate of
    earlier runs is used (``lifetime_pace``).
    """

    def __init__(self) -> None:
        self._at = self._spent = 0.0
        self._days = self._requests = 0.0
        self._before: float | None = None

    def follow(self, evidence: Evidence, now: float) -> float | None:
        """Return requests a day up to now; None if nothing is known yet."""
        spent = float(evidence.cost @ evidence.looks)
        if self._at == 0.0:
            self._at, self._spent = now, spent
            self._before = lifetime_pace(evidence, now)
        elif now > self._at:
            kept = float(np.exp((self._at - now) / _MEMORY))
            self._days = kept * self._days + now - self._at
            self._requests = kept * self._requests + spent - self._spent
            self._at, self._spent = now, spent
        return self._requests / self._days if self._requests > 0 else self._before


def lifetime_pace(evidence: Evidence, now: float) -> float | None:
    """Return requests a day over each item's life; None before a second fetch.

    An item fetched n + 1 times has been observed for n gaps and half of the next.
    """
    gaps = evidence.gaps()
    days = np.bincount(gaps.item, gaps.length * gaps.tally, minlength=len(evidence))
    rows = np.flatnonzero((evidence.looks > 1) & (days > 0))
    if rows.size == 0:
        return None
    watched = days[rows] + np.maximum(now - evidence.last_at[rows], 0.0)
    frequency = (evidence.looks[rows] - 0.5) / watched
    return float(evidence.cost[rows] @ frequency)


class Scheduled:
    """Fetches that are due at even intervals, as a schedule says.

    ``View.due`` is one interval after the last successful fetch: ``inf`` for items that
    the schedule gives up, ``-inf`` for items never seen. As long as no schedule can be
    solved, because the number of requests a day is not known yet, or because the
    ``wait`` is not over, all items have the same interval.

    Args:
        schedule: Returns how often to fetch each item.
        beside: The belief that the rates come from.
        every: Days after which the schedule is solved again.
        wait: Days before it is solved for the first time.

    """

    def __init__(
        self,
        schedule: Schedule,
        beside: Belief | None = None,
        *,
        every: float = 0.25,
        wait: float = 0.0,
    ) -> None:
        self.schedule = schedule
        self.beside = beside or PoissonBelief()
        self.every = every
        self.wait = wait
        self._of: Evidence | None = None
        self._start(0.0)

    def _start(self, now: float) -> None:
        self._pace, self._begin, self._solved = RequestPace(), now, -np.inf
        self._frequency = np.zeros(0)

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; items fetched since ``since`` count as done."""
        if self._of is not evidence:
            self._of = evidence
            self._start(now)
        view = self.beside(evidence, now, since)
        pace = self._pace.follow(evidence, now)
        stale = now >= self._solved + self.every or self._frequency.size != len(view)
        if pace is not None and now >= self._begin + self.wait and stale:
            self._frequency, self._solved = self.schedule(view, pace), now
        known = self._frequency.size == len(view)
        frequency = self._frequency if known else np.ones(len(view))
        return replace(view, due=due_dates(evidence.last_at, frequency))


def due_dates(last: Floats, frequency: Floats) -> Floats:
    """Return when the next fetch is due after the last, at so many fetches a day.

    >>> due_dates(np.array([1.0, 1.0, -np.inf]), np.array([2.0, 0.0, 0.0]))
    array([ 1.5,  inf, -inf])
    """
    with np.errstate(divide="ignore"):
        interval = np.where(frequency > 0, 1.0 / frequency, np.inf)
    seen = np.isfinite(last)
    return np.where(seen, np.where(seen, last, 0.0) + interval, -np.inf)
