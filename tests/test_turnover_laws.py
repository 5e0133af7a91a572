"""The quality of a copy that is read part by part, by its formula and by drawing."""

import math

import numpy as np
import pytest
from scipy import stats

from halflife.models.turnover import LEAST, Turnover, bounds, quality, unrest_of_events
from halflife.models.unrest import LENT, MOST, shared_survival, unrest

AGE = np.array([[0.5, 3.0], [2.0, 5.0], [4.0, 9.0]])
ALIVE = np.exp(-0.08 * AGE)


def test_rates_are_events_over_days_with_half_an_event_lent():
    turns = Turnover(came=12.0, went=6.0, days=30.0, seen=600.0)
    assert turns.comes == pytest.approx(12.5 / 30)
    assert turns.goes == pytest.approx(6.5 / 600)
    none = Turnover(came=0.0, went=0.0, days=0.0, seen=0.0)
    assert none.comes == none.goes == 0.5 / LEAST


@pytest.mark.parametrize("uneven", [0.0, 2.0])
@pytest.mark.parametrize("hidden", [-3.0, 0.0, 6.0])
@pytest.mark.parametrize("comes", [True, False])
def test_mean_and_variance_are_those_of_the_formula(uneven, hidden, comes):
    turns = Turnover(12.0, 6.0, 30.0, 600.0, uneven, hidden)
    n = 3
    mean, variance = quality(turns, n, ALIVE, AGE, comes=comes)
    h = max(hidden, 0.0) / 2 * comes
    for j in range(2):
        age = AGE[:, j]
        spread = uneven * age + age**2 * (uneven / 30.0 + 1 / 6.5)
        still, alone, swing = shared_survival(ALIVE[:, j], age, spread)
        t = age.mean()
        z = turns.comes * t * comes
        a = 1 / (n + z + h)
        left = n * still.mean()
        b = left * a**2
        w = turns.comes * comes * math.sqrt(uneven * (t + t**2 / 30.0) + t**2 / 12.5)
        own = a**2 * n * alone.mean() + b**2 * (z + h**2)
        both = own + (a * n * swing.mean() + b * w) ** 2
        assert mean[j] == pytest.approx(left * a)
        assert variance[j] == pytest.approx(min(both, mean[j] * (1 - mean[j])))


def test_many_records_that_come_and_go_by_chance_are_as_told():
    rng = np.random.default_rng(0)
    n, age, goes, comes = 400, 5.0, 0.02, 8.0
    turns = Turnover(came=8e6, went=2e6, days=1e6, seen=1e8)  # rates are known
    alive = np.full((n, 1), math.exp(-goes * age))
    mean, variance = quality(turns, n, alive, np.full((n, 1), age))
    kept = rng.binomial(n, math.exp(-goes * age), 40_000)
    new = rng.poisson(comes * age, 40_000)
    drawn = kept / (n + new)
    assert mean[0] == pytest.approx(drawn.mean(), rel=2e-3)
    assert variance[0] == pytest.approx(drawn.var(), rel=0.05)


def test_bounds_hold_the_mean_and_are_shares_of_whole_records():
    turns = Turnover(12.0, 6.0, 30.0, 600.0, 1.0, 4.0)
    mean, low, high = bounds(turns, 3, ALIVE, AGE)
    assert (low <= mean).all()
    assert (mean <= high).all()
    assert (high <= 1.0).all()
    told, variance = quality(turns, 3, ALIVE, AGE)
    for j in range(2):
        both = told[j] * (1 - told[j]) / variance[j] - 1
        by_hand = stats.beta(told[j] * both, (1 - told[j]) * both).ppf(0.025)
        assert low[j] == pytest.approx(min(by_hand, mean[j]), abs=1e-6)
    open_ = bounds(Turnover(12.0, 6.0, 30.0, 600.0, 1.0, 0.0), 3, ALIVE, AGE)
    assert (high >= open_[2] - 1e-12).all()  # perhaps nothing is hidden
    whole = high[high < 1.0] * 3
    np.testing.assert_allclose(whole, np.round(whole))


def test_what_happens_in_bursts_is_uneven():
    assert unrest_of_events(np.arange(10) * 1.0, 0.0, 1.9) == 0.0
    even = unrest_of_events(np.arange(60) / 2.0, 0.0, 30.0)
    burst = unrest_of_events(np.full(60, 7.5), 0.0, 30.0)
    assert even == 0.0
    assert burst > 10.0
    late = unrest_of_events(np.full(60, 107.5), 100.0, 30.0)
    assert late == pytest.approx(burst)


def test_unrest_is_the_largest_moment_estimate_over_spans():
    rng = np.random.default_rng(1)
    expected = rng.uniform(0.5, 3.0, (4, 30))
    seen = rng.poisson(expected * rng.gamma(0.5, 2.0, (4, 30))).astype(float)
    found = unrest(expected, seen, 0.5)
    best = 0.0
    for span in (1, 3, 7, 14, 28):
        many = 30 // span
        top = bottom = 0.0
        for e, c in zip(expected, seen, strict=True):
            # the latest bins are taken together
            parts = [slice(30 - (k + 1) * span, 30 - k * span) for k in range(many)]
            total = max(sum(e[p].sum() for p in parts), 1.0)
            for p in parts:
                a, b = e[p].sum(), c[p].sum()
                top += ((b - a) ** 2 - b) / total
                bottom += a**2 / total
        best = max(best, min(span * top / (bottom + LENT), MOST) * 0.5)
    assert found == pytest.approx(best)
    few = unrest(expected, seen, 0.5, fewest=9)  # only spans of 1, 3 and 7 bins
    assert 0.0 <= few <= found


def test_shared_chances_are_those_of_gamma_distributed_days():
    rng = np.random.default_rng(2)
    rate, lived, variance = 0.3, 4.0, 6.0
    days = rng.gamma(lived**2 / variance, variance / lived, 400_000)
    chance = np.exp(-rate * days)
    found = shared_survival(
        np.array([math.exp(-rate * lived)]), np.array([lived]), np.array([variance])
    )
    mean, alone, swing = (float(x[0]) for x in found)
    assert mean == pytest.approx(chance.mean(), rel=5e-3)
    assert alone == pytest.approx((chance * (1 - chance)).mean(), rel=5e-3)
    assert swing == pytest.approx(chance.std(), rel=5e-3)
    sure = shared_survival(
        np.array([0.7, 0.0]), np.array([4.0, 4.0]), np.array([0.0, 1.0])
    )
    assert sure[0].tolist() == [0.7, 0.0]
    assert sure[1].tolist() == pytest.approx([0.21, 0.0])
    assert sure[2].tolist() == [0.0, 0.0]
