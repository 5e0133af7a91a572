"""Half of the pages that are looked at are drawn by lot."""

import numpy as np
from hypothesis import given, strategies as st

from contracts.views import view_of, views
from halflife.core.budget import Budget
from halflife.kinds.pages.random_share import HalfRandomPolicy
from halflife.policies.index import Index


@given(views(), st.integers(0, 20), st.integers(0, 5))
def test_no_page_is_planned_twice_and_the_budget_holds(view, requests, seed):
    plan = HalfRandomPolicy(Index())(
        view, Budget(requests), np.random.default_rng(seed)
    )
    rows = plan.rows.tolist()
    assert len(set(rows)) == len(rows) == len(plan.keys) <= requests
    assert [view.keys[row] for row in rows] == list(plan.keys)
    assert all(view.ready[row] and not view.looked[row] for row in rows)
    assert all(step.why for step in plan)


@given(views(), st.integers(0, 5))
def test_the_best_come_first(view, seed):
    rng = np.random.default_rng
    plan = HalfRandomPolicy(Index())(view, Budget(8), rng(seed))
    best = Index()(view, Budget(4), rng(seed))
    assert plan.keys[: len(best)] == best.keys


def test_each_page_that_is_held_has_its_chance():
    view, rng = view_of(50, np.random.default_rng(3)), np.random.default_rng(1)
    seen = np.zeros(50)
    for _ in range(200):
        seen[HalfRandomPolicy(Index())(view, Budget(10), rng).rows] += 1
    assert seen[view.held & view.ready & ~view.looked].min() >= 5
