"""The quality of copies of few records, and how unevenly few days can be."""

import math

import numpy as np
import pytest

from halflife.models.quality import beta_bounds
from halflife.models.turnover import Turnover, bounds, quality, unrest_of_events


def turned(n, **more):
    turns = Turnover(came=2.0, went=3.0, days=20.0, seen=60.0, **more)
    age = np.tile([[0.5, 4.0, 30.0]], (n, 1)) * np.linspace(0.5, 1.5, n)[:, None]
    return turns, np.exp(-turns.goes * age), age


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize("hidden", [0.0, 2.0])
@pytest.mark.parametrize("comes", [True, False])
def test_the_upper_bound_is_the_next_share_of_whole_records(n, hidden, comes):
    turns, alive, age = turned(n, unrest=0.5, hidden=hidden)
    mean, low, high = bounds(turns, n, alive, age, confidence=0.8, comes=comes)
    plain = quality(turns, n, alive, age, comes=comes)
    assert mean == pytest.approx(plain[0])
    ends = beta_bounds(*plain, 0.8)
    open_ = turned(n, unrest=0.5)[0]  # perhaps nothing is hidden
    whole = beta_bounds(*quality(open_, n, alive, age, comes=comes), 0.8)
    for k in range(3):
        assert low[k] == pytest.approx(min(ends[0][k], mean[k]))
        most = max(ends[1][k], whole[1][k])
        share = math.ceil(most * n - 1e-12) / n
        assert high[k] == pytest.approx(min(max(share, mean[k]), 1.0))


def test_days_are_counted_whole_and_one_tells_nothing():
    moments = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    assert unrest_of_events(moments, 0.0, 1.9) == 0.0
    # Eight in the first of two days, four expected in each: (16 + 16 - 8) x 1/8 of
    # excess over 32/8 and the one that is lent, a day at a time.
    assert unrest_of_events(moments, 0.0, 2.0) == pytest.approx((24 / 8) / (32 / 8 + 1))
    assert unrest_of_events(moments, 0.0, 2.9) == unrest_of_events(moments, 0.0, 2.0)
    # What lies outside is not counted.
    more = np.append(moments, [-0.5, 2.5])
    assert unrest_of_events(more, 0.0, 2.0) == unrest_of_events(moments, 0.0, 2.0)
    assert unrest_of_events(moments + 5, 5.0, 2.0) == pytest.approx(
        unrest_of_events(moments, 0.0, 2.0)
    )


def test_rates_go_by_a_day_at_least():
    brief = Turnover(came=3.0, went=1.0, days=0.25, seen=0.5)
    assert (brief.comes, brief.goes) == (3.5, 1.5)
    long = Turnover(came=3.0, went=1.0, days=4.0, seen=8.0)
    assert (long.comes, long.goes) == (3.5 / 4, 1.5 / 8)
