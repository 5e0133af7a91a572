"""In a round of a target each page is fetched once before any is fetched again."""

import dataclasses
from math import inf

import numpy as np
import pytest
from hypothesis import given, strategies as st

from contracts.views import view_of, views
from halflife.core.budget import Budget
from halflife.core.plan import Plan
from halflife.engine import targets
from halflife.kinds.pages.round_policy import RoundPolicy
from halflife.market.target_status import TargetMemory
from halflife.policies.index import Index
from halflife.stores.memory import MemoryStore


def planned(view, began, requests):
    policy = RoundPolicy(Index(), lambda: began)
    return policy(view, Budget(requests), np.random.default_rng(0))


def first_rows(view, budget, rng):
    """Plan the first pages that may be fetched."""
    del rng
    rows = np.flatnonzero(view.ready)[: budget.requests]
    return Plan(tuple(view.keys[i] for i in rows), rows, np.ones(rows.size), str)


def test_the_pages_of_a_worked_round_are_fetched_once():
    view = dataclasses.replace(
        view_of(4, np.random.default_rng(3)),
        age=np.array([0.05, 3.0, 0.1, 2.0]),
        ready=np.ones(4, bool),
    )

    def rows(requests, ago):
        policy = RoundPolicy(first_rows, lambda: view.now - ago)
        return policy(view, Budget(requests), np.random.default_rng(0)).rows.tolist()

    assert rows(1, 0.5) == [1]
    assert rows(4, 0.5) == [1, 3]  # fetched since the round began: 0 and 2
    assert rows(4, 5.0) == [0, 1, 2, 3]  # all were, so any may be fetched again


@given(views(), st.floats(0.0, 20.0), st.integers(0, 20))
def test_no_page_is_fetched_again_while_another_would_be(view, ago, requests):
    plan = planned(view, view.now - ago, requests)
    unseen = view.age > ago
    rest = dataclasses.replace(view, ready=view.ready & unseen)
    rng = np.random.default_rng(0)
    others = Index()(rest, Budget(requests), rng).rows.tolist()
    both = Index()(view, Budget(requests), rng).rows.tolist()
    rows = plan.rows.tolist()
    assert rows == (others or both)
    assert len(set(rows)) == len(rows) <= requests
    assert not others or all(unseen[rows])


@given(views(), st.integers(0, 20))
def test_before_the_first_round_plans_are_as_without_one(view, requests):
    rng = np.random.default_rng(0)
    assert planned(view, -inf, requests).keys == (
        Index()(view, Budget(requests), rng).keys
    )


@pytest.mark.parametrize("began", [-inf, 20_000.25])
def test_the_start_of_a_round_is_remembered(began):
    store = MemoryStore()
    assert targets.round_began(store, "docs") == -inf
    targets.remember(store, {"docs": TargetMemory(began=began)})
    assert targets.round_began(store, "docs") == began
