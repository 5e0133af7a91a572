"""Laws of schedules under hosts' limits, cheap checks, and checked input."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.allocation.checks import (
    _frequencies,
    allocate_checks,
    gain_of_check,
    mean_cost,
)
from halflife.allocation.columns import HUGE, TINY, columns, non_negative
from halflife.allocation.hosts import allocate_polite
from halflife.allocation.objectives import marginal, mean_freshness
from halflife.allocation.solver import allocate

OBJECTIVES = ("freshness", "age", "harmonic")


def items(n, seed):
    rng = np.random.default_rng(seed)
    rate, weight, cost = (np.exp(rng.normal(-0.5, 1.0, n)) for _ in range(3))
    return rate, weight, cost, rng


# Hosts


@pytest.mark.parametrize("objective", OBJECTIVES)
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    budget=st.floats(0.5, 20.0),
    caps=st.lists(st.floats(0.05, 5.0) | st.just(np.inf), min_size=3, max_size=3),
)
def test_each_item_pays_the_dearer_of_its_hosts_price_and_everyones(
    objective, seed, budget, caps
):
    rate, weight, cost, rng = items(9, seed)
    host, cap = rng.integers(0, 3, 9), np.array(caps)
    plan = allocate_polite(
        rate, budget, host, cap, weight=weight, cost=cost, objective=objective
    )
    spent = np.bincount(host, cost * plan.frequency, 3)
    there = np.bincount(host, minlength=3) > 0
    assert (plan.host_price >= plan.price * (1 - 1e-9)).all()
    dearer = there & (plan.host_price > plan.price * (1 + 1e-6))
    np.testing.assert_allclose(spent[dearer], cap[dearer], rtol=1e-6)
    paid = plan.host_price[host]
    worth = weight * marginal(plan.frequency, rate, objective=objective) / cost
    looked = plan.frequency > 1e-9
    np.testing.assert_allclose(worth[looked], paid[looked], rtol=1e-5)
    assert (worth[~looked] <= paid[~looked] * (1 + 1e-5)).all()
    assert spent.sum() == pytest.approx(min(budget, cap[there].sum()), rel=1e-8)


def test_prices_go_with_the_weights_as_given():
    rate, host, cap = [1.0, 1.0, 2.0], np.array([0, 0, 1]), [0.5, np.inf]
    plain = allocate_polite(rate, 3.0, host, cap, weight=[1.0, 0.5, 1.0])
    heavy = allocate_polite(rate, 3.0, host, cap, weight=[20.0, 10.0, 20.0])
    np.testing.assert_allclose(heavy.frequency, plain.frequency)
    assert heavy.price == pytest.approx(20.0 * plain.price)
    np.testing.assert_allclose(heavy.host_price, 20.0 * plain.host_price)
    assert heavy.value == pytest.approx(plain.value)


def test_a_host_alone_has_the_price_of_its_own_budget():
    rate, weight, cost, _ = items(5, 1)
    own = allocate(rate, 0.7, weight=weight, cost=cost)
    more = {"weight": np.append(weight, 1.0), "cost": np.append(cost, 1.0)}
    both = allocate_polite(
        np.append(rate, 1.0), 50.0, np.array([0] * 5 + [1]), [0.7, np.inf], **more
    )
    assert both.host_price[0] == pytest.approx(own.price)
    np.testing.assert_allclose(both.frequency[:5], own.frequency, rtol=1e-7)
    assert both.frequency[5] == pytest.approx(49.3)


def test_without_a_budget_nobody_is_asked_and_the_first_look_is_the_price():
    rate, host = [2.0, 4.0], np.array([0, 1])
    plan = allocate_polite(rate, 0.0, host, [1.0, 1.0], weight=[3.0, 1.0])
    assert plan.frequency.tolist() == [0.0, 0.0]
    assert plan.price == pytest.approx(1.5)
    assert plan.host_price == pytest.approx([1.5, 1.5])
    late = allocate_polite(rate, 0.0, host, [1.0, 1.0], objective="age")
    assert late.price == np.inf


def test_hosts_that_take_exactly_the_budget_are_all_full():
    plan = allocate_polite([1.0, 2.0, 3.0], 2.5, np.array([0, 1, 1]), [1.0, 1.5])
    spent = np.bincount([0, 1, 1], plan.frequency)
    np.testing.assert_allclose(spent, [1.0, 1.5])
    assert plan.price == 0.0
    less = allocate_polite([1.0, 2.0, 3.0], 2.4, np.array([0, 1, 1]), [1.0, 1.5])
    assert less.price > 0.0
    assert less.frequency.sum() == pytest.approx(2.4)


def test_a_host_that_takes_nothing_or_has_nobody_counts_for_nothing():
    host, cap = np.array([0, 1, 1]), [0.0, np.inf, 5.0]
    plan = allocate_polite([1.0, 1.0, 0.0], 3.0, host, cap)
    np.testing.assert_allclose(plan.frequency, [0.0, 3.0, 0.0])
    assert plan.host_price.tolist() == [plan.price] * 3
    closed = allocate_polite([1.0], 3.0, np.array([0]), [0.0])
    assert (closed.frequency.tolist(), closed.host_price.tolist()) == ([0.0], [0.0])
    empty = allocate_polite([], 3.0, np.zeros(0, int), [1.0])
    assert (empty.frequency.size, empty.price, empty.value) == (0, 0.0, 1.0)
    still = allocate_polite([0.0], 3.0, np.array([0]), [1.0])
    assert (still.frequency.tolist(), still.value) == ([0.0], 1.0)


@pytest.mark.parametrize("host", [[-1, 0], [0, 2]])
def test_hosts_outside_the_caps_are_refused(host):
    with pytest.raises(ValueError, match="host must be from 0 to 1"):
        allocate_polite([1.0, 1.0], 1.0, np.array(host), [1.0, 1.0])
    with pytest.raises(ValueError, match="cap one a host"):
        allocate_polite([1.0, 1.0], 1.0, np.array([0, 0]), [[1.0]])
    with pytest.raises(ValueError, match="cap must be"):
        allocate_polite([1.0, 1.0], 1.0, np.array([0, 0]), [-np.inf])


def test_a_budget_that_full_hosts_use_up_leaves_nothing_to_the_others():
    # At the price at which the first takes its one request, no look at the second is
    # worth it: U(1) = 1 - 2 / e against 1 / 10.
    plan = allocate_polite([1.0, 10.0], 1.0, np.array([0, 1]), [1.0, 5.0])
    assert plan.frequency == pytest.approx([1.0, 0.0])
    assert plan.host_price[0] == pytest.approx(1.0 - 2.0 / math.e)
    assert 0.1 <= plan.price <= 1.0 - 2.0 / math.e + 1e-9


def test_what_full_hosts_leave_over_goes_to_the_others():
    # The first host takes next to nothing, so all others get nearly the whole budget.
    rate, weight, cost, rng = items(40, 5)
    host = rng.integers(0, 8, 40)
    cap = np.array([0.01, 0.2, 0.4, 0.8, 1.6, 3.2, np.inf, np.inf])
    for budget in (1.0, 5.0, 25.0):
        plan = allocate_polite(rate, budget, host, cap, weight=weight, cost=cost)
        spent = np.bincount(host, cost * plan.frequency, 8)
        assert (spent <= cap * (1 + 1e-9)).all()
        assert spent.sum() == pytest.approx(budget, rel=1e-10)
        mean = float(weight @ mean_freshness(plan.frequency, rate)) / weight.sum()
        assert plan.value == pytest.approx(mean)


# Checks


def test_a_check_buys_its_gain_over_what_it_costs_on_average():
    gain, fresh = np.array([6.0, 6.0, 6.0]), np.array([0.1, 0.5, 0.1])
    rate, check = np.array([2.0, 4.0, 0.0]), np.array([1.0, 2.0, 3.0])
    found = gain_of_check(gain, fresh, rate, check, 5.0)
    # rate times fresh is a chance: 0.2, 2 which is kept at 1, and 0
    assert found == pytest.approx([6 / (1 + 5 * 0.2), 6 / (2 + 5), 6 / 3])
    plain = gain_of_check(gain, fresh, rate, check, 0.0)
    assert plain.tolist() == [6.0, 3.0, 2.0]


def test_looks_cost_the_check_and_the_content_if_it_changed():
    frequency, rate = np.array([2.0, 0.0, 0.5, 0.0]), np.array([3.0, 1.0, 0.0, 0.0])
    found = mean_cost(frequency, rate, 0.25, 4.0)
    changed = 1.0 - math.exp(-1.5)
    assert found == pytest.approx([2.0 * (0.25 + 4.0 * changed), 0.0, 0.125, 0.0])


@pytest.mark.parametrize(("check", "extra"), [(1.0, 0.0), (0.2, 0.8), (0.5, 3.0)])
@pytest.mark.parametrize("log_price", [-6.0, -2.0, -0.5])
def test_looks_at_a_price_buy_it_per_cost(check, extra, log_price):
    rate, weight, _, _ = items(30, 3)
    given_ = columns(rate, weight)
    looks = _frequencies(given_, log_price, (check, extra))
    fresh = marginal(looks, rate)  # U(1 / f), U(inf) = 1 / rate where there are none
    worth = given_.weight * fresh / (check + extra * rate * fresh)
    looked = looks > 0
    np.testing.assert_allclose(worth[looked], math.exp(log_price), rtol=1e-6)
    assert (worth[~looked] <= math.exp(log_price) * (1 + 1e-9)).all()


@pytest.mark.parametrize(("check", "extra"), [(1.0, 0.0), (0.1, 0.2), (0.5, 3.0)])
def test_a_schedule_of_checks_spends_its_budget_at_one_price(check, extra):
    rate, weight, _, _ = items(12, 6)
    for budget in (0.01, 2.0, 300.0):
        plan = allocate_checks(rate, budget, check=check, extra=extra, weight=weight)
        spent = mean_cost(plan.frequency, rate, check, extra).sum()
        assert spent == pytest.approx(budget, rel=1e-8)
        fresh = marginal(plan.frequency, rate)
        worth = weight * fresh / (check + extra * rate * fresh)
        looked = plan.frequency > 0
        np.testing.assert_allclose(worth[looked], plan.price, rtol=1e-5)
        assert (worth[~looked] <= plan.price * (1 + 1e-9)).all()
        mean = float(weight @ mean_freshness(plan.frequency, rate)) / weight.sum()
        assert plan.value == pytest.approx(mean)


def test_checks_of_nothing_are_none():
    still = allocate_checks([0.0, 1.0], 2.0, weight=[1.0, 0.0])
    assert (still.frequency.tolist(), still.price, still.value) == ([0.0, 0.0], 0.0, 1)
    broke = allocate_checks([1.0, 0.0], 0.0)
    assert (broke.frequency.tolist(), broke.price, broke.value) == (
        [0.0, 0.0],
        0.0,
        0.5,
    )


def test_checks_and_contents_at_one_price_are_plain_looks():
    rate, weight, _, _ = items(12, 7)
    plain = allocate(rate, 3.0, weight=weight)
    checks = allocate_checks(rate, 3.0, weight=weight)
    np.testing.assert_allclose(checks.frequency, plain.frequency, rtol=1e-6)
    assert checks.price == pytest.approx(plain.price)


# Checked input


def test_a_single_number_that_is_wrong_has_no_index():
    with pytest.raises(ValueError, match=r"weight must be .*, got -1\.0$"):
        columns([1.0, 2.0], weight=-1.0)
    with pytest.raises(ValueError, match=r"x must be .*, got nan at index 2$"):
        non_negative("x", [0.0, 1.0, np.nan, -1.0])


def test_some_items_keep_all_their_columns():
    whole = columns([1.0, 4.0, 0.0], [1.0, 2.0, 4.0], [3.0, 5.0, 7.0], [1.0, 2.0, 3.0])
    some = whole.take(np.array([False, True, True]))
    assert some.rate.tolist() == [4.0, 0.0]
    assert some.weight.tolist() == [0.5, 1.0]
    assert some.cost.tolist() == [5.0, 7.0]
    assert some.shape.tolist() == [2.0, 3.0]
    assert some.pace.tolist() == [2.0, 0.0]
    assert some.scale == 4.0


def test_looking_helps_only_what_changes_and_matters():
    found = columns([1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0])
    assert found.useful.tolist() == [True, False, False, False]


def test_the_largest_and_smallest_numbers_are_taken_as_they_are():
    found = columns([HUGE, TINY], weight=[TINY, 1.0], cost=[TINY, HUGE])
    assert found.pace.tolist() == [HUGE, TINY]
    assert found.weight.tolist() == [TINY, 1.0]
    with pytest.raises(ValueError, match="rate must be"):
        columns([HUGE * 1.01])
    with pytest.raises(ValueError, match="cost must be"):
        columns([1.0], cost=HUGE * 1.01)
    with pytest.raises(ValueError, match="cost must be"):
        columns([1.0], cost=TINY * 0.99)
    assert columns([], []).scale == 0.0
