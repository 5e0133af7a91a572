"""One suite for every policy: a new policy is added to the list and nothing else."""

import dataclasses

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from contracts.views import view_of, views
from halflife.core.budget import Budget
from halflife.policies.champion import PatientIndex
from halflife.policies.dates import due_by_chance, due_first
from halflife.policies.index import Index
from halflife.policies.ncis import HintedIndex, greedy_ncis
from halflife.policies.rounds import InRounds
from halflife.policies.simple import (
    heaviest_unseen,
    most_missed,
    oldest_first,
    oldest_first_by_chance,
)

POLICIES = {
    "harmonic": Index("harmonic"),
    "freshness": Index("freshness"),
    "age": Index("age"),
    "oldest first": oldest_first,
    "oldest first by chance": oldest_first_by_chance,
    "most missed": most_missed,
    "heaviest unseen": heaviest_unseen,
    "due first": due_first,
    "due by chance": due_by_chance,
    "by hints": greedy_ncis,
    "index by hints": HintedIndex(),
    "bold": PatientIndex("freshness", patience=0.02),
    "in rounds": InRounds(PatientIndex("harmonic")),
    "index with all its terms": Index("age", extra=2.0, shortest=1.0, longest=4.0),
}


def plan_of(policy, view, requests, seed=0):
    return policy(view, Budget(requests), np.random.default_rng(seed))


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
class TestEveryPolicy:
    @given(view=views(), requests=st.integers(0, 20))
    def test_stays_within_budget(self, policy, view, requests):
        plan = plan_of(policy, view, requests)
        assert view.cost[plan.rows].sum() <= requests

    @given(view=views(), room=st.integers(0, 6))
    def test_asks_no_group_for_more_than_it_has_room_for(self, policy, view, room):
        room = np.where(view.group == 1, np.inf, float(room))
        view = dataclasses.replace(view, room=room)
        rows = np.concatenate(
            [plan_of(policy, view, 50).rows, np.flatnonzero(view.looked)]
        )
        planned = rows[~view.looked[rows]]
        for group in np.unique(view.group[planned]):
            mine = rows[view.group[rows] == group]
            assert view.cost[mine].sum() <= room[mine].min()

    @given(view=views())
    def test_gives_the_same_plan_for_the_same_view_and_seed(self, policy, view):
        first, second = plan_of(policy, view, 5, 7), plan_of(policy, view, 5, 7)
        assert list(first) == list(second)

    @given(view=views())
    def test_never_asks_twice_nor_again_in_the_same_turn(self, policy, view):
        rows = plan_of(policy, view, 50).rows
        assert len(set(rows.tolist())) == rows.size
        assert not view.looked[rows].any()

    @given(view=views())
    def test_leaves_items_alone_that_back_off(self, policy, view):
        assert view.ready[plan_of(policy, view, 50).rows].all()

    @given(view=views())
    def test_every_step_names_an_item_and_gives_a_reason(self, policy, view):
        for step in plan_of(policy, view, 50):
            assert step.request.key in view.keys
            assert step.why.strip()
            assert "\n" not in step.why
            assert not np.isnan(step.gain)

    @given(view=views())
    def test_leaves_the_view_untouched(self, policy, view):
        fields = [f.name for f in dataclasses.fields(view)]
        before = {n: np.copy(getattr(view, n)) for n in fields if n != "survival"}
        list(plan_of(policy, view, 5))
        assert all(np.array_equal(v, getattr(view, n)) for n, v in before.items())

    @given(view=views(), requests=st.integers(1, 20))
    def test_a_larger_budget_begins_with_the_smaller_plan(self, policy, view, requests):
        view = dataclasses.replace(view, cost=np.ones(len(view)))
        small, large = (plan_of(policy, view, r) for r in (requests, requests + 5))
        assert large.keys[: len(small)] == small.keys

    def test_an_empty_population_gives_an_empty_plan(self, policy):
        assert not plan_of(policy, view_of(0, np.random.default_rng(0)), 5)


@given(view=views(most=30))
def test_the_index_policy_takes_the_largest_gains_first(view):
    policy = Index("freshness")
    plan = plan_of(policy, dataclasses.replace(view, cost=np.ones(len(view))), 100)
    assert np.all(np.diff(plan.gain) <= 0)
    left = view.ready & ~view.looked
    left[plan.rows] = False
    assert np.all(policy.gain(view)[left] <= 0)


def test_the_index_policy_leaves_alone_what_was_seen_this_instant():
    view = view_of(20, np.random.default_rng(1))
    now = {"age": np.zeros(20), "exposure": np.zeros(20)}
    view = dataclasses.replace(view, looks=np.ones(20, np.intp), **now)
    assert not plan_of(Index("freshness"), view, 20)


def test_a_plan_can_be_sliced_and_read_step_by_step():
    view = view_of(30, np.random.default_rng(2))
    plan = plan_of(Index("harmonic"), view, 30)
    assert plan[1] == list(plan)[1]
    assert plan[1:3].keys == plan.keys[1:3]
    assert plan[-1].request.key == plan.keys[-1]
