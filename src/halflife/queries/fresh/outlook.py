"""What the next page of every query is likely to bring.

The new records of a query are Gamma distributed, with a mean that the copy suggests;
those of them that other queries have shown already are a thinned Poisson count, with
the share of the query's old records that was shown as the share of thinning. A count
of hits, where the form tells one, is a second opinion.
"""

from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Bools, Floats

UNEVEN = 0.3  # how much the share of old records that stay differs among queries


@dataclass(frozen=True, slots=True)
class ReadingProgress:
    """How far queries were read, one value each.

    Attributes:
        told: Hits that the form tells; not a number if none is known.
        pages: Pages read.
        floor: Hits that there are at least.
        done: Whether all that can be reached was read.

    """

    told: Floats
    pages: Floats
    floor: Floats
    done: Bools


@dataclass(frozen=True, slots=True)
class QueryStanding:
    """Where queries stand, one value each.

    Attributes:
        held: Records of the copy of old that match, those known gone not.
        seen: Those of them that this round has shown.
        fresh: New records that match and were shown.
        mean: New records to be expected before anything was shown.
        shape: How sure that mean is: the variance of the truth is mean^2 / shape.
        shown: Share of all old records that was shown without asking for the query's
            attribute: what is known of queries that have no old records.
        hidden: New records for each hit that have values nobody has heard of, which
            asking for known values does not show.
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
    """What holds for all queries of a round.

    Attributes:
        page: Records on a page.
        cap: Results that can be reached; infinite if all can.
        stays: Share of the old records that are still there.
        doubt: How far counts are off, as a standard deviation of their logarithm.

    """

    page: float
    cap: float
    stays: float
    doubt: float


@dataclass(frozen=True, slots=True)
class QueryOutlook:
    """What queries are likely to hold.

    Attributes:
        left: New records that match and were not shown.
        hits: Records that match.
        gain: New records that the next page shows.

    """

    left: Floats
    hits: Floats
    gain: Floats


def outlook(standing: QueryStanding, setting: RoundSetting) -> QueryOutlook:
    """Return what is left in every query, and what its next page brings.

    With n ~ Gamma(k, mean m) new records, of which a share rho was open to view and
    f were seen, n - f has mean (k + f) / (k / m + rho) (1 - rho). A count c says
    that c - s - f - stays (h - s) are left, and is off by the chance of the deaths
    among the h - s old records not seen, and by what counts are off. The two are
    weighed by their precision. Results come in an order that has nothing to do with
    being new, so a page of p of the u results not read shows p / u of what is left.
    """
    at, read = standing, standing.progress
    unseen = np.maximum(at.held - at.seen, 0.0)
    there = at.seen + setting.stays * unseen
    left, spread = _believed(at, there)
    hits = there + at.fresh + left

    # Where nothing is told it is what is believed, so that it changes nothing.
    told = np.where(np.isfinite(read.told), read.told, hits)
    lies = (told * setting.doubt) ** 2
    deaths = unseen * setting.stays * (1.0 - setting.stays) + (unseen * UNEVEN) ** 2
    off, every = told - hits, spread + deaths + lies + 1e-9
    left = np.maximum(left + spread / every * off, 0.0)
    hits = np.maximum(hits + (spread + deaths) / every * off, read.floor)

    cut = hits > setting.cap
    left = np.where(read.done & ~cut, 0.0, left)
    unread = np.maximum(hits - read.pages * setting.page, 1.0)
    left = np.where(read.done, left, left + at.hidden * unread)
    gain = np.minimum(left, unread) * np.minimum(setting.page / unread, 1.0)
    return QueryOutlook(left, hits, np.where(read.done, 0.0, gain))


def _believed(at: QueryStanding, there: Floats) -> tuple[Floats, Floats]:
    """Return the mean and variance of what is left, whatever the form counts."""
    share = viewed(at.seen, there, at.shown)
    post = at.shape + at.fresh
    rate = at.shape / np.maximum(at.mean, 1e-9) + share
    left: Floats = post / rate * (1.0 - share)
    spread: Floats = left + post * ((1.0 - share) / rate) ** 2
    return left, spread


def viewed(seen: Floats, there: Floats, shown: Floats) -> Floats:
    """Return the share of queries' records that was open to view."""
    share: Floats = np.minimum((seen + shown) / (there + 1.0), 1.0)
    return share
