"""Pages found compete with pages known for the budget."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.random import default_rng

from halflife.belief.poisson import PoissonBelief
from halflife.core.budget import Budget
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.policies.discovery import DiscoveryPolicy
from halflife.policies.index import Index
from halflife.policies.simple import oldest_first


def make(held, new, others=0, now=5.0):
    """Return a view of pages seen, pages never seen, and those of another source."""
    keys = [*(f"h{i}" for i in range(held)), *(f"n{i}" for i in range(new))]
    keys += [f"o{i}" for i in range(others)]
    evidence = Evidence.of(Item(key, "s") for key in keys)
    looks = [Observation(key, 1.0, Seen.PRESENT, "1") for key in keys[:held]]
    evidence.take(evidence.weigh(Observations.of(looks)))
    return evidence, PoissonBelief()(evidence, now, now)


def owner(key):
    return "other" if key.startswith("o") else "site"


def planned(share, view, requests, policy=None):
    discovering = DiscoveryPolicy(policy or Index(), {"site": share}, owner)
    return discovering(view, Budget(requests), default_rng(0))


def kinds(plan):
    firsts = [key[0] for key in plan.keys]
    return {kind: firsts.count(kind) for kind in "hno"}


@pytest.mark.parametrize(
    ("share", "new", "old"), [(0.5, 5, 5), (0.25, 3, 7), (0.0, 0, 10), (1.0, 10, 0)]
)
def test_pages_found_get_their_share(share, new, old):
    _, view = make(20, 20)
    assert kinds(planned(share, view, 10)) == {"h": old, "n": new, "o": 0}


def test_what_one_side_cannot_use_the_other_may():
    assert kinds(planned(0.5, make(2, 20)[1], 10)) == {"h": 2, "n": 8, "o": 0}
    assert kinds(planned(0.5, make(20, 1)[1], 10)) == {"h": 9, "n": 1, "o": 0}
    assert kinds(planned(0.0, make(2, 20)[1], 10)) == {"h": 2, "n": 8, "o": 0}


def test_new_pages_of_other_sources_come_first_as_ever():
    _, view = make(20, 20, others=4)
    assert kinds(planned(0.5, view, 10)) == {"h": 1, "n": 5, "o": 4}


def test_both_sides_are_mixed_so_that_neither_is_cut_off_alone():
    plan = planned(0.5, make(20, 20)[1], 10)
    assert {key[0] for key in plan.keys[:2]} == {"h", "n"}
    assert {key[0] for key in plan.keys[-2:]} == {"h", "n"}


def test_the_share_is_of_the_whole_turn_not_of_what_is_left():
    evidence, _ = make(30, 30)
    taken = {"h": 0, "n": 0, "o": 0}
    for _ in range(5):
        view = PoissonBelief()(evidence, 5.0, 5.0)
        plan = planned(0.5, view, 20 - sum(taken.values()))[:4]
        taken = {k: n + kinds(plan)[k] for k, n in taken.items()}
        looks = [Observation(key, 5.0, Seen.PRESENT, "1") for key in plan.keys]
        evidence.take(evidence.weigh(Observations.of(looks)))
    assert taken["n"] == pytest.approx(10, abs=1)


def test_reasons_are_those_of_the_rule():
    plan = planned(0.5, make(20, 20)[1], 4)
    for step in plan:
        assert ("never seen" in step.why) == step.request.key.startswith("n")


@given(
    st.integers(0, 12),
    st.integers(0, 12),
    st.integers(0, 3),
    st.integers(0, 20),
    st.floats(0, 1),
)
def test_a_plan_keeps_the_budget_wastes_nothing_and_repeats_nothing(
    held, new, others, requests, share
):
    _, view = make(held, new, others)
    plan = planned(share, view, requests, oldest_first)
    assert len(plan) == len(set(plan.keys)) == min(requests, len(view))
    assert [view.keys[row] for row in plan.rows] == list(plan.keys)
    assert np.isfinite(plan.gain).all() or new or others
