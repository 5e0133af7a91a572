"""What a copy lacks follows from when each value was read, and what was found there."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from halflife.models.turnover import (
    LackingRecords,
    Turnover,
    bounds,
    came_since,
    counted_missing,
    kept_variance,
    quality,
)
from halflife.models.unrest import SPANS
from halflife.models.value_arrivals import (
    MEANS,
    SHAPES,
    ValueReads,
    arrival_rates,
    missing,
)

STAY = Turnover(came=0.0, went=0.0, days=60.0, seen=1e9)  # nothing goes


def reads(came, watched, bare=None, single=0.0):
    came = np.array(came, dtype=np.float64)
    flags = np.zeros(came.size) if bare is None else np.array(bare, dtype=np.float64)
    return ValueReads(came, np.array(watched, dtype=np.float64), flags, single)


def test_a_value_whose_rate_is_known_gets_what_it_always_got():
    # Two a day for ten thousand days, and three days not read: six, by chance.
    found = missing(reads([20_000], [10_000.0]), np.array([[3.0, 6.0]]), STAY)
    assert found.mean == pytest.approx([6.0, 12.0], rel=1e-3)
    assert found.variance == pytest.approx([6.0, 12.0], rel=1e-2)
    assert found.shared == pytest.approx([4.0 * 3.0, 4.0 * 6.0], rel=1e-3)


def test_what_came_may_have_gone_again():
    turns = Turnover(came=0.0, went=1e9, days=60.0, seen=1e10)  # a tenth a day
    found = missing(reads([20_000], [10_000.0]), np.array([[5.0, 1e4]]), turns)
    assert found.mean == pytest.approx([20.0 * -np.expm1(-0.5), 20.0], rel=1e-3)


def by_hand(given, waited):
    """Return mean and variance by sums over the grid, with scipy's distributions."""
    shown = given.bare == 0
    usual = (given.came[shown].sum() + 0.5) / given.watched[shown].sum()
    total = []
    for bare in (False, True):
        mine = np.flatnonzero(given.bare == bare)
        low, high = usual / 6.0, usual * 6.0
        if bare:
            guess = (given.single + 0.5) * STAY.goes / mine.size
            low, high = min(guess, usual) / 3.0, max(guess, usual) * 3.0
        weights, means, squares = [], [], []
        for m in np.geomspace(low, high, MEANS):
            for k in SHAPES:
                chance = np.sqrt(m)  # 1 / sqrt(m) for steps that grow like m
                rest = []
                for v in mine:
                    w = given.watched[v]
                    share = (k / m) / (k / m + w)
                    if w:
                        chance *= stats.nbinom(k, share).pmf(given.came[v])
                    left = stats.gamma(k + given.came[v], scale=1 / (k / m + w))
                    days = waited[v]
                    rest.append((left.mean() * days, left.var() * days**2))
                mean = sum(a for a, _ in rest)
                weights.append(chance)
                means.append(mean)
                squares.append(mean + sum(b for _, b in rest) + mean**2)
        weights = np.array(weights) / np.sum(weights)
        mean = weights @ means
        total.append((mean, weights @ squares - mean**2))
    return np.sum(total, axis=0)


def test_mean_and_variance_are_those_of_sums_by_hand():
    given = reads([4, 0, 1, 0, 3], [20, 25, 9, 0, 30], [0, 0, 0, 1, 1], single=1.0)
    waited = np.array([2.0, 0.5, 12.0, 31.0, 1.0])
    found = missing(given, waited[:, None], STAY)
    mean, variance = by_hand(given, waited)
    assert found.mean[0] == pytest.approx(mean, rel=1e-4)
    assert found.variance[0] == pytest.approx(variance, rel=1e-4)


def test_rates_are_those_of_sums_by_hand():
    given = reads([4, 0, 1, 0, 3], [20, 25, 9, 0, 30], [0, 0, 0, 1, 1], single=1.0)
    found = arrival_rates(given, STAY.goes)
    for value in range(5):
        day = np.zeros(5)
        day[value] = 1.0
        mean, _ = by_hand(given, day)
        assert found[value] == pytest.approx(mean, rel=1e-4)
    # Two a day for ten thousand days are two a day.
    known = arrival_rates(reads([20_000], [10_000.0]), STAY.goes)
    assert known == pytest.approx([2.0], rel=1e-3)


