"""The changes of each page, counted anew whenever the page is fetched.

How many changes a gap stands for depends on the page's rate, and the rate on that
number. If each gap is counted once, when it ends, a page that is found changed every
time keeps nearly the rate that was first believed. A worked example: it is believed to
change 0.5 times a day with the weight of half a change, and five gaps of 3 days see a
change. Counted once, they stand for 1.9 to 2.4 changes each, and the rate is believed
to be 0.73. Together, rate and number agree at 1.11 a day.

So n and the time lived t of the gaps that saw a change are summed up for each page, and
after each fetch of the page the number of changes c in them is solved from

    r (T + k / a) = X + k + c,    c = n x / (1 - exp(-x)),  x = r t / n,

with T the time that the page has lived, X its other changes, a the rate around it and k
the weight of that. Only the page's own rate uses this number: the rates around pages,
and how busy neighbours were, keep the changes as they were counted at first.
"""

import numpy as np

from halflife.belief.earlier_changes import solve_rates
from halflife.belief.gap_hints import NO_HINTS, ChangedGaps
from halflife.belief.near_pages import with_room
from halflife.belief.page_rates import PageRates
from halflife.core.arrays import Floats, Ints

_SHORTEST = 1e-9  # days


class OwnChanges:
    """The gaps in which pages were found changed, and the changes that they stand for.

    Attributes:
        times: How many gaps of each page saw a change.
        days: The time that the page has lived in them.
        first: The changes that they stood for when they ended.
        more: How many more they stand for by the page's rate now; negative if fewer.

    """

    def __init__(self) -> None:
        self.times = self.days = self.first = self.more = np.zeros(0)

    def grow(self, pages: int) -> None:
        """Make room for new pages."""
        self.times = with_room(self.times, pages)
        self.days = with_room(self.days, pages)
        self.first = with_room(self.first, pages)
        self.more = with_room(self.more, pages)

    def add(self, pages: Ints, lived: Floats, counted: Floats) -> None:
        """Add gaps that saw a change, one for each of these pages."""
        self.times[pages] += 1.0
        self.days[pages] += lived
        self.first[pages] += counted

    def count(self, pages: Ints, rates: PageRates, around: Floats) -> None:
        """Count the changes of these pages anew; ``around`` are the rates around them.

        ``rates`` counts their changes as they were first counted.
        """
        found = np.flatnonzero(self.times[pages] > 0)
        pages, weight = pages[found], rates.shape
        times, first = self.times[pages], self.first[pages]
        length = np.maximum(self.days[pages] / np.maximum(times, 1.0), _SHORTEST)
        changes = rates.changes[pages] - first + weight
        days = rates.lived[pages] + weight / around[found]
        none = np.zeros(pages.size)
        gaps = ChangedGaps(np.arange(pages.size), length, times, none, none)
        rate = solve_rates(gaps, NO_HINTS, changes, days, (changes + times) / days)
        self.more[pages] = days * rate - changes - first
