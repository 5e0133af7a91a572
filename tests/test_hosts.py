"""Schedules within limits: hosts' caps, floors and ceilings, cheap checks."""

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from scipy.optimize import minimize

from halflife.allocation import (
    allocate,
    allocate_checks,
    allocate_polite,
    mean_freshness,
    mean_harmonic,
)
from halflife.allocation.checks import mean_cost

COSTS = {"freshness": lambda f, r: -mean_freshness(f, r), "harmonic": mean_harmonic}


def population(n, seed):
    rng = np.random.default_rng(seed)
    rate = np.exp(rng.normal(-1.0, 1.2, n))
    return (
        rate,
        rng.integers(1, 6, n).astype(float),
        rng.integers(1, 4, n).astype(float),
    )


def lost(frequency, rate, weight, objective="freshness"):
    return float(weight @ COSTS[objective](frequency, rate) / weight.sum())


def slope(frequency, rate, weight, objective="freshness"):
    """Each item loses by its own frequency alone: two differences do for all."""
    step = 1e-6 * (frequency + 1e-3)
    more, less = (COSTS[objective](frequency + by, rate) for by in (step, -step))
    return weight * (more - less) / (2 * step) / weight.sum()


def slsqp(loss, start, constraints, jac=None):
    found = minimize(
        loss,
        start,
        jac=jac,
        method="SLSQP",
        bounds=[(1e-9, None)] * start.size,
        constraints=constraints,
        options={"maxiter": 2000, "ftol": 1e-13},
    )
    return found.fun


def at_most(limit, spent):
    return {"type": "ineq", "fun": lambda f: limit - spent(f)}


