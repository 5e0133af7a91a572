"""Probabilities of counts against scipy, and their slopes against each other."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from halflife.models.counts import (
    LAWS,
    cumulative,
    log_probability,
    slopes,
    variance_per_mean,
)

COUNT = np.array([0.0, 1.0, 2.0, 7.0, 30.0])
means = st.floats(0.1, 50.0)
spreads = st.floats(0.2, 8.0)


def same(mean):
    return np.full(COUNT.size, mean)


@given(mean=means, d=spreads)
def test_probabilities_are_those_of_scipy(mean, d):
    poisson = stats.poisson(mean)
    negative = stats.nbinom(mean / d, 1 / (1 + d))
    gamma = stats.gamma(mean / d, scale=d)
    rounded = gamma.cdf(COUNT + 0.5) - gamma.cdf(np.maximum(COUNT - 0.5, 0.0))
    for law, chance, up_to in (
        ("poisson", poisson.pmf(COUNT), poisson.cdf(COUNT)),
        ("negative-binomial", negative.pmf(COUNT), negative.cdf(COUNT)),
        ("gamma", rounded, gamma.cdf(COUNT + 0.5)),
    ):
        found = np.exp(log_probability(law, COUNT, same(mean), d))
        np.testing.assert_allclose(found, chance, rtol=1e-5, atol=1e-13)
        reached = cumulative(law, COUNT, same(mean), d)
        np.testing.assert_allclose(reached, up_to, rtol=1e-8, atol=1e-14)
    none = cumulative("poisson", np.array([-1.0, -0.5]), np.full(2, mean), d)
    assert none.tolist() == [0.0, 0.0]


@given(mean=means, d=spreads)
def test_the_density_stands_for_counts_above_none(mean, d):
    found = np.exp(log_probability("gamma-density", COUNT, same(mean), d))
    law = stats.gamma(mean / d, scale=d)
    np.testing.assert_allclose(found[1:], law.pdf(COUNT[1:]), rtol=1e-9)
    assert found[0] == pytest.approx(law.cdf(0.5))


@pytest.mark.parametrize("law", LAWS)
@given(mean=st.floats(0.3, 20.0), d=st.floats(0.3, 4.0))
def test_all_counts_together_have_the_mean_and_the_variance_named(law, mean, d):
    count = np.arange(600.0)
    chance = np.exp(log_probability(law, count, np.full(600, mean), d))
    assert chance.sum() == pytest.approx(1.0, abs=1e-8)
    if law != "gamma":  # which is rounded
        assert chance @ count == pytest.approx(mean, rel=1e-6)
        variance = chance @ count**2 - mean**2
        assert variance == pytest.approx(mean * variance_per_mean(law, d), rel=1e-5)
    assert variance_per_mean("gamma", d) == d


def test_a_probability_too_small_for_floats_is_told_by_the_density():
    far = log_probability("gamma", np.array([4000.0]), np.array([1.0]), 1.0)
    assert far == pytest.approx(stats.gamma(1.0).logpdf(4000.0), rel=1e-9)
    bend = log_probability("gamma", np.array([0.0]), np.array([1e4]), 1.0)
    assert np.isfinite(bend).all()


@pytest.mark.parametrize("law", [*LAWS, "gamma-density"])
def test_slopes_are_those_of_the_logarithm(law):
    mean, d, step = 5.0, 1.7, 1e-3
    value, m, w, mm, mw, ww = slopes(law, COUNT, same(mean), d)

    def at(by_mean, by_d):
        scale = np.exp(step * by_mean), np.exp(step * by_d)
        return log_probability(law, COUNT, same(mean * scale[0]), d * scale[1])

    np.testing.assert_allclose(value, at(0, 0))
    np.testing.assert_allclose(m, (at(1, 0) - at(-1, 0)) / (2 * step), atol=1e-4)
    second = (at(1, 0) - 2 * at(0, 0) + at(-1, 0)) / step**2
    np.testing.assert_allclose(mm, second, atol=2e-3)
    if law == "poisson":
        assert not np.any([w, mw, ww])
        np.testing.assert_allclose(m, COUNT - mean, atol=1e-5)
        return
    np.testing.assert_allclose(w, (at(0, 1) - at(0, -1)) / (2 * step), atol=1e-4)
    np.testing.assert_allclose(
        ww, (at(0, 1) - 2 * at(0, 0) + at(0, -1)) / step**2, atol=2e-3
    )
    cross = (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * step**2)
    np.testing.assert_allclose(mw, cross, atol=2e-3)
