"""Corners of the rule that keeps targets."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from halflife.core.value_curve import Offers
from halflife.market.limits import Limits
from halflife.market.offers import OfferTurn
from halflife.market.target_rule import (
    AIM,
    FAILED,
    LENT,
    MISSED,
    ONCE,
    WATCHED,
    WINDOW,
    Goal,
    LossHistory,
    TargetRound,
    WholeCopy,
    after_check,
    is_due,
    longest_interval,
    take_for_targets,
    wants_more,
)


def test_a_source_that_asks_for_nothing_gets_what_is_urgent_and_no_more():
    cost = np.array([3.0, 1.0, 1.0])
    offers = Offers(("a",), np.zeros(3, np.intp), cost, np.ones(3))
    urgent = np.array([True, False, False])
    turn = OfferTurn(np.ones(3, bool), urgent)
    assert take_for_targets(offers, {}, 9.0, turn=turn).rows.tolist() == [0]
    assert take_for_targets(offers, {"a": 2.0}, 9.0, turn=turn).rows.tolist() == [0]
    assert take_for_targets(offers, {"a": 4.0}, 9.0, turn=turn).rows.tolist() == [0, 1]


def test_more_left_than_was_there_counts_as_all_of_it():
    now = TargetRound(40.0, 0.05, 0.05, 0.02, 0.0, 0.0, 1.0)
    past = LossHistory(times=tuple(np.arange(1.0, 22.0)))
    beyond = replace(now, left=0.06)
    np.testing.assert_allclose(beyond.likelihoods(past), now.likelihoods(past))


def test_a_goal_allows_what_its_level_or_its_confidence_leaves():
    assert Goal(0.75).loss == Goal(0.75).allowed == 0.25
    assert Goal(0.75, 0.9).allowed == pytest.approx(0.1)


def test_what_is_spare_at_the_beginning_is_lent():
    goal = Goal(0.9, 0.9)
    assert LossHistory().spare(goal) == pytest.approx((AIM - MISSED) * 0.1)
    long = LossHistory(days=LENT, missed=0.06 * LENT)
    assert long.spare(goal) == pytest.approx(AIM * 0.1 - (0.06 + MISSED * 0.1) / 2)
    owed = LossHistory(debt=AIM * 0.1 * WINDOW)
    assert owed.spare(goal) == pytest.approx(1.0 / WINDOW)


def test_a_whole_may_wait_as_long_as_its_failures_allow():
    goal = Goal(0.9, 0.9)
    past = LossHistory(failed=2.0, watched=60.0)
    pace = (2.0 + FAILED) / (60.0 + WATCHED)
    whole = WholeCopy(50.0, 0.0, 0.0, 0.0, 1.0)
    expected = 1.0 + 2.0 * past.spare(goal) / pace
    assert longest_interval(past, goal, whole) == pytest.approx(expected)
    steady = LossHistory(watched=1e6)
    assert longest_interval(steady, goal, whole) == pytest.approx(WINDOW * 0.1)
    once = replace(whole, things=1.0)
    assert longest_interval(steady, goal, once) == pytest.approx(ONCE * WINDOW * 0.1)


def test_nothing_is_wanted_of_what_was_all_seen_however_much_was_missed():
    now = TargetRound(100.0, 0.1, 0.0, 0.1, 0.0, 0.1, 0.0)
    often = LossHistory(days=100.0, missed=100.0, debt=50.0)
    assert not wants_more(often, now, Goal(0.9, 0.9))
    assert wants_more(often, replace(now, unseen=0.01), Goal(0.9, 0.9))


@pytest.mark.parametrize(("found", "failed"), [(0.1, 0.0), (0.11, 1.0), (1.0, 1.0)])
def test_a_look_counts_as_failed_above_the_level(found, failed):
    goal = Goal(0.9, 0.95)
    before = LossHistory(failed=3.0, watched=7.0)
    after = after_check(before, WholeCopy(50.0, 4.0, 0.0, 0.0, 1.0), found, 0.05, goal)
    assert (after.failed, after.watched) == (3.0 + failed, 11.0)
    assert after.missed == pytest.approx(4.0 * max(1 - 0.1 / found, 0.0))
    told = after_check(
        before, WholeCopy(50.0, 4.0, 0.0, 0.0, 1.0), found, 0.05, goal, missed=0.25
    )
    assert told.missed == 1.0


def test_a_mean_is_due_when_twice_what_is_allowed_is_lost():
    goal = Goal(0.9)
    spare = LossHistory().spare(goal)
    allowed = 0.1 + min(spare, 0.1)
    whole = WholeCopy(100.0, 1.0, 0.0, 0.0, 1.0)
    assert not is_due(LossHistory(), replace(whole, later=2 * allowed - 1e-9), goal)
    assert is_due(LossHistory(), replace(whole, later=2 * allowed + 1e-9), goal)
    spoiled = LossHistory(days=1e6, missed=1e6)
    assert is_due(spoiled, whole, goal)


def test_what_holds_or_not_is_due_by_the_days_that_it_fails():
    whole = WholeCopy(1.0, 1.0, 0.05, 0.01, 1.0)
    assert whole.chance(LossHistory(), 0.9) == pytest.approx(0.04)
    goal = Goal(0.9, 0.9)  # of which 0.04 is spare
    assert not is_due(LossHistory(), replace(whole, later=0.0899), goal)
    assert is_due(LossHistory(), replace(whole, later=0.0901), goal)
    assert longest_interval(LossHistory(), goal, whole) < inf


def test_no_source_gets_more_than_its_limit_nor_than_it_asks_for():
    offers = Offers(("a", "b"), np.array([0, 0, 0, 1, 1]), np.ones(5), np.ones(5))
    turn = OfferTurn(np.ones(5, bool), np.zeros(5, bool))
    limits = Limits(most={"a": 1.0})
    for asks, count in (({"a": 3.0, "b": 1.0}, [1, 1]), ({"b": 9.0}, [0, 2])):
        rows = take_for_targets(offers, asks, 9.0, limits, turn=turn).rows
        assert np.bincount(offers.source[rows], minlength=2).tolist() == count
