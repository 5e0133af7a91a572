"""Schedules of many budgets at once, against one budget after the other."""

import numpy as np
import pytest

from halflife.allocation import allocate, budget_series
from halflife.allocation.budget_series import _start, frequencies
from halflife.allocation.columns import columns
from halflife.allocation.solver import kkt_residual


def one_by_one(rate, budgets, weight, cost):
    found = [allocate(rate, b, weight=weight, cost=cost).frequency for b in budgets]
    return np.array(found).reshape(len(budgets), len(rate))


@pytest.mark.parametrize("n", [1, 2, 7, 60])
@pytest.mark.parametrize("seed", [0, 1])
def test_each_row_is_what_allocate_returns_for_that_budget(n, seed):
    rng = np.random.default_rng(seed)
    rate, weight = rng.lognormal(-3, 2.5, n), rng.random(n) + 0.01
    cost = rng.integers(1, 4, n).astype(float)
    rate[1::3], weight[1::5] = 0.0, 0.0
    budgets = np.concatenate([[0.0], np.geomspace(n / 1e5, n * 1e4, 25)])
    found = frequencies(rate, budgets, weight=weight, cost=cost)
    by_hand = one_by_one(rate, budgets, weight, cost)
    largest = by_hand.max(axis=1, keepdims=True)
    assert np.all(np.abs(found - by_hand) <= 1e-8 * largest)
    assert found @ cost == pytest.approx(budgets, rel=1e-9)
    assert not found[:, (rate == 0) | (weight == 0)].any()


def test_so_many_items_that_each_budget_is_met_alone(monkeypatch):
    rate, budgets = np.array([0.1, 0.5, 2.0]), np.array([0.0, 0.3, 4.0])
    together = frequencies(rate, budgets)
    monkeypatch.setattr(budget_series, "_FEW", 2)
    assert frequencies(rate, budgets) == pytest.approx(together)


def test_a_row_that_gives_items_up_is_optimal():
    rate = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    budgets = np.array([0.05, 0.5, 2.0, 5.0])
    for row, budget in zip(frequencies(rate, budgets), budgets, strict=True):
        like = allocate(rate, budget)
        mine = type(like)(row, like.price, like.value)
        assert kkt_residual(mine, rate, budget) < 1e-6


def test_a_budget_smaller_than_floats_can_price_is_handed_out_between_two_prices():
    # Below 1 / 40 of its changes a day, an item's price is its first look's.
    (row,) = frequencies([1.0, 0.5], [1e-3], weight=[1.0, 0.1])
    assert row == pytest.approx([1e-3, 0.0], abs=1e-12)


def test_nothing_is_asked_for_where_nothing_can_be_gained():
    assert frequencies([0.0, 0.0], [1.0, 2.0]).tolist() == [[0.0, 0.0]] * 2
    assert frequencies([], [1.0]).shape == (1, 0)
    assert frequencies([1.0], []).shape == (0, 1)


@pytest.mark.parametrize("budget", [-1.0, np.inf, np.nan, 1e31])
def test_a_budget_that_is_none_is_refused(budget):
    with pytest.raises(ValueError, match="budget must be between 0 and 1e30"):
        frequencies([1.0], [1.0, budget])


@pytest.fixture
def rounds(monkeypatch):
    """Count how often it is asked what items want at some prices."""
    plain, found = budget_series._demand_at, []

    def asked(given, at):
        found.append(at.size)
        return plain(given, at)

    monkeypatch.setattr(budget_series, "_demand_at", asked)
    return found


@pytest.mark.parametrize("n", [1, 7, 60])
def test_prices_at_which_all_items_are_looked_at_are_found_in_a_few_rounds(n, rounds):
    rng = np.random.default_rng(n)
    rate, cost = rng.lognormal(-3, 1.5, n), rng.integers(1, 4, n).astype(float)
    frequencies(rate, n * np.array([20.0, 30.0, 90.0]), cost=cost)
    assert rounds[0] == 3
    assert len(rounds) <= 5


@pytest.mark.parametrize("n", [7, 60])
def test_prices_at_which_items_are_given_up_are_found_by_halving(n, rounds):
    rng = np.random.default_rng(n)
    frequencies(rng.lognormal(-3, 1.5, n), n * np.geomspace(1e-3, 50, 45))
    assert len(rounds) <= 70
    assert sum(rounds) < 45 * 40  # who has met the budget is asked no more


def test_a_start_is_the_price_of_a_large_budget_and_never_below_that_of_any():
    rng = np.random.default_rng(3)
    rate, weight, cost = (np.exp(rng.normal(0.0, 1.0, 20)) for _ in range(3))
    given, budgets = columns(rate, weight, cost), np.array([0.5, 5.0, 50.0, 1e6])
    top = (given.weight / (given.cost * given.pace)).max()
    price = -top * np.expm1(-np.exp(_start(given, budgets))) * weight.max()
    exact = [allocate(rate, b, weight=weight, cost=cost).price for b in budgets]
    assert price[-1] == pytest.approx(exact[-1], rel=0.01)
    assert (price[1:] >= np.array(exact[1:])).all()
    assert price[0] == pytest.approx(0.9 * top * weight.max())  # below what nobody pays
