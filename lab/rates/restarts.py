"""Rates that may start anew at any moment: what came before is dropped."""

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.gaps import check_gaps
from halflife.models.rates.columns import lengthen, rounds_of_gaps
from halflife.models.rates.drift import chance

_NOTHING = 1e-300  # so that a logarithm can be taken


class Restarting:
    """Rates that may start anew at any moment, by Bayes' rule on when they last did.

    An item's rate is drawn from the prior and kept until a restart, at ``restarts`` a
    day. For each of a few moments of the last restart the item keeps how likely it is
    and the changes and days since: with hazard h = 1 - exp(-restarts g) a gap g
    multiplies the weight of each run by (1 - h) times the chance the run gave to what
    was seen, and a new run gets h times the chance the prior gave. Then the two
    neighbours that are least likely are joined. Three numbers an item and run. Adams
    and MacKay, "Bayesian online changepoint detection", 2007, with bounded memory.

    Args:
        restarts: How often rates start anew, a day.
        runs: Moments of the last restart that are told apart.
        prior: Changes, and the days they took, that a new run begins with.

    """

    def __init__(
        self,
        *,
        restarts: float = 1.0 / 365.0,
        runs: int = 6,
        prior: tuple[float, float] = (0.5, 5.0),
    ) -> None:
        self.restarts = restarts
        self.prior = prior
        self._weight, self._shape, self._days = (np.zeros((runs, 0)) for _ in range(3))

    def grow(self, n: int) -> None:
        """Make room for ``n`` items in all."""
        known = self._weight.shape[1]
        self._weight = lengthen(self._weight, n)
        self._weight[-1, known:] = 1.0
        self._shape = lengthen(self._shape, n, self.prior[0])
        self._days = lengthen(self._days, n, self.prior[1])

    def add(
        self, item: Ints, length: Floats, changed: Bools, tally: Floats | None = None
    ) -> None:
        """Learn from gaps, in their order."""
        gaps, _ = check_gaps(item, length, changed, tally, self._weight.shape[1])
        for part in rounds_of_gaps(gaps):
            self._step(part.item, part.length * part.tally, part.changed, part.tally)

    def _step(self, rows: Ints, length: Floats, changed: Bools, tally: Floats) -> None:
        hazard = -np.expm1(-self.restarts * length)
        start = np.multiply.outer(np.array(self.prior), np.ones(rows.size))
        weight = np.vstack([hazard, self._weight[:, rows] * (1.0 - hazard)])
        shape = np.vstack([start[:1], self._shape[:, rows]])
        days = np.vstack([start[1:], self._days[:, rows]])
        weight = weight * chance(shape, days, length, changed)
        shape = shape + tally * changed
        days = days + np.where(changed, length / 2, length)
        joined = joined_runs(weight / weight.sum(axis=0), shape, days)
        self._weight[:, rows], self._shape[:, rows], self._days[:, rows] = joined

    def rate(self) -> Floats:
        """Return the mean rate, over all moments at which it may have restarted."""
        return np.asarray((self._weight * self._shape / self._days).sum(axis=0))


def joined_runs(weight: Floats, *columns: Floats) -> tuple[Floats, ...]:
    """Return one run less an item: the two neighbours least likely are made one.

    Weights add up; the other columns are averaged by weight.
    """
    pair = weight[:-1] + weight[1:]
    first = np.argmin(pair, axis=0)[None]
    row = np.arange(len(pair))[:, None]
    source = row + (row > first)
    share = np.take_along_axis(weight, first, 0) / np.maximum(
        np.take_along_axis(pair, first, 0), _NOTHING
    )

    def join(column: Floats) -> Floats:
        one, two = (np.take_along_axis(column, first + i, 0) for i in (0, 1))
        mixed = two + share * (one - two)
        return np.where(row == first, mixed, np.take_along_axis(column, source, 0))

    together = np.take_along_axis(pair, first, 0)
    kept = np.take_along_axis(weight, source, 0)
    return np.where(row == first, together, kept), *map(join, columns)
