"""Laws of what a schedule gives and of what one more look would add."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from halflife.allocation.objectives import (
    age_worth,
    index,
    marginal,
    mean_age,
    mean_freshness,
    mean_harmonic,
    series_or_large,
)
from halflife.models.poisson import Exponential

# Expected changes between two looks: both sides of 1, where series end, and 1 itself.
LOADS = np.concatenate([np.geomspace(1e-3, 30.0, 24), [0.999, 1.0, 1.001, 1.5]])
SHAPES = (0.4, 1.0, 1.6, 5.0)


def survival(rate, shape):
    return lambda u: math.exp(-rate * u**shape)


def mean_over(interval, value):
    """Return the mean of a function over 0..interval."""
    middle = min(interval, interval**2) / 2
    parts = (
        quad(value, *ends, epsabs=0, epsrel=1e-11)[0]
        for ends in ((0.0, middle), (middle, interval))
    )
    return sum(parts) / interval


def problem(shape, days=2.0):
    """Return looks a day and rates that make up the loads."""
    rate = LOADS / days**shape
    return np.full(LOADS.size, 1.0 / days), rate, days


@pytest.mark.parametrize("shape", SHAPES)
def test_mean_freshness_is_the_mean_of_survival(shape):
    looks, rate, days = problem(shape)
    expected = [mean_over(days, survival(r, shape)) for r in rate]
    for given in (shape, np.full(rate.size, shape)):
        found = mean_freshness(looks, rate, given)
        np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_mean_age_is_the_mean_time_since_the_first_change(shape):
    looks, rate, days = problem(shape)

    def late(r):  # a look finds what changed at u out of date for days - u
        alive = survival(r, shape)
        return mean_over(days, lambda u: (days - u) * (1.0 - alive(u)))

    expected = [late(r) for r in rate]
    for given in (shape, np.full(rate.size, shape)):
        found = mean_age(looks, rate, given)
        np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_mean_harmonic_is_the_mean_of_harmonic_numbers_of_missed_changes():
    looks, rate, days = problem(1.0)

    def missed(load):
        """Return E[1 + 1/2 + ... + 1/N] for Poisson N, term by term."""
        total, chance, harmonic = 0.0, math.exp(-load), 0.0
        for n in range(1, 200):
            chance *= load / n
            harmonic += 1.0 / n
            total += chance * harmonic
        return total

    expected = [mean_over(days, lambda u, r=r: missed(r * u)) for r in rate]
    np.testing.assert_allclose(mean_harmonic(looks, rate), expected, rtol=1e-8)


SLOPES = {  # dD/du of the three losses
    "freshness": lambda u, r, g: r * g * u ** (g - 1) * math.exp(-r * u**g),
    "age": lambda u, r, g: -math.expm1(-r * u**g),
    "harmonic": lambda u, r, _: -math.expm1(-r * u) / u,
}


@pytest.mark.parametrize("objective", SLOPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_one_more_look_adds_the_integral_of_time_over_the_loss(objective, shape):
    if objective == "harmonic":
        shape = 1.0
    looks, rate, days = problem(shape)
    slope = SLOPES[objective]
    expected = [
        days * mean_over(days, lambda u, r=r: u * slope(u, r, shape)) for r in rate
    ]
    for given in (shape, np.full(rate.size, shape)):
        found = marginal(looks, rate, shape=given, objective=objective)
        np.testing.assert_allclose(found, expected, rtol=1e-8)
    if shape == 1.0:
        gain = index(Exponential(rate), np.full(rate.size, days), objective)
        np.testing.assert_allclose(gain, expected, rtol=1e-6)


@pytest.mark.parametrize("objective", SLOPES)
def test_a_look_adds_what_the_means_differ_by(objective):
    mean = {"freshness": mean_freshness, "age": mean_age, "harmonic": mean_harmonic}
    looks, rate, _ = problem(1.0)
    step = 1e-5
    more, less = (mean[objective](looks * (1 + s), rate) for s in (step, -step))
    change = (more - less) / (2 * step * looks)
    sign = 1.0 if objective == "freshness" else -1.0
    found = marginal(looks, rate, objective=objective)
    np.testing.assert_allclose(found, sign * change, rtol=1e-4)


def test_at_the_ends_there_is_nothing_or_no_end_to_gain():
    looks, rate = np.array([0.0, 2.0, 0.0]), np.array([3.0, 0.0, 0.0])
    for shape in (1.0, np.ones(3), np.full(3, 2.0)):
        first = math.gamma(1.0 + 1.0 / float(np.max(shape)))
        pace = 3.0 ** (1.0 / float(np.max(shape)))
        fresh = marginal(looks, rate, shape=shape)
        np.testing.assert_allclose(fresh, [first / pace, 0.0, 0.0])  # U(inf)
        late = marginal(looks, rate, shape=shape, objective="age")
        assert late.tolist() == [np.inf, 0.0, 0.0]
        assert mean_age(looks, rate, shape).tolist() == [np.inf, 0.0, 0.0]
        assert mean_freshness(looks, rate, shape).tolist() == [0.0, 1.0, 1.0]
    lost = marginal(looks, rate, objective="harmonic")
    assert lost.tolist() == [np.inf, 0.0, 0.0]
    assert mean_harmonic(looks, rate).tolist() == [np.inf, 0.0, 0.0]


def test_the_rarest_and_the_most_frequent_looks_are_as_the_limits_say():
    rate, rare, often = np.array([2.0]), np.array([1e-9]), np.array([1e9])
    for shape in (1.0, np.array([1.5])):
        lasts = math.gamma(1 + 1 / float(np.max(shape))) / 2.0 ** (
            1 / float(np.max(shape))
        )
        assert mean_freshness(rare, rate, shape) == pytest.approx(rare * lasts)
        assert mean_age(rare, rate, shape) == pytest.approx(0.5 / rare)
        assert mean_freshness(often, rate, shape) == pytest.approx(1.0)
        assert mean_age(often, rate, shape) == pytest.approx(0.0, abs=1e-17)


@pytest.mark.parametrize("a", [0.3, 1.0, 2.5])
def test_what_age_is_worth_is_its_integral(a):
    def integral(x):
        s = x**a
        return s * mean_over(s, lambda u: u * -math.expm1(-(u ** (1 / a))))

    expected = [integral(x) for x in LOADS]
    np.testing.assert_allclose(age_worth(LOADS, a), expected, rtol=1e-8)
    np.testing.assert_allclose(
        age_worth(LOADS, np.full(LOADS.size, a)), expected, rtol=1e-8
    )


def test_the_series_is_the_function_that_it_stands_for():
    x = np.array([1e-6, 0.1, 0.7, 0.999999])
    unlike = [series_or_large(x, lambda _: 1.0, lambda x: x), -np.expm1(-x)]
    np.testing.assert_allclose(*unlike, rtol=1e-12)
    by_hand = [
        sum(-((-v) ** j) / (math.factorial(j) * (2 * j + 3)) for j in range(1, 30))
        for v in x
    ]
    np.testing.assert_allclose(
        series_or_large(x, lambda j: 2.0 * j + 3, lambda x: x), by_hand
    )


def test_from_one_on_the_closed_form_is_taken():
    x = np.array([1.0, 1.25, 7.0])
    assert series_or_large(x, lambda _: 1.0, lambda x: x + 9.0).tolist() == [
        10.0,
        10.25,
        16.0,
    ]


def test_the_index_is_never_negative_and_says_what_no_copy_is_worth():
    rate = np.array([0.5, 0.5, 0.5])
    age = np.array([0.0, 1e-9, np.inf])
    for objective, first in (("freshness", 2.0), ("age", np.inf), ("harmonic", np.inf)):
        gain = index(Exponential(rate), age, objective)
        assert gain[0] == 0.0
        assert 0.0 <= gain[1] < 1e-8
        assert gain[2] == first