@pytest.mark.parametrize("objective", ["freshness", "harmonic"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_polite_schedules_cost_no_more_than_a_general_solver_finds(objective, seed):
    rate, weight, cost = population(20, seed)
    host = np.arange(20) % 4
    cap = np.array([0.4, 1.0, 3.0, np.inf])
    found = allocate_polite(
        rate, 6.0, host, cap, weight=weight, cost=cost, objective=objective
    )
    constraints = [at_most(6.0, lambda f: cost @ f)]
    constraints += [
        at_most(cap[h], lambda f, h=h: (cost * f)[host == h].sum()) for h in range(3)
    ]
    start = np.full(20, 0.01)
    oracle = slsqp(
        lambda f: lost(f, rate, weight, objective),
        start,
        constraints,
        lambda f: slope(f, rate, weight, objective),
    )
    assert lost(found.frequency, rate, weight, objective) <= oracle + 1e-6
    spent = np.bincount(host, cost * found.frequency)
    assert np.all(spent <= cap * (1 + 1e-9))
    assert cost @ found.frequency == pytest.approx(6.0, rel=1e-9)


def test_fifty_items_on_ten_hosts_match_a_general_solver():
    rate, weight, cost = population(50, 7)
    host, cap = np.arange(50) % 10, np.linspace(0.05, 2.0, 10)
    found = allocate_polite(rate, 8.0, host, cap, weight=weight, cost=cost)
    constraints = [at_most(8.0, lambda f: cost @ f)]
    constraints += [
        at_most(cap[h], lambda f, h=h: (cost * f)[host == h].sum()) for h in range(10)
    ]
    start = np.full(50, 0.005)
    oracle = slsqp(
        lambda f: lost(f, rate, weight),
        start,
        constraints,
        lambda f: slope(f, rate, weight),
    )
    assert abs(-found.value - oracle) < 1e-6


def test_hosts_that_take_anything_change_nothing():
    rate, weight, cost = population(30, 3)
    free = allocate(rate, 5.0, weight=weight, cost=cost)
    host = np.arange(30) % 3
    polite = allocate_polite(rate, 5.0, host, [np.inf] * 3, weight=weight, cost=cost)
    np.testing.assert_allclose(polite.frequency, free.frequency, rtol=1e-9)
    assert polite.price == pytest.approx(free.price)


def test_when_all_hosts_together_take_less_than_the_budget_it_is_not_spent():
    rate, weight, _ = population(12, 4)
    host = np.arange(12) % 3
    found = allocate_polite(rate, 100.0, host, [1.0, 0.5, 0.0], weight=weight)
    spent = np.bincount(host, found.frequency)
    np.testing.assert_allclose(spent, [1.0, 0.5, 0.0], rtol=1e-9)
    assert found.price == 0.0


def test_a_full_host_has_the_dearer_requests():
    rate = np.ones(4)
    found = allocate_polite(rate, 4.0, np.array([0, 0, 1, 1]), [0.5, np.inf])
    assert found.host_price[0] > found.host_price[1] == found.price


@settings(max_examples=40)
@example(5335, 1.0, [np.inf, 0.0, 2**-8], "freshness")  # less than any float asks
@given(
    seed=st.integers(0, 10_000),
    budget=st.floats(0.0, 20.0),
    caps=st.lists(st.floats(0.0, 5.0) | st.just(np.inf), min_size=3, max_size=3),
    objective=st.sampled_from(["freshness", "age", "harmonic"]),
)
def test_no_host_nor_the_budget_is_ever_overspent(seed, budget, caps, objective):
    rate, weight, cost = population(9, seed)
    host, cap = np.arange(9) % 3, np.array(caps)
    found = allocate_polite(
        rate, budget, host, cap, weight=weight, cost=cost, objective=objective
    )
    spent = np.bincount(host, cost * found.frequency)
    assert np.all(found.frequency >= 0)
    assert np.all(spent <= cap * (1 + 1e-9) + 1e-12)
    assert spent.sum() <= budget * (1 + 1e-9) + 1e-12
    expected = min(budget, cap.sum())
    assert spent.sum() == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_hosts_that_do_not_fit_the_items_are_refused():
    with pytest.raises(ValueError, match="host must be from 0 to 0"):
        allocate_polite([1, 1], 1, np.array([0, 1]), [1.0])
    with pytest.raises(ValueError, match="cap must be finite and not negative"):
        allocate_polite([1, 1], 1, np.array([0, 0]), [-1.0])
    with pytest.raises(ValueError, match="one number an item"):
        allocate_polite([1, 1], 1, np.array([0]), [1.0])


def test_a_host_that_takes_next_to_nothing_is_still_met_exactly():
    found = allocate_polite([1.0, 1.0], 1.0, np.array([0, 1]), [1e-6, np.inf])
    np.testing.assert_allclose(found.frequency, [1e-6, 1 - 1e-6], rtol=1e-9)


@pytest.mark.parametrize("objective", ["freshness", "harmonic"])
def test_floors_and_ceilings_match_a_general_solver(objective):
    rate, weight, cost = population(20, 11)
    fewest, most = np.full(20, 0.05), np.full(20, 0.4)
    found = allocate(
        rate,
        6.0,
        weight=weight,
        cost=cost,
        objective=objective,
        limits=(fewest, most),
    )
    result = minimize(
        lambda f: lost(f, rate, weight, objective),
        np.full(20, 0.1),
        method="SLSQP",
        bounds=[(0.05, 0.4)] * 20,
        constraints=[at_most(6.0, lambda f: cost @ f)],
        options={"maxiter": 2000, "ftol": 1e-13},
    )
    assert lost(found.frequency, rate, weight, objective) <= result.fun + 1e-6
    assert np.all((found.frequency >= 0.05) & (found.frequency <= 0.4))
    assert cost @ found.frequency == pytest.approx(6.0, rel=1e-9)


def test_limits_without_teeth_change_nothing():
    rate, weight, cost = population(30, 5)
    free = allocate(rate, 5.0, weight=weight, cost=cost)
    bound = allocate(rate, 5.0, weight=weight, cost=cost, limits=(0.0, np.inf))
    np.testing.assert_allclose(bound.frequency, free.frequency, rtol=1e-9, atol=1e-12)


def test_a_floor_is_kept_also_for_what_gains_nothing_by_it():
    found = allocate([1.0, 0.0, 50.0], 3.0, limits=(0.25, np.inf))
    np.testing.assert_allclose(found.frequency, [2.5, 0.25, 0.25], rtol=1e-9)


def test_with_everyone_at_the_ceiling_the_rest_is_not_spent():
    found = allocate([1.0, 2.0], 10.0, limits=(0.0, 1.5))
    assert found.frequency.tolist() == [1.5, 1.5]
    assert found.price == 0.0


def test_floors_beyond_the_budget_are_refused():
    with pytest.raises(ValueError, match="the fewest fetches a day cost 4 requests"):
        allocate([1.0, 2.0], 3.0, limits=(2.0, 5.0))
    with pytest.raises(ValueError, match="limits must be"):
        allocate([1.0, 2.0], 3.0, limits=(2.0, 1.0))


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), low=st.floats(0, 0.1), width=st.floats(0, 1))
def test_limits_are_kept_and_the_budget_is_met_if_it_can_be(seed, low, width):
    rate, weight, cost = population(10, seed)
    limits = (low, low + width)
    found = allocate(rate, 4.0, weight=weight, cost=cost, limits=limits)
    assert np.all((found.frequency >= low) & (found.frequency <= low + width))
    expected = min(4.0, (low + width) * cost.sum())
    assert cost @ found.frequency == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("check", "extra"), [(1.0, 0.0), (0.2, 0.8), (0.05, 2.0)])
def test_cheap_checks_match_a_general_solver(seed, check, extra):
    rate, weight, _ = population(15, seed)
    found = allocate_checks(rate, 4.0, check=check, extra=extra, weight=weight)
    spent = [at_most(4.0, lambda f: mean_cost(f, rate, check, extra).sum())]
    oracle = slsqp(lambda f: lost(f, rate, weight), np.full(15, 0.05), spent)
    assert abs(-found.value - oracle) < 1e-6
    total = mean_cost(found.frequency, rate, check, extra).sum()
    assert total == pytest.approx(4.0, rel=1e-9)


def test_at_the_optimum_every_item_looked_at_buys_the_same_per_request():
    rate, weight, _ = population(15, 8)
    found = allocate_checks(rate, 4.0, check=0.3, extra=0.7, weight=weight)
    f = found.frequency[found.frequency > 0]
    r, w = (a[found.frequency > 0] for a in (rate, weight))
    x = r / f
    bought = (1 - (1 + x) * np.exp(-x)) / r
    np.testing.assert_allclose(
        w * bought / (0.3 + 0.7 * r * bought), found.price, rtol=1e-7
    )


def test_checks_that_cost_nothing_are_refused():
    with pytest.raises(ValueError, match="check must be above 0"):
        allocate_checks([1.0], 1.0, check=0.0)


def test_nothing_to_spend_or_to_gain_gives_no_checks():
    assert not allocate_checks([1.0, 2.0], 0.0).frequency.any()
    assert not allocate_checks([0.0, 0.0], 5.0).frequency.any()
