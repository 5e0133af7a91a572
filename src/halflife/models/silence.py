"""The share of a page's changes that go unannounced: the worth of silence.

A page dated by a map that reports nothing new is more likely to be unchanged than one
that no map knows. With x changes expected in a gap between observations, q the share of
them that goes unannounced and s hints of worth k each, the page has not changed with
probability

    exp(-q x - k s).

q = 1 if silence is no evidence, and nearly 0 if every change is announced. Gaps with
credible hints hide whether anything else changed, so a gap counts with the weight
exp(-k s). A gap that saw a change stands for q x / (1 - exp(-q x)) unannounced ones,
and a page's q is estimated by expectation maximisation,

    q = (sum of these + OWN Q) / (sum of x over all gaps + OWN),

with Q that of its class, the pages of a host that are dated by the same kinds of maps.
Q is the same ratio over the class, in which no page counts for more than OWN changes,
with PRETEND prior changes as in all classes together; and for all together these were
unannounced. So silence is worth nothing until proved.
"""

from typing import NamedTuple, Self

import numpy as np

from halflife.core.arrays import Floats, Ints

OWN = 2.0  # weight of the class in the share of a page, in changes
PRETEND = 5.0  # weight of the prior of a class, in changes, as for hints
LEAST = 0.02  # least share of unannounced changes at any host
_STEPS = 20
_FEWEST = 1e-9  # changes expected


class ChangedObservations(NamedTuple):
    """Observations that found a change.

    Attributes:
        item: The item of each.
        expected: x, the changes expected in the gap.
        tally: How many such gaps; negative to subtract gaps counted elsewhere.

    """

    item: Ints
    expected: Floats
    tally: Floats


class SilentShares:
    """The share of changes that goes unannounced, for each item.

    Attributes:
        share_: q of each item, from 0.02 to 1; 1 for items without dates.

    >>> gaps = ChangedObservations(np.zeros(1, int), np.full(1, 0.01), np.ones(1))
    >>> dated, ten = np.zeros(1, int), np.full(1, 10.0)
    >>> SilentShares().fit(gaps, ten, dated).share_.round(2)  # one of ten unannounced
    array([0.18])

    """

    share_: Floats

    def fit(self, gaps: ChangedObservations, expected: Floats, place: Ints) -> Self:
        """Learn from observations; ``expected`` are the total changes of each item.

        ``place`` is the class of each item; -1 if no map has ever dated it.
        """
        dated = np.flatnonzero(place >= 0)
        group, all_of = place[dated], np.maximum(expected[dated], 0.0)
        weight = OWN / (OWN + all_of)
        expected_sum = _sums(group, weight * all_of)
        x = np.maximum(gaps.expected, _FEWEST)
        self.share_ = np.ones(place.size)
        for _ in range(_STEPS):
            unannounced = self.share_[gaps.item] * x
            counted = gaps.tally * unannounced / -np.expm1(-unannounced)
            seen = np.bincount(gaps.item, counted, place.size)[dated]
            seen_sum = _sums(group, weight * seen)
            overall = (seen_sum.sum() + PRETEND) / (expected_sum.sum() + PRETEND)
            class_share = (seen_sum + PRETEND * overall) / (expected_sum + PRETEND)
            own = (seen + OWN * class_share[group]) / (all_of + OWN)
            self.share_[dated] = np.clip(own, LEAST, 1.0)
        return self


def _sums(group: Ints, amount: Floats) -> Floats:
    sums: Floats = np.bincount(group, amount).astype(np.float64)
    return sums
