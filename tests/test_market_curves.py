"""Laws of what it is worth to renew a copy every so often."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from scipy.integrate import quad

from halflife.market.curves import Decay, renewed_quality

AHEAD = np.array([0.5, 1.0, 2.0, 5.0, 20.0])


def a_decay(rate=0.2, spread=0.1):
    mean = np.exp(-rate * AHEAD)
    return Decay(AHEAD, mean, np.maximum(mean - spread * AHEAD / 20.0, 0.0))


def test_a_copy_is_whole_when_made_a_line_between_moments_and_stays_after_the_last():
    mean, low = a_decay().at(np.array([0.0, 0.25, 1.5, 20.0, 99.0]))
    first, second, third, last = np.exp(-0.2 * np.array([0.5, 1.0, 2.0, 20.0]))
    by_hand = [1.0, (1.0 + first) / 2, (second + third) / 2, last, last]
    assert mean == pytest.approx(by_hand)
    assert low[0] == 1.0
    assert (low <= mean).all()


@given(days=st.floats(0.1, 40.0), rate=st.floats(0.01, 2.0))
def test_the_index_is_the_integral_of_the_fall(days, rate):
    decay = a_decay(rate)

    def loss(t):
        return 1.0 - float(decay.at(np.array([t]))[0][0])

    edges = [0.0, *AHEAD[days > AHEAD], days]
    area = sum(quad(loss, a, b)[0] for a, b in pairwise(edges))
    assert decay.index(days) == pytest.approx(days * loss(days) - area, abs=1e-9)


def test_what_does_not_decay_is_worth_nothing_to_renew():
    still = Decay(AHEAD, np.ones(5), np.ones(5))
    assert still.index(7.0) == 0.0
    mean, low, high = renewed_quality(still, np.array([3.0]), 0.9)
    assert mean == pytest.approx([1.0])
    assert low == pytest.approx([1.0], abs=1e-6)
    assert high == pytest.approx([1.0], abs=1e-6)


def test_the_mean_quality_is_the_mean_over_an_interval():
    decay = a_decay()
    every = np.array([0.5, 2.0, 6.0])
    mean, _, _ = renewed_quality(decay, every, 0.9)
    for found, days in zip(mean, every, strict=True):
        fine = np.linspace(0.0, days, 100_001)
        assert found == pytest.approx(decay.at(fine)[0].mean(), rel=1e-3)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_low_and_high_are_quantiles_of_what_is_seen_at_a_random_moment(confidence):
    decay, every = a_decay(spread=2.0), np.array([1.0, 4.0])
    _, low, high = renewed_quality(decay, every, confidence)
    z = stats.norm.ppf(confidence)
    for days, bottom, top in zip(every, low, high, strict=True):
        share = (np.arange(20_000) + 0.5) / 20_000
        mean, bound = decay.at(days * share)
        spread = np.maximum((mean - bound) / z, 1e-9)
        below = [stats.norm.cdf((q - mean) / spread).mean() for q in (bottom, top)]
        assert below[0] == pytest.approx(1 - confidence, abs=5e-3)
        if top < 1.0:
            assert below[1] == pytest.approx(confidence, abs=5e-3)
        else:
            assert below[1] <= confidence + 5e-3
        assert bottom < top


def test_a_copy_of_one_quality_has_that_quality_as_its_quantiles():
    flat = Decay(np.array([1e-6, 50.0]), np.full(2, 0.6), np.full(2, 0.6 - 1.2816e-3))
    mean, low, high = renewed_quality(flat, np.array([10.0]), 0.9)
    assert mean == pytest.approx([0.6], abs=1e-5)
    assert high - mean == pytest.approx([1.2816e-3], rel=1e-2)
    assert mean - low == pytest.approx([1.2816e-3], rel=1e-2)
