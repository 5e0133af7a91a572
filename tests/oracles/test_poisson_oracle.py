"""Rates and survival against scipy's minimisers and quadrature."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from halflife.models.poisson import Exponential, GammaSurvival, PoissonRate


@pytest.mark.parametrize(("changes", "days"), [(0.0, 0.0), (0.5, 1.0), (2.0, 9.0)])
def test_the_rate_maximises_the_posterior(changes, days):
    rng = np.random.default_rng(4)
    item = np.repeat(np.arange(6), 25)
    length = rng.lognormal(0, 1.5, item.size)
    rate = np.geomspace(0.05, 3, 6)
    changed = rng.random(item.size) < -np.expm1(-rate[item] * length)
    tally = rng.choice([1.0, 2.5], item.size)
    model = PoissonRate(prior_changes=changes, prior_days=days)
    model.fit(item, length, changed, tally)
    for i in range(6):
        rows = item == i

        def unlikely(log_rate, rows=rows):
            x = np.exp(log_rate) * length[rows]
            each = np.where(changed[rows], np.log(-np.expm1(-x)), -x)
            prior = changes * log_rate - days * np.exp(log_rate)
            return -(tally[rows] @ each) - prior

        found = optimize.minimize_scalar(
            unlikely, bounds=(-8, 5), method="bounded", options={"xatol": 1e-10}
        )
        assert np.log(model.rate_[i]) == pytest.approx(found.x, abs=1e-6)


@pytest.mark.parametrize("shape", [0.05, 0.999999, 1.0, 1.7, 2.0, 2.000001, 3.0, 40.0])
@pytest.mark.parametrize("t", [1e-6, 1e-2, 0.3, 2.0, 50.0])
def test_gamma_survival_is_the_mean_over_rates(shape, t):
    law, at = GammaSurvival(np.array([shape]), np.array([5.0])), np.array([t])
    rates = stats.gamma(shape, scale=1 / 5.0)
    alive, _ = integrate.quad(
        lambda u: np.exp(-rates.ppf(u) * t), 0, 1, epsabs=1e-13, epsrel=1e-7, limit=400
    )
    assert law.alive(at)[0] == pytest.approx(alive, rel=1e-5)

    def survival(u):
        return (1 + u / 5.0) ** -shape

    lasting, _ = integrate.quad(survival, 0, t, epsabs=0, epsrel=1e-13)
    moment, _ = integrate.quad(lambda u: u * survival(u), 0, t, epsabs=0, epsrel=1e-13)
    assert law.lasting(at)[0] == pytest.approx(lasting, rel=1e-12)
    assert law.moment(at)[0] == pytest.approx(moment, rel=1e-12)


@pytest.mark.parametrize("rate", [1e-12, 1e-3, 1.0, 40.0])
@pytest.mark.parametrize("t", [1e-6, 0.3, 2.0])
def test_exponential_survival_is_its_integrals(rate, t):
    law, at = Exponential(np.array([rate])), np.array([t])
    lasting, _ = integrate.quad(lambda u: np.exp(-rate * u), 0, t, epsabs=0)
    moment, _ = integrate.quad(lambda u: u * np.exp(-rate * u), 0, t, epsabs=0)
    assert law.lasting(at)[0] == pytest.approx(lasting, rel=1e-10)
    assert law.moment(at)[0] == pytest.approx(moment, rel=1e-10)
