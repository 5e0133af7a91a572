"""Rates of pages, pooled from the outside in: all pages, site, folder, page.

With X changes counted in the time T that a group has lived, and r the rate of the group
around it, the group's rate is (X + k) / (T + k / r), and a page's is distributed as
Gamma(X + k, T + k / r). How much the pages of a folder differ, k, is learned from the
marginal likelihood of all counts (empirical Bayes). A page expected to change m times
as often as others (``belief.page_lengths``) has m r for r, and counts m times in a
group's T.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from halflife.core.arrays import Floats, Ints

Rows: TypeAlias = Ints | slice

# The weight of the surrounding group, in changes: of the prior of the population (one
# change a month), of a site, a folder and a page.
EVERYONE, SITE, FOLDER, PAGE = 1.0, 2.0, 3.0, 1.0
USUAL = 1.0 / 30.0
SAMPLE = 65_536  # pages in the estimate of how much pages differ
TOLERANCE = 1e-3  # log-likelihoods that differ by less count as equal
SHAPES: Floats = 0.25 * 2.0 ** np.arange(
    6.0
)  # possible weights of a page's surroundings


@dataclass(slots=True)
class PageRates:
    """The changes and time lived of each page, and its site and folder.

    Attributes:
        site: The site of each page.
        folder: Its folder.
        changes: Its changes.
        lived: The time in which they occurred, in days.
        shape: The weight of a page's surroundings, in changes.
        prone: The relative rate at which each page is expected to change, compared with
            its surroundings, before any change is counted; None: all alike.

    """

    site: Ints
    folder: Ints
    changes: Floats
    lived: Floats
    shape: float = PAGE
    prone: Floats | None = None

    def fit(self) -> "RatesAround":
        """Learn how much pages differ from their folders; return the rates around them.

        A page that changes at a rate drawn from Gamma(k, k / r) and has lived for T has
        X changes with probability proportional to Gamma(X + k) / Gamma(k)
        (k / r) ** k / (T + k / r) ** (X + k). Of the k about as likely as the best, the
        smallest is used: pages observed for seconds are not known to be alike.
        """
        rows = np.flatnonzero(self.lived > 0)
        rows = rows[:: max(rows.size // SAMPLE, 1)]  # a sample is enough
        rates_around = self.around()
        around = rates_around.at(rows)
        x, t = self.changes[rows], self.lived[rows]
        count, place = np.unique(x, return_inverse=True)  # at the start few differ
        log_likelihood: list[float] = []
        for k in SHAPES:  # one at a time, to save memory
            terms = _log_gamma(count + k)[place] - _log_gamma(k)
            terms = terms + k * np.log(k / around)
            log_likelihood.append(
                float((terms - (x + k) * np.log(t + k / around)).sum())
            )
        self.shape = float(
            SHAPES[
                int(
                    np.argmax(
                        np.array(log_likelihood) > max(log_likelihood) - TOLERANCE
                    )
                )
            ]
        )
        return rates_around

    def around(self) -> "RatesAround":
        """Return the mean rates around pages, from the counts so far."""
        days = self.lived if self.prone is None else self.prone * self.lived
        total = float(self.changes.sum()) + EVERYONE
        everywhere = total / (float(days.sum()) + EVERYONE / USUAL)
        sites, folders = (self._sums(group, days) for group in (self.site, self.folder))
        return RatesAround(self, everywhere, sites, folders)

    def _sums(self, group: Ints, days: Floats) -> tuple[Floats, Floats]:
        """Return the sums of changes and days in each group."""
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
    """Return the mean rate in each page's group, given the rate around the group."""
    count, lived = sums
    pooled: Floats = (count[group] + worth) / (lived[group] + worth / around)
    return pooled
