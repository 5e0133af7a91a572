"""The changes in gaps that were recorded before a belief was first used.

The number of changes in a gap that saw one depends on the rate r of its page, and the
rate on that number. With X changes counted since then in the time T that the page has
lived, and a the rate around it, both agree where

    r (T + k / a) = X + k + sum of c(r g) over the gaps g that saw a change,

c as in ``GapHints.changes``. Written with c(x) - share x - true, which falls with x, no
large numbers are subtracted from each other; the rate is found by Newton's method, from
below. The rates around pages come from a simpler count: one change for half of the gap,
or for all of it if a hint ended it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from halflife.belief.gap_hints import ChangedGaps, GapHints, changed_gaps
from halflife.belief.page_rates import PageRates, RatesAround
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.grouping.places import folder_codes

STEPS = 50  # of Newton's method, at most; three or four do for most pages
CLOSE = 1e-6  # of the rate; after a step as small the next would be far smaller


@dataclass(frozen=True, slots=True)
class EarlierChanges:
    """The changes counted in all observations so far; shared by beliefs, so read-only.

    Attributes:
        folders: The number of each folder.
        pages: The changes and the time lived of each page.
        around: The mean rates around them.
        rows: The pages with gaps that saw a change.
        counted: The changes counted in these gaps.

    """

    folders: Mapping[str, int]
    pages: PageRates
    around: RatesAround
    rows: Ints
    counted: Floats


def earlier_changes(evidence: Evidence) -> EarlierChanges:
    """Return the changes counted in all observations, without hints."""
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
    """Return the pages of the gaps, and the number of changes in them.

    ``pages`` has counted the changes since then, and none of those in the gaps.
    ``share`` is the share of each page's changes that no hint announces.
    """
    n = pages.site.size
    half = 0.5 * np.exp(-gaps.load) * gaps.tally * gaps.length
    simple = replace(
        pages,
        changes=pages.changes + np.bincount(gaps.item, gaps.tally, n),
        lived=pages.lived - np.bincount(gaps.item, half, n),
    )
    # Of very many pages few have such gaps; only these get a row.
    has_gap = np.zeros(n, dtype=np.bool_)
    has_gap[gaps.item] = True
    rows: Ints = np.flatnonzero(has_gap).astype(np.int32)
    row_of_gap = np.asarray(np.cumsum(has_gap)[gaps.item] - 1)
    around = pages.shape / simple.around().at(rows)
    guess = (simple.changes[rows] + pages.shape) / (simple.lived[rows] + around)
    changes, days = pages.changes[rows] + pages.shape, pages.lived[rows] + around
    silent_share = share[gaps.item] if isinstance(share, np.ndarray) else share
    hints = GapHints(silent_share, gaps.load, gaps.true)
    rate = solve_rates(gaps._replace(item=row_of_gap), hints, changes, days, guess)
    return rows, days * rate - changes


def solve_rates(
    gaps: ChangedGaps, hints: GapHints, changes: Floats, days: Floats, guess: Floats
) -> Floats:
    """Return the rates r with r days = changes + hints.changes(r length) of the gaps.

    ``guess`` is where the search begins.
    """
    n, gap_days = days.size, gaps.tally * gaps.length
    sure = changes + np.bincount(gaps.item, gaps.tally * hints.true, n)
    quiet = days - np.bincount(gaps.item, hints.share * gap_days, n)
    rate = np.maximum(guess, sure / quiet)
    for _ in range(STEPS):
        beyond, slope = hints.beyond(rate[gaps.item] * gaps.length)
        off = sure + np.bincount(gaps.item, gaps.tally * beyond, n) - quiet * rate
        step = off / (quiet - np.bincount(gaps.item, gap_days * slope, n))
        rate = np.maximum(rate + step, 0.1 * rate)
        if (np.abs(step) <= CLOSE * rate).all():
            break
    return rate
