"""Survival under known and unknown rates against integrals, and rates by bisection."""

import math

import numpy as np
import pytest
from scipy import integrate

from halflife.core.history import Gaps
from halflife.models.poisson import (
    Exponential,
    GammaSurvival,
    PoissonRate,
    _mode,
    _moment_series,
    _one_power,
    _two_powers,
)
from halflife.models.roots import falling_roots

INF = math.inf


def integral(function, t):
    return integrate.quad(function, 0, t, epsabs=0, epsrel=1e-12)[0]


@pytest.mark.parametrize("rate", [1e-4, 0.3, 5.0])
@pytest.mark.parametrize("t", [1e-9, 1e-3, 0.7, 20.0])
def test_exponential_survival_is_its_integrals(rate, t):
    one, at = Exponential(np.array([rate])), np.array([t])
    assert one.alive(at) == pytest.approx([math.exp(-rate * t)])
    first = integral(lambda u: math.exp(-rate * u), t)
    second = integral(lambda u: u * math.exp(-rate * u), t)
    assert one.lasting(at) == pytest.approx([first], rel=1e-8)
    assert one.moment(at) == pytest.approx([second], rel=1e-7)
    ever = np.array([INF])
    assert one.lasting(ever) == pytest.approx([1 / rate])
    assert one.moment(ever) == pytest.approx([1 / rate**2])
    never = Exponential(np.zeros(1))
    assert never.alive(ever).tolist() == [1.0]
    assert never.lasting(at) == pytest.approx([t])
    assert never.moment(at) == pytest.approx([t**2 / 2])
    assert never.lasting(ever).tolist() == never.moment(ever).tolist() == [INF]


@pytest.mark.parametrize("x", [1e-10, 0.9e-9, 1e-9])
def test_what_hardly_changes_has_the_first_two_terms_of_its_moment(x):
    # t**2 (1 / 2 - x / 3 + ...), to all digits there are
    found = Exponential(np.array([x / 4.0])).moment(np.array([4.0]))
    assert found == pytest.approx([8.0 - 16.0 * x / 3.0], rel=1e-15, abs=0)


@pytest.mark.parametrize("shape", [0.3, 1.0, 1.5, 2.0, 2.9, 3.0, 4.5])
@pytest.mark.parametrize("z", [1e-6, 0.05, 0.09, 0.2, 0.31, 1.0, 30.0])
def test_gamma_survival_is_its_integrals(shape, z):
    days = 7.0
    one, at = GammaSurvival(np.array([shape]), np.array([days])), np.array([z * days])
    assert one.alive(at) == pytest.approx([(1 + z) ** -shape])
    first = integral(lambda u: (1 + u / days) ** -shape, z * days)
    second = integral(lambda u: u * (1 + u / days) ** -shape, z * days)
    assert one.lasting(at) == pytest.approx([first], rel=1e-9)
    assert one.moment(at) == pytest.approx([second], rel=1e-9)


def test_gamma_survival_lasts_for_ever_unless_its_shape_is_large_enough():
    shape, ever = np.array([0.5, 1.0, 1.5, 2.0, 3.0]), np.full(5, INF)
    one = GammaSurvival(shape, np.full(5, 4.0))
    assert one.lasting(ever) == pytest.approx([INF, INF, 8.0, 4.0, 2.0])
    assert one.moment(ever) == pytest.approx([INF, INF, INF, INF, 8.0])


@pytest.mark.parametrize("a", [0.4, 1.7, 3.0, 6.0])
@pytest.mark.parametrize("z", [0.01, 0.2, 0.9])
def test_the_three_ways_to_the_moment_agree_where_all_hold(a, z):
    by_hand = integral(lambda v: v * (1 + v) ** -a, z)
    shape, at = np.array([a]), np.array([z])
    assert _two_powers(shape, at) == pytest.approx([by_hand], rel=1e-9)
    if a not in (1.0, 2.0):
        assert _one_power(shape, at) == pytest.approx([by_hand], rel=1e-8)
    if z < 0.3:
        assert _moment_series(shape, at) * z**2 == pytest.approx([by_hand], rel=1e-6)


