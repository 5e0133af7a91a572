"""How far the totals that databases report can be trusted."""

from enum import StrEnum

import numpy as np

from halflife.core.arrays import Bools, Floats

FEWEST = 5  # words needed to judge totals
SPREAD = 0.4  # in the log, by which correct words differ beyond chance
TOLERATED = 2.0  # mean squared deviation, in units of the expected one


class TotalsTrust(StrEnum):
    """How far the totals that a database reports can be trusted."""

    CONSISTENT = "totals agree with the sample"
    ROUNDED = "totals are rounded to two digits"
    CAPPED = "totals stop at a limit; words at it were left out"
    INCONSISTENT = "totals contradict the sample or each other; not used"
    ABSENT = "the database tells no totals"
    FEW = "too few words with totals to judge them"


USABLE = frozenset({TotalsTrust.CONSISTENT, TotalsTrust.ROUNDED, TotalsTrust.CAPPED})


def judge_totals(held: Floats, totals: Floats) -> TotalsTrust:
    """Return how far totals can be trusted.

    Totals are inconsistent if one is smaller than the documents of the sample with its
    word (by more than rounding), or if log(df_db/df_S) varies more than twice as much
    as 1/df_S + 0.4^2, which sampling error and the sample's bias explain. They are
    capped if words in three different numbers of documents of the sample, or more, all
    have the largest total.
    """
    if not np.isfinite(totals).any():
        return TotalsTrust.ABSENT
    limit = at_limit(totals, held)
    free = np.isfinite(totals) & ~limit
    if (totals[free] < 0.94 * held[free]).any():
        return TotalsTrust.INCONSISTENT
    if free.sum() < FEWEST:
        return TotalsTrust.FEW
    ratio = np.log(totals[free] / held[free])
    expected = 1.0 / held[free] + SPREAD**2
    if np.mean((ratio - np.median(ratio)) ** 2 / expected) > TOLERATED:
        return TotalsTrust.INCONSISTENT
    if limit.any():
        return TotalsTrust.CAPPED
    return TotalsTrust.ROUNDED if _rounded(totals[free]) else TotalsTrust.CONSISTENT


def _rounded(totals: Floats) -> bool:
    """Return whether no total has more than two significant digits, though it could."""
    large = totals[totals >= 100.0]
    return large.size >= 3 and all(float(f"{t:.1e}") == t for t in large.tolist())


def at_limit(totals: Floats, held: Floats) -> Bools:
    """Return which words have the largest total, if many different words have it."""
    if not np.isfinite(totals).any():
        return np.zeros(totals.size, np.bool_)
    top = (totals == np.nanmax(totals)) & (totals > 0.0)

    return np.asarray(top & (np.unique(held[top]).size >= 3))
