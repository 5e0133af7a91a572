"""Laws of the schedule that spends a budget best, and of its price."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import gamma

from halflife.allocation.columns import columns
from halflife.allocation.objectives import (
    marginal,
    mean_age,
    mean_freshness,
    mean_harmonic,
)
from halflife.allocation.solver import (
    Allocation,
    allocate,
    demand_of,
    kkt_residual,
    spend_budget,
    start_of,
    value_of,
)

MEANS = {"freshness": mean_freshness, "age": mean_age, "harmonic": mean_harmonic}
KINDS = [
    ("freshness", False),
    ("age", False),
    ("harmonic", False),
    ("freshness", True),
    ("age", True),
]


def items(n, seed, *, bent=False):
    rng = np.random.default_rng(seed)
    rate, weight, cost = (np.exp(rng.normal(-0.5, 1.0, n)) for _ in range(3))
    return rate, weight, cost, rng.uniform(0.5, 2.5, n) if bent else None


def worth(frequency, problem, objective):
    rate, weight, cost, shape = problem
    shape = 1.0 if shape is None else shape
    return weight * marginal(frequency, rate, shape=shape, objective=objective) / cost


# How far from the best: worked by hand


def two_items():
    """Return a best schedule of two items, what it was made from, and its budget."""
    rate, weight, cost = np.array([1.0, 2.0]), np.array([1.0, 3.0]), np.array([1.0, 2])
    more = {"weight": weight, "cost": cost}
    return allocate(rate, 5.0, **more), rate, more


def test_a_best_schedule_is_off_by_nothing():
    plan, rate, more = two_items()
    assert kkt_residual(plan, rate, 5.0, **more) <= 1e-9


@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_a_schedule_is_off_by_what_it_spends_too_little_or_too_much(factor):
    plan, rate, more = two_items()
    assert kkt_residual(plan, rate, 5.0 / factor, **more) == pytest.approx(
        abs(factor - 1.0)
    )


@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_a_schedule_is_off_by_how_far_its_price_is(factor):
    plan, rate, more = two_items()
    wrong = Allocation(plan.frequency, plan.price * factor, plan.value)
    expected = abs(1.0 / factor - 1.0)
    assert kkt_residual(wrong, rate, 5.0, **more) == pytest.approx(expected)


def test_an_item_left_out_counts_by_what_it_is_worth_more_than_the_price():
    rate = np.array([1.0, 4.0])
    alone = allocate(rate[:1], 2.0)
    wrong = Allocation(np.append(alone.frequency, 0.0), alone.price, 0.0)
    first = 1.0 / 4.0  # U(inf) = 1 / rate
    assert kkt_residual(wrong, rate, 2.0) == pytest.approx(first / alone.price - 1.0)
    dear = {"cost": [1.0, 100.0]}  # now leaving it out is right
    assert kkt_residual(wrong, rate, 2.0, **dear) <= 1e-9


def test_looks_at_what_gains_nothing_by_them_are_wasted():
    plan = allocate([1.0], 2.0)
    wrong = Allocation(np.append(plan.frequency, 0.3), plan.price, 0.0)
    rate, weight = [1.0, 0.0], [1.0, 1.0]
    assert kkt_residual(wrong, rate, 2.3, weight=weight) == pytest.approx(0.3)
    ignored = Allocation(np.array([0.3]), 0.0, 0.0)
    assert kkt_residual(ignored, [0.0], 0.3) == pytest.approx(0.3)


def test_without_a_budget_a_schedule_is_off_by_what_it_spends():
    price = (1.0 - 5.0 * math.exp(-4.0)) / 2.0  # U(4) / cost
    plan = Allocation(np.array([0.25]), price, 0.0)
    assert kkt_residual(plan, [1.0], 0.0, cost=[2.0]) == pytest.approx(0.5)
    endless = Allocation(np.array([0.0]), np.inf, np.inf)
    assert kkt_residual(endless, [1.0], 0.0, objective="age") == 0.0


def test_the_residual_counts_weights_as_they_were_given():
    rate, weight = np.array([1.0, 3.0]), np.array([50.0, 20.0])
    plan = allocate(rate, 1.5, weight=weight)
    assert kkt_residual(plan, rate, 1.5, weight=weight) <= 1e-9
    assert kkt_residual(plan, rate, 1.5, weight=weight * 2) == pytest.approx(1.0)


# The price


@pytest.mark.parametrize(("objective", "bent"), KINDS)
@pytest.mark.parametrize("budget", [0.3, 5.0, 400.0])
def test_one_price_is_paid_by_all_that_are_looked_at(objective, bent, budget):
    rate, weight, cost, shape = problem = items(40, 2, bent=bent)
    plan = allocate(
        rate, budget, weight=weight, cost=cost, shape=shape, objective=objective
    )
    paid = worth(plan.frequency, problem, objective)
    looked = plan.frequency > 0
    np.testing.assert_allclose(paid[looked], plan.price, rtol=1e-7)
    assert (paid[~looked] <= plan.price * (1 + 1e-9)).all()
    assert float(cost @ plan.frequency) == pytest.approx(budget, rel=1e-9)
    args = () if objective == "harmonic" else (1.0 if shape is None else shape,)
    mean = float(weight @ MEANS[objective](plan.frequency, rate, *args))
    assert plan.value == pytest.approx(mean / weight.sum(), rel=1e-9)


def test_without_a_budget_the_price_is_that_of_the_first_look():
    rate, weight, cost = np.array([4.0, 9.0]), np.array([2.0, 8.0]), np.array([1.0, 3])
    shape = np.array([2.0, 2.0])
    lasts = gamma(1.5) / np.array([2.0, 3.0])  # the integral of exp(-rate t**2)
    plan = allocate(rate, 0.0, weight=weight, cost=cost, shape=shape)
    assert plan.price == pytest.approx(max(2.0 * lasts[0], 8.0 * lasts[1] / 3.0))
    plain = allocate(rate, 0.0, weight=weight, cost=cost)
    assert plain.price == pytest.approx(max(2.0 / 4.0, 8.0 / (3.0 * 9.0)))
    for objective in ("age", "harmonic"):
        assert allocate(rate, 0.0, objective=objective).price == np.inf
    assert allocate([0.0], 5.0).price == 0.0


@pytest.mark.parametrize(("objective", "bent"), KINDS)
def test_with_frequent_looks_the_first_term_of_the_series_gives_the_price(
    objective, bent
):
    rate, weight, cost, _ = items(30, 4)
    shape = np.full(30, 1.8 if bent else 1.0)
    given_ = columns(rate, weight, cost, shape if bent else None)
    demand, budget = demand_of(given_, objective), 1e7
    start = start_of(demand, budget, objective)
    _, price = spend_budget(demand, budget, start)
    assert start == pytest.approx(math.log(price), abs=1e-3)
    less = start_of(demand, budget / 10, objective)
    p = (2 if objective == "age" else 1) + shape[0]  # U is c s**p
    assert less - start == pytest.approx(p * math.log(10.0))


@pytest.mark.parametrize("objective", ["age", "harmonic"])
@pytest.mark.parametrize("off", [0.0, -20.0, 20.0])
def test_few_prices_are_tried(objective, off):
    for seed in range(8):
        rate, weight, cost, _ = items(60, seed)
        demand = demand_of(columns(rate, weight, cost), objective)
        tried, curve = [], demand.curve

        def counted(y, shape, tried=tried, curve=curve):
            tried.append(y)
            return curve(y, shape)

        budget = 10.0 ** (seed - 3)
        start = start_of(demand, budget, objective)
        spend_budget(demand._replace(curve=counted), budget, start + off)
        assert len(tried) <= (7 if off else 5)


# Limits


@pytest.mark.parametrize(("objective", "bent"), KINDS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), part=st.floats(0.02, 0.98))
def test_between_limits_one_price_is_paid_and_at_them_it_would_be_wrong(
    objective, bent, seed, part
):
    rate, weight, cost, shape = problem = items(8, seed, bent=bent)
    rng = np.random.default_rng(seed)
    fewest = rng.uniform(0.0, 0.2, 8)
    most = fewest + rng.uniform(0.0, 2.0, 8)
    budget = float(cost @ (fewest + part * (most - fewest)))
    plan = allocate(
        rate,
        budget,
        weight=weight,
        cost=cost,
        shape=shape,
        objective=objective,
        limits=(fewest, most),
    )
    f = plan.frequency
    assert float(cost @ f) == pytest.approx(budget, rel=1e-8)
    paid = worth(np.maximum(f, 1e-12), problem, objective)
    free = (f > fewest * (1 + 1e-6)) & (f < most * (1 - 1e-6))
    np.testing.assert_allclose(paid[free], plan.price, rtol=1e-5)
    assert (paid[f <= fewest] <= plan.price * (1 + 1e-5)).all()
    assert (paid[f >= most] >= plan.price * (1 - 1e-5)).all()


def test_limits_that_leave_no_choice_are_kept():
    rate, weight, cost = [1.0, 2.0, 0.0], [1.0, 4.0, 1.0], [1.0, 2.0, 1.0]
    more = {"weight": weight, "cost": cost}
    fewest, most = [0.5, 0.25, 0.1], [1.0, 1.5, 9.0]
    least = allocate(rate, 0.5 + 0.5 + 0.1, limits=(fewest, most), **more)
    assert least.frequency.tolist() == fewest
    assert least.price == pytest.approx(max(1.0, 4.0 / (2.0 * 2.0)))
    late = allocate(rate, 1.1, limits=(fewest, most), objective="age", **more)
    assert late.price == np.inf
    all_of_it = allocate(rate, 1.0 + 3.0 + 0.1, limits=(fewest, most), **more)
    assert all_of_it.frequency.tolist() == [1.0, 1.5, 0.1]  # the last gains nothing
    assert all_of_it.price == 0.0
    value = float(
        np.array(weight) @ mean_freshness(all_of_it.frequency, np.array(rate))
    )
    assert all_of_it.value == pytest.approx(value / 6.0)
    fixed = allocate([1.0, 2.0], 3.0, limits=([1.0, 2.0], [1.0, 2.0]))
    assert fixed.frequency.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "limits",
    [(-0.1, 1.0), (np.nan, 1.0), (np.inf, np.inf), (0.5, 0.4), (0.0, np.nan)],
)
def test_limits_that_make_no_sense_are_refused(limits):
    with pytest.raises(ValueError, match="limits must be"):
        allocate([1.0, 2.0], 3.0, limits=limits)
    fewest, most = limits
    with pytest.raises(ValueError, match="limits must be"):
        allocate([1.0, 2.0], 3.0, limits=([0.1, fewest], [2.0, most]))


def test_weights_count_as_given_also_within_limits():
    rate, weight = np.array([1.0, 3.0]), np.array([50.0, 20.0])
    plan = allocate(rate, 1.5, weight=weight, limits=(0.0, 9.0))
    free = allocate(rate, 1.5, weight=weight)
    assert plan.price == pytest.approx(free.price)
    assert plan.value == pytest.approx(free.value)


# The value


@pytest.mark.parametrize("objective", MEANS)
def test_the_value_is_the_weighted_mean_over_however_many_items(objective):
    n = 20_000  # more than two blocks
    rng = np.random.default_rng(1)
    rate, weight = rng.exponential(1.0, n), rng.exponential(1.0, n)
    rate[::50], weight[::70] = 0.0, 0.0
    frequency = rng.exponential(1.0, n)
    frequency[weight == 0] = 0.0
    found = value_of(columns(rate, weight), frequency, objective)
    matters = weight > 0
    each = MEANS[objective](frequency[matters], rate[matters])
    expected = math.fsum(weight[matters] * each) / math.fsum(weight)
    assert found == pytest.approx(expected, rel=1e-12)


def test_what_changes_too_rarely_to_count_is_fresh_without_looks():
    assert allocate([1e-31, 1.0], 0.0).value == 0.5
    assert allocate([1e-31, 0.0], 0.0, objective="age").value == 0.0


def test_of_nothing_that_matters_nothing_is_lost():
    for objective, value in (("freshness", 1.0), ("age", 0.0), ("harmonic", 0.0)):
        given_ = columns([1.0, 2.0], [0.0, 0.0])
        assert value_of(given_, np.zeros(2), objective) == value


def test_a_bent_schedule_of_still_and_given_up_items_is_worth_its_mean():
    rate = np.array([0.0, 0.3, 500.0, 1.0])
    weight, shape = np.array([2.0, 1.0, 1.0, 0.0]), np.array([1.0, 2.0, 1.5, 0.7])
    cost = np.array([1.0, 2.0, 1.0, 1.0])
    plan = allocate(rate, 0.5, weight=weight, cost=cost, shape=shape)
    assert plan.frequency.tolist() == [0.0, 0.25, 0.0, 0.0]
    each = mean_freshness(plan.frequency, rate, shape)
    assert plan.value == pytest.approx(float(weight @ each) / 4.0)
    still = allocate([0.0, 0.0], 1.0, shape=[2.0, 3.0])
    assert (still.value, still.price) == (1.0, 0.0)
    ignored = allocate([1.0], 1.0, weight=[0.0], shape=[2.0])
    assert ignored.value == 1.0
