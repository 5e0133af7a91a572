import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from halflife.metrics.bounds import closeness, headroom, requests_for, staleness_cut
from halflife.metrics.copies import age, change_ratio, freshness
from halflife.metrics.intervals import (
    Ratio,
    cluster_interval,
    draws,
    mean_interval,
    series_interval,
)
from halflife.metrics.sums import GroupSums, average_runs
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


def skewed(rng, groups=40):
    """Sums of groups whose sizes and levels differ as those of sites do."""
    bottom = rng.lognormal(3.0, 1.0, groups)
    return Ratio(bottom * rng.beta(8.0, 1.0, groups), bottom)


def test_the_interval_over_groups_holds_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    truth = 8.0 / 9.0
    held = 0
    for _ in range(200):
        found = cluster_interval(draws(40, rng, resamples=400), skewed(rng))
        held += found.low <= truth <= found.high
    assert 172 <= held <= 199  # 95 % meant; 40 skewed groups give about 92 %


def test_the_interval_over_groups_is_scipys():
    rng = np.random.default_rng(2)
    ratio = skewed(rng)
    ours = cluster_interval(draws(40, rng, resamples=20000), ratio)
    theirs = stats.bootstrap(
        (ratio.top, ratio.bottom),
        lambda top, bottom, axis: top.sum(axis=axis) / bottom.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=20000,
        rng=np.random.default_rng(3),
    ).confidence_interval
    assert ours.low == pytest.approx(theirs.low, abs=2e-3)
    assert ours.high == pytest.approx(theirs.high, abs=2e-3)


def test_a_paired_difference_is_surer_than_its_two_sides():
    rng = np.random.default_rng(4)
    one, counts = skewed(rng), draws(40, rng)
    other = Ratio(one.top * 0.99, one.bottom)
    apart = cluster_interval(counts, one, other)
    alone = cluster_interval(counts, one)
    assert apart.low > 0
    assert apart.high - apart.low < (alone.high - alone.low) / 20
    assert cluster_interval(counts, one, one) == (0.0, 0.0, 0.0)


def test_one_group_says_nothing_about_how_sure_we_are():
    only = Ratio(np.array([1.0]), np.array([4.0]))
    counts = draws(1, np.random.default_rng(0))
    assert cluster_interval(counts, only) == (0.25, 0.25, 0.25)


def test_groups_without_looks_leave_the_ratio_at_nothing():
    none = Ratio(np.zeros(3), np.zeros(3))
    counts = draws(3, np.random.default_rng(0))
    assert cluster_interval(counts, none) == (0.0, 0.0, 0.0)


def test_closeness_headroom_and_staleness_cut_by_hand():
    assert closeness(0.9, 0.9) == 1.0
    assert closeness(0.0, 0.0) == 1.0
    assert headroom(0.95, 0.9, 1.0) == pytest.approx(0.5)
    assert headroom(0.85, 0.9, 1.0) == pytest.approx(-0.5)
    assert headroom(1.0, 1.0, 1.0) is None
    assert staleness_cut(0.95, 0.9) == pytest.approx(0.5)
    assert staleness_cut(1.0, 1.0) is None


def test_the_budget_for_a_freshness_lies_between_those_that_give_less_and_more():
    shares, reached = np.array([0.04, 0.01]), np.array([0.95, 0.8])
    needed, known = requests_for(0.9, shares, reached)
    assert known
    assert needed == pytest.approx(0.02)
    assert requests_for(0.95, shares, reached) == (pytest.approx(0.04), True)
    assert requests_for(0.99, shares, reached) == (pytest.approx(0.04), False)
    assert requests_for(0.5, shares, reached) == (pytest.approx(0.01), False)


def test_repetitions_are_averaged_group_by_group():
    def of(fresh):
        one = np.ones(2)
        return GroupSums(("a", "b"), 4 * one, np.array(fresh), one, one, 2 * one, one)

    mean = average_runs([of([1.0, 2.0]), of([3.0, 2.0])])
    assert mean.fresh.tolist() == [2.0, 2.0]
    assert (mean.freshness, mean.change_ratio) == (0.5, 0.5)
    nothing = np.zeros(1)
    empty = GroupSums(("",), *[nothing] * 6)
    assert (empty.freshness, empty.mean_age, empty.harmonic_delay) == (1.0, 0.0, 0.0)
