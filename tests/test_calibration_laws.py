"""Scores of forecasts, each against its definition written out."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from halflife.metrics.intervals import Interval
from halflife.models.audit import share_bounds
from halflife.models.calibration import (
    FARTHEST,
    LENT,
    RECENT,
    WIDEST,
    Outcome,
    brier,
    coverage,
    effective_size,
    lifetime_widening_factor,
    normal_score,
    reliability,
    right_parts_pmf,
    trust_factor,
    widen_bounds,
    widening_factor,
)

BELIEVED = Interval(0.8, 0.7, 0.85)
Z = stats.norm.ppf(0.975)


@pytest.mark.parametrize("bins", [1, 4, 10])
def test_forecasts_are_binned_by_their_chance(bins):
    rng = np.random.default_rng(1)
    chance = np.r_[rng.random(200), 0.0, 1.0]
    came = rng.random(202) < chance
    found = reliability(chance, came, bins=bins)
    rows = []
    for k in range(bins):
        low, high = k / bins, (k + 1) / bins
        here = (chance >= low) & ((chance < high) | (k == bins - 1))
        if here.any():
            rows.append(
                (
                    here.sum(),
                    chance[here].mean(),
                    came[here].mean(),
                    *share_bounds(float(came[here].sum()), float(here.sum()), 0.95),
                )
            )
    np.testing.assert_allclose(np.array(found).T, rows)


def test_the_parts_of_the_brier_score_are_murphys():
    rng = np.random.default_rng(2)
    chance = rng.choice([0.05, 0.33, 0.34, 0.71], 300)
    came = rng.random(300) < chance**1.5
    parts = brier(chance, came, bins=10)
    bins = np.minimum((chance * 10).astype(int), 9)
    base = came.mean()
    rel = res = 0.0
    for k in np.unique(bins):
        here = bins == k
        f, o = chance[here].mean(), came[here].mean()
        rel += here.sum() * (f - o) ** 2 / 300
        res += here.sum() * (o - base) ** 2 / 300
    assert parts.score == pytest.approx(np.mean((chance - came) ** 2))
    assert parts.reliability == pytest.approx(rel)
    assert parts.resolution == pytest.approx(res)
    assert parts.uncertainty == pytest.approx(base * (1 - base))
    whole = parts.reliability - parts.resolution + parts.uncertainty + parts.within
    assert whole == pytest.approx(parts.score)


def test_parts_of_different_weight_tell_as_much_as_fewer_equal_ones():
    weight = np.array([1.0, 2.0, 3.0])
    kish = 36.0 / 14.0
    assert effective_size(weight, 1e12) == pytest.approx(kish)
    assert effective_size(weight, 12.0) == pytest.approx(kish / (1 - 3 / 12))
    assert effective_size(weight, 3.0) == math.inf
    assert effective_size(np.zeros(2), 9.0) == 0.0


@given(found=st.floats(0.0, 1.0))
def test_where_all_was_seen_the_score_is_the_distance_in_bounds(found):
    score = normal_score(BELIEVED, Outcome(found, math.inf), 0.5, 0.95)
    side = 0.1 if found < 0.8 else 0.05
    by_hand = Z * (found - 0.8) / side
    assert score == pytest.approx(np.clip(by_hand, -FARTHEST, FARTHEST), abs=1e-9)


def test_a_bound_that_leaves_nothing_open_is_missed_by_far():
    sure = Interval(0.8, 0.8, 0.8)
    assert normal_score(sure, Outcome(0.8, math.inf), 0.5, 0.95) == 0.0
    assert normal_score(sure, Outcome(0.9, math.inf), 0.5, 0.95) == FARTHEST
    assert normal_score(sure, Outcome(0.7, math.inf), 0.5, 0.95) == -FARTHEST


@pytest.mark.parametrize("k", [0, 3, 12, 19, 20])
@pytest.mark.parametrize("u", [0.0, 0.3, 1.0])
def test_of_a_sample_the_score_is_the_quantile_of_a_beta_binomial(k, u):
    n, mean = 20, 0.8
    variance = ((0.85 - 0.7) / (2 * Z)) ** 2
    both = mean * (1 - mean) / variance - 1
    law = stats.betabinom(n, mean * both, (1 - mean) * both)
    pit = min(law.cdf(k - 1) + u * law.pmf(k), 1.0)
    score = normal_score(BELIEVED, Outcome(k / n, float(n)), u, 0.95)
    expected = np.clip(stats.norm.ppf(pit), -FARTHEST, FARTHEST)
    assert score == pytest.approx(expected, abs=1e-6)


def test_a_sure_forecast_makes_the_right_ones_binomial():
    found = right_parts_pmf(0.3, 0.0, 12)
    np.testing.assert_allclose(found, stats.binom(12, 0.3).pmf(np.arange(13)))
    wide = right_parts_pmf(0.3, 0.02, 12)
    both = 0.3 * 0.7 / 0.02 - 1
    law = stats.betabinom(12, 0.3 * both, 0.7 * both)
    np.testing.assert_allclose(wide, law.pmf(np.arange(13)))


def test_the_share_within_the_bounds_is_counted_with_its_interval():
    scores = np.array([0.0, 1.0, -1.9, 1.95, -1.97, 3.0])
    found = coverage(scores)
    low, high = share_bounds(4.0, 6.0, 0.95)
    assert found == Interval(4 / 6, low, high)
    assert coverage(scores, confidence=0.8).mean == pytest.approx(2 / 6)
    assert coverage(np.zeros(0)) == Interval(0.95, 0.0, 1.0)
    assert coverage(np.array([Z, -Z])).mean == 1.0  # the bounds are within


def test_trust_is_the_quantile_of_sizes_among_those_lent():
    rng = np.random.default_rng(3)
    for n in (30, 200):
        scores = rng.normal(0.0, 3.0, n)
        size = np.abs(scores[-RECENT:])
        # the weight beyond q: the scores seen, and LENT of a standard normal
        factor = trust_factor(scores)

        def beyond(q, size=size):
            lent = LENT * 2 * stats.norm.sf(q)
            return (np.count_nonzero(size > q) + lent) / (size.size + LENT)

        q = factor * Z
        assert beyond(q * 1.02 + 1e-9) <= 0.05 + 1.5 / (size.size + LENT)
        assert beyond(q * 0.98 - 1e-9) >= 0.05 - 1.5 / (size.size + LENT)


def test_old_misses_pass_out_of_the_window():
    misses = np.full(RECENT, 6.0)
    fine = np.zeros(RECENT)
    assert trust_factor(np.r_[misses, fine]) == trust_factor(fine) == 1.0
    assert trust_factor(np.r_[fine, misses]) == trust_factor(misses) > 2.0


@given(f=st.floats(1.0, 9.0), low=st.floats(0.0, 0.5), high=st.floats(0.5, 1.0))
def test_bounds_are_moved_away_from_the_mean(f, low, high):
    below, above = widen_bounds(np.array([0.5]), np.array([low]), np.array([high]), f)
    assert below[0] == pytest.approx(min(max(0.5 - f * (0.5 - low), 0.0), low))
    assert above[0] == pytest.approx(max(min(0.5 + f * (high - 0.5), 1.0), high))


def test_bounds_of_counts_may_be_wider_than_one():
    below, above = widen_bounds(
        np.array([5.0]), np.array([4.0]), np.array([7.0]), 2.0, most=8
    )
    assert (below[0], above[0]) == (3.0, 8.0)


def test_the_gap_is_the_least_factor_that_holds_what_was_found():
    assert widening_factor(BELIEVED, Interval(0.5, 0.4, 0.6)) == pytest.approx(
        0.4 / 0.1
    )
    assert widening_factor(BELIEVED, Interval(0.95, 0.9, 1.0)) == pytest.approx(
        0.2 / 0.05
    )
    assert (
        widening_factor(BELIEVED, Interval(0.75, 0.6, 0.8)) == 1.0
    )  # the mean is allowed
    assert widening_factor(BELIEVED, Interval(0.85, 0.8, 0.9)) == 1.0
    assert widening_factor(Interval(0.8, 0.79, 0.81), Interval(0.1, 0.0, 0.2)) == WIDEST


def test_a_chance_is_hurried_until_it_holds_what_was_found():
    fewer = lifetime_widening_factor(0.9, Interval(0.6, 0.5, 0.7))
    assert 0.9**fewer == pytest.approx(0.5)
    more = lifetime_widening_factor(0.5, Interval(0.8, 0.7, 0.9))
    assert 0.5 ** (1 / more) == pytest.approx(0.9)
    assert lifetime_widening_factor(0.7, Interval(0.6, 0.5, 0.7)) == 1.0
    assert lifetime_widening_factor(0.5, Interval(0.6, 0.5, 0.7)) == 1.0
    assert lifetime_widening_factor(0.999, Interval(0.1, 0.0, 0.2)) == WIDEST
    assert lifetime_widening_factor(0.1, Interval(1.0, 0.9, 1.0)) == WIDEST


def test_what_was_sure_to_last_and_did_not_is_hurried_as_far_as_allowed():
    assert lifetime_widening_factor(1.0, Interval(0.6, 0.5, 0.7)) == WIDEST
    assert lifetime_widening_factor(0.0, Interval(0.6, 0.5, 0.7)) == WIDEST


@pytest.mark.parametrize("mean", [1e-4, 0.02, 0.999])
def test_right_ones_of_a_rare_event_are_still_a_beta_binomial(mean):
    most = mean * (1 - mean)
    for part in (1e-6, 1e-2, 0.5):
        both = 1 / part - 1
        law = stats.betabinom(40, mean * both, (1 - mean) * both)
        found = right_parts_pmf(mean, part * most, 40)
        np.testing.assert_allclose(found, law.pmf(np.arange(41)), rtol=1e-6, atol=1e-12)
