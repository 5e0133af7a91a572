"""Rates by stochastic approximation: one small step a look."""

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.gaps import check_gaps, sum_by_item
from halflife.models.rates.columns import lengthen, ratio, rounds_of_gaps


class StochasticApproximation:
    """Rates that move a little with each look, and ever less.

    When looks come at random moments, p a day, a share r / (r + p) of them finds a
    change. With I = 1 for a look that does,

        y += eta (I (y + p) - y) + momentum (y - y before),  eta = (k + 1) ** -decay

    settles where y = r. The state is z = y / p, so p may be learned on the way as
    looks over days. Five numbers an item. Avrachenkov, Patil and Thoppe, "Online
    algorithms for estimating change rates of web pages", 2020.

    >>> model = StochasticApproximation()
    >>> model.grow(1)
    >>> model.add(np.zeros(2, int), np.ones(2), np.array([True, False]))
    >>> model.rate().round(4)  # 1, then 1 - 2 ** -0.75
    array([0.4054])

    Args:
        decay: How fast steps shrink; above 1/2 and at most 1.
        momentum: How much of the last move is kept on; at least 0 and below 1.

    """

    def __init__(self, *, decay: float = 0.75, momentum: float = 0.0) -> None:
        self.decay = decay
        self.momentum = momentum
        self._gaps, self._days, self._z, self._before = (np.zeros(0) for _ in range(4))

    def grow(self, n: int) -> None:
        """Make room for ``n`` items in all."""
        for name in ("_gaps", "_days", "_z", "_before"):
            setattr(self, name, lengthen(getattr(self, name), n))

    def add(
        self, item: Ints, length: Floats, changed: Bools, tally: Floats | None = None
    ) -> None:
        """Learn from gaps, in their order."""
        gaps, n = check_gaps(item, length, changed, tally, self._z.size)
        for part in rounds_of_gaps(gaps):
            rows = part.item
            self._step(rows, part.changed, part.tally)
            self._gaps[rows] += part.tally
        self._days += sum_by_item(gaps.item, gaps.length * gaps.tally, n)

    def _step(self, rows: Ints, changed: Bools, tally: Floats) -> None:
        z, before = self._z[rows], self._before[rows]
        size = tally * (self._gaps[rows] + 1.0) ** -self.decay
        moved = z + size * (changed * (z + 1.0) - z) + self.momentum * (z - before)
        self._before[rows], self._z[rows] = z, np.maximum(moved, 0.0)

    def rate(self) -> Floats:
        """Return z times the looks a day."""
        return self._z * ratio(self._gaps, self._days)
