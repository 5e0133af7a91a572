"""The guard against losses that are not credible: its law, by hand and by scipy."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from halflife.models.guard import (
    DISPERSION,
    LARGEST,
    LEAST_CYCLES,
    WEIGHT,
    DeleteGuard,
    log_pmf,
)


@given(n=st.integers(0, 60), mean=st.floats(0.01, 0.9), r=st.floats(0.001, 0.5))
def test_losses_follow_scipys_beta_binomial(n, mean, r):
    a, b = mean * (1 - r) / r, (1 - mean) * (1 - r) / r
    law = stats.betabinom(n, a, b).pmf(np.arange(n + 1))
    np.testing.assert_allclose(np.exp(log_pmf(n, mean, r)), law, rtol=1e-6, atol=1e-12)


def test_the_variance_is_widened_by_what_goes_together():
    n, q, r = 200, 0.1, 0.05
    chance, k = np.exp(log_pmf(n, q, r)), np.arange(n + 1)
    mean = chance @ k
    assert mean == pytest.approx(n * q)
    variance = chance @ k**2 - mean**2
    assert variance == pytest.approx(n * q * (1 - q) * (1 + (n - 1) * r))


@given(seed=st.integers(0, 99), cycles=st.integers(1, 40))
def test_rate_and_dispersion_are_moments(seed, cycles):
    rng = np.random.default_rng(seed)
    held = rng.integers(1, 300, cycles)
    gap = rng.uniform(0.2, 3.0, cycles)
    gone = rng.binomial(held, 0.1)
    guard = DeleteGuard().fit(held, gone, gap)
    rate = (gone.sum() + 0.5) / max((held * gap).sum(), 1.0)
    assert guard.rate_ == pytest.approx(rate)
    assert guard.cycles_ == cycles
    q = 1 - np.exp(-rate * gap)
    plain = held * q * (1 - q)
    scale = (plain * (held - 1)).sum()
    if scale <= 0:
        assert guard.dispersion_ == DISPERSION
        return
    excess = ((gone - held * q) ** 2 - plain).sum()
    lent = WEIGHT * scale / cycles
    found = (excess + lent * DISPERSION) / (scale + lent)
    upper = found * (1 + math.sqrt(8 / cycles))
    assert guard.dispersion_ == pytest.approx(np.clip(upper, 1e-9, LARGEST))


def test_cycles_that_cannot_be_are_not_learned_from():
    held, gone = np.array([10, 0, 10, 10]), np.array([1, 0, 11, 2])
    gap = np.array([1.0, 1.0, 1.0, 0.0])
    assert DeleteGuard().fit(held, gone, gap).cycles_ == 1
    none = DeleteGuard().fit(held[:0], gone[:0], gap[:0])
    assert (none.cycles_, none.rate_, none.dispersion_) == (0, 0.0, DISPERSION)


def learned(cycles=40, held=1000, gone=20):
    return DeleteGuard().fit(
        np.full(cycles, held), np.full(cycles, gone), np.ones(cycles)
    )


@pytest.mark.parametrize("gap", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("gone", [0, 15, 60, 300, 999])
def test_the_tail_and_what_is_usual_are_quantiles_of_the_law(gap, gone):
    guard = learned()
    share = 1 - math.exp(-guard.rate_ * gap)
    r = guard.dispersion_
    law = stats.betabinom(1000, share * (1 - r) / r, (1 - share) * (1 - r) / r)
    found = guard.judge(1000, gone, gap)
    assert found.tail == pytest.approx(law.sf(gone - 1), rel=1e-5, abs=1e-12)
    assert law.cdf(found.low) >= 1e-3
    assert found.low == 0 or law.cdf(found.low - 1) < 1e-3
    assert law.sf(found.high - 1) >= 1e-3
    assert law.sf(found.high) < 1e-3
    lost = (gone - 1000 * share) / (1000 * (1 - share))
    unlikely = lost > 1 / 3 or found.tail < 1e-4
    assert found.credible is not (gone >= 10 and unlikely)


def test_before_its_own_history_a_fifth_of_what_stays_is_the_limit():
    new = DeleteGuard()
    assert new.judge(100, 20, 1.0).credible
    assert not new.judge(100, 21, 1.0).credible
    assert new.judge(12, 9, 1.0).credible  # fewer than ten are believed
    assert not new.judge(12, 10, 1.0).credible
    few = learned(LEAST_CYCLES - 1)
    assert "too few to know" in few.judge(1000, 20, 1.0).why
    assert "too few to know" not in learned(LEAST_CYCLES).judge(1000, 20, 1.0).why


def test_an_answer_with_nothing_left_is_held():
    guard = learned()
    assert not guard.judge(10, 10, 1.0).credible
    assert not guard.judge(3, 3, 1.0).credible  # a chance far below 5 %
    assert guard.judge(0, 0, 1.0).credible
    quick = DeleteGuard().fit(np.full(40, 2), np.ones(40, int), np.ones(40))
    assert quick.judge(2, 2, 1.0).tail > 0.05
    assert quick.judge(2, 2, 1.0).credible
    assert not DeleteGuard().judge(1, 1, 1.0).credible  # nothing is known yet


def test_a_longer_gap_makes_a_loss_more_credible():
    guard = learned()
    tails = [guard.judge(1000, 60, gap).tail for gap in (0.5, 1.0, 2.0, 5.0)]
    assert tails == sorted(tails)
    assert guard.judge(1000, 60, -1.0).tail == guard.judge(1000, 60, 0.0).tail
