"""The changes of gaps that were there before a belief was first asked.

How many changes a gap stands for in which one was seen depends on the rate r of its
page, and that on how many there were. With X changes counted since in the time T that
the page has lived, and a the rate around it, both agree where

    r (T + k / a) = X + k + sum of c(r g) over the gaps g that saw a change,

c as in ``Heard.changes``. Written with c(x) - share x - true, which falls with x, no
large numbers are subtracted from each other; the rate is found by Newton's method, from
below. What is around pages is taken from a simpler count, of one change for half of the
gap, or for all of it if a hint ended it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from halflife.belief.heard import ChangedGaps, Heard, changed_gaps
from halflife.belief.page_rates import PageRates, RatesAround
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.grouping.places import folder_codes

STEPS = 50  # of Newton's method, at most; three or four do for most pages
CLOSE = 1e-6  # of the rate; after a step as small the next would be far smaller


@dataclass(frozen=True, slots=True)
class EarlierChanges:
    """What all looks so far add up to; several beliefs share it, so none writes to it.

    Attributes:
        folders: The number of each folder.
        pages: What was counted of each page.
        around: What is around them.
        rows: The pages with gaps that saw a change.
        counted: The changes that these stand for.

    """

    folders: Mapping[str, int]
    pages: PageRates
    around: RatesAround
    rows: Ints
    counted: Floats


def earlier_changes(evidence: Evidence) -> EarlierChanges:
    """Return what looks add up to, as if no hint had come."""
    folders: dict[str, int] = {}
    code, n = folder_codes(evidence.keys, 0, folders), len(evidence)
    gaps = evidence.gaps()
    lived = np.bincount(gaps.item, gaps.length * gaps.tally, n).astype(np.float64)
    pages = PageRates(evidence.group, code, np.zeros(n), lived)
    rows, counted = count_changes(pages, changed_gaps(evidence, None), 1.0)
    pages.changes[rows] = counted
    around = pages.fit()
    for column in (pages.changes, pages.lived, rows, counted):
        column.flags.writeable = False
    return EarlierChanges(folders, pages, around, rows, counted)


def count_changes(
    pages: PageRates, gaps: ChangedGaps, share: Floats | float
) -> tuple[Ints, Floats]:
    """Return the pages that gaps are of, and how many changes these stand for.

    ``pages`` has counted the changes since, and none of those in the gaps. ``share`` is
    the share of changes, of each page, that nobody announces.
    """
    n = pages.site.size
    half = 0.5 * np.exp(-gaps.load) * gaps.tally * gaps.length
    simple = replace(
        pages,
        changes=pages.changes + np.bincount(gaps.item, gaps.tally, n),
        lived=pages.lived - np.bincount(gaps.item, half, n),
    )
    # Of very many pages few have such gaps; nothing of the others is counted.
    some = np.zeros(n, dtype=np.bool_)
    some[gaps.item] = True
    rows: Ints = np.flatnonzero(some).astype(np.int32)
    place = np.asarray(np.cumsum(some)[gaps.item] - 1)
    around = pages.shape / simple.around().at(rows)
    about = (simple.changes[rows] + pages.shape) / (simple.lived[rows] + around)
    known, lent = pages.changes[rows] + pages.shape, pages.lived[rows] + around
    part = share[gaps.item] if isinstance(share, np.ndarray) else share
    heard = Heard(part, gaps.load, gaps.true)
    rate = agreed_rates(gaps._replace(item=place), heard, known, lent, about)
    return rows, lent * rate - known


def agreed_rates(
    gaps: ChangedGaps, heard: Heard, known: Floats, lent: Floats, about: Floats
) -> Floats:
    """Return the rates r of items with r lent = known + changes(r length) of its gaps.

    ``about`` is about what they are.
    """
    n, days = lent.size, gaps.tally * gaps.length
    sure = known + np.bincount(gaps.item, gaps.tally * heard.true, n)
    quiet = lent - np.bincount(gaps.item, heard.share * days, n)
    rate = np.maximum(about, sure / quiet)
    for _ in range(STEPS):
        beyond, slope = heard.beyond(rate[gaps.item] * gaps.length)
        off = sure + np.bincount(gaps.item, gaps.tally * beyond, n) - quiet * rate
        step = off / (quiet - np.bincount(gaps.item, days * slope, n))
        rate = np.maximum(rate + step, 0.1 * rate)
        if (np.abs(step) <= CLOSE * rate).all():
            break
    return rate
