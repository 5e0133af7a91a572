"""Laws of the bounds on freshness, and of schedules that look at random moments."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import brentq, linprog

from halflife.allocation import random_schedules
from halflife.allocation.bounds import (
    _knapsack,
    blind_bound,
    hindsight_bound,
    hindsight_bound_on_trace,
    signal_bound,
)
from halflife.allocation.random_schedules import (
    _random,
    azar,
    lambdacrawl,
    lambdacrawl_approx,
    random_freshness,
    random_harmonic,
)
from halflife.allocation.solver import allocate


def items(n, seed):
    rng = np.random.default_rng(seed)
    return tuple(np.exp(rng.normal(-0.5, 1.0, n)) for _ in range(3))


# Bounds


@settings(max_examples=12, deadline=None)
@given(
    pairs=st.lists(
        st.tuples(st.floats(0.0, 9.0), st.floats(0.1, 9.0)), min_size=1, max_size=6
    ),
    room=st.floats(0.0, 40.0),
)
def test_a_knapsack_that_may_be_cut_is_a_linear_programme(pairs, room):
    value, size = (np.array(column) for column in zip(*pairs, strict=True))
    best = linprog(-value, A_ub=[size], b_ub=[room], bounds=[(0, 1)] * size.size)
    assert _knapsack(value, size, room) == pytest.approx(-best.fun, abs=1e-7)


@pytest.mark.parametrize("budget", [0.05, 0.5, 2.0])
def test_with_hindsight_one_price_decides_which_gaps_are_worth_a_look(budget):
    rate, weight, cost = items(6, 1)

    def spent(log_price):
        y = math.exp(log_price) * cost * rate / weight
        return float((cost * rate * np.exp(-y)).sum()) - budget

    y = math.exp(brentq(spent, -60.0, 20.0)) * cost * rate / weight
    expected = float(weight @ ((1 + y) * np.exp(-y))) / weight.sum()
    found = hindsight_bound(rate, budget, weight=weight, cost=cost)
    assert found == pytest.approx(expected, rel=1e-8)


def test_what_never_changes_is_fresh_under_every_bound():
    rate, weight = np.array([0.0, 2.0]), np.array([3.0, 1.0])
    more = {"weight": weight, "cost": [1.0, 2.0]}
    assert signal_bound(rate, 1.0, **more) == pytest.approx((3 + 1 / 4) / 4)
    share = 1 / 4
    kept = share * (1 - math.log(share))
    assert hindsight_bound(rate, 1.0, **more) == pytest.approx((3 + kept) / 4)
    assert hindsight_bound(rate, 0.0, **more) == pytest.approx(3 / 4)
    assert signal_bound(rate, 0.0, **more) == pytest.approx(3 / 4)
    assert blind_bound(rate, 1.0, **more) == allocate(rate, 1.0, **more).value
    # the whole of it is followed from cost times rate on
    assert hindsight_bound(rate, 4.0, **more) == 1.0
    assert hindsight_bound(rate, 3.999, **more) < 1.0
    assert signal_bound(rate, 4.0, **more) == pytest.approx(1.0)


def traced(start, at, horizon, budget, weight):
    """Return the bound by trying out the longest gaps one by one."""
    gaps, free = [], 0.0
    for i, w in enumerate(weight):
        mine = [*at[start[i] : start[i + 1]], horizon]
        free += w * mine[0]
        gaps += [w * (b - a) for a, b in pairwise(mine)]
    best = sorted(gaps, reverse=True)[:budget]
    return (free + sum(best)) / (horizon * sum(weight))


@settings(max_examples=25, deadline=None)
@given(
    times=st.lists(st.lists(st.integers(0, 8), max_size=4), min_size=1, max_size=4),
    budget=st.integers(0, 9),
    weight=st.lists(st.floats(0.5, 4.0), min_size=4, max_size=4),
)
def test_on_a_trace_the_longest_gaps_are_bought(times, budget, weight):
    times = [sorted(one) for one in times]
    start = np.concatenate([[0], np.cumsum([len(one) for one in times])])
    at = np.array([t for one in times for t in one], dtype=float)
    weight = np.array(weight[: len(times)])
    found = hindsight_bound_on_trace(start, at, 8.0, budget, weight=weight)
    assert found == pytest.approx(traced(start, at, 8.0, budget, weight))


@pytest.mark.parametrize("horizon", [0.0, -1.0, np.inf, np.nan])
def test_a_trace_without_an_end_is_refused(horizon):
    with pytest.raises(ValueError, match="horizon must be"):
        hindsight_bound_on_trace(np.array([0, 1]), np.array([0.0]), horizon, 1)


def test_a_trace_beyond_its_end_is_refused_and_named():
    with pytest.raises(ValueError, match="after index 2"):
        hindsight_bound_on_trace(np.array([0, 1, 3]), np.array([5.0, 1.0, 9.5]), 9.0, 1)
    with pytest.raises(ValueError, match="after index 1"):
        hindsight_bound_on_trace(np.array([0, 1, 3]), np.array([5.0, 4.0, 1.0]), 9.0, 1)


# Looks at random moments


def simulated(frequency, rate, days=6000.0):
    """Return freshness and harmonic loss of random looks, event by event."""
    rng = np.random.default_rng(4)
    now = fresh = lost = 0.0
    missed = 0
    while now < days:
        step = rng.exponential(1.0 / (frequency + rate))
        fresh += step * (missed == 0)
        lost += step * sum(1.0 / k for k in range(1, missed + 1))
        now += step
        missed = 0 if rng.random() < frequency / (frequency + rate) else missed + 1
    return fresh / now, lost / now


def test_closed_forms_of_random_looks_are_what_a_simulation_gives():
    for looks, rate in ((1.0, 0.5), (0.5, 1.0)):
        fresh, lost = simulated(looks, rate)
        at = np.array([looks]), np.array([rate])
        assert random_freshness(*at)[0] == pytest.approx(fresh, abs=0.03)
        assert random_harmonic(*at)[0] == pytest.approx(lost, abs=0.08)
        assert random_freshness(*at)[0] == looks / (looks + rate)
        assert random_harmonic(*at)[0] == pytest.approx(math.log1p(rate / looks))


def test_random_looks_at_the_ends():
    looks, rate = np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])
    assert random_freshness(looks, rate).tolist() == [0.0, 1.0, 1.0]
    assert random_harmonic(looks, rate).tolist() == [np.inf, 0.0, 0.0]


@pytest.mark.parametrize("budget", [0.2, 3.0, 50.0])
def test_azars_rates_buy_the_same_where_they_look_and_less_elsewhere(budget):
    rate, weight, cost = items(15, 2)
    plan = azar(rate, budget, weight=weight, cost=cost)
    f = plan.frequency
    assert float(cost @ f) == pytest.approx(budget)
    bought = weight * rate / (cost * (f + rate) ** 2)  # d/df of w f / (f + rate)
    np.testing.assert_allclose(bought[f > 0], plan.price)
    assert (bought[f == 0] <= plan.price * (1 + 1e-12)).all()
    mean = float(weight @ (f / (f + rate))) / weight.sum()
    assert plan.value == pytest.approx(mean)


def test_azar_without_a_budget_looks_at_nothing():
    plan = azar([2.0, 8.0, 0.0], 0.0, weight=[1.0, 3.0, 1.0])
    assert plan.frequency.tolist() == [0.0, 0.0, 0.0]
    assert plan.price == pytest.approx(0.5)  # weight / (cost rate) of the best
    assert plan.value == pytest.approx(1 / 5)
    nobody = azar([2.0], 3.0, weight=[0.0])
    assert (nobody.frequency.tolist(), nobody.price, nobody.value) == ([0.0], 0.0, 1.0)


@pytest.mark.parametrize("budget", [0.2, 3.0, 50.0])
@pytest.mark.parametrize("told", [0.0, 0.4, 1.0])
def test_lambdacrawls_rates_buy_the_same_wherever_more_could_help(budget, told):
    rate, weight, cost = items(15, 3)
    complete = np.random.default_rng(0).random(15) < told
    plan = lambdacrawl(rate, budget, weight=weight, cost=cost, complete=complete)
    f, share = plan.frequency, np.minimum(plan.frequency / rate, 1.0)
    np.testing.assert_allclose(plan.chance, np.where(complete, share, 0.0))
    with np.errstate(divide="ignore"):
        bought = weight / cost * np.where(complete, 1.0 / f, rate / (f * (f + rate)))
    rising = ~complete | (share < 1.0 - 1e-9)
    spent = float(cost @ f)
    if rising.any():
        assert spent == pytest.approx(budget)
        np.testing.assert_allclose(bought[rising], plan.price, rtol=1e-8)
        assert (bought[~rising] >= plan.price * (1 - 1e-8)).all()
    else:
        assert (spent <= budget, plan.price) == (True, 0.0)
    lost = np.where(complete, -np.log(share), np.log1p(rate / f))
    assert plan.value == pytest.approx(float(weight @ lost) / weight.sum(), rel=1e-9)


def test_lambdacrawl_leaves_alone_what_gains_nothing():
    plan = lambdacrawl(
        [1.0, 0.0, 2.0],
        3.0,
        weight=[1.0, 1.0, 0.0],
        complete=np.array([False, True, True]),
    )
    assert plan.frequency == pytest.approx([3.0, 0.0, 0.0])
    assert plan.chance.tolist() == [0.0, 1.0, 1.0]  # nothing to follow is all followed
    assert plan.value == pytest.approx(math.log1p(1 / 3) / 2)
    broke = lambdacrawl([1.0, 2.0], 0.0)
    assert (broke.frequency.tolist(), broke.price) == ([0.0, 0.0], 0.0)
    assert broke.value == np.inf
    nobody = lambdacrawl([1.0], 2.0, weight=[0.0])
    assert nobody.value == 0.0


def test_all_news_is_followed_from_its_own_cost_on():
    rate, cost, told = [1.0, 2.0], [2.0, 1.0], np.array([True, True])
    enough = lambdacrawl(rate, 4.0, cost=cost, complete=told)
    assert (enough.frequency.tolist(), enough.price) == (rate, 0.0)
    less = lambdacrawl(rate, 3.9, cost=cost, complete=told)
    assert less.price > 0.0
    assert less.frequency @ cost == pytest.approx(3.9)


def test_the_approximation_goes_with_the_weights_and_pays_the_costs():
    plan = lambdacrawl_approx(
        [1.0, 2.0, 3.0], 6.0, weight=[4.0, 2.0, 0.0], cost=[1, 4, 1]
    )
    assert plan.frequency == pytest.approx([2.0, 1.0, 0.0])
    lost = (4 * math.log1p(1 / 2) + 2 * math.log1p(2 / 1)) / 6
    assert plan.value == pytest.approx(lost)
    assert plan.price == 0.0
    nobody = lambdacrawl_approx([1.0], 6.0, weight=[0.0])
    assert (nobody.frequency.tolist(), nobody.value) == ([0.0], 0.0)


@pytest.mark.parametrize("y", [1e-6, 0.3, 0.999, 1.0, 1.001, 40.0])
def test_the_spacing_of_random_looks_solves_its_equation(y):
    both = np.full(2, y)
    spacing, bend = _random(both, np.array([0.0, 1.0]))
    assert spacing[0] ** 2 / (1 + spacing[0]) == pytest.approx(y)
    assert spacing[1] == max(y, 1.0)
    up, down = (_random(both * (1 + s), np.array([0.0, 1.0]))[0] for s in (1e-6, -1e-6))
    slope = np.log(up / down) / 2e-6
    assert bend[0] == pytest.approx(slope[0], rel=1e-4)
    if y != 1.0:
        assert bend[1] == pytest.approx(slope[1], abs=1e-4)


@pytest.mark.parametrize("budget", [0.1, 5.0, 1e6])
def test_the_search_begins_at_a_price_that_is_too_high_and_near_if_looks_are_many(
    monkeypatch, budget
):
    rate, weight, cost = items(20, 5)
    seen, settle = [], random_schedules.spend_budget

    def kept(demand, spend, start):
        seen.append(start)
        return settle(demand, spend, start)

    monkeypatch.setattr(random_schedules, "spend_budget", kept)
    plan = lambdacrawl(rate, budget, weight=weight, cost=cost)
    price = math.log(plan.price / weight.max())  # weights count in parts of the largest
    assert seen[0] >= price - 1e-9
    if budget == 1e6:
        assert seen[0] == pytest.approx(price, abs=1e-4)


@pytest.mark.parametrize("bound", [blind_bound, hindsight_bound])
@pytest.mark.parametrize("budget", [0.0, 0.3, 1.0])
def test_items_without_weight_change_no_bound(bound, budget):
    rate, weight = np.array([0.5, 2.0, 1.0]), np.array([1.0, 0.5, 2.0])
    alone = bound(rate, budget, weight=weight)
    more = np.append(rate, [3.0, 0.1]), np.append(weight, [0.0, 0.0])
    assert bound(more[0], budget, weight=more[1]) == pytest.approx(alone)
    assert bound(rate, budget, weight=np.zeros(3)) == 1.0
