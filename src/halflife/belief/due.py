"""The belief of crawlers that keep a due date for each page."""

from dataclasses import dataclass, replace

import numpy as np

from halflife.belief.plain import PlainRates
from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.view import View

_LARGEST_LOG = 50.0  # by which an interval can have grown or shrunk


@dataclass(frozen=True, slots=True)
class IntervalRule:
    """How a crawler adapts the interval of an item after each fetch.

    An interval I becomes ``grow * I`` after a fetch that found no change and ``shrink *
    I + pull * shortest`` after one that found a change, and is kept within its limits;
    all in days. With ``sync_delta`` the interval is at least the time since the last
    change seen, delta, and the next fetch is due ``sync_delta * delta`` earlier.
    """

    start: float
    grow: float
    shrink: float
    shortest: float
    longest: float
    pull: float = 0.0
    sync_delta: float = 0.0

    def after(self, interval: Floats, changed: Bools) -> Floats:
        """Return the interval after one more fetch, before the limits apply."""
        shrunk = self.shrink * interval + self.pull * self.shortest
        adapted: Floats = np.where(changed, shrunk, self.grow * interval)
        return adapted

    def after_many(self, looks: Floats, changes: Floats) -> Floats:
        """Return the interval after a history known only by its counts."""
        quiet = np.maximum(looks - 1 - changes, 0)
        growth = changes * np.log(self.shrink) + quiet * np.log(self.grow)
        interval: Floats = self.start * np.exp(
            np.clip(growth, -_LARGEST_LOG, _LARGEST_LOG)
        )
        return interval


class DueDates:
    """The belief of a crawler that keeps one interval for each item.

    It is updated by the difference between the evidence now and at the last call, which
    is exact as long as no item is fetched twice in between.
    """

    def __init__(self, rule: IntervalRule) -> None:
        self.rule = rule
        self._plain = PlainRates()
        self._of: Evidence | None = None
        self._interval = self._modified = self._due = np.zeros(0)
        self._looks = self._changes = np.zeros(0, dtype=np.intp)

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; items fetched since ``since`` count as done."""
        if self._of is not evidence or self._due.size != len(evidence):
            self._start(evidence)
        else:
            self._follow(evidence)
        return replace(self._plain(evidence, now, since), due=self._due.copy())

    def _start(self, evidence: Evidence) -> None:
        self._of = evidence
        self._modified = evidence.last_at.copy()
        self._interval = self.rule.after_many(
            evidence.looks.astype(np.float64), evidence.changes.astype(np.float64)
        )
        self._due = evidence.last_at.copy()  # -inf where never seen: due at once
        self._set_due(np.flatnonzero(evidence.looks > 0), evidence)

    def _follow(self, evidence: Evidence) -> None:
        rows = np.flatnonzero(evidence.looks > self._looks)
        first = self._looks[rows] == 0
        changed = evidence.changes[rows] > self._changes[rows]
        adapted = self.rule.after(self._interval[rows], changed)
        self._interval[rows] = np.where(first, self.rule.start, adapted)
        seen_new = rows[first | changed]
        self._modified[seen_new] = evidence.last_at[seen_new]
        self._set_due(rows, evidence)

    def _set_due(self, rows: Ints, evidence: Evidence) -> None:
        """Limit the intervals of the rows just fetched, and set their due dates."""
        rule, at = self.rule, evidence.last_at[rows]
        delta = at - self._modified[rows] if rule.sync_delta else np.zeros(rows.size)
        interval = np.maximum(self._interval[rows], delta)
        self._interval[rows] = np.clip(interval, rule.shortest, rule.longest)
        self._due[rows] = at - rule.sync_delta * delta + self._interval[rows]
        self._looks, self._changes = evidence.looks.copy(), evidence.changes.copy()
