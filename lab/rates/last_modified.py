"""Rates of items that say when they last changed."""

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.gaps import check_gaps, sum_by_item
from halflife.models.rates.columns import lengthen, ratio


def unbiased_changes(changes: Floats, gaps: Floats) -> Floats:
    """Return (X - 1) - X / (n ln(1 - X / n)): X less what a small sample adds.

    Cho and Garcia-Molina, "Estimating frequency of change", TOIT 2003. It is 0
    at X = 0 and X - 1 at X = n.

    >>> unbiased_changes(np.array([0.0, 1.0, 2.0]), np.full(3, 2.0)).round(4)
    array([0.    , 0.7213, 1.    ])
    """
    share = np.clip(ratio(changes, gaps), 0.0, 1.0)
    small, whole = share < 1e-9, share > 1.0 - 1e-9
    inside = np.where(small | whole, 0.5, share)
    correction = np.where(whole, 0.0, -inside / np.log1p(-inside))
    return np.where(small, 0.0, np.maximum(changes - 1.0 + correction, 0.0))


class LastModified:
    """Changes over the days in which one would have been the last.

    Looking back from a look, the time to the last change is exponential, cut off at
    the look before. A gap that saw a change therefore counts for the days from that
    change's date to the look, and one that saw none for its whole length. Three
    numbers an item. Where a change has no date it counts for half its gap, which is
    its mean for a slow item.

    >>> model = LastModified()
    >>> model.grow(1)
    >>> item, length = np.zeros(2, int), np.full(2, 5.0)
    >>> model.add(item, length, np.array([True, False]), since=np.array([1.0, 6.0]))
    >>> model.rate().round(4)  # 0.7213 / (1 + 5)
    array([0.1202])
    """

    def __init__(self) -> None:
        self._gaps, self._changes, self._days = (np.zeros(0) for _ in range(3))

    def grow(self, n: int) -> None:
        """Make room for ``n`` items in all."""
        for name in ("_gaps", "_changes", "_days"):
            setattr(self, name, lengthen(getattr(self, name), n))

    def add(
        self,
        item: Ints,
        length: Floats,
        changed: Bools,
        tally: Floats | None = None,
        *,
        since: Floats | None = None,
    ) -> None:
        """Learn from gaps; ``since`` is the days from the last change to the look.

        A date that is missing (nan) or lies before the gap is not believed.
        """
        times = np.ones(np.shape(item)) if tally is None else tally
        back = np.full(np.shape(item), np.nan) if since is None else since
        n = self._gaps.size
        check_gaps(item, length, changed, times, n)
        dated = changed & (back >= 0) & (back <= length)
        days = np.where(changed, np.where(dated, back, length / 2), length)
        self._gaps += sum_by_item(item, times, n)
        self._changes += sum_by_item(item, times * changed, n)
        self._days += sum_by_item(item, times * days, n)

    def rate(self) -> Floats:
        """Return the unbiased changes over the days."""
        return ratio(unbiased_changes(self._changes, self._gaps), self._days)
