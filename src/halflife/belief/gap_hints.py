"""The hints that arrived in the gaps before observations."""

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.hint_claims import by_kind
from halflife.models.bursts import at_least_one

_MOST_LOAD = 700.0  # exp of more is no number


class GapHints(NamedTuple):
    """The effect of the hints that arrived before observations, one row for each.

    A page expected to have changed x times, hints aside, is unchanged with probability
    exp(-share x - load).

    Attributes:
        share: The share of the page's changes that no hint announces.
        load: The total worth of the hints since the previous observation.
        true: How many of them are expected to be true.

    """

    share: Floats | float
    load: Floats | float
    true: Floats | float

    def changes(self, expected: Floats) -> Floats:
        """Return the number of changes behind an observation that found one.

        With x expected it is (share x + true) / (1 - exp(-share x - load)).
        """
        silent = self.share * expected
        announced = self.true / -np.expm1(-np.maximum(silent, 1e-9) - self.load)
        return np.asarray(at_least_one(silent, self.load) + announced)

    def beyond(self, expected: Floats) -> tuple[Floats, Floats]:
        """Return ``changes`` less share x + true, and its derivative with respect to x.

        It is (share x + true) / (exp(share x + load) - 1), which falls from 1 to 0,
        and never by more than half of the share of x.

        >>> more, slope = NO_HINTS.beyond(np.array([0.0, 1.0, 800.0]))
        >>> more.round(3) + 0.0, slope.round(3) + 0.0
        (array([1.   , 0.582, 0.   ]), array([-0.5  , -0.339,  0.   ]))
        """
        silent = np.maximum(self.share * expected, 1e-9)
        grown = np.expm1(np.minimum(silent + self.load, _MOST_LOAD))
        more = (silent + self.true) / grown
        return more, self.share * ((1.0 - more) / grown - more)


NO_HINTS = GapHints(1.0, 0.0, 0.0)


@runtime_checkable
class HintedEvidence(Protocol):
    """Evidence that also knows the hints before each observation."""

    def gap_hints(self, rows: Ints) -> GapHints:
        """Return the hints that arrived before the latest observation of each item."""
        ...

    def announced_since(self) -> tuple[Floats, Floats]:
        """Return the changes announced since the latest observation of each item.

        And the days in which all changes would have been seen: the days since then that
        maps cover, times the share of changes that maps announce.
        """
        ...


class ChangedGaps(NamedTuple):
    """Gaps that saw a change.

    Attributes:
        item: The item of each.
        length: How long it was, in days.
        tally: How many such gaps; negative to subtract gaps counted elsewhere.
        load: The total worth of the hints in it.
        true: How many of them are expected to be true.

    """

    item: Ints
    length: Floats
    tally: Floats
    load: Floats
    true: Floats


def changed_gaps(
    evidence: Evidence,
    worth: Floats | None,
    gaps: int | None = None,
    hinted: int | None = None,
) -> ChangedGaps:
    """Return the gaps that saw a change, with their hints; of the first so many gaps.

    The log tallies all gaps without their hints, and those with hints again, so these
    are subtracted once. ``worth`` is the worth of a hint of each kind for each item;
    without it hints are ignored.
    """
    plain, hinted_gaps = evidence.gaps(), evidence.hinted()
    rows = np.flatnonzero(plain.changed[:gaps])
    zeros = np.zeros(rows.size)
    without_hints = ChangedGaps(
        plain.item[rows], plain.length[rows], plain.tally[rows], zeros, zeros
    )
    if worth is None:
        return without_hints
    rows = np.flatnonzero(hinted_gaps.changed[:hinted])
    item, length, tally = (
        hinted_gaps.item[rows],
        hinted_gaps.length[rows],
        hinted_gaps.tally[rows],
    )
    counts, worths = by_kind(hinted_gaps.hints[rows]), worth[:, item]
    load, true = (
        (worths * counts).sum(axis=0),
        (-np.expm1(-worths) * counts).sum(axis=0),
    )
    zeros = np.zeros(rows.size)
    subtracted = ChangedGaps(item, length, -tally, zeros, zeros)
    with_hints = ChangedGaps(item, length, tally, load, true)
    return ChangedGaps._make(
        map(np.concatenate, zip(without_hints, subtracted, with_hints, strict=True))
    )
