"""Rates of a whole population and of each item, fitted at once."""

from typing import Self

import numpy as np

from halflife.core.arrays import Bools, Bytes, Floats, Ints
from halflife.core.errors import NotFitted
from halflife.core.history import Gaps
from halflife.models.empirical_bayes import (
    GRID,
    RateGrid,
    Table,
    add_log_likelihood,
    fit_prior,
    posterior,
)
from halflife.models.gaps import check_gaps, statuses
from halflife.models.poisson import GammaSurvival


def grid_posterior(table: Table, prior: Floats) -> Floats:
    """Return P(rate k | gaps of item i) as row i, column k."""
    weight = np.exp(table - table.max(axis=1, keepdims=True)) * prior
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


class EmpiricalBayesRate:
    """Rates of many items, each shrunk towards the population's distribution.

    Args:
        grid: The rates that an item may have.
        pretend: The weight of the wide default prior, in items.

    Attributes:
        rate_: Posterior mean rate of each item, in changes a day.
        shape_: Shape of the Gamma distribution that approximates the posterior.
        exposure_: Its inverse scale, in days.
        prior_: Weights of the grid's rates in the population.
        status_: How far the observations determine each rate; see ``RateStatus``.

    >>> calm, busy = np.zeros(50, bool), np.ones(50, bool)
    >>> item = np.repeat([0, 1], 50)
    >>> model = EmpiricalBayesRate().fit(item, np.ones(100), np.append(calm, busy))
    >>> bool(model.rate_[0] < 0.05 and model.rate_[1] > 2)
    True

    """

    rate_: Floats
    shape_: Floats
    exposure_: Floats
    prior_: Floats
    status_: Bytes

    def __init__(self, *, grid: RateGrid = GRID, pretend: float = 20.0) -> None:
        self.grid = grid
        self.pretend = pretend

    def fit(
        self,
        item: Ints,
        length: Floats,
        changed: Bools,
        tally: Floats | None = None,
        *,
        n_items: int | None = None,
    ) -> Self:
        """Estimate the population and all its items from gaps between observations."""
        gaps, n = check_gaps(item, length, changed, tally, n_items)
        table = log_likelihood(gaps, n, self.grid)
        self.prior_ = fit_prior(table, self.grid, pretend=self.pretend)
        believed = posterior(table, self.prior_, self.grid)
        self.shape_, self.exposure_, self.rate_ = believed
        self.status_ = statuses(gaps, n)
        return self

    def survival(self) -> GammaSurvival:
        """Return the survival of the items, uncertainty about the rates included."""
        if not hasattr(self, "shape_"):
            raise NotFitted("call fit() before survival()")
        return GammaSurvival(self.shape_, self.exposure_)


def log_likelihood(gaps: Gaps, n_items: int, grid: RateGrid = GRID) -> Table:
    """Return ln P(gaps of item i | rate k) as row i, column k."""
    table = np.zeros((n_items, grid.points), dtype=np.float32)
    add_log_likelihood(table, gaps, grid)
    return table
