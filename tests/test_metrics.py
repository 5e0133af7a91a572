import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from halflife.metrics.copies import age, change_ratio, freshness
from halflife.metrics.intervals import mean_interval, series_interval
from halflife.models.quality import beta_bounds

floats = st.floats(0, 1e6)


def test_freshness_of_nothing_is_whole():
    assert freshness(np.zeros(0, bool), np.zeros(0)) == 1.0
    assert freshness(np.zeros(2, bool), np.zeros(2)) == 1.0


@given(st.lists(st.tuples(st.booleans(), floats), max_size=20))
def test_freshness_lies_between_none_and_all(copies):
    current = np.array([c for c, _ in copies], dtype=bool)
    weight = np.array([w for _, w in copies])
    assert -1e-12 <= freshness(current, weight) <= 1 + 1e-12


def test_age_counts_from_when_a_copy_went_stale():
    stale_since = np.array([1.0, 9.0, np.inf])
    assert age(stale_since, 4.0, np.array([2.0, 1.0, 1.0])) == pytest.approx(1.5)
    assert age(stale_since, 4.0, np.zeros(3)) == 0.0


def test_change_ratio_of_no_looks_is_nothing():
    assert change_ratio(0, 0) == 0.0


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=30))
def test_the_interval_is_students(values):
    array = np.array(values)
    found = mean_interval(array, confidence=0.9)
    if np.std(array) > 1e-6:
        expected = stats.t.interval(0.9, array.size - 1, array.mean(), stats.sem(array))
        assert (found.low, found.high) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert found.low <= found.mean <= found.high


def test_a_series_whose_neighbours_are_alike_gets_an_interval_that_holds():
    rng = np.random.default_rng(0)
    held = naive = 0
    for _ in range(200):
        noise = rng.normal(size=400)
        series = np.zeros(400)
        for i in range(1, 400):
            series[i] = 0.8 * series[i - 1] + noise[i]
        low, high = series_interval(series)[1:]
        held += low <= 0 <= high
        low, high = mean_interval(series)[1:]
        naive += low <= 0 <= high
    assert held >= 170  # 95 % meant, batches of 40 are not quite independent
    assert naive <= 140  # what ignoring the likeness would have cost


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=35))
def test_the_interval_of_a_series_holds_its_mean(values):
    found = series_interval(np.array(values))
    assert found.low <= found.mean <= found.high
    left_out = len(values) % min(10, len(values))
    assert found.mean == pytest.approx(np.mean(values[left_out:]), abs=1e-9)


def test_one_repetition_has_no_spread():
    assert mean_interval(np.array([3.0])) == (3.0, 3.0, 3.0)


@given(st.floats(0, 1), st.floats(0, 1))
def test_beta_bounds_stay_in_order_and_within_zero_and_one(mean, share):
    variance = share * mean * (1 - mean)
    low, high = beta_bounds(np.array([mean]), np.array([variance]), 0.95)
    assert 0 <= low[0] <= high[0] <= 1


def test_beta_bounds_are_the_distributions_quantiles():
    a, b = 8.0, 2.0
    mean, variance = stats.beta.stats(a, b)
    low, high = beta_bounds(np.array([mean]), np.array([variance]), 0.9)
    assert low[0] == pytest.approx(stats.beta.ppf(0.05, a, b))
    assert high[0] == pytest.approx(stats.beta.ppf(0.95, a, b))


def test_the_bounds_of_one_item_are_those_of_one_toss():
    mean = np.array([0.99, 0.9, 0.5, 0.01])
    low, high = beta_bounds(mean, mean * (1 - mean), 0.95)
    assert low.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert high.tolist() == [1.0, 1.0, 1.0, 0.0]
