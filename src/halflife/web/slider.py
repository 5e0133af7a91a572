"""The quality that any budget buys, fast: all else is computed beforehand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.value_curve import Worth
from halflife.market.limits import FREE, Limits
from halflife.market.shares import hull

_LEVEL = 1e-12  # a slope below this buys nothing


@dataclass(frozen=True, slots=True)
class BudgetOutcome:
    """The outcome of a budget.

    Attributes:
        requests: Requests a day for each source.
        quality: Mean quality of each source.
        total: The weighted mean of the qualities.
        price: Weighted quality that one more request a day would buy.

    """

    requests: Floats
    quality: Floats
    total: float
    price: float


class Slider:
    """Shares budgets over sources, as ``halflife.market.share`` does.

    The segments of all curves are sorted by slope once; a budget then buys them from
    the steepest on.

    Args:
        worths: The value curve of each source.
        limits: The most requests of sources and hosts, and the least of sources.

    """

    def __init__(self, worths: Sequence[Worth], limits: Limits = FREE) -> None:
        self.worths = tuple(worths)
        self.needs: list[Any] | None = None  # the needs of targets, once computed
        self._names = tuple(worth.source for worth in worths)
        self._weight = np.array([worth.weight for worth in worths])
        group, room = limits.hosts(self._names)
        least, most = limits.fewest(self._names), limits.caps(self._names)
        needed = np.bincount(group, least, room.size)
        with np.errstate(divide="ignore", invalid="ignore"):
            fits = np.where(needed > room, room / needed, 1.0)
        self._least = least * fits[group] if len(worths) else least
        curves = [hull(worth.requests, worth.quality) for worth in worths]
        self._start = np.array(
            [np.interp(x, *c) for x, c in zip(self._least, curves, strict=True)]
        )
        self._take(curves, most)
        left = room - np.bincount(group, self._least, room.size)
        self._fit(group, left)

    def _take(self, curves: Sequence[tuple[Floats, Floats]], most: Floats) -> None:
        """Sort the segments of all curves, the steepest first; equal ones by name."""
        size = [x.size for x, _ in curves]
        of = np.repeat(np.arange(len(curves)), size)
        x = np.concatenate([np.zeros(0), *(c[0] for c in curves)])
        y = np.concatenate([np.zeros(0), *(c[1] for c in curves)])
        inner = np.flatnonzero(of[1:] == of[:-1])
        of = of[inner]
        low = np.maximum(x[inner], self._least[of])
        high = np.maximum(np.minimum(x[inner + 1], most[of]), low)
        slope = np.diff(y)[inner] / np.diff(x)[inner]
        useful = (self._weight[of] * slope > _LEVEL) & (high > low)
        rank = np.argsort(np.argsort(np.array(self._names, dtype=str)))
        place = np.flatnonzero(useful)
        worth = self._weight[of[place]] * slope[place]
        order = place[np.lexsort((place, rank[of[place]], -worth))]
        self._of, self._length = of[order], (high - low)[order]
        self._slope = slope[order]

    def _fit(self, group: Ints, left: Floats) -> None:
        """Cut the segments that exceed the limit of a host."""
        host = group[self._of] if len(group) else self._of
        by = np.argsort(host, kind="stable")
        run = np.cumsum(self._length[by])
        edge = np.flatnonzero(np.diff(host[by], prepend=-1))
        before = run - self._length[by]
        size = np.diff(np.append(edge, by.size))
        before -= np.repeat(before[edge], size)
        fits = np.clip(left[host[by]] - before, 0.0, self._length[by])
        self._length = self._length.copy()
        self._length[by] = fits
        self._before = np.cumsum(self._length) - self._length

    def at(self, budget: float) -> BudgetOutcome:
        """Return the outcome of so many requests a day."""
        n = len(self._names)
        if n == 0:
            return BudgetOutcome(np.zeros(0), np.zeros(0), 1.0, 0.0)
        spent = float(self._least.sum())
        part = min(1.0, budget / spent) if spent > 0 else 1.0
        if part < 1.0:  # not even the least requests of all sources fit
            least = self._least * part
            quality = np.array(
                [w.at(x) for w, x in zip(self.worths, least, strict=True)]
            )
            return BudgetOutcome(least, quality, self._mean(quality), 0.0)
        got = np.clip(budget - spent - self._before, 0.0, self._length)
        requests = self._least + np.bincount(self._of, got, n)
        quality = self._start + np.bincount(self._of, got * self._slope, n)
        open_ = np.flatnonzero(self._length - got > 1e-9)
        price = 0.0
        if open_.size:
            i = int(open_[0])
            price = float(self._weight[self._of[i]] * self._slope[i])
        return BudgetOutcome(requests, quality, self._mean(quality), price)

    def curve(self, budgets: Floats) -> Floats:
        """Return the weighted mean quality at each budget.

        Segments are bought one after the other, so the curve is piecewise linear.
        """
        spent, whole = float(self._least.sum()), float(self._weight.sum())
        if not whole > 0:
            return np.ones(budgets.size)
        gain = self._weight[self._of] * self._slope * self._length
        bought = np.concatenate([[0.0], np.cumsum(gain)]) / whole
        at = np.concatenate([[0.0], np.cumsum(self._length)])
        begun = self._mean(self._start)
        total = begun + np.interp(budgets - spent, at, bought)
        short = np.flatnonzero(budgets < spent)
        total[short] = [self.at(float(budgets[i])).total for i in short]
        return np.asarray(total)

    def _mean(self, quality: Floats) -> float:
        whole = float(self._weight.sum())
        return float(self._weight @ quality / whole) if whole > 0 else 1.0