def test_simulated_forms_lack_what_is_expected_as_unsurely():
    rng, off = np.random.default_rng(3), []
    for _ in range(300):
        rate = rng.gamma(0.6, 0.1 / 0.6, 60)
        watched = rng.uniform(20.0, 40.0, 60)
        waited = rng.choice([1.0, 5.0, 30.0], 60)
        found = missing(
            reads(rng.poisson(rate * watched), watched), waited[:, None], STAY
        )
        lacks = rng.poisson(rate * waited).sum()
        off.append((lacks - found.mean[0]) / np.sqrt(found.variance[0]))
    assert np.mean(off) == pytest.approx(0.0, abs=0.12)
    assert np.std(off) == pytest.approx(1.0, abs=0.12)
    assert np.mean(np.abs(off) < 1.96) == pytest.approx(0.95, abs=0.025)


def test_values_without_records_that_nobody_reads_may_hide_much():
    shown, bare = [0] * 20, [1] * 20
    came = [2] * 20 + [0] * 20
    unread = reads(came, [30.0] * 20 + [0.0] * 20, shown + bare, single=5.0)
    asked = reads(came, [30.0] * 40, shown + bare, single=5.0)
    waited = np.repeat([1.0, 30.0], 20)[:, None]
    one, other = (missing(r, waited, STAY) for r in (unread, asked))
    assert one.mean[0] > 5.0 * other.mean[0]
    assert one.variance[0] > 5.0 * other.variance[0]


few = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.floats(0.0, 60.0),
        st.booleans(),
        st.floats(0.0, 60.0),
    ),
    min_size=1,
    max_size=8,
)


@given(
    values=few,
    later=st.floats(0.0, 30.0),
    goes=st.floats(0.0, 0.5),
    seed=st.integers(0, 9),
)
@settings(deadline=None, max_examples=60)
def test_more_is_missing_later_in_any_order_of_values(values, later, goes, seed):
    came, watched, bare, wait = np.array(values, dtype=float).T
    turns = Turnover(came=1.0, went=goes * 1e3, days=30.0, seen=1e3)
    waited = wait[:, None] + np.array([0.0, later])
    found = missing(ValueReads(came, watched, bare, 1.0), waited, turns)
    assert 0.0 <= found.mean[0] <= found.mean[1] * (1 + 1e-9) + 1e-12
    assert (found.variance >= found.mean * (1 - 1e-9) - 1e-12).all()
    assert (found.shared >= 0.0).all()
    order = np.random.default_rng(seed).permutation(came.size)
    same = ValueReads(came[order], watched[order], bare[order], 1.0)
    for one, other in zip(found, missing(same, waited[order], turns), strict=True):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-12)


@given(values=few, goes=st.floats(1e-6, 0.5), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=60)
def test_rates_are_positive_and_of_their_values_in_any_order(values, goes, seed):
    came, watched, bare, _ = np.array(values, dtype=float).T
    found = arrival_rates(ValueReads(came, watched, bare, 1.0), goes)
    assert (found > 0.0).all()
    order = np.random.default_rng(seed).permutation(came.size)
    same = ValueReads(came[order], watched[order], bare[order], 1.0)
    assert arrival_rates(same, goes) == pytest.approx(found[order], rel=1e-9)


@given(
    days=st.lists(st.floats(0.0, 9.0), min_size=1, max_size=6),
    rate=st.floats(0.1, 3.0),
)
@settings(deadline=None, max_examples=40)
def test_busy_times_are_shared_as_long_as_both_waited(days, rate):
    came = np.full(len(days), rate * 1e7)
    found = missing(reads(came, np.full(len(days), 1e7)), np.array(days)[:, None], STAY)
    both = sum(rate**2 * min(a, b) for a in days for b in days)
    assert found.shared[0] == pytest.approx(both, rel=1e-3, abs=1e-9)


