import warnings

import numpy as np
import pytest
from scipy import optimize

from halflife.models.lifetime import ExponentialLifetime, WeibullLifetime
from halflife.models.spells import Spells

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import lifelines

INF = np.inf


def sample(seed, n=400, shape=1.4, gap=None, late=False):
    """Return spells of Weibull lives, watched until a random age."""
    rng = np.random.default_rng(seed)
    life = 20.0 * rng.weibull(shape, 4 * n)
    entry = rng.uniform(0, 15, 4 * n) if late else np.zeros(4 * n)
    seen = np.flatnonzero(life > entry)[:n]
    life, entry = life[seen], entry[seen]
    end = entry + rng.uniform(5, 40, n)
    if gap is None:
        return Spells.of(entry, np.minimum(life, end), np.where(life < end, life, INF))
    width = rng.uniform(1, gap, n)
    passed = np.floor((life - entry) / width)
    lower = np.minimum(entry + passed * width, end)
    return Spells.of(entry, lower, np.where(lower < end, lower + width, INF))


def theirs(fitter, data, *, intervals):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if intervals:
            return fitter.fit_interval_censoring(
                data.lower, data.upper, entry=data.entry
            )
        return fitter.fit_right_censoring(data.lower, data.ended, entry=data.entry)


@pytest.mark.parametrize("late", [False, True], ids=["from birth", "delayed entry"])
@pytest.mark.parametrize("shape", [0.7, 1.0, 2.5])
def test_weibull_agrees_with_lifelines_on_exact_deaths(shape, late):
    data = sample(1, shape=shape, late=late)
    ours = WeibullLifetime().fit(data)
    other = theirs(lifelines.WeibullFitter(), data, intervals=False)
    assert ours.rate_ == pytest.approx(1 / other.lambda_, rel=1e-4)
    assert ours.shape_ == pytest.approx(other.rho_, rel=1e-4)
    assert ours.log_likelihood_ == pytest.approx(other.log_likelihood_, rel=1e-6)
    assert ours.log_likelihood_ >= other.log_likelihood_ - 1e-8
    assert ours.aic_ == pytest.approx(other.AIC_, rel=1e-6)


def test_standard_errors_agree_with_lifelines():
    data = sample(2)
    ours = WeibullLifetime().fit(data)
    other = theirs(lifelines.WeibullFitter(), data, intervals=False)
    var = np.asarray(other.variance_matrix_)
    scale = other.lambda_
    assert ours.covariance_[1, 1] == pytest.approx(var[1, 1], rel=1e-3)
    assert ours.covariance_[0, 0] == pytest.approx(var[0, 0] / scale**4, rel=1e-3)
    assert ours.covariance_[0, 1] == pytest.approx(-var[0, 1] / scale**2, rel=1e-3)


@pytest.mark.parametrize("late", [False, True], ids=["from birth", "delayed entry"])
@pytest.mark.parametrize("shape", [0.7, 1.3])
def test_weibull_agrees_with_lifelines_on_intervals(shape, late):
    data = sample(3, shape=shape, gap=9.0, late=late)
    ours = WeibullLifetime().fit(data)
    other = theirs(lifelines.WeibullFitter(), data, intervals=True)
    assert ours.rate_ == pytest.approx(1 / other.lambda_, rel=1e-4)
    assert ours.shape_ == pytest.approx(other.rho_, rel=1e-4)
    assert ours.log_likelihood_ == pytest.approx(other.log_likelihood_, rel=1e-6)
    assert ours.log_likelihood_ >= other.log_likelihood_ - 1e-8


@pytest.mark.parametrize("late", [False, True], ids=["from birth", "delayed entry"])
def test_exponential_agrees_with_lifelines(late):
    exact = sample(4, shape=1.0, late=late)
    other = theirs(lifelines.ExponentialFitter(), exact, intervals=False)
    ours = ExponentialLifetime().fit(exact)
    assert ours.rate_ == pytest.approx(1 / other.lambda_, rel=1e-6)
    assert ours.log_likelihood_ == pytest.approx(other.log_likelihood_, rel=1e-8)
    between = sample(5, shape=1.0, gap=9.0, late=late)
    other = theirs(lifelines.ExponentialFitter(), between, intervals=True)
    assert ExponentialLifetime().fit(between).rate_ == pytest.approx(
        1 / other.lambda_, rel=1e-4
    )


@pytest.mark.parametrize("shape", [0.6, 1.0, 2.0])
def test_no_other_point_near_the_estimate_is_likelier(shape):
    """The likelihood as written down, maximised by a method without slopes."""
    data = sample(6, n=150, shape=shape, gap=6.0, late=True)

    def surprise(log_both):
        a, k = np.exp(log_both)
        alive = np.exp(-((a * np.array([data.entry, data.lower, data.upper])) ** k))
        return -np.sum(np.log((alive[1] - alive[2]) / alive[0]))

    found = optimize.minimize(
        surprise,
        np.log([0.05, 1.0]),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000},
    )
    ours = WeibullLifetime().fit(data)
    assert np.log([ours.rate_, ours.shape_]) == pytest.approx(found.x, abs=1e-6)
    assert ours.log_likelihood_ == pytest.approx(-found.fun, rel=1e-9)
