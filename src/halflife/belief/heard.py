"""What hints had said of pages before looks at them."""

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.hint_claims import by_kind
from halflife.models.bursts import at_least_one

_MOST_LOAD = 700.0  # exp of more is no number


class Heard(NamedTuple):
    """What hints had said before looks, one row each.

    A page that should have changed x times, by all that is known but hints, is as it
    was with probability exp(-share x - load).

    Attributes:
        share: Of the page's changes, the share that nobody announces.
        load: What the hints that came since the look before are worth together.
        true: How many of them are expected to be true.

    """

    share: Floats | float
    load: Floats | float
    true: Floats | float

    def changes(self, expected: Floats) -> Floats:
        """Return how many changes a look stands for that found one.

        With x expected it is (share x + true) / (1 - exp(-share x - load)).
        """
        silent = self.share * expected
        known = self.true / -np.expm1(-np.maximum(silent, 1e-9) - self.load)
        return np.asarray(at_least_one(silent, self.load) + known)

    def beyond(self, expected: Floats) -> tuple[Floats, Floats]:
        """Return ``changes`` less share x + true, and how much that grows with x.

        It is (share x + true) / (exp(share x + load) - 1), which falls from 1 to 0,
        and never by more than half of the share of x.

        >>> more, slope = UNHEARD.beyond(np.array([0.0, 1.0, 800.0]))
        >>> more.round(3) + 0.0, slope.round(3) + 0.0
        (array([1.   , 0.582, 0.   ]), array([-0.5  , -0.339,  0.   ]))
        """
        silent = np.maximum(self.share * expected, 1e-9)
        grown = np.expm1(np.minimum(silent + self.load, _MOST_LOAD))
        more = (silent + self.true) / grown
        return more, self.share * ((1.0 - more) / grown - more)


UNHEARD = Heard(1.0, 0.0, 0.0)


@runtime_checkable
class Hearsay(Protocol):
    """Evidence that also says what hints had said."""

    def heard(self, rows: Ints) -> Heard:
        """Return what hints had said of items before the latest look at each."""
        ...

    def meanwhile(self) -> tuple[Floats, Floats]:
        """Return the changes announced since the latest look at each item.

        And the days in which all changes would have been seen: the days since that look
        that maps cover, times the share of changes that maps announce.
        """
        ...


class ChangedGaps(NamedTuple):
    """Gaps that saw a change.

    Attributes:
        item: The item of each.
        length: How long it was, in days.
        tally: How many such gaps; negative to take back some counted elsewhere.
        load: What the hints that came in it are worth together.
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
    """Return the gaps that saw a change, of the first so many, with their hints.

    The log tallies all gaps without their hints, and those with hints again, so these
    are taken back once. ``worth`` is what hints of each kind are worth for each item;
    nothing if it is None.
    """
    plain, some = evidence.gaps(), evidence.hinted()
    yes = np.flatnonzero(plain.changed[:gaps])
    none = np.zeros(yes.size)
    alone = ChangedGaps(
        plain.item[yes], plain.length[yes], plain.tally[yes], none, none
    )
    if worth is None:
        return alone
    yes = np.flatnonzero(some.changed[:hinted])
    item, length, tally = some.item[yes], some.length[yes], some.tally[yes]
    counts, each = by_kind(some.hints[yes]), worth[:, item]
    load, true = (each * counts).sum(axis=0), (-np.expm1(-each) * counts).sum(axis=0)
    none = np.zeros(yes.size)
    back = ChangedGaps(item, length, -tally, none, none)
    told = ChangedGaps(item, length, tally, load, true)
    return ChangedGaps._make(map(np.concatenate, zip(alone, back, told, strict=True)))
