"""Laws of the allocation on arrays: block by block, by a few first, and by hand."""

import math

import numpy as np
import pytest

from halflife.allocation import allocate, array_kernel, curves
from halflife.allocation.array_kernel import (
    KernelPlan,
    _start,
    allocate_array,
    blocks,
    frequencies_at,
    freshness_worth,
    requests_at,
    residual,
)


def items(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return tuple(np.exp(rng.normal(-0.5, 1.0, n)) for _ in range(3))


def test_an_item_is_looked_at_below_the_price_at_which_it_is_given_up():
    first, pace = np.array([2.0, 1.0, 0.5, 4.0]), np.array([3.0, 1.0, 1.0, 0.5])
    frequency, bend = frequencies_at(1.0, first, pace)
    assert frequency[[1, 2]].tolist() == bend[[1, 2]].tolist() == [0.0, 0.0]
    for i in (0, 3):  # the worth of a look at that spacing is the price
        spacing = pace[i] / frequency[i]
        assert float(freshness_worth(np.array([spacing]))[0]) == pytest.approx(
            1.0 / first[i]
        )
        more = frequencies_at(1.0 + 1e-6, first, pace)[0][i]
        slope = -(math.log(more) - math.log(frequency[i])) / 1e-6
        assert bend[i] == pytest.approx(slope, rel=1e-4)
    assert np.isfinite(frequencies_at(0.0, first, pace)[0]).all()


@pytest.mark.parametrize("size", [7, 100, 200, 1000])
def test_demand_is_the_sum_over_blocks_and_falls_as_it_says(monkeypatch, size):
    monkeypatch.setattr(array_kernel, "BLOCK", size)
    rate, weight, cost = items()
    first, mass = weight / (cost * rate), cost * rate
    price = float(np.median(first)) / 2
    total, change = requests_at(price, first, mass)
    spacing, bend = curves.freshness(np.minimum(price / first, 0.999999), first)
    spent = np.where(price < first, mass / spacing, 0.0)
    assert total == pytest.approx(math.fsum(spent))
    assert change == pytest.approx(-math.fsum(spent * bend))
    found = [np.arange(200)[rows] for rows in blocks(rate)]
    assert np.concatenate(found).tolist() == list(range(200))
    assert len(found) == math.ceil(200 / size)


@pytest.mark.parametrize(("size", "few"), [(1 << 22, 1 << 18), (64, 50), (7, 66)])
def test_in_blocks_and_begun_by_a_few_it_is_the_same_schedule(monkeypatch, size, few):
    monkeypatch.setattr(array_kernel, "BLOCK", size)
    monkeypatch.setattr(array_kernel, "_FEW", few)
    rate, weight, cost = items()
    calls = []

    def counting(*given):
        calls.append(given[1].size)
        return requests_at(*given)

    plan = allocate_array(rate, 40.0, weight=weight, cost=cost, ask=counting)
    expected = allocate(rate, 40.0, weight=weight, cost=cost)
    assert plan.frequency == pytest.approx(expected.frequency, rel=1e-6, abs=1e-9)
    assert plan.price == pytest.approx(expected.price)
    assert plan.passes == calls.count(200) + 1  # and the one that writes
    step = 200 // few
    assert (set(calls) == {200}) is (step <= 1)
    if step > 1:
        assert set(calls) == {200, math.ceil(200 / step)}
    assert residual(plan, rate, weight=weight, cost=cost) < 1e-8
    plain = allocate_array(rate, 40.0, weight=weight)
    assert plain.frequency == pytest.approx(
        allocate(rate, 40.0, weight=weight).frequency, rel=1e-6, abs=1e-9
    )


def test_a_start_is_the_price_if_every_look_came_soon_or_that_of_a_few(monkeypatch):
    """Where looks come soon, u(x) is x**2 / 2, and the price is exact."""
    rate, weight, cost = items()
    first, mass = weight / (cost * rate), cost * rate
    budget = 1e6
    price = allocate_array(rate, budget, weight=weight, cost=cost).price
    assert _start(first, mass, budget, requests_at) == pytest.approx(
        math.log(price), abs=0.01
    )
    by_hand = 2.0 * math.log((mass * np.sqrt(first / 2.0)).sum() / budget)
    assert _start(first, mass, budget, requests_at) == pytest.approx(by_hand)
    monkeypatch.setattr(array_kernel, "_FEW", 100)  # every second pays for its share
    price = allocate_array(rate, 40.0, weight=weight, cost=cost).price
    few = slice(None, None, 2)
    share = 40.0 * mass[few].sum() / mass.sum()
    monkeypatch.setattr(array_kernel, "_FEW", 1 << 18)
    their = allocate_array(rate[few], share, weight=weight[few], cost=cost[few]).price
    monkeypatch.setattr(array_kernel, "_FEW", 100)
    assert _start(first, mass, 40.0, requests_at) == pytest.approx(math.log(their))


def test_items_about_to_be_given_up_share_the_budget_between_two_prices():
    calls = []

    def counting(*given):
        calls.append(1)
        return requests_at(*given)

    rate = np.full(50, 40.0)
    plan = allocate_array(rate, 5.0, weight=np.ones(50), ask=counting)
    assert plan.frequency.sum() == pytest.approx(5.0, rel=1e-12)
    assert plan.passes == len(calls) + 1


def test_a_miss_is_the_largest_of_those_looked_at_and_of_those_worth_more():
    """At rate 2 and one look a day the worth is (1 - 3 exp(-2)) / 2."""
    rate, one = np.array([2.0, 2.0]), np.ones(2)
    worth = (1.0 - 3.0 * math.exp(-2.0)) / 2.0
    plan = KernelPlan(np.array([1.0, 0.0]), 0.5, 1)
    found = residual(plan, rate, weight=one, cost=one)
    assert found == pytest.approx(1.0 - worth / 0.5)
    cheap = KernelPlan(np.array([1.0, 0.0]), worth, 1)
    assert residual(cheap, rate, weight=one, cost=one) == pytest.approx(0.5 / worth - 1)
    dear = KernelPlan(np.zeros(2), 2.0, 1)
    assert residual(dear, rate, weight=one, cost=one) == 0.0
    heavy = residual(dear, rate, weight=8.0 * one, cost=one)
    assert heavy == pytest.approx(8.0 * 0.5 / 2.0 - 1.0)
    costly = residual(dear, rate, weight=8.0 * one, cost=1.5 * one)
    assert costly == pytest.approx(8.0 * 0.5 / (1.5 * 2.0) - 1.0)
