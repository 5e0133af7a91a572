"""Audits and the drift they show, recomputed part by part."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from halflife.metrics.intervals import Interval
from halflife.models.audit import (
    BETS,
    _payoffs,
    audited_share,
    drift,
    mean_over_gaps,
    pooled_share,
    share_bounds,
)


def beta_bounds(hits, size, confidence):
    tail = (1 - confidence) / 2
    low = stats.beta(hits, size - hits + 1).ppf(tail) if hits > 1e-9 else 0.0
    high = (
        stats.beta(hits + 1, size - hits).ppf(1 - tail) if size - hits > 1e-9 else 1.0
    )
    return low, high


@given(seed=st.integers(0, 200), n=st.integers(2, 30), confidence=st.floats(0.5, 0.99))
def test_an_audit_is_hajeks_share_with_korn_and_graubards_bounds(seed, n, confidence):
    rng = np.random.default_rng(seed)
    fresh = rng.random(n) < 0.6
    chance, weight = rng.uniform(0.05, 0.9, n), rng.uniform(0.5, 3.0, n)
    found = audited_share(fresh, chance, weight, confidence=confidence)
    g = weight / chance
    share = g @ fresh / g.sum()
    size = g.sum() ** 2 / ((1 - chance) * g**2).sum()
    if fresh.any() and not fresh.all():
        variance = n / (n - 1) * ((1 - chance) * g**2 * (fresh - share) ** 2).sum()
        variance /= g.sum() ** 2
        tail = (1 + confidence) / 2
        ratio = stats.norm.ppf(tail) / stats.t(n - 1).ppf(tail)
        size = share * (1 - share) / variance * ratio**2
    low, high = beta_bounds(share * size, size, confidence)
    assert found.mean == pytest.approx(share)
    assert found.low == pytest.approx(min(low, share), abs=1e-7)
    assert found.high == pytest.approx(max(high, share), abs=1e-7)


def test_one_part_tells_as_much_as_its_chance_says():
    found = audited_share(np.array([True]), np.array([0.25]), np.ones(1))
    low, high = beta_bounds(4 / 3, 4 / 3, 0.95)
    assert found == Interval(1.0, pytest.approx(low), high)
    assert audited_share(np.zeros(0, bool), np.zeros(0), np.zeros(0)) == Interval(
        0.5, 0, 1
    )
    assert audited_share(np.ones(2, bool), np.ones(2), np.zeros(2)) == Interval(
        0.5, 0, 1
    )


@given(seed=st.integers(0, 200), m=st.integers(1, 9))
def test_audits_pool_by_their_looks(seed, m):
    rng = np.random.default_rng(seed)
    looks = rng.integers(1, 20, m).astype(float)
    found = rng.integers(0, 11, m) / 10
    n = looks.sum()
    share = looks @ found / n
    plain = pooled_share(found, looks)
    low, high = share_bounds(share * n, n, 0.95)
    assert plain == (
        pytest.approx(share),
        pytest.approx(min(low, share)),
        pytest.approx(max(high, share)),
    )
    spread = ((looks * (found - share)) ** 2).sum() / n**2
    if m < 3 or spread <= 0:
        size = min(n, m)
    else:
        ratio = stats.norm.ppf(0.975) / stats.t(m - 1).ppf(0.975)
        size = min(
            n, max(share * (1 - share) * (m - 1) / (m * spread) * ratio**2, 1e-6)
        )
    alike = pooled_share(found, looks, alike=True)
    low, high = share_bounds(share * size, size, 0.95)
    assert alike.low == pytest.approx(min(low, share), abs=1e-9)
    assert alike.high == pytest.approx(max(high, share), abs=1e-9)
    assert pooled_share(np.zeros(0), np.zeros(0)) == Interval(0.5, 0.0, 1.0)


def test_losses_at_one_moment_of_each_gap_have_the_mean_and_spread_told():
    rng = np.random.default_rng(1)
    gap, end = np.array([1.0, 2.0, 5.0, 4.0]), np.array([0.9, 0.5, 0.7, 1.0])
    moment = rng.random((200_000, 4))
    quality = 1.0 - (1.0 - end) * (1.0 - moment)
    mean = quality @ gap / gap.sum()
    found = mean_over_gaps(gap, end, confidence=0.8)
    assert found.mean == pytest.approx(mean.mean(), abs=1e-3)
    z = stats.norm.ppf(0.9)
    assert (found.high - found.low) / 2 == pytest.approx(z * mean.std(), rel=1e-2)


def test_known_hours_of_loss_replace_the_unknown_moment():
    gap, end = np.array([1.0, 3.0]), np.array([0.5, 0.8])
    late = np.array([0.1, 0.4]), np.array([0.0, 0.01])
    found = mean_over_gaps(gap, end, late=late)
    mean = 1.0 - (0.25 * 0.5 * 0.1 + 0.75 * 0.2 * 0.4)
    reach = stats.norm.ppf(0.975) * math.sqrt((0.75 * 0.2) ** 2 * 0.01)
    assert found == pytest.approx((mean, mean - reach, mean + reach))


def test_quality_over_time_is_never_outside_what_is_possible():
    found = mean_over_gaps(np.ones(1), np.zeros(1), confidence=0.99)
    assert found == Interval(0.5, 0.0, 1.0)
    assert mean_over_gaps(np.zeros(1), np.ones(1)) == Interval(0.5, 0.0, 1.0)


def bets(believed, fresh, turn, group, threshold):
    """Return evidence, alarms and sides, one turn after another."""
    stake = {(c, side): 0.0 for c in BETS for side in ("staler", "fresher")}
    alarms, sides = [], []
    for now in range(max(turn) + 1):
        for c, side in list(stake):
            payoff = 1.0
            for g in sorted({g for g, t in zip(group, turn, strict=True) if t == now}):
                pays = []
                for p, y, t, of in zip(believed, fresh, turn, group, strict=True):
                    if (t, of) != (now, g):
                        continue
                    if side == "staler":
                        sure = min(p, 0.99)
                        pays.append(1 - c if y else 1 + c * sure / (1 - sure))
                    else:
                        sure = max(p, 0.01)
                        pays.append(1 + c * (1 - sure) / sure if y else 1 - c)
                payoff *= np.mean(pays)
            stake[c, side] = (stake[c, side] + 1.0) * payoff
        if np.mean(list(stake.values())) >= threshold:
            alarms.append(now)
            sums = [
                sum(v for (_, side), v in stake.items() if side == one)
                for one in ("staler", "fresher")
            ]
            sides.append(sums[0] > sums[1])
            stake = dict.fromkeys(stake, 0.0)
    return np.mean(list(stake.values())) / threshold, alarms, sides


@pytest.mark.parametrize("truth", [0.2, 0.9, 0.99])
@pytest.mark.parametrize("seed", range(3))
def test_drift_is_that_of_bets_turn_by_turn(truth, seed):
    rng = np.random.default_rng(seed)
    n = 60
    believed = rng.choice([0.0, 0.5, 0.8, 0.95, 1.0], n)
    fresh = rng.random(n) < truth
    turn, group = np.sort(rng.integers(0, 20, n)), rng.integers(0, 3, n)
    turn[-1] = 19
    found = drift(believed, fresh, turn, group, threshold=5.0)
    by_hand = bets(
        believed.tolist(), fresh.tolist(), turn.tolist(), group.tolist(), 5.0
    )
    assert found.evidence == pytest.approx(by_hand[0])
    assert found.alarms.tolist() == by_hand[1]
    assert found.staler.tolist() == by_hand[2]


def test_without_audits_there_is_no_drift():
    none = np.zeros(0)
    found = drift(none, none > 0, none.astype(int), none.astype(int))
    assert (found.evidence, found.alarms.size) == (0.0, 0)


@pytest.mark.parametrize("fresh", [True, False])
def test_bets_pay_nothing_in_the_mean_against_a_belief_that_is_right(fresh):
    p, right = np.array([0.02, 0.5, 0.98]), np.full(3, fresh)
    pays = p * _payoffs(p, ~right | True) + (1 - p) * _payoffs(p, right & False)
    assert pays == pytest.approx(np.ones((2 * len(BETS), 3)))
    # A belief beyond what is possible is the nearest that is.
    beyond, within = np.array([-0.4, 1.3]), np.array([0.0, 1.0])
    both = np.full(2, fresh)
    assert _payoffs(beyond, both) == pytest.approx(_payoffs(within, both))