def test_a_count_of_all_records_shows_how_many_are_missing():
    turns = Turnover(came=8e9, went=1e9, days=4e9, seen=1e11)  # 2 a day, 1 % a day
    held, then = np.full(50, 7.0), np.array([0.0, 2.0])
    lacks = counted_missing(turns, 60.0, held, then)
    gone = -np.expm1(-0.07)
    assert lacks.mean == pytest.approx(10.0 + 50.0 * gone + np.array([0.0, 4.0]))
    own = 50.0 * gone * (1.0 - gone)
    assert lacks.variance == pytest.approx(own + np.array([0.0, 4.0]))
    fewer = counted_missing(turns, 40.0, np.zeros(50), then)
    assert fewer.mean == pytest.approx([0.0, 4.0])  # never fewer than none


def test_quality_with_what_is_known_to_be_missing():
    turns = Turnover(came=3e9, went=2e9, days=1e9, seen=1e11)
    age = np.full((100, 1), 2.0)
    alive = np.exp(-turns.goes * age)
    ten, four, none = np.full(1, 10.0), np.full(1, 4.0), np.zeros(1)
    (mean,), (variance,) = quality(
        turns, 100, alive, age, lacks=LackingRecords(ten, four, none)
    )
    s = np.exp(-0.04)
    assert mean == pytest.approx(100 * s / 110)
    by_hand = 100 * s * (1 - s) / 110**2 + (100 * s) ** 2 / 110**4 * 4
    assert variance == pytest.approx(by_hand, rel=1e-6)
    usual = quality(turns, 100, alive, age)
    came = came_since(turns, np.full(1, 2.0))
    same = quality(turns, 100, alive, age, lacks=came)
    assert np.array(same) == pytest.approx(np.array(usual))


def test_of_two_wrong_records_both_may_be_missing_ones():
    turns = Turnover(came=9.0, went=9.0, days=30.0, seen=900.0)
    still, now = np.ones((20, 1)), np.zeros((20, 1))
    lacks = LackingRecords(np.full(1, 3.0), np.full(1, 0.5), np.zeros(1))
    _, _, (high,) = bounds(turns, 20, still, now, lacks=lacks)
    assert 20 / high - 20 == pytest.approx(round(20 / high - 20))
    assert high < 1.0


@pytest.mark.parametrize("lag", [0.5, 2.0, 3.0, 10.0])
def test_late_notice_hides_unrest_of_short_spans(lag):
    kept = kept_variance(np.full(5, lag))
    for share, s in zip(kept, SPANS, strict=True):
        # The integral of a trapezoid squared.
        whole = s - lag / 3.0 if lag <= s else s**2 / lag - s**3 / (3.0 * lag**2)
        assert share == pytest.approx(whole / s, abs=0.02)


def test_counts_of_late_notices_vary_as_little_as_computed():
    rng, days, lag, u = np.random.default_rng(5), 40_000, 3, 2.0
    fine = rng.gamma(1.0 / (10 * u), u, days * 10)  # tenths of days, of mean 0.1
    smooth = np.convolve(fine, np.full(10 * lag, 0.1 / lag), "valid")
    for span, share in zip(SPANS[:3], kept_variance(np.full(9, 3.0)), strict=False):
        bins = smooth[: smooth.size // (10 * span) * 10 * span].reshape(-1, 10 * span)
        assert bins.sum(axis=1).var() / (u * span) == pytest.approx(share, rel=0.1)


def test_without_lags_nothing_is_hidden():
    assert kept_variance(np.zeros(0)).tolist() == [1.0] * len(SPANS)


@given(lags=st.lists(st.floats(0.0, 60.0), min_size=1, max_size=5))
@settings(deadline=None, max_examples=30)
def test_longer_spans_keep_more(lags):
    kept = kept_variance(np.array(lags))
    assert (np.diff(kept) >= -0.02).all()
    assert ((kept > 0.0) & (kept <= 1.01)).all()
