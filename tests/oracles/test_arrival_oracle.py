import warnings

import numpy as np
import pytest
from scipy import optimize, stats

from halflife.models.arrival import fit_arrivals
from halflife.models.counts import LAWS, cumulative, log_probability

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import statsmodels.api as sm

DAYS = np.arange(210.0)


@pytest.fixture
def counts():
    rng = np.random.default_rng(3)
    busy = np.where((DAYS + 3) % 7 >= 5, 0.4, 1.2)
    return rng.negative_binomial(6.0 * busy / 0.5, 1 / 1.5)


def test_poisson_agrees_with_statsmodels(counts):
    ours = fit_arrivals(DAYS, DAYS + 1, counts, laws=("poisson",), weekdays=False)
    other = sm.Poisson(counts, np.ones(DAYS.size)).fit(disp=0)
    assert np.log(ours.rate) == pytest.approx(other.params[0], abs=1e-7)
    assert ours.log_likelihood == pytest.approx(other.llf, rel=1e-10)
    assert ours.covariance[0, 0] == pytest.approx(other.bse[0] ** 2, rel=1e-5)


@pytest.mark.parametrize("weekdays", [False, True])
def test_the_negative_binomial_agrees_with_statsmodels(counts, weekdays):
    law = ("negative-binomial",)
    ours = fit_arrivals(DAYS, DAYS + 1, counts, laws=law, weekdays=weekdays)
    design = np.ones((DAYS.size, 1))
    if weekdays:
        design = np.eye(7)[((DAYS + 3) % 7).astype(int)]
    model = sm.NegativeBinomial(counts, design, loglike_method="nb1")
    other = model.fit(disp=0, method="newton", maxiter=200, tol=1e-12)
    rates = np.log(ours.weekday) if weekdays else [np.log(ours.rate)]
    assert rates == pytest.approx(other.params[:-1], abs=1e-6)
    assert ours.dispersion == pytest.approx(other.params[-1], rel=1e-5)
    assert ours.log_likelihood == pytest.approx(other.llf, rel=1e-9)
    errors = np.sqrt(np.diag(ours.covariance))[:-1]
    assert errors == pytest.approx(other.bse[:-1], rel=1e-3)


def test_unequal_gaps_agree_with_statsmodels_exposure():
    rng = np.random.default_rng(5)
    gap = rng.integers(1, 18, 120).astype(float)
    end = np.cumsum(gap)
    count = rng.negative_binomial(gap * 4.0, 0.3)
    law = ("negative-binomial",)
    ours = fit_arrivals(end - gap, end, count, laws=law, weekdays=False)
    model = sm.NegativeBinomial(
        count, np.ones(gap.size), loglike_method="nb1", exposure=gap
    )
    other = model.fit(disp=0, method="newton", maxiter=200, tol=1e-12)
    assert np.log(ours.rate) == pytest.approx(other.params[0], abs=1e-6)
    assert ours.dispersion == pytest.approx(other.params[1], rel=1e-5)


def test_the_gamma_of_large_counts_agrees_with_scipy():
    """Where a unit is small beside the spread, rounding hardly matters."""
    rng = np.random.default_rng(4)
    count = np.round(rng.gamma(5.0, 4000.0, DAYS.size))
    ours = fit_arrivals(DAYS, DAYS + 1, count, laws=("gamma",), weekdays=False)
    shape, _, scale = stats.gamma.fit(count, floc=0)
    assert ours.shape == pytest.approx(shape, rel=1e-5)
    assert ours.scale == pytest.approx(scale, rel=1e-5)
    density = stats.gamma.logpdf(count, shape, scale=scale).sum()
    assert ours.log_likelihood == pytest.approx(density, rel=1e-8)


def test_the_gamma_by_density_agrees_with_scipy(counts):
    count = counts + 1.0
    law = ("gamma-density",)
    ours = fit_arrivals(DAYS, DAYS + 1, count, laws=law, weekdays=False)
    shape, _, scale = stats.gamma.fit(count, floc=0)
    assert ours.shape == pytest.approx(shape, rel=1e-6)
    assert ours.scale == pytest.approx(scale, rel=1e-6)
    density = stats.gamma.logpdf(count, shape, scale=scale).sum()
    assert ours.log_likelihood == pytest.approx(density, rel=1e-10)


def test_the_rounded_gamma_is_the_likeliest_one(counts):
    ours = fit_arrivals(DAYS, DAYS + 1, counts, laws=("gamma",), weekdays=False)

    def surprise(log_both):
        law = stats.gamma(np.exp(log_both[0]), scale=np.exp(log_both[1]))
        low = np.where(counts > 0, counts - 0.5, 0.0)
        return -np.log(law.cdf(counts + 0.5) - law.cdf(low)).sum()

    found = optimize.minimize(
        surprise,
        np.zeros(2),
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-13, "maxiter": 4000},
    )
    assert (counts == 0).any()
    assert np.log([ours.shape, ours.scale]) == pytest.approx(found.x, abs=1e-6)
    assert ours.log_likelihood == pytest.approx(-found.fun, rel=1e-10)


@pytest.mark.parametrize("law", LAWS)
def test_probabilities_agree_with_scipy(law):
    k, mean, d = np.arange(60.0), np.full(60, 7.3), 2.5
    scipys = {
        "poisson": stats.poisson(7.3),
        "negative-binomial": stats.nbinom(7.3 / d, 1 / (1 + d)),
    }
    low = cumulative(law, k - 1, mean, d)
    high = cumulative(law, k, mean, d)
    mass = np.exp(log_probability(law, k, mean, d))
    assert high - low == pytest.approx(mass, abs=1e-12)
    if law in scipys:
        assert high == pytest.approx(scipys[law].cdf(k), rel=1e-10)
        assert mass == pytest.approx(scipys[law].pmf(k), rel=1e-9)
    else:
        gamma = stats.gamma(7.3 / d, scale=d)
        assert high == pytest.approx(gamma.cdf(k + 0.5), rel=1e-12)
