"""Priors and posteriors against quadrature and a general optimiser."""

import numpy as np
import pytest
from scipy import integrate, optimize

from halflife.core.history import Gaps
from halflife.models.empirical_bayes import GRID, RateGrid, fit_prior, wide_prior
from lab.fit import watch
from lab.rates.empirical_bayes import grid_posterior, log_likelihood


@pytest.mark.parametrize("changes", [0, 1, 4, 9])
def test_the_grid_posterior_is_the_integral_over_rates(changes):
    length = np.linspace(0.5, 6.0, 10)
    changed = np.arange(10) < changes
    gaps = Gaps(np.zeros(10, np.intp), length, changed, np.ones(10))
    weight = grid_posterior(log_likelihood(gaps, 1), wide_prior())[0]

    def density(log_rate):
        x = np.exp(log_rate) * length
        like = np.prod(np.where(changed, -np.expm1(-x), np.exp(-x)))
        return like * np.exp(-0.5 * ((log_rate + np.log(30.0)) / 2.5) ** 2)

    def mean(function):
        ends = (np.log(1e-4) - GRID.step / 2, np.log(1e3) + GRID.step / 2)
        return integrate.quad(lambda u: function(u) * density(u), *ends, limit=400)[0]

    total = mean(lambda _: 1.0)
    assert weight @ GRID.rate == pytest.approx(mean(np.exp) / total, rel=2e-3)
    assert weight @ np.log(GRID.rate) == pytest.approx(
        mean(lambda u: u) / total, abs=2e-3
    )
    for t in (0.1, 3.0, 50.0):
        alive = mean(lambda u, t=t: np.exp(-np.exp(u) * t)) / total
        assert weight @ np.exp(-GRID.rate * t) == pytest.approx(alive, abs=1e-3)


def test_no_other_prior_is_more_likely():
    grid = RateGrid(slowest=0.01, fastest=10.0, points=7)
    table = log_likelihood(watch(np.repeat([0.05, 2.0], 20), 6, seed=0), 40, grid)
    like = np.exp(table.astype(float))
    wide = wide_prior(grid)

    def unlikely(prior):
        return -np.log(like @ prior).sum() - 20.0 * wide @ np.log(prior)

    found = optimize.minimize(
        unlikely,
        np.full(7, 1 / 7),
        method="SLSQP",
        bounds=[(1e-9, 1)] * 7,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1.0},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    prior = fit_prior(table, grid)
    assert unlikely(prior) == pytest.approx(found.fun, abs=1e-3)
    assert prior == pytest.approx(found.x, abs=5e-3)
