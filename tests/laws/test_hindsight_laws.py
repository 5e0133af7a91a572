"""Laws of the past of a copy: bounds by hand, edges of gaps, and stretches of time."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.models.hindsight import (
    HIGHEST_RATE,
    SURE,
    FetchGaps,
    open_rate,
    past_freshness,
    past_recall,
)


def gaps(*rows):
    start, end, changed = zip(*rows, strict=True)
    return FetchGaps(np.array(start, float), np.array(end, float), np.array(changed))


def test_bounds_are_those_of_a_share_among_so_many_pages():
    seen = gaps((0, 4, True), (0, 4, False), (0, 4, False), (3, 5, True))
    past = past_freshness(seen, np.array([1.0, 3.0]), 6.0, 1.0)
    for k, (mean, n) in enumerate((((0.75 + 2) / 3, 3), ((0.25 + 2 + 1) / 4, 4))):
        wide = SURE * math.sqrt(mean * (1 - mean) / n)
        assert past.mean[k] == pytest.approx(mean)
        assert past.low[k] == pytest.approx(max(mean - wide, 0.0))
        assert past.high[k] == pytest.approx(min(mean + wide, 1.0))
    assert past.high[0] == 1.0
    few = past_freshness(gaps((0, 4, True)), np.array([3.9]), 6.0, 1.0)
    assert few.low[0] == 0.0


def test_a_gap_begins_with_its_look_and_ends_before_the_next():
    at = np.array([-0.1, 0.0, 3.9, 4.0, 9.0])
    told = past_freshness(gaps((0, 4, False)), at, 9.0, 1.0).mean
    assert np.isnan(told).tolist() == [True, False, False, True, True]
    still = past_freshness(gaps((0, np.inf, False)), at, 9.0, 0.5).mean
    assert np.isnan(still).tolist() == [True, False, False, False, False]
    rate = math.log(2.0) / 9.0
    assert still[1:] == pytest.approx(np.exp(-rate * at[1:]))


def test_open_gaps_fade_at_one_rate_and_closed_ones_do_not():
    seen = gaps((0, 4, True), (1, np.inf, False), (3, np.inf, False))
    rate = open_rate(np.array([5.0, 3.0]), 0.4)
    past = past_freshness(seen, np.array([2.0, 3.5]), 6.0, 0.4)
    assert past.mean[0] == pytest.approx((0.5 + math.exp(-rate)) / 2)
    both = math.exp(-2.5 * rate) + math.exp(-0.5 * rate)
    assert past.mean[1] == pytest.approx((0.125 + both) / 3)


@given(st.floats(1e-4, 1e4), st.floats(0.01, 0.99))
def test_one_open_gap_fades_at_the_rate_of_its_age(age, believed):
    found = open_rate(np.array([age]), believed)
    assert found == pytest.approx(-math.log(believed) / age, rel=1e-6)


def test_a_rate_is_nothing_or_bounded_where_no_rate_gives_what_is_believed():
    assert open_rate(np.zeros(0), 0.5) == 0.0
    assert open_rate(np.zeros(3), 0.5) == 0.0
    assert open_rate(np.ones(3), 1.0) == 0.0
    assert open_rate(np.ones(3), math.nan) == 0.0
    assert open_rate(np.array([0.0, 1.0]), 0.75) == pytest.approx(math.log(2.0))
    assert HIGHEST_RATE <= open_rate(np.array([1e-9]), 0.5) <= 2 * HIGHEST_RATE


# Listings

LOOKS = np.array([0.0, 1.0, 2.0, 4.0, 8.0, 9.0])
FIRST = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 8.0, 9.0])
LAST = np.array([9.0, 0.0, 4.0, 9.0, 2.0, 8.0, 9.0])


def recall_by_hand(a, b):
    """Return the share of what was there at the look b that was there at a."""
    after = (b >= FIRST) & (b <= LAST)
    return (after & (a >= FIRST)).sum() / after.sum()


def test_gaps_are_told_one_by_one_up_to_the_most():
    past = past_recall(LOOKS, FIRST, LAST, 0.0, 5)
    assert past.at.tolist() == [0, 1, 1, 2, 2, 4, 4, 8, 8, 9]
    expected = [recall_by_hand(*LOOKS[k : k + 2]) for k in range(5)]
    assert past.mean[1::2] == pytest.approx(expected)
    assert past.mean[::2].tolist() == [1.0] * 5
    assert past.low is past.mean
    assert past.high is past.mean
    assert past_recall(LOOKS, FIRST, LAST, 0.0, 4).at.size < 5


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_stretches_have_the_mean_of_their_gaps_by_length(most):
    """Recall falls evenly within a gap, so its mean there is (1 + recall) / 2."""
    past = past_recall(LOOKS, FIRST, LAST, 0.0, most)
    wide = 9.0 / most
    at, mean = [], []
    for k in range(most):
        mine = [i for i in range(5) if k * wide <= LOOKS[i] < (k + 1) * wide]
        if mine:
            length = [LOOKS[i + 1] - LOOKS[i] for i in mine]
            each = [(1 + recall_by_hand(*LOOKS[i : i + 2])) / 2 for i in mine]
            at.append((k + 0.5) * wide)
            mean.append(np.average(each, weights=length))
    assert past.at == pytest.approx(at)
    assert past.mean == pytest.approx(mean)


def test_it_is_told_from_a_moment_on_and_looks_at_one_moment_are_one():
    past = past_recall(LOOKS, FIRST, LAST, 2.0, 9)
    assert past.at.tolist() == [2, 4, 4, 8, 8, 9]
    twice = np.array([0.0, 1.0, 1.0, 2.0])
    assert past_recall(twice, FIRST, LAST, 0.0, 9).at.tolist() == [0, 1, 1, 2]
    gone = past_recall(np.array([0.0, 1.0]), np.array([0.0]), np.array([0.0]), 0.0, 9)
    assert gone.mean.tolist() == [1.0, 1.0]  # of nothing nothing is missing
