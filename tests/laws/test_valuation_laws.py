"""Laws of what a plan is worth: whole turns, days of freshness, falling offers."""

from dataclasses import replace

import numpy as np
import pytest

from halflife.allocation import index
from halflife.core.budget import Budget
from halflife.core.plan import Plan
from halflife.policies.champion import PATIENCE
from halflife.policies.index import NEVER_SEEN_DAYS, Index
from halflife.policies.laws import made_view, unseen_view
from halflife.policies.valuation import (
    falling,
    freshness_days,
    gain_policy,
    offered,
    turn_plan,
    valued,
)


class InSteps:
    """Plans so many items at a time, of those that were not tried."""

    def __init__(self, step, most=99):
        self.step, self.most, self.budgets = step, most, []

    def __call__(self, view, budget, rng):
        self.budgets.append(budget.requests)
        rows = np.flatnonzero(view.ready & ~view.looked)[: self.step]
        rows = rows[: max(self.most - view.looked.sum(), 0)]
        fits = np.cumsum(view.cost[rows]) <= budget.requests
        rows, n = rows[fits], len(self.budgets)
        keys = tuple(view.keys[i] for i in rows)
        return Plan(keys, rows, np.full(rows.size, float(n)), lambda row: f"{n}: {row}")


def view_of(n, cost=1.0):
    return replace(unseen_view(n), cost=np.full(n, cost))


def test_a_turn_goes_on_while_a_request_is_left():
    rule = InSteps(3)
    found = turn_plan(rule, view_of(9), Budget(7), None)
    assert found.rows.tolist() == list(range(7))
    assert rule.budgets == [7, 4, 1]
    assert found.gain.tolist() == [1, 1, 1, 2, 2, 2, 3]
    assert [step.why for step in found] == [f"{i // 3 + 1}: {i}" for i in range(7)]
    exact = InSteps(3)
    assert len(turn_plan(exact, view_of(9), Budget(6), None)) == 6
    assert exact.budgets == [6, 3]


def test_what_costs_two_requests_takes_them_and_a_half_is_not_spent():
    rule = InSteps(2)
    found = turn_plan(rule, view_of(9, 1.25), Budget(5), None)
    assert rule.budgets == [5, 2, 1]
    assert found.rows.tolist() == [0, 1, 2]


def test_a_turn_ends_when_nothing_more_is_asked_for():
    rule = InSteps(2, most=4)
    assert len(turn_plan(rule, view_of(9), Budget(9), None)) == 4
    assert rule.budgets == [9, 7, 5]
    assert len(turn_plan(InSteps(0), view_of(3), Budget(9), None)) == 0


def test_days_of_freshness_have_a_little_patience():
    view = made_view(9, 3)
    view = replace(view, exposure=np.minimum(view.exposure, 50.0))
    fresh = index(view.survival, view.exposure, "freshness")
    late = index(view.survival, view.exposure, "harmonic")
    assert freshness_days(view) == pytest.approx(fresh + PATIENCE * late)


def test_a_plan_is_valued_by_weight_and_cost_and_never_seen_is_bounded():
    view = made_view(12, 4)
    plan = Plan(view.keys[:4], np.array([3, 0, 7, 9]), np.zeros(4), str)
    found = valued(plan, view)
    days = np.minimum(freshness_days(view), NEVER_SEEN_DAYS)
    expected = (view.weight * days / view.cost)[[3, 0, 7, 9]]
    assert found.gain == pytest.approx(expected)
    assert found.rows.tolist() == [3, 0, 7, 9]


class Weighs:
    """Weighs items; it may be wrapped by what shares out a budget."""

    def gain(self, view):
        return np.arange(len(view)) - 2.0


class Wrapped:
    def __init__(self, policy):
        self.policy = policy


def test_whoever_weighs_offers_what_it_gains_from_and_an_index_everything():
    view, value = view_of(5), np.arange(1.0, 6.0)
    assert offered(Wrapped(Weighs()), view, value, 2).tolist() == [0, 0, 0, 4, 5]
    assert offered(Wrapped(Index()), view, value, 2) is value
    assert gain_policy(Wrapped(Wrapped(Weighs()))).__class__ is Weighs
    assert gain_policy(None) is None
    mine = offered(InSteps(2), view, value, 3)
    assert mine.tolist() == [2.0, 2.0, 2.0, 0.0, 0.0]  # a later one is worth more


def test_neighbours_out_of_order_share_by_cost_until_all_fall():
    value, cost = np.array([4.0, 1.0, 6.0, 1.0]), np.array([1.0, 1.0, 2.0, 1.0])
    found = falling(value, cost)
    assert found == pytest.approx([4.0, 7 / 3, 14 / 3, 1.0])
    level = falling(np.array([2.0, 2.0 * (1 + 1e-10)]), np.ones(2))
    assert level.tolist() == [2.0, 2.0 * (1 + 1e-10)]  # rounding is no rise
    free = falling(np.array([1.0, 1.0]), np.array([1.0, 0.0]))
    assert free == pytest.approx([2.0, 0.0])
