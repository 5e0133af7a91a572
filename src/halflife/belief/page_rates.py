"""Rates of pages, pooled from the outside in: everybody, site, folder, page.

With X changes counted in the time T that a group has lived, and r the rate of the group
around it, the group's rate is (X + k) / (T + k / r), and a page's is believed to be
Gamma(X + k, T + k / r). How much the pages of a folder differ, k, is learned from the
marginal likelihood of all counts (empirical Bayes). A page that is m times as prone to
change as others (``belief.page_lengths``) has m r for r, and a group's T counts it m
times.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from halflife.core.arrays import Floats, Ints

Rows: TypeAlias = Ints | slice

# What the group around counts for, in changes: the population's own prior (one
# change a month), a site's, a folder's, a page's.
EVERYONE, SITE, FOLDER, PAGE = 1.0, 2.0, 3.0, 1.0
USUAL = 1.0 / 30.0
SAMPLE = 65_536  # pages from which it is learned how much pages differ
TELLS = 1e-3  # of a logarithm; what is less likely by less is as likely
SHAPES: Floats = 0.25 * 2.0 ** np.arange(
    6.0
)  # what a page's surroundings may count for


@dataclass(slots=True)
class PageRates:
    """What was counted of each page, and what its surroundings are.

    Attributes:
        site: The site of each page.
        folder: Its folder.
        changes: Changes counted.
        lived: The time in which they were, in days.
        shape: What a page's surroundings count for, in changes.
        prone: How many times as often as others around it each page is expected to
            change before any change is counted; None: all alike.

    """

    site: Ints
    folder: Ints
    changes: Floats
    lived: Floats
    shape: float = PAGE
    prone: Floats | None = None

    def fit(self) -> "RatesAround":
        """Learn how much pages differ from their folders; return what is around them.

        A page that changes at a rate drawn from Gamma(k, k / r) and has lived for T
        has X changes with probability proportional to
        Gamma(X + k) / Gamma(k) (k / r) ** k / (T + k / r) ** (X + k). Of those k that
        are about as likely as the best, the least is taken: pages that were seen for
        seconds are not known to be alike.
        """
        some = np.flatnonzero(self.lived > 0)
        some = some[:: max(some.size // SAMPLE, 1)]  # so many tell as much as all
        everything = self.around()
        around = everything.at(some)
        x, t = self.changes[some], self.lived[some]
        count, place = np.unique(x, return_inverse=True)  # after a start, few differ
        likely: list[float] = []
        for k in SHAPES:  # one at a time: all together they take much memory
            each = _log_gamma(count + k)[place] - _log_gamma(k)
            each = each + k * np.log(k / around)
            likely.append(float((each - (x + k) * np.log(t + k / around)).sum()))
        self.shape = float(
            SHAPES[int(np.argmax(np.array(likely) > max(likely) - TELLS))]
        )
        return everything

    def around(self) -> "RatesAround":
        """Return what is around pages, as counted so far."""
        days = self.lived if self.prone is None else self.prone * self.lived
        total = float(self.changes.sum()) + EVERYONE
        everywhere = total / (float(days.sum()) + EVERYONE / USUAL)
        sites, folders = (self._sums(group, days) for group in (self.site, self.folder))
        return RatesAround(self, everywhere, sites, folders)

    def _sums(self, group: Ints, days: Floats) -> tuple[Floats, Floats]:
        """Return the changes and the days of a usual page in each group."""
        count: Floats = np.bincount(group, self.changes).astype(np.float64)
        lived: Floats = np.bincount(group, days).astype(np.float64)
        return count, lived


@dataclass(frozen=True, slots=True)
class RatesAround:
    """Mean rates around pages: everywhere, and sums for each site and folder."""

    pages: PageRates
    everywhere: float
    sites: tuple[Floats, Floats]
    folders: tuple[Floats, Floats]

    def at(self, rows: Rows) -> Floats:
        """Return the mean rate around each of these pages."""
        pages = self.pages
        site = _pooled(self.sites, pages.site[rows], SITE, self.everywhere)
        folder = _pooled(self.folders, pages.folder[rows], FOLDER, site)
        return folder if pages.prone is None else folder * pages.prone[rows]

    def rates(self, rows: Rows) -> tuple[Floats, Floats]:
        """Return the Gamma distribution of each page's rate: shape and exposure."""
        pages, k = self.pages, self.pages.shape
        return pages.changes[rows] + k, pages.lived[rows] + k / self.at(rows)


def _log_gamma(x: Floats) -> Floats:
    """Return ln Gamma(x); one by one, because scipy's takes long to import."""
    flat = np.fromiter(map(math.lgamma, x.ravel().tolist()), np.float64, x.size)
    return flat.reshape(x.shape)


def _pooled(
    sums: tuple[Floats, Floats], group: Ints, worth: float, around: Floats | float
) -> Floats:
    """Return the mean rate in each page's group, given that around the group."""
    count, lived = sums
    pooled: Floats = (count[group] + worth) / (lived[group] + worth / around)
    return pooled
