"""Laws of pages that come before all others, and of what hints had said."""

import math
from dataclasses import replace

import numpy as np
import pytest

from halflife.belief.gap_hints import NO_HINTS, GapHints
from halflife.core.budget import Budget
from halflife.policies.laws import unseen_view
from halflife.policies.rounds import InRounds
from halflife.policies.simple import oldest_first
from halflife.policies.urgent import UrgentFirst, urgent_first

RNG = np.random.default_rng


def test_urgent_pages_come_first_each_once_and_then_the_policy_decides():
    view = unseen_view(6)
    keys = {view.keys[i] for i in (4, 1, 3)} | {"http://elsewhere/"}
    rule = urgent_first(oldest_first, keys, "a map is due")
    first = rule(view, Budget(2), RNG(0))
    assert first.rows.tolist() == [1, 3]
    assert [step.why for step in first] == ["a map is due"] * 2
    assert first.gain.tolist() == view.weight[[1, 3]].tolist()
    assert keys == {view.keys[4], "http://elsewhere/"}
    assert rule(view, Budget(2), RNG(0)).rows.tolist() == [4]
    rest, usual = (one(view, Budget(2), RNG(0)) for one in (rule, oldest_first))
    assert rest.rows.tolist() == usual.rows.tolist()


def test_what_is_not_ready_or_was_looked_at_in_this_turn_waits():
    view = unseen_view(4)
    view.ready[0], view.looked[1] = False, True
    keys = set(view.keys[:3])
    found = urgent_first(oldest_first, keys, "new")(view, Budget(9), RNG(0))
    assert found.rows.tolist() == [2]
    assert keys == set(view.keys[:2])


def test_urgent_pages_keep_to_the_rounds_of_the_policy():
    inner = InRounds(oldest_first)
    found = urgent_first(inner, {"a"}, "new")
    assert isinstance(found, InRounds)
    assert isinstance(found.policy, UrgentFirst)
    assert found.policy.policy is oldest_first
    assert replace(found, policy=oldest_first) == inner


@pytest.mark.parametrize("x", [0.01, 0.5, 4.0])
def test_a_change_stands_for_those_that_were_to_be_expected_and_told(x):
    """Of x changes, half unannounced, and hints worth 0.7 of which 0.4 are true."""
    found = GapHints(0.5, 0.7, 0.4).changes(np.array([x]))
    by_hand = (0.5 * x + 0.4) / (1.0 - math.exp(-0.5 * x - 0.7))
    assert found == pytest.approx([by_hand])
    plain = NO_HINTS.changes(np.array([x]))
    assert plain == pytest.approx([x / (1.0 - math.exp(-x))])
    assert NO_HINTS.changes(np.zeros(1)) == pytest.approx([1.0])
