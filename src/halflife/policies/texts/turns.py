"""Rules that follow fixed frequencies."""

from numpy.random import Generator

from halflife.core.arrays import Floats
from halflife.policies.texts import Shelf, Wish, best


def naive(shelf: Shelf, budget: float, rng: Generator) -> Wish:
    """Renew the oldest summaries: every database in turn, every T weeks."""
    return best(shelf.age.astype(float), budget, rng)


class Frequencies:
    """Renews each summary so often a week; what is most overdue comes first.

    A summary that is ``age`` weeks old is ``age * frequency`` intervals old. As the
    frequencies add up to the budget, each comes round after about one.
    """

    def __init__(self, frequency: Floats) -> None:
        self.frequency = frequency

    def __call__(self, shelf: Shelf, budget: float, rng: Generator) -> Wish:
        """Return the most overdue."""
        return best(shelf.age * self.frequency, budget, rng)
