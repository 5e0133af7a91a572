import warnings

import numpy as np
import pytest

from halflife.models import decay

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from statsmodels.tsa.ar_model import AutoReg


@pytest.mark.parametrize("lags", [(), (1,), (1, 2), (1, 2, 3), (1, 7), (7,)])
@pytest.mark.parametrize("seed", range(3))
def test_coefficients_are_those_of_statsmodels(lags, seed):
    values = -np.random.default_rng(seed).gamma(2.0, 0.01, 120)
    oracle = AutoReg(values, lags=list(lags) or None, trend="c").fit()
    found, _ = decay.fit_ar(values, lags)
    assert found == pytest.approx(oracle.params, abs=1e-9)


@pytest.mark.parametrize("steps", [1, 5, 30])
def test_forecasts_are_those_of_statsmodels(steps):
    values = -0.02 - 0.01 * np.sin(np.arange(100) / 3.0)
    values -= 0.001 * np.random.default_rng(0).uniform(size=100)
    oracle = AutoReg(values, lags=2, trend="c").fit()
    expected = oracle.predict(100, 99 + steps).sum()
    coefficients = decay.fit_ar(values, (1, 2))[0][None]
    found = decay.forecast_decay(
        coefficients, (1, 2), values[None, -2:], np.array([float(steps)])
    )
    assert found == pytest.approx([expected], abs=1e-9)


@pytest.mark.parametrize("drift", [0.0, 1e-3, 0.1])
def test_the_filter_is_the_gaussian_conditional_mean(drift):
    """All coefficients of all times are one Gaussian vector; condition it at once."""
    values = -np.random.default_rng(7).gamma(2.0, 0.5, 12)
    lags, steps = (1,), values.size
    rows = decay.lagged(values, lags)[:-1]
    # c(t) = c(0) + w(1) + .. + w(t): prior covariance I + drift min(s, t)
    times = np.arange(1, steps + 1)
    walk = 1.0 + drift * np.minimum.outer(times, times)
    between = np.einsum("si,ti,st->st", rows, rows, walk)
    prior = rows @ np.array([-1.0, 0.0])
    solved = np.linalg.solve(between + np.eye(steps), values - prior)
    last = np.einsum("t,ti,t->i", walk[-1], rows, solved)
    expected = np.array([-1.0, 0.0]) + last
    found = decay.kalman(values, lags, np.array([drift]))
    assert found[-1] == pytest.approx(expected, abs=1e-9)
