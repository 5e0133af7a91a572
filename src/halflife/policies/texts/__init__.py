"""Rules that choose which content summaries to refresh, week by week.

A rule is a pure callable ``(shelf, budget, rng) -> wish``. It may request less than the
budget allows: the request is carried out, the shelf is updated and the rule is called
again, until it requests nothing. A rule knows only the summaries that a crawler made,
not the databases between two refreshes.
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
    """The results of all refreshes so far, oldest first.

    Attributes:
        database: Which database.
        gap: Weeks between its last two summaries.
        kl: The divergence of the old summary from the new one.

    """

    database: Ints
    gap: Floats
    kl: Floats

    def and_then(self, database: Ints, gap: Floats, kl: Floats) -> "Refreshes":
        """Return these results and later ones."""
        return Refreshes(
            np.concatenate((self.database, database)),
            np.concatenate((self.gap, gap)),
            np.concatenate((self.kl, kl)),
        )


@dataclass(frozen=True, slots=True)
class Samples:
    """The latest sample of documents of each database.

    Attributes:
        week: The week of the sample; -1 if there was none.
        share: The share of sampled documents that had changed since the summary.

    """

    week: Ints
    share: Floats


@dataclass(frozen=True, slots=True)
class CountChecks:
    """Checks of the present summaries by match counts of a few words, oldest first.

    Attributes:
        database: Which database.
        age: The age of its summary, in weeks.
        kl: The divergence estimated from the counts; NaN if they were not usable.
        price: The cost of a check of each database, in refreshes; ``inf`` where match
            counts are not usable.

    """

    database: Ints
    age: Floats
    kl: Floats
    price: Floats

    def and_then(self, database: Ints, age: Floats, kl: Floats) -> "CountChecks":
        """Return these results and later ones."""
        return CountChecks(
            np.concatenate((self.database, database)),
            np.concatenate((self.age, age)),
            np.concatenate((self.kl, kl)),
            self.price,
        )

    def without(self, database: Ints) -> "CountChecks":
        """Return the checks without these databases, whose summaries were refreshed."""
        left = ~np.isin(self.database, database)
        return CountChecks(
            self.database[left], self.age[left], self.kl[left], self.price
        )

    @classmethod
    def none(cls, price: Floats) -> "CountChecks":
        """Return no checks, of databases with these prices of a check."""
        return cls(NONE, np.zeros(0), np.zeros(0), price)


@dataclass(frozen=True, slots=True)
class SummaryShelf:
    """The summaries that a crawler has in one week.

    Attributes:
        week: The week.
        age: The age of each summary, in weeks.
        stratum: The domain of each database.
        size: Documents of each database when its summary was made.
        refreshes: The results of refreshes so far.
        samples: The latest samples.
        income: Refreshes per week.
        checks: Checks by match counts; None where no database has such counts.

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
    """Databases to refresh, and those to sample or check first.

    Attributes:
        refresh: Databases whose summaries are to be refreshed.
        sample: Databases whose documents are to be sampled first.
        check: Databases whose match counts are to be checked first.

    """

    refresh: Ints = field(default_factory=lambda: NONE)
    sample: Ints = field(default_factory=lambda: NONE)
    check: Ints = field(default_factory=lambda: NONE)


class TrainingData(Protocol):
    """The data that rules are trained on, from a recording or from a store."""

    @property
    def cost(self) -> Floats | None:
        """The cost of a refresh of each database; None if all are the same."""
        ...

    @property
    def weight(self) -> Floats | None:
        """The weight of each database; None if all are the same."""
        ...

    def survival(self, names: Sequence[str]) -> WeibullSurvival:
        """Return the survival of each database by these features, in weeks."""
        ...

    def odds(self) -> Floats:
        """Return the log odds of a change (databases x age in weeks)."""
        ...


class TextPolicy(Protocol):
    """A rule that chooses databases from a shelf and a budget."""

    def __call__(
        self, shelf: SummaryShelf, budget: float, rng: Generator
    ) -> RefreshWish:
        """Return the next requests for at most ``budget`` refreshes."""
        ...


def best(gain: Floats, budget: float, rng: Generator) -> RefreshWish:
    """Return the databases with the largest positive gains; ties are random."""
    order = np.lexsort((rng.random(gain.size), -gain))[: max(int(budget), 0)]
    return RefreshWish(order[gain[order] > 0])
