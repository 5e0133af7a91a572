"""A planner with a memory makes the plans of the policy without one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.budget import Budget
from halflife.core.view import View
from halflife.models.poisson import Exponential, GammaSurvival
from halflife.policies.index import Index
from lab import turns
from lab.planner import Planner

RNG = np.random.default_rng(0)


def view_of(n, seed, never=0.05):
    """Return a view of items of many kinds, some of them never seen."""
    rng = np.random.default_rng(seed)
    looks = np.where(rng.random(n) < never, 0, 5)
    age = np.where(looks > 0, rng.exponential(5.0, n), np.inf)
    shape, exposure = rng.lognormal(0, 1, n), rng.lognormal(2, 1, n)
    return View(
        now=0.0,
        keys=tuple(f"page/{i}" for i in range(n)),
        weight=np.ceil(5 * rng.pareto(1.5, n) + 1),
        cost=np.ones(n),
        group=np.zeros(n, dtype=np.intp),
        rate=shape / exposure,
        survival=GammaSurvival(shape, exposure),
        age=age,
        looks=looks,
        changes=np.zeros(n, dtype=np.intp),
        looked=rng.random(n) < 0.1,
        changed=np.zeros(n, dtype=np.bool_),
        ready=rng.random(n) < 0.95,
        due=np.zeros(0),
        exposure=age.copy(),
        doubt=np.zeros(n),
        room=np.full(n, np.inf),
    )


def later(view, rows, days, rng):
    """Return the view after a wait and after looks at some rows."""
    age = view.age + days
    age[rows] = 0.0
    shape, exposure = view.survival.shape.copy(), view.survival.exposure.copy()
    shape[rows] += rng.random(rows.size) < 0.5
    exposure[rows] += 1.0
    looked, looks = view.looked.copy(), view.looks.copy()
    looked[rows], looks[rows] = True, looks[rows] + 1
    law = GammaSurvival(shape, exposure)
    return replace(
        view,
        age=age,
        exposure=age.copy(),
        survival=law,
        looked=looked,
        looks=looks,
        rate=shape / exposure,
    )


def same(one, other):
    assert one.keys == other.keys
    assert one.rows.tolist() == other.rows.tolist()
    assert one.gain == pytest.approx(other.gain, rel=1e-12)
    assert [step.why for step in one[:5]] == [step.why for step in other[:5]]


@pytest.mark.parametrize("objective", ["harmonic", "freshness", "age"])
@given(
    seed=st.integers(0, 10**6),
    budget=st.integers(0, 60),
    waits=st.lists(st.floats(0.0, 0.4), min_size=1, max_size=6),
)
def test_plans_are_those_of_the_policy_without_a_memory(objective, seed, budget, waits):
    rng = np.random.default_rng(seed)
    view, plain = view_of(400, seed), Index(objective)
    planner = Planner(plain, ahead=0.3)
    for wait in waits:
        plan = planner(view, Budget(budget), RNG)
        same(plan, plain(view, Budget(budget), RNG))
        view = later(view, plan.rows[: budget // 3], wait, rng)
        if rng.random() < 0.3:  # a new turn: all may be asked again
            view = replace(view, looked=np.zeros(400, dtype=np.bool_))


def test_a_plan_after_a_few_looks_weighs_few_items():
    view, planner = view_of(5000, 1), Planner()
    plan = planner(view, Budget(50), RNG)
    view = later(view, plan.rows[:10], 0.01, np.random.default_rng(0))
    same(planner(view, Budget(40), RNG), Index()(view, Budget(40), RNG))
    assert planner.weighed < 1000


def test_news_of_an_item_out_of_the_running_is_heard():
    view, planner = view_of(5000, 1), Planner()
    planner(view, Budget(50), RNG)
    last = int(np.argsort(Index().gain(view))[1000])
    ready, looked = view.ready.copy(), view.looked.copy()
    weight = view.weight.copy()
    ready[last], looked[last], weight[last] = True, False, 1e12
    view = replace(view, weight=weight, ready=ready, looked=looked)
    plan = planner(view, Budget(50), RNG)
    same(plan, Index()(view, Budget(50), RNG))
    assert plan.rows[0] == last


def test_where_the_few_do_not_tell_the_policy_is_simply_called():
    view = view_of(500, 2)
    tight = replace(view, room=np.full(500, 3.0))
    known = replace(view, survival=Exponential(view.rate))
    for policy, case in (
        (Index(), tight),
        (Index(), known),
        (Index(longest=10.0), view),
        (Index(shortest=2.0), view),
        (Index(extra=0.5), view),
    ):
        planner = Planner(policy)
        planner(view, Budget(20), RNG)
        same(planner(case, Budget(20), RNG), policy(case, Budget(20), RNG))


def test_costs_other_than_one_are_paid():
    view = view_of(3000, 3)
    cost = np.random.default_rng(0).integers(1, 4, 3000).astype(float)
    view, planner = replace(view, cost=cost), Planner()
    for budget in (1, 30, 100):
        plan = planner(view, Budget(budget), RNG)
        same(plan, Index()(view, Budget(budget), RNG))


def test_the_bench_of_turns_says_that_both_plans_are_the_same():
    row = turns.run(3000, 5)
    assert row["replan_same_plan"]
    assert row["looks"] == 15_000
    assert row["resident_gb"] > 0
