"""Predict the new records on the next page of every query.

The new records of a query are Gamma distributed, with a mean that the copy suggests;
those that other queries have shown already are a thinned Poisson count, whose thinning
is the share of the query's old records that was shown. A reported hit count is a
second estimate.
"""

from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Bools, Floats

UNEVEN = 0.3  # how much the share of old records that stay differs among queries


@dataclass(frozen=True, slots=True)
class ReadingProgress:
    """How far queries were read, one value each.

    Attributes:
        total: Hits that the form reports; nan if unknown.
        pages: Pages read.
        floor: A lower bound of the hits.
        done: Whether all reachable results were read.

    """

    total: Floats
    pages: Floats
    floor: Floats
    done: Bools


@dataclass(frozen=True, slots=True)
class QueryState:
    """The state of queries in a round, one value each.

    Attributes:
        held: Old records that match, without those known to be gone.
        seen: Those of them that this round has shown.
        fresh: New records that match and were shown.
        mean: Expected new records before anything was shown.
        shape: The certainty of the mean: the variance is mean^2 / shape.
        shown: Share of all old records shown by queries without the attribute; it
            serves queries that have no old records.
        hidden: New records for each hit that have unknown values, which queries for
            known values do not show.
        progress: How far they were read.

    """

    held: Floats
    seen: Floats
    fresh: Floats
    mean: Floats
    shape: Floats
    shown: Floats
    hidden: Floats
    progress: ReadingProgress


@dataclass(frozen=True, slots=True)
class RoundSetting:
    """Quantities that are the same for all queries of a round.

    Attributes:
        page: Records on a page.
        cap: Results that can be reached; infinite if all can.
        stays: Share of the old records that still exist.
        doubt: The standard deviation of the logarithm of reported counts.

    """

    page: float
    cap: float
    stays: float
    doubt: float


@dataclass(frozen=True, slots=True)
class QueryOutlook:
    """The predicted records of queries.

    Attributes:
        left: New records that match and were not shown.
        hits: Records that match.
        gain: New records that the next page shows.

    """

    left: Floats
    hits: Floats
    gain: Floats


def outlook(standing: QueryState, setting: RoundSetting) -> QueryOutlook:
    """Return the new records left in every query, and those on its next page.

    With n ~ Gamma(k, mean m) new records, of which a share rho was open to view and
    f were seen, n - f has mean (k + f) / (k / m + rho) (1 - rho). A count c implies
    that c - s - f - stays (h - s) are left; its variance is that of the deletions
    among the h - s old records not seen, plus that of the counts. The two estimates
    are weighted by their precision. The order of results does not depend on being
    new, so a page of p of the u results not read shows p / u of what is left.
    """
    at, read = standing, standing.progress
    unseen = np.maximum(at.held - at.seen, 0.0)
    there = at.seen + setting.stays * unseen
    left, spread = _believed(at, there)
    hits = there + at.fresh + left

    # An unknown count is replaced by the estimate, so that it changes nothing.
    total = np.where(np.isfinite(read.total), read.total, hits)
    errors = (total * setting.doubt) ** 2
    deletions = unseen * setting.stays * (1.0 - setting.stays) + (unseen * UNEVEN) ** 2
    off, variance = total - hits, spread + deletions + errors + 1e-9
    left = np.maximum(left + spread / variance * off, 0.0)
    hits = np.maximum(hits + (spread + deletions) / variance * off, read.floor)

    cut = hits > setting.cap
    left = np.where(read.done & ~cut, 0.0, left)
    unread = np.maximum(hits - read.pages * setting.page, 1.0)
    left = np.where(read.done, left, left + at.hidden * unread)
    gain = np.minimum(left, unread) * np.minimum(setting.page / unread, 1.0)
    return QueryOutlook(left, hits, np.where(read.done, 0.0, gain))


def _believed(at: QueryState, there: Floats) -> tuple[Floats, Floats]:
    """Return the mean and variance of the new records left, without the counts."""
    share = viewed_share(at.seen, there, at.shown)
    post = at.shape + at.fresh
    rate = at.shape / np.maximum(at.mean, 1e-9) + share
    left: Floats = post / rate * (1.0 - share)
    spread: Floats = left + post * ((1.0 - share) / rate) ** 2
    return left, spread


def viewed_share(seen: Floats, there: Floats, shown: Floats) -> Floats:
    """Return the share of queries' records that was open to view."""
    share: Floats = np.minimum((seen + shown) / (there + 1.0), 1.0)
    return share
