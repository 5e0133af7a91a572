"""Rates that may themselves change: old observations count less."""

from collections.abc import Sequence

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.gaps import check_gaps
from halflife.models.poisson import GammaSurvival
from halflife.models.rates.columns import lengthen, rounds_of_gaps

_NOTHING = 1e-300  # least argument of a logarithm


def chance(shape: Floats, days: Floats, length: Floats, changed: Bools) -> Floats:
    """Return the probability of each gap's outcome, for rates of Gamma(shape, days).

    No change: (days / (days + length)) ** shape; a change: the rest.

    >>> chance(np.ones(2), np.ones(2), np.full(2, 3.0), np.array([False, True]))
    array([0.25, 0.75])
    """
    x = shape * np.log1p(length / days)
    return np.maximum(np.where(changed, -np.expm1(-x), np.exp(-x)), _NOTHING)


class Forgetting:
    """Smoothed rates with exponential forgetting, at the half-life that predicts best.

    After a gap g all earlier observations of an item count 2 ** (-g / half-life).
    Several half-lives are kept side by side; each is scored by the probability that it
    gave to every following observation, and the rate is that of the best. Two numbers
    for each item and half-life.

    Args:
        half_lives: Days after which observations count half; ``inf`` forgets nothing.
        prior: Changes and days that are never forgotten; by default half a change in
            the days that it takes all items together.

    """

    def __init__(
        self,
        half_lives: Sequence[float] = (30.0, 120.0, 480.0, np.inf),
        *,
        prior: tuple[float, float] | None = None,
    ) -> None:
        self.half_lives = tuple(half_lives)
        self.prior = prior
        self._all = np.array([0.5, 0.5])  # changes and days of all items together
        self.score = np.zeros(len(self.half_lives))
        self._changes, self._days = (np.zeros((self.score.size, 0)) for _ in range(2))

    def grow(self, n: int) -> None:
        """Make room for ``n`` items in all."""
        self._changes, self._days = lengthen(self._changes, n), lengthen(self._days, n)

    def add(
        self, item: Ints, length: Floats, changed: Bools, tally: Floats | None = None
    ) -> None:
        """Learn from gaps, in their order."""
        gaps, _ = check_gaps(item, length, changed, tally, self._days.shape[1])
        for part in rounds_of_gaps(gaps):
            rows, changed = part.item, part.changed
            shape, exposure = self._evidence(rows)
            odds = chance(shape, exposure, part.length, changed)
            self.score += (part.tally * np.log(odds)).sum(axis=1)
            kept = self._kept(part.length * part.tally)
            days = np.where(changed, part.length / 2, part.length) * part.tally
            self._changes[:, rows] = (
                kept * self._changes[:, rows] + part.tally * changed
            )
            self._days[:, rows] = kept * self._days[:, rows] + days
            self._all += np.sum(part.tally * changed), np.sum(days)

    @property
    def half_life(self) -> float:
        """The half-life that has predicted best so far; the longer of two equals."""
        best = np.flatnonzero(self.score == self.score.max())
        return max(self.half_lives[i] for i in best)

    def rate(self) -> Floats:
        """Return changes over days at the best half-life."""
        shape, exposure = self._best()
        return shape / exposure

    def survival(self) -> GammaSurvival:
        """Return the survival of the items, uncertainty about the rates included."""
        return GammaSurvival(*self._best())

    def _best(self) -> tuple[Floats, Floats]:
        row = self.half_lives.index(self.half_life)
        shape, exposure = self._evidence(np.arange(self._days.shape[1]))
        return shape[row], exposure[row]

    def _evidence(self, rows: Ints) -> tuple[Floats, Floats]:
        usual = 0.5, 0.5 * self._all[1] / self._all[0]
        changes, days = usual if self.prior is None else self.prior
        return self._changes[:, rows] + changes, self._days[:, rows] + days

    def _kept(self, length: Floats) -> Floats:
        return np.asarray(np.exp2(-length / np.array(self.half_lives)[:, None]))
