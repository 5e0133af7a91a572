"""Fetch frequencies learned from their own gains, without a model of change.

MirrorSync: Kolobov, Bubeck and Zimmert, "Online learning for active cache
synchronization", ICML 2020. With T = 1 / r days between syncs and C(t) the expected
loss t days after one, an item loses J(r) = r times the integral of C over 0..T. A
probe at a moment u drawn evenly from 0..T makes

    (loss at the probe - loss at the sync) / r

an unbiased estimate of J'(r); if there is a probe only with chance e, it is divided
by e. Here the loss is whether the copy had changed, which a fetch shows.
Frequencies follow the gradient by mirror descent under the barrier -sum(ln r):

    1 / r' = 1 / r + step * weight * gradient + v,

with the one number v at which all fetches, probes included, cost the daily budget.
"""

from dataclasses import replace

import numpy as np

from halflife.belief.plain import PlainRates
from halflife.belief.schedule import RequestPace
from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.view import View

_GOLDEN, _PLASTIC = 0.6180339887498949, 0.7548776662466927
_HALVINGS = 60


class MirrorSync:
    """Intervals adapted by the results of a few probes.

    Whether there is a probe, and when, follows each item's own sequence of multiples of
    the golden ratio, spread as evenly as possible; so nothing is random. One step at
    most halves an interval. After each turn the items whose cycle has ended are updated
    (the paper's asynchronous form).

    Args:
        step: The step along the gradient; 0.05 in the published code.
        probes: The chance e of a probe between two syncs; 0.1 in that code.

    """

    def __init__(
        self,
        step: float = 0.05,
        probes: float = 0.1,
    ) -> None:
        self.step = step
        self.probes = probes
        self._plain = PlainRates()
        self._of: Evidence | None = None
        self._start()

    def _start(self) -> None:
        self._pace = RequestPace()
        none = np.zeros(0)
        self._interval = self._synced = self._probe = none
        self._seen = none  # the loss that the probe of this cycle showed, or nan
        self._looks = self._changes = self._cycle = none.astype(np.intp)

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; items fetched since ``since`` count as done."""
        if self._of is not evidence:
            self._of = evidence
            self._start()
        pace = self._pace.follow(evidence, now)
        self._grow(evidence)
        rows = np.flatnonzero(evidence.looks > self._looks)
        if rows.size:
            self._follow(evidence, rows)
        if pace is not None:
            self._spend(evidence.cost, pace)
        view = self._plain(evidence, now, since)
        return replace(view, due=self._due())

    def _due(self) -> Floats:
        """Return the probe's date while there is one ahead, then the sync's."""
        sync = self._synced + self._interval
        return np.where(np.isnan(self._seen), np.minimum(self._probe, sync), sync)

    def _grow(self, evidence: Evidence) -> None:
        n_new = len(evidence) - self._interval.size
        if n_new <= 0:
            return
        mean_interval = float(np.mean(self._interval)) if self._interval.size else 1.0
        blank = np.full(n_new, np.nan)
        self._interval = np.concatenate([self._interval, np.full(n_new, mean_interval)])
        self._synced = np.concatenate([self._synced, np.full(n_new, -np.inf)])
        self._probe = np.concatenate([self._probe, np.full(n_new, np.inf)])
        self._seen = np.concatenate([self._seen, blank])
        count = np.zeros(n_new, dtype=np.intp)
        for name in ("_looks", "_changes", "_cycle"):
            setattr(self, name, np.concatenate([getattr(self, name), count]))

    def _follow(self, evidence: Evidence, rows: Ints) -> None:
        """Learn from one more fetch of each of these items."""
        changed = evidence.changes[rows] > self._changes[rows]
        waiting = np.isfinite(self._probe[rows]) & np.isnan(self._seen[rows])
        probed, ended = rows[waiting], rows[~waiting]
        self._seen[probed] = changed[waiting]
        self._descend(ended, changed[~waiting], evidence.weight)
        self._begin(ended, evidence.last_at[ended])
        self._looks, self._changes = evidence.looks.copy(), evidence.changes.copy()

    def _descend(self, rows: Ints, changed: Bools, weight: Floats) -> None:
        """Adapt the intervals of items whose cycle ended by their gradients."""
        seen = self._seen[rows]
        probed = ~np.isnan(seen)
        # The copy had changed by the sync if it had by the probe, or has since.
        lost = np.fmax(seen, changed)
        slope = np.where(probed, seen - lost, 0.0) / self.probes
        share = weight[rows] / max(float(weight.mean()), 1e-300)
        factor = 1.0 + self.step * share * slope
        self._interval[rows] *= np.maximum(factor, 0.5)

    def _begin(self, rows: Ints, at: Floats) -> None:
        """Begin a new cycle at a sync, with a probe ahead or none."""
        self._synced[rows] = at
        self._cycle[rows] += 1
        count = self._cycle[rows].astype(np.float64)
        drawn = np.mod(count * _GOLDEN + rows * _PLASTIC, 1.0)
        moment = np.mod(count * _PLASTIC + rows * _GOLDEN, 1.0)
        ahead = at + moment * self._interval[rows]
        self._probe[rows] = np.where(drawn < self.probes, ahead, np.inf)
        self._seen[rows] = np.nan

    def _spend(self, cost: Floats, pace: float) -> None:
        """Add the same number to all intervals, so that they cost the budget."""
        self._interval = spread(self._interval, cost, pace / (1.0 + self.probes))


def spread(interval: Floats, cost: Floats, budget: float) -> Floats:
    """Return the intervals, all shifted by the same number, that cost the budget.

    The projection under the barrier -sum(ln r): 1 / r' = 1 / r + v.

    >>> spread(np.array([1.0, 2.0]), np.ones(2), 0.75).round(6)
    array([2.257334, 3.257334])
    """
    low = -float(interval.min(initial=np.inf))
    high = float(cost.sum()) / budget  # at such intervals the budget is met
    for _ in range(_HALVINGS):
        v = (low + high) / 2
        spent = float(np.sum(cost / np.maximum(interval + v, 1e-300)))
        low, high = (v, high) if spent > budget else (low, v)
    return interval + high
