"""Rates by maximum likelihood and by moments, for gaps of any lengths."""

import numpy as np

from halflife.core.arrays import LARGEST_LOG, Bools, Floats, Ints
from halflife.core.history import Gaps
from halflife.models.gaps import check_gaps, quiet_days, sum_by_item
from halflife.models.poisson import FASTEST, SLOWEST, PoissonRate
from halflife.models.rates.columns import lengthen
from halflife.models.rates.tally import GapTally
from halflife.models.roots import falling_roots


class MaximumLikelihood:
    """The rate of the highest likelihood.

    It solves sum(g / (exp(r g) - 1), changed) = sum(g, quiet); see ``PoissonRate``.
    With ``pretend`` days, each item has one prior gap of that length with a change and
    one without: Kolobov et al., "Staying up to date with online content changes using
    reinforcement learning", NeurIPS 2019, with half a day each. Gaps with a change are
    kept by length class, so the error of the log-likelihood is at most 5e-4 per
    observation. Only items with new gaps are solved again.

    >>> model = MaximumLikelihood(pretend=0.5)
    >>> model.grow(1)
    >>> model.rate().round(4)  # ln 2 / 0.5: even odds to change in half a day
    array([1.3863])

    Args:
        pretend: Days of the two prior gaps; 0 for none.

    """

    def __init__(self, *, pretend: float = 0.0) -> None:
        self.pretend = pretend
        self._busy = GapTally()
        self._quiet, self._rate = np.zeros(0), np.zeros(0)
        self._stale = np.zeros(0, dtype=np.bool_)

    def grow(self, n: int) -> None:
        """Make room for ``n`` items in all."""
        self._quiet, self._rate = lengthen(self._quiet, n), lengthen(self._rate, n)
        self._stale = lengthen(self._stale, n, blank=True)

    def add(
        self, item: Ints, length: Floats, changed: Bools, tally: Floats | None = None
    ) -> None:
        """Learn from gaps; their order does not matter."""
        gaps, n = check_gaps(item, length, changed, tally, self._quiet.size)
        changed = gaps.changed
        self._quiet += quiet_days(gaps, n)
        self._busy.add(gaps.item[changed], gaps.length[changed], gaps.tally[changed])
        self._stale[gaps.item] = True

    def rate(self) -> Floats:
        """Return the most likely rate of each item, from 1e-9 to 1e6."""
        rows = np.flatnonzero(self._stale)
        if rows.size:
            self._rate[rows] = self._solve(rows)
            self._stale[rows] = False
        return self._rate.copy()

    def _solve(self, rows: Ints) -> Floats:
        busy, quiet = self._busy.of(rows), self._quiet[rows]
        calm = np.flatnonzero(quiet > 0)
        item, length, tally = [busy.item, calm], [busy.length, quiet[calm]], busy.tally
        changed = np.arange(busy.item.size + calm.size) < busy.item.size
        tally = np.concatenate([tally, np.ones(calm.size)])
        if self.pretend > 0:
            item.append(np.arange(rows.size))
            length.append(np.full(rows.size, self.pretend))
            changed = np.concatenate([changed, np.ones(rows.size, np.bool_)])
            tally = np.concatenate([tally, np.ones(rows.size)])
        model = PoissonRate(prior_changes=0.0, prior_days=self.pretend)
        columns = np.concatenate(item), np.concatenate(length), changed, tally
        return model.fit(*columns, n_items=rows.size).rate_


class Moment:
    """The rate whose expected number of changed gaps is the observed one.

    It solves mean(1 - exp(-r g)) = X / n over all gaps g. Upadhyay, Busa-Fekete,
    Kotlowski, Pal and Szorenyi, "Learning to crawl", AAAI 2020. Lengths are kept
    by class, as in ``MaximumLikelihood``.

    >>> model = Moment()
    >>> model.grow(1)
    >>> model.add(np.zeros(4, int), np.full(4, 2.0), np.arange(4) < 2)
    >>> model.rate().round(4)  # ln 2 / 2
    array([0.3466])
    """

    def __init__(self) -> None:
        self._all = GapTally()
        self._changes, self._rate = np.zeros(0), np.zeros(0)
        self._stale = np.zeros(0, dtype=np.bool_)

    def grow(self, n: int) -> None:
        """Make room for ``n`` items in all."""
        self._changes, self._rate = lengthen(self._changes, n), lengthen(self._rate, n)
        self._stale = lengthen(self._stale, n, blank=True)

    def add(
        self, item: Ints, length: Floats, changed: Bools, tally: Floats | None = None
    ) -> None:
        """Learn from gaps; their order does not matter."""
        gaps, n = check_gaps(item, length, changed, tally, self._changes.size)
        self._all.add(gaps.item, gaps.length, gaps.tally)
        self._changes += sum_by_item(gaps.item, gaps.tally * gaps.changed, n)
        self._stale[gaps.item] = True

    def rate(self) -> Floats:
        """Return the rate of each item, from 1e-9 to 1e6."""
        rows = np.flatnonzero(self._stale)
        if rows.size:
            self._rate[rows] = moment_rates(self._all.of(rows), self._changes[rows])
            self._stale[rows] = False
        return self._rate.copy()


def moment_rates(gaps: Gaps, changes: Floats) -> Floats:
    """Return r with sum(exp(-r g)) = n - changes, item by item.

    Without a change r is the slowest possible rate, without a quiet gap the fastest.
    """
    n = changes.size
    quiet = sum_by_item(gaps.item, gaps.tally, n) - changes
    days = sum_by_item(gaps.item, gaps.tally * gaps.length, n)
    never, always = changes < 1e-9, quiet < 1e-9
    slow, fast = np.full(n, np.log(SLOWEST)), np.full(n, np.log(FASTEST))
    low = np.where(always & ~never, fast, slow)
    high = np.where(never, slow, fast)
    target = np.log(np.maximum(quiet, 1e-300))
    start = np.log(np.maximum(changes, 1e-9) / np.maximum(days, 1e-300))

    def surplus(log_rate: Floats) -> tuple[Floats, Floats]:
        x = np.exp(log_rate)[gaps.item] * gaps.length
        alive = gaps.tally * np.exp(-np.minimum(x, LARGEST_LOG))
        left = np.maximum(sum_by_item(gaps.item, alive, n), 1e-300)
        slope = -sum_by_item(gaps.item, alive * x, n) / left
        return np.log(left) - target, slope

    return np.exp(falling_roots(surplus, low, high, start))