def test_the_mode_is_where_both_sides_are_equal():
    rng = np.random.default_rng(0)
    item, length = rng.integers(0, 5, 40), rng.uniform(0.1, 9.0, 40)
    changed, tally = rng.random(40) < 0.5, rng.integers(1, 4, 40).astype(float)
    for a, b in ((0.0, 0.0), (0.5, 1.0), (2.0, 0.3)):
        model = PoissonRate(prior_changes=a, prior_days=b)
        rate = model.fit(item, length, changed, tally).rate_
        for i in range(5):
            mine, r = item == i, rate[i]
            busy, quiet = mine & changed, mine & ~changed
            left = (tally * length / np.expm1(r * length))[busy].sum() + a / r
            assert left == pytest.approx((tally * length)[quiet].sum() + b)
        gaps = Gaps(item, length, changed, tally)
        days = np.array(
            [(tally * length)[(item == i) & ~changed].sum() for i in range(5)]
        )
        assert _mode(gaps, days + b, a) == pytest.approx(rate)


def test_what_nobody_saw_ends_at_a_bound():
    item, length = np.array([0, 1]), np.array([2.0, 3.0])
    model = PoissonRate(prior_changes=0.0, prior_days=0.0)
    rate = model.fit(item, length, np.array([True, False]), n_items=3).rate_
    assert rate == pytest.approx([1e6, 1e-9, 1e-9])
    only_days = PoissonRate(prior_changes=0.0, prior_days=5.0)
    rate = only_days.fit(item, length, np.array([True, False]), n_items=3).rate_
    # One change in 2 days, and 5 quiet days: 2 / (e^2r - 1) = 5.
    assert rate == pytest.approx([math.log(1 + 2 / 5) / 2, 1e-9, 1e-9])
    only_changes = PoissonRate(prior_changes=1.0, prior_days=0.0)
    rate = only_changes.fit(item, length, np.array([True, False]), n_items=3).rate_
    assert rate == pytest.approx([1e6, 1 / 3, 1e6])


def test_roots_are_found_by_newton_or_by_halving():
    # Steep, flat and bent functions that fall, each with a known root.
    root = np.array([0.5, 2.0, 7.0, 3.0])

    def functions(x):
        value = np.array(
            [
                -10 * (x[0] - 0.5),
                -((x[1] - 2.0) ** 3),
                7.0 - x[2],
                -np.tanh(4 * (x[3] - 3.0)),
            ]
        )
        slope = np.array(
            [
                -10.0,
                -3 * (x[1] - 2.0) ** 2,
                -1.0,
                -4 / np.cosh(4 * (x[3] - 3.0)) ** 2,
            ]
        )
        return value, slope

    low, high = np.zeros(4), np.full(4, 10.0)
    for start in (0.0, 1.0, 9.0, 10.0, -5.0, 20.0):
        found = falling_roots(functions, low, high, np.full(4, start), 1e-9)
        assert found == pytest.approx(root, abs=1e-4)
    inner = falling_roots(functions, low, high, np.array([1.0, 2.0, 7.0, 3.0]))
    assert inner[[1, 2, 3]].tolist() == [2.0, 7.0, 3.0]


def test_without_a_root_the_end_where_it_is_nearest_is_taken():
    def above(x):
        return 5.0 - 0.1 * x, np.full(x.size, -0.1)

    def below(x):
        return -5.0 - 0.1 * x, np.full(x.size, -0.1)

    low, high = np.array([1.0, 2.0]), np.array([3.0, 2.0])
    middle = np.array([2.0, 2.0])
    assert falling_roots(above, low, high, middle) == pytest.approx([3.0, 2.0])
    assert falling_roots(below, low, high, middle) == pytest.approx([1.0, 2.0])
    none = np.zeros(0)
    assert falling_roots(above, none, none, none).size == 0


def test_functions_are_asked_no_more_once_all_steps_are_short():
    calls = []

    def line(x):
        calls.append(1)
        return 3.0 - x, np.full(x.size, -1.0)

    falling_roots(line, np.zeros(1), np.full(1, 9.0), np.ones(1))
    assert len(calls) == 2  # the step to the root, and the step of no length
