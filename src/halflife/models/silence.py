"""Which share of the changes of a page nobody announces: what silence is worth.

A page that a map dates, and of which it says nothing new, is likelier to be as it was
than one that no map knows. With x changes expected in a gap between looks, q the share
of them that goes unannounced and s hints that are worth k each, the page has not
changed with probability

    exp(-q x - k s).

q = 1 if silence says nothing, and nearly 0 if every change is announced. Gaps in which
hints came that are believed hide whether anything else changed, so a gap counts with
the weight exp(-k s). A gap that saw a change stands for q x / (1 - exp(-q x))
unannounced ones, and a page's q is found by steps of expectation maximisation,

    q = (sum of these + OWN Q) / (sum of x over all gaps + OWN),

with Q that of its class, the pages of a host that are dated by the same kinds of maps.
Q is the same ratio over the class, in which no page counts for more than OWN changes,
with PRETEND changes that went as all classes together do; and for all together these
were unannounced. So silence is worth nothing until it has proved to be.
"""

from typing import NamedTuple, Self

import numpy as np

from halflife.core.arrays import Floats, Ints

OWN = 2.0  # changes that the class counts for in the share of a page
PRETEND = 5.0  # changes that the prior of a class counts for, as of hints
LEAST = 0.02  # of all changes, that go unannounced at any host
_STEPS = 20
_FEWEST = 1e-9  # changes expected


class ChangedLooks(NamedTuple):
    """Looks that found a change.

    Attributes:
        item: The item of each.
        expected: x, the changes that so long a gap should see.
        tally: For how many such gaps it counts; negative to take back some counted
            elsewhere.

    """

    item: Ints
    expected: Floats
    tally: Floats


class SilentShares:
    """The share of changes that goes unannounced, for each item.

    Args:
        own: Changes that the class counts for in the share of an item.
        pretend: Changes that the prior of a class counts for.

    Attributes:
        share_: q of each item, from 0.02 to 1; 1 of items that nobody dates.

    >>> gaps = ChangedLooks(np.zeros(1, int), np.full(1, 0.01), np.ones(1))
    >>> dated, ten = np.zeros(1, int), np.full(1, 10.0)
    >>> SilentShares().fit(gaps, ten, dated).share_.round(2)  # one of ten was not told
    array([0.18])

    """

    share_: Floats

    def __init__(self, *, own: float = OWN, pretend: float = PRETEND) -> None:
        self.own, self.pretend = own, pretend

    def fit(self, gaps: ChangedLooks, expected: Floats, place: Ints) -> Self:
        """Learn from looks; ``expected`` are the changes expected of each item in all.

        ``place`` is the class of each item; -1 if no map has ever dated it.
        """
        dated = np.flatnonzero(place >= 0)
        group, all_of = place[dated], np.maximum(expected[dated], 0.0)
        weight = self.own / (self.own + all_of)
        due = _sums(group, weight * all_of)
        x = np.maximum(gaps.expected, _FEWEST)
        self.share_ = np.ones(place.size)
        for _ in range(_STEPS):
            part = self.share_[gaps.item] * x
            found = gaps.tally * part / -np.expm1(-part)
            seen = np.bincount(gaps.item, found, place.size)[dated]
            came = _sums(group, weight * seen)
            around = (came.sum() + self.pretend) / (due.sum() + self.pretend)
            usual = (came + self.pretend * around) / (due + self.pretend)
            own = (seen + self.own * usual[group]) / (all_of + self.own)
            self.share_[dated] = np.clip(own, LEAST, 1.0)
        return self


def _sums(group: Ints, amount: Floats) -> Floats:
    sums: Floats = np.bincount(group, amount).astype(np.float64)
    return sums
