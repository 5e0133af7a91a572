"""Belief from any estimator of change rates."""

from collections.abc import Callable

import numpy as np

from halflife.belief import view_of
from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.history import Gaps
from halflife.core.view import Survival, View
from halflife.models.gaps import sum_by_item
from halflife.models.poisson import Exponential
from halflife.models.rates import RateEstimator, UncertainRates


def merge_gaps(gaps: Gaps, observed: Ints, n_items: int) -> Gaps:
    """Return the gaps as single observations showed them, quiet ones first.

    Evidence adds up the quiet gaps of a batch, and splits a gap that saw a change
    between two length classes. ``observed`` is the number of observations of each item
    that saw no change: its quiet days count as so many gaps of their mean length. An
    item with one change in the batch gets its gap back; with several, their classes
    remain.
    """
    changed = gaps.changed
    days = sum_by_item(
        gaps.item[~changed], gaps.length[~changed] * gaps.tally[~changed], n_items
    )
    quiet = np.flatnonzero(days > 0)
    times = np.maximum(observed[quiet], 1).astype(np.float64)
    item, length, tally = gaps.item[changed], gaps.length[changed], gaps.tally[changed]
    changes = sum_by_item(item, tally, n_items)
    middle = np.exp(sum_by_item(item, tally * np.log(length), n_items))
    single = np.flatnonzero((changes > 0) & (changes <= 1.0))
    many = changes[item] > 1.0
    parts = (
        Gaps(quiet, days[quiet] / times, np.zeros(quiet.size, np.bool_), times),
        Gaps(single, middle[single], np.ones(single.size, np.bool_), changes[single]),
        Gaps(item[many], length[many], changed[changed][many], tally[many]),
    )
    return Gaps(*(np.concatenate(column) for column in zip(*parts, strict=True)))


class EstimatedRates:
    """Rates that an estimator learns from the evidence, observation by observation.

    Each gap is passed to the estimator once. Between two calls the order of the
    observations of one item is lost, which matters only to estimators that forget. An
    item without a gap has the rate of all items together: changes over days. Rates are
    kept within limits, because an item believed never to change would never be fetched
    again, and one believed to change all the time would be given up.

    Args:
        estimator: Makes a new estimator, which has learned nothing.
        slowest: The lowest rate believed, in changes a day.
        fastest: The highest.

    """

    _batches: int
    _quiet_looks: Ints
    _watched: Bools
    _model: RateEstimator

    def __init__(
        self,
        estimator: Callable[[], RateEstimator],
        *,
        slowest: float = 1e-3,
        fastest: float = 1e3,
    ) -> None:
        self.estimator = estimator
        self.slowest = slowest
        self.fastest = fastest
        self._of: Evidence | None = None
        self._start()

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; items fetched since ``since`` count as done."""
        if self._of is not evidence:
            self._of = evidence
            self._start()
        self._follow(evidence)
        rate, survival = self._rates()
        return view_of(evidence, now, since, rate, survival)

    def _start(self) -> None:
        self._batches = 0
        self._quiet_looks = np.zeros(0, dtype=np.intp)
        self._watched = np.zeros(0, dtype=np.bool_)
        self._days = 0.0
        self._changes = 0.5  # half a change in half a day before any data
        self._model = self.estimator()

    def _follow(self, evidence: Evidence) -> None:
        n = len(evidence)
        self._model.grow(n)
        known = self._quiet_looks.size
        before = np.concatenate([self._quiet_looks, np.zeros(n - known, np.intp)])
        self._watched = np.concatenate([self._watched, np.zeros(n - known, np.bool_)])
        # The first observation ends no gap.
        quiet = np.maximum(evidence.looks - 1, 0) - evidence.changes
        if evidence.batches > self._batches:
            gaps = merge_gaps(evidence.gaps(self._batches), quiet - before, n)
            self._model.add(*gaps)
            self._watched[gaps.item] = True
            self._days += float(np.sum(gaps.length * gaps.tally))
            self._changes += float(np.sum(gaps.tally[gaps.changed]))
        self._batches, self._quiet_looks = evidence.batches, quiet

    def _rates(self) -> tuple[Floats, Survival]:
        if isinstance(self._model, UncertainRates):
            return self._model.rate(), self._model.survival()
        usual = self._changes / (self._days + 0.5)
        rate = np.where(self._watched, self._model.rate(), usual)
        rate = np.clip(rate, self.slowest, self.fastest)
        return rate, Exponential(rate)
