"""Rates from counts: the number of gaps, of gaps with a change, and of days.

A formula turns the counts of all items into their rates; ``Counted`` keeps the
counts. With n gaps of which X saw a change, over T days:

    naive                  X / T
    smoothed               (X + a) / (T + b)
    bias_reduced           -ln((n - X + 1/2) / (n + 1/2)) / (T / n)
    law_of_large_numbers   p X / (n - X + alpha), p = n / T
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.gaps import check_gaps, sum_by_item
from halflife.models.rates.columns import lengthen, ratio


class Counts:
    """Counts and sums of the gaps of each item.

    Attributes:
        gaps: The number of gaps.
        changes: The number of gaps that saw a change.
        quiet: Days in gaps that saw none.
        busy: Days in gaps that saw one.

    """

    def __init__(self) -> None:
        self.gaps, self.changes, self.quiet, self.busy = (np.zeros(0) for _ in range(4))

    def grow(self, n: int) -> None:
        """Make room for ``n`` items in all."""
        for name in ("gaps", "changes", "quiet", "busy"):
            setattr(self, name, lengthen(getattr(self, name), n))

    def add(
        self, item: Ints, length: Floats, changed: Bools, tally: Floats | None = None
    ) -> None:
        """Count more gaps."""
        gaps, n = check_gaps(item, length, changed, tally, self.gaps.size)
        days, changed = gaps.length * gaps.tally, gaps.changed
        self.gaps += sum_by_item(gaps.item, gaps.tally, n)
        self.changes += sum_by_item(gaps.item, gaps.tally * changed, n)
        self.busy += sum_by_item(gaps.item, days * changed, n)
        self.quiet += sum_by_item(gaps.item, days * ~changed, n)

    @property
    def days(self) -> Floats:
        """All days observed."""
        return self.quiet + self.busy

    @property
    def exposure(self) -> Floats:
        """The effective days of observation: all quiet days, half of the busy ones.

        The likelihood of a change in a gap g is flat but for its length: to second
        order ln(1 - exp(-r g)) = ln(r g) - r g / 2.
        """
        return self.quiet + self.busy / 2


Formula: TypeAlias = Callable[[Counts], Floats]


def naive(counts: Counts) -> Floats:
    """Return X / T: too low where several changes fall into one gap."""
    return ratio(counts.changes, counts.days)


def smoothed(counts: Counts, *, changes: float = 0.5, days: float = 0.5) -> Floats:
    """Return (X + changes) / (T + days), so that no item has the rate 0."""
    return (counts.changes + changes) / (counts.days + days)


def bias_reduced(counts: Counts) -> Floats:
    """Return -ln((n - X + 1/2) / (n + 1/2)) n / T.

    Cho and Garcia-Molina, "Estimating frequency of change", TOIT 2003; derived for even
    intervals, here used with their mean.
    """
    quiet = np.maximum(counts.gaps - counts.changes, 0.0)
    changes_a_gap = np.log((counts.gaps + 0.5) / (quiet + 0.5))
    return ratio(changes_a_gap * counts.gaps, counts.days)


def law_of_large_numbers(counts: Counts, *, spare: float = 1.0) -> Floats:
    """Return p X / (n - X + spare), with p = n / T observations a day.

    Of observations at random moments, p a day, a share r / (r + p) finds a change.
    Avrachenkov, Patil and Thoppe, "Online algorithms for estimating change rates of web
    pages", 2020.
    """
    quiet = np.maximum(counts.gaps - counts.changes, 0.0)
    pace = ratio(counts.gaps, counts.days)
    return pace * counts.changes / (quiet + spare)


class Counted:
    """Rates by a formula over the counts of each item: four numbers for each item.

    >>> model = Counted(bias_reduced)
    >>> model.grow(1)
    >>> model.add(np.zeros(10, int), np.ones(10), np.arange(10) < 6)
    >>> model.rate().round(4)
    array([0.8473])

    Args:
        formula: Computes rates from counts.

    """

    def __init__(self, formula: Formula = naive) -> None:
        self.formula = formula
        self.counts = Counts()

    def grow(self, n: int) -> None:
        """Make room for ``n`` items in all."""
        self.counts.grow(n)

    def add(
        self, item: Ints, length: Floats, changed: Bools, tally: Floats | None = None
    ) -> None:
        """Learn from gaps; their order does not matter."""
        self.counts.add(item, length, changed, tally)

    def rate(self) -> Floats:
        """Return the changes a day of each item."""
        return self.formula(self.counts)
