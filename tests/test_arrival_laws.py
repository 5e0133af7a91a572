"""What an arrival model says of itself, recomputed from its definition."""

import math

import numpy as np
import pytest
from scipy import stats

from halflife.models.arrival import fit_arrivals, weekday_days
from halflife.models.counts import log_probability

DAY = np.arange(84.0)


def counts(seed=0, rate=6.0, factors=(1.0,) * 7):
    rng = np.random.default_rng(seed)
    return rng.poisson(rate * np.array(factors)[(DAY.astype(int) + 3) % 7])


def test_one_poisson_rate_is_the_count_over_the_days():
    count = counts()
    found = fit_arrivals(DAY, DAY + 1, count, laws=("poisson",), weekdays=False)
    n, days = count.sum(), DAY.size
    assert found.rate == pytest.approx(n / days)
    assert found.rate_error == pytest.approx(math.sqrt(n) / days, rel=1e-4)
    fit = stats.poisson(n / days).logpmf(count).sum()
    assert found.log_likelihood == pytest.approx(fit)
    assert found.aic == {"poisson": pytest.approx(2 - 2 * fit)}
    assert found.factors.tolist() == pytest.approx([1.0] * 7)
    assert (found.scale, found.dispersion) == (1.0, 0.0)
    assert found.shape == pytest.approx(found.rate)


def test_weekday_rates_are_each_days_own_and_their_errors_add_up():
    count = counts(factors=(1.5, 1.5, 1.5, 1.5, 1.5, 0.5, 0.5))
    found = fit_arrivals(DAY, DAY + 1, count, laws=("poisson",))
    weekday = (DAY.astype(int) + 3) % 7
    own = np.array([count[weekday == k].mean() for k in range(7)])
    np.testing.assert_allclose(found.weekday, own, rtol=1e-6)
    # the mean of seven rates, each with the variance rate / weeks
    assert found.rate_error == pytest.approx(math.sqrt((own / 12).sum()) / 7, rel=1e-3)
    one = stats.poisson(count.mean()).logpmf(count).sum()
    each = stats.poisson(own[weekday]).logpmf(count).sum()
    assert found.weekday_p == pytest.approx(stats.chi2.sf(2 * (each - one), 6))
    assert found.aic["poisson"] == pytest.approx(2 - 2 * one)
    assert found.aic["poisson+weekday"] == pytest.approx(14 - 2 * each)
    # from a Thursday on: 1.5 days of that and the next
    assert found.mean(0.0, 1.5) == pytest.approx(own[3] + own[4] / 2)
    assert found.variance(0.0, 1.5) == pytest.approx(own[3] + own[4] / 2)


def test_the_mean_grows_with_the_days():
    found = fit_arrivals(DAY, DAY + 1, counts(), laws=("poisson",), weekdays=False)
    start, end = np.array([0.0, 2.0]), np.array([1.0, 9.0])
    np.testing.assert_allclose(found.mean(start, end), found.rate * (end - start))
    lost = found.mean(0.0, 10.0, decay=0.3)
    assert lost == pytest.approx(found.rate * (1 - math.exp(-3.0)) / 0.3)


@pytest.mark.parametrize("law", ["poisson", "negative-binomial", "gamma"])
def test_fitness_is_pearsons_spread_and_the_memory(law):
    rng = np.random.default_rng(3)
    gap = rng.uniform(0.5, 2.0, 60)
    end = np.cumsum(gap)
    count = rng.negative_binomial(3.0 * gap, 0.4)
    found = fit_arrivals(end - gap, end, count, laws=(law,), weekdays=False)
    mean = found.rate * gap
    off = (count - mean) / np.sqrt(mean * found.scale)
    free = 60 - (1 if law == "poisson" else 2)
    assert found.spread == pytest.approx((off**2).sum() / free, rel=1e-6)
    memory = (off[1:] * off[:-1]).sum() / (off**2).sum()
    assert found.memory == pytest.approx(memory, rel=1e-6)
    value = log_probability(law, count.astype(float), mean, found.dispersion).sum()
    assert found.log_likelihood == pytest.approx(value)


@pytest.mark.parametrize("law", ["negative-binomial", "gamma"])
def test_no_nearby_rate_or_spread_is_likelier(law):
    count = np.random.default_rng(5).negative_binomial(2.0, 0.3, 84)
    found = fit_arrivals(DAY, DAY + 1, count, laws=(law,), weekdays=False)
    seen = count.astype(float)

    def value(rate, d):
        return log_probability(law, seen, np.full(84, rate), d).sum()

    best = value(found.rate, found.dispersion)
    for by in (0.97, 1.03):
        assert value(found.rate * by, found.dispersion) < best
        assert value(found.rate, found.dispersion * by) < best
    # the curvature of the peak is the inverse of the covariance
    step = 1e-3
    bend = [
        value(found.rate * math.exp(s), found.dispersion) for s in (step, 0.0, -step)
    ]
    curve = -(bend[0] - 2 * bend[1] + bend[2]) / step**2
    assert np.linalg.inv(found.covariance)[0, 0] == pytest.approx(curve, rel=1e-2)
    assert found.aic[law] == pytest.approx(4 - 2 * best)


@pytest.mark.parametrize("decay", [0.0, 0.4])
@pytest.mark.parametrize(("start", "end"), [(0.2, 0.7), (3.5, 17.25), (-4.5, 2.0)])
def test_days_of_a_weekday_are_those_that_a_fine_walk_finds(decay, start, end):
    fine = np.linspace(start, end, 200_001)
    middle = (fine[1:] + fine[:-1]) / 2
    weekday = (np.floor(middle).astype(int) + 3) % 7
    weight = np.exp(-decay * (end - middle)) * (fine[1] - fine[0])
    by_hand = np.bincount(weekday, weight, 7)
    found = weekday_days(np.array([start]), np.array([end]), decay)[0]
    np.testing.assert_allclose(found, by_hand, atol=1e-4)
    assert weekday_days(np.array([2.0]), np.array([1.0])).sum() == 0.0
