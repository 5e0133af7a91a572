"""Rules that choose which content summaries to renew, week by week.

A rule is a pure callable ``(shelf, budget, rng) -> wish``. It may wish for less than
the budget allows: the wish is carried out, the shelf is brought up to date and the
rule is called again, until it wishes for nothing. What it knows is what a crawler
has seen: the summaries it made, and no database between two refreshes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats, Ints
from halflife.models.drift import WeibullSurvival

NONE: Ints = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class Refreshes:
    """What refreshes showed so far, oldest first: facts that only grow.

    Attributes:
        database: Which database.
        gap: Weeks since its summary was last made.
        kl: How far the old summary was from the new one.

    """

    database: Ints
    gap: Floats
    kl: Floats

    def and_then(self, database: Ints, gap: Floats, kl: Floats) -> "Refreshes":
        """Return these and later ones."""
        return Refreshes(
            np.concatenate((self.database, database)),
            np.concatenate((self.gap, gap)),
            np.concatenate((self.kl, kl)),
        )


@dataclass(frozen=True, slots=True)
class Samples:
    """The latest sample of documents of each database.

    Attributes:
        week: When it was taken; -1 if never.
        share: Share of the sampled documents that had changed since the summary.

    """

    week: Ints
    share: Floats


@dataclass(frozen=True, slots=True)
class CountChecks:
    """What match counts of a few words showed of the summaries in use, oldest first.

    Attributes:
        database: Which database.
        age: How many weeks old its summary was.
        kl: How far it was off by the counts; NaN if they told nothing.
        price: Of a check of each database, in refreshes; ``inf`` where the counts
            that it tells are of no use, and it cannot be checked so.

    """

    database: Ints
    age: Floats
    kl: Floats
    price: Floats

    def and_then(self, database: Ints, age: Floats, kl: Floats) -> "CountChecks":
        """Return these and later ones."""
        return CountChecks(
            np.concatenate((self.database, database)),
            np.concatenate((self.age, age)),
            np.concatenate((self.kl, kl)),
            self.price,
        )

    def without(self, database: Ints) -> "CountChecks":
        """Return the same without these databases, whose summaries were made anew."""
        left = ~np.isin(self.database, database)
        return CountChecks(
            self.database[left], self.age[left], self.kl[left], self.price
        )

    @classmethod
    def none(cls, price: Floats) -> "CountChecks":
        """Return no check at all, of databases in which one has this price."""
        return cls(NONE, np.zeros(0), np.zeros(0), price)


@dataclass(frozen=True, slots=True)
class SummaryShelf:
    """The summaries as a crawler sees them in one week.

    Attributes:
        week: The week.
        age: Weeks since each summary was made.
        stratum: The domain of each database.
        size: Documents of each when its summary was made.
        refreshes: What refreshes showed so far.
        samples: What samples showed last.
        income: Refreshes that a week brings.
        checks: What match counts showed; None where no database tells such.

    """

    week: int
    age: Ints
    stratum: Ints
    size: Floats
    refreshes: Refreshes
    samples: Samples
    income: float
    checks: CountChecks | None = None


@dataclass(frozen=True, slots=True)
class RefreshWish:
    """Databases whose summaries are to be made anew, and those to look at first.

    Attributes:
        refresh: Those whose summaries are to be made anew.
        sample: Those of which documents are to be sampled first.
        check: Those of which match counts are to be asked for first.

    """

    refresh: Ints = field(default_factory=lambda: NONE)
    sample: Ints = field(default_factory=lambda: NONE)
    check: Ints = field(default_factory=lambda: NONE)


class Taught(Protocol):
    """What a rule learns from before it starts, from a recording or from a store."""

    @property
    def cost(self) -> Floats | None:
        """Of a refresh of each database; None if all cost the same."""
        ...

    @property
    def weight(self) -> Floats | None:
        """How much each database counts; None if all count the same."""
        ...

    def survival(self, names: Sequence[str]) -> WeibullSurvival:
        """Return each database's survival by these features, time in weeks."""
        ...

    def odds(self) -> Floats:
        """Return the log odds of a change, databases x age in weeks."""
        ...


class TextPolicy(Protocol):
    """Anything that turns a shelf and a budget into a wish."""

    def __call__(
        self, shelf: SummaryShelf, budget: float, rng: Generator
    ) -> RefreshWish:
        """Return what to do next for at most ``budget`` refreshes."""
        ...


def best(gain: Floats, budget: float, rng: Generator) -> RefreshWish:
    """Wish for the databases with the most gain, ties by lot; none without gain."""
    order = np.lexsort((rng.random(gain.size), -gain))[: max(int(budget), 0)]
    return RefreshWish(order[gain[order] > 0])
