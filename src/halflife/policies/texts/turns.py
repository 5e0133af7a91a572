"""Rules that follow fixed frequencies."""

from dataclasses import dataclass

from numpy.random import Generator

from halflife.core.arrays import Floats
from halflife.policies.texts import RefreshWish, SummaryShelf, best


class NaiveSummaries:
    """Renews every database in turn, every T weeks."""

    def score(self, shelf: SummaryShelf, age: Floats) -> Floats:
        """Return the age: the oldest comes first."""
        del shelf
        return age

    def __call__(
        self, shelf: SummaryShelf, budget: float, rng: Generator
    ) -> RefreshWish:
        """Return the oldest summaries."""
        return best(self.score(shelf, shelf.age.astype(float)), budget, rng)


naive = NaiveSummaries()


@dataclass(frozen=True, slots=True)
class RefreshFrequencies:
    """Renews each summary so often a week; what is most overdue comes first.

    A summary that is ``age`` weeks old is ``age * frequency`` intervals old. As the
    frequencies add up to the budget, each comes round after about one.
    """

    frequency: Floats

    def score(self, shelf: SummaryShelf, age: Floats) -> Floats:
        """Return how many intervals have passed."""
        del shelf
        return age * self.frequency

    def __call__(
        self, shelf: SummaryShelf, budget: float, rng: Generator
    ) -> RefreshWish:
        """Return the most overdue."""
        return best(self.score(shelf, shelf.age.astype(float)), budget, rng)
