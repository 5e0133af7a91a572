"""The least requests that keep targets: what is asked for, and what is granted."""

from dataclasses import fields, replace
from math import inf, isfinite

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from halflife.core.value_curve import Offers
from halflife.market import target_rule
from halflife.market.limits import Limits
from halflife.market.offers import intervals
from halflife.market.target_rule import (
    AIM,
    BOLD,
    LENT,
    MISSED,
    ONCE,
    TENSE,
    TIMES,
    WARY,
    WINDOW,
    Goal,
    LossHistory,
    TargetRound,
    WholeCopy,
    after_check,
    after_round,
    is_due,
    longest_interval,
    risk,
    take_for_targets,
    wants_more,
)

SHARE = st.floats(0.0, 1.0)
LEVEL = st.floats(0.05, 0.99)
GOALS = st.builds(Goal, LEVEL, st.none() | st.floats(0.5, 0.99))
SURE = st.builds(Goal, LEVEL, st.floats(0.5, 0.99))
SEEN = st.lists(st.floats(0, 50), min_size=TIMES.size, max_size=TIMES.size).map(tuple)
PASTS = st.builds(
    LossHistory,
    st.floats(0, 100),
    st.floats(0, 100),
    st.just(()) | SEEN,
    st.just(()) | SEEN,
    st.floats(0, 20),
    st.floats(0, 1000),
    st.floats(0, 5),
)


@st.composite
def rounds(draw):
    began, unseen = draw(SHARE), draw(SHARE)
    left = began * draw(SHARE) if unseen else 0.0
    things = draw(st.floats(1.0, 1e5))
    found, now, coming = draw(SHARE), unseen * draw(SHARE), draw(SHARE)
    days, ahead = draw(st.floats(0, 3)), draw(st.floats(0, 3))
    return TargetRound(things, began, left, found, now, coming, unseen, days, ahead)


WHOLES = st.builds(
    lambda things, age, later, part, step: WholeCopy(
        things, age, later, later * part, step
    ),
    st.floats(1.0, 1e5),
    st.floats(0, 400),
    SHARE,
    SHARE,
    st.floats(1e-3, 1.0),
)


@st.composite
def markets(draw):
    """Draw offers of three sources, what they ask for, and which may or must be."""
    n = draw(st.integers(0, 30))
    column = st.lists(st.integers(0, 2), min_size=n, max_size=n)
    numbers = st.lists(st.floats(0, 10), min_size=n, max_size=n)
    cost = np.array(draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)), float)
    offers = Offers(
        ("a", "b", "c"),
        np.array(draw(column), dtype=np.intp),
        cost,
        np.array(draw(numbers), dtype=float),
    )
    age = np.array(draw(numbers), dtype=float)
    latest = np.array(draw(numbers), dtype=float)
    asks = {name: float(draw(st.integers(0, 40))) for name in "ab"}
    return offers, asks, intervals(age, np.zeros(n), latest)


def spent_on(offers, taken, name):
    rows = taken.rows[offers.source[taken.rows] == offers.sources.index(name)]
    return float(offers.cost[rows].sum())


@given(markets(), st.floats(0, 60))
def test_no_more_is_granted_than_the_budget_and_the_asks(market, budget):
    offers, asks, turn = market
    taken = take_for_targets(offers, asks, budget, turn=turn)
    assert offers.cost[taken.rows].sum() <= budget + 1e-6
    for i, name in enumerate(offers.sources):
        is_due = float(offers.cost[turn.urgent & (offers.source == i)].sum())
        most = max(asks.get(name, 0.0), is_due)
        assert spent_on(offers, taken, name) <= most + 1e-6


@given(markets(), st.floats(0, 60))
def test_the_same_market_gives_the_same_grants(market, budget):
    offers, asks, turn = market
    one, two = (take_for_targets(offers, asks, budget, turn=turn) for _ in range(2))
    assert one.rows.tolist() == two.rows.tolist()
    assert one.waits == two.waits


@given(markets())
def test_nothing_is_spent_where_nobody_asks_and_nothing_is_late(market):
    offers, _, turn = market
    calm = replace(turn, urgent=np.zeros(len(offers), dtype=bool))
    assert take_for_targets(offers, {}, 1e6, turn=calm).requests == 0.0


def test_a_limit_of_its_own_holds_whatever_a_source_asks_for():
    offers = Offers(("a",), np.zeros(8, dtype=np.intp), np.ones(8), np.ones(8))
    turn = intervals(np.ones(8), np.zeros(8), np.full(8, np.inf))
    taken = take_for_targets(
        offers, {"a": 6.0}, 100.0, Limits(most={"a": 3.0}), turn=turn
    )
    assert taken.requests == 3.0


def test_if_not_all_fits_those_that_ask_go_by_gain_per_request():
    offers = Offers(
        ("a", "b", "c"),
        np.array([0, 0, 1, 1, 2]),
        np.ones(5),
        np.array([5.0, 1.0, 4.0, 3.0, 99.0]),
    )
    turn = intervals(np.ones(5), np.zeros(5), np.full(5, np.inf))
    taken = take_for_targets(offers, {"a": 2.0, "b": 2.0}, 3.0, turn=turn)
    assert taken.rows.tolist() == [0, 2, 3]  # the best of c is not asked for


def test_the_budget_is_saved_for_the_best_that_does_not_fit_yet():
    offers = Offers(
        ("a", "b"), np.array([0, 1]), np.array([3.0, 1.0]), np.array([9.0, 1.0])
    )
    turn = intervals(np.ones(2), np.zeros(2), np.full(2, np.inf))
    asks = {"a": 9.0, "b": 9.0}
    wait = take_for_targets(offers, asks, 2.0, turn=turn)
    assert (wait.rows.tolist(), wait.waits) == ([], 0)
    assert take_for_targets(offers, asks, 4.0, turn=turn).rows.tolist() == [0, 1]


@given(PASTS, rounds(), LEVEL)
def test_what_may_happen_is_a_chance_whatever_was_seen(past, now, level):
    found = risk(past, now, level)
    for one in fields(found):
        assert -1e-9 <= getattr(found, one.name) <= 1.0 + 1e-9
    assert found.miss >= found.least - 1e-9


@pytest.mark.parametrize("things", [0.0, 1.0, 1e9])
@pytest.mark.parametrize("loss", [0.0, 1e-300, 1.0])
def test_degenerate_rounds_are_told_in_finite_figures(things, loss):
    now = TargetRound(things, loss, loss, loss, loss, loss, 1.0, 0.0, 0.0)
    found = risk(LossHistory(), now, 0.9)
    assert all(isfinite(getattr(found, one.name)) for one in fields(found))
    after = after_round(LossHistory(), now, Goal(0.9, 0.95), 0.0)
    assert np.isfinite(after.times).all()
    whole = WholeCopy(things, 0.0, loss, loss, 0.0)
    assert isfinite(whole.chance(LossHistory(), 0.9))
    assert isfinite(after_check(LossHistory(), whole, loss, loss, Goal(0.9)).missed)


def test_the_chance_of_a_miss_is_the_sum_of_poissons_over_factors():
    now = TargetRound(40.0, 0.05, 0.03, 0.025, 0.01, 0.02, 0.7)
    past = LossHistory()
    fresh, likely = past.weights(now.began), past.weights(now.began)
    likely = likely * stats.poisson.pmf(1, 0.02 * 40 * TIMES)
    likely = likely / likely.sum()
    expected = 0.0
    for p, a in zip(likely, TIMES, strict=True):
        unfound = min(max(a * 0.03, min(a, 1.0) * 0.01), 0.7) * 40
        for q, b in zip(fresh, TIMES, strict=True):
            mean = unfound + min(b * 0.02, 1.0) * 40
            expected += p * q * stats.poisson.sf(4, mean)
    assert risk(past, now, 0.9).miss == pytest.approx(expected, rel=1e-9)


@given(PASTS, rounds(), GOALS)
def test_nothing_more_is_wanted_once_all_was_looked_at(past, now, goal):
    assert not wants_more(past, replace(now, unseen=0.0, left=0.0, now=0.0), goal)


@given(PASTS, rounds(), WHOLES, SURE)
def test_misses_beyond_all_that_is_lent_end_in_looks_at_everything(
    past, now, whole, goal
):
    often = replace(past, debt=1.0 + AIM * goal.allowed * WINDOW)
    assert wants_more(often, replace(now, unseen=max(now.unseen, 0.01)), goal)
    assert is_due(often, whole, goal)


@given(PASTS, WHOLES, SURE)
def test_a_whole_that_was_missed_too_often_is_renewed_at_each_daily_round(
    past, whole, goal
):
    often = replace(past, missed=goal.allowed * (past.days + LENT))
    assert is_due(often, replace(whole, step=1.0), goal)


@given(PASTS, SURE)
def test_misses_beyond_the_allowance_leave_little_to_risk(past, goal):
    often = replace(past, missed=goal.allowed * (past.days + LENT), debt=0.0)
    assert often.spare(goal, TENSE) == pytest.approx(TENSE * goal.allowed)
    assert often.spare(goal) < 0
    mean = Goal(goal.level)
    lost = replace(often, missed=mean.allowed * (past.days + LENT))
    assert lost.spare(mean, TENSE) < 0


@given(PASTS, rounds(), SURE, LEVEL)
def test_a_higher_level_never_wants_less_of_what_can_be_mended(past, now, goal, level):
    now = replace(now, coming=0.0)  # what is to come nobody can mend
    higher = replace(goal, level=max(level, goal.level))
    assert wants_more(past, now, higher) >= wants_more(past, now, goal)


@given(PASTS, WHOLES, SURE, LEVEL)
def test_a_higher_level_never_renews_a_whole_later(past, whole, goal, level):
    whole = replace(whole, fresh=0.0)
    higher = replace(goal, level=max(level, goal.level))
    assert is_due(past, whole, higher) >= is_due(past, whole, goal)


@given(PASTS, rounds(), SURE, st.floats(0, 100))
def test_who_missed_more_never_wants_less(past, now, goal, more):
    worse = replace(past, missed=past.missed + more)
    assert wants_more(worse, now, goal) >= wants_more(past, now, goal)


@given(st.lists(st.booleans(), max_size=200), st.floats(0.8, 0.98))
def test_misses_stay_within_the_allowance_whatever_the_source_does(busy, sure):
    """A day without a look at everything is missed whenever the source likes.

    Nothing that was seen foretells it: beliefs are that nothing is lost.
    """
    goal, past, missed = Goal(0.9, sure), LossHistory(), 0
    first = 2.0 + AIM * WINDOW * goal.allowed
    for day, changes in enumerate([*busy, *[True] * 200], 1):
        whole = past.spare(goal) <= 0
        miss = changes and not whole
        missed += miss
        past = past.with_missed(float(miss), 1.0, goal)
        assert missed <= AIM * goal.allowed * day + first


@pytest.mark.parametrize("sure", [0.8, 0.95, 0.99])
def test_in_the_long_run_less_is_missed_than_is_allowed(sure):
    goal, past, missed = Goal(0.9, sure), LossHistory(), 0
    for _ in range(5000):
        miss = past.spare(goal) > 0
        missed += miss
        past = past.with_missed(float(miss), 1.0, goal)
    assert 0.5 * goal.allowed < missed / 5000 < 0.9 * goal.allowed + 2.0 / 5000


def test_a_burst_that_a_lot_has_shown_is_followed_by_looks_at_the_rest():
    goal = Goal(0.95, 0.95)
    calm = LossHistory(times=tuple(60.0 * (abs(np.log(TIMES)) < 0.3)))
    usual = TargetRound(400.0, 0.01, 0.0095, 0.0, 0.0095, 0.002, 0.95)
    assert not wants_more(calm, usual, goal)
    assert wants_more(calm, replace(usual, found=0.02), goal)


def test_busy_times_come_together():
    calm = LossHistory()
    quiet = TargetRound(400.0, 0.01, 0.0, 0.01, 0.0, 0.0, 0.0)
    for _ in range(60):
        calm = calm.with_round(quiet, 1.0)
    busy = calm.with_round(replace(quiet, found=0.3), 1.0)
    later = busy
    for _ in range(10):
        later = later.with_round(quiet, 1.0)
    bursts = [
        float(past.weights(0.01)[TIMES > 10].sum()) for past in (calm, later, busy)
    ]
    assert bursts == sorted(bursts)
    assert bursts[2] > 3 * bursts[1]


@given(PASTS, SURE, st.floats(1e-3, 1.0), st.sampled_from([1.0, 40.0]))
def test_no_failure_may_last_longer_than_a_window_allows(past, goal, step, things):
    whole = WholeCopy(things, 0.0, 0.0, 0.0, step)
    most = WINDOW * goal.allowed * (ONCE if things == 1.0 else 1.0)
    assert step <= longest_interval(past, goal, whole) or most < step
    assert longest_interval(past, goal, whole) <= most
    more = replace(past, failed=past.failed + 1)
    assert longest_interval(more, goal, whole) <= longest_interval(past, goal, whole)


@pytest.mark.parametrize(("age", "ask"), [(2.0, False), (3.0, True)])
def test_a_summary_that_never_failed_is_renewed_before_it_could_break_the_target(
    age, ask
):
    past = LossHistory(days=100.0, watched=400.0)
    whole = WholeCopy(1.0, age, 0.001, 0.0, 1.0)
    assert is_due(past, whole, Goal(0.5, 0.95)) == ask


def test_a_listing_is_due_when_a_miss_is_likelier_than_what_is_spare():
    past = LossHistory(days=100.0, times=tuple(60.0 * (abs(np.log(TIMES)) < 0.3)))
    spare = AIM * 0.05 - MISSED * 0.05 * LENT / (100.0 + LENT)
    assert past.spare(Goal(0.9, 0.95)) == pytest.approx(spare)
    early, late = (WholeCopy(1000.0, 1.0, loss, 0.01, 1.0) for loss in (0.03, 0.09))
    assert early.chance(past, 0.9) < spare < late.chance(past, 0.9)
    assert not is_due(past, early, Goal(0.9, 0.95))
    assert is_due(past, late, Goal(0.9, 0.95))


def test_a_look_tells_how_long_a_whole_was_below_its_level():
    goal = Goal(0.9, 0.95)
    after = after_check(
        LossHistory(), WholeCopy(100.0, 6.0, 0.0, 0.0, 1.0), 0.3, 0.1, goal
    )
    assert after.missed == pytest.approx(6.0 * (1 - 0.1 / 0.3))
    assert (after.days, after.failed, after.watched) == (6.0, 1.0, 6.0)
    fine = after_check(
        LossHistory(), WholeCopy(100.0, 6.0, 0.0, 0.0, 1.0), 0.05, 0.1, goal
    )
    assert (fine.missed, fine.failed) == (0.0, 0.0)
    mean = after_check(
        LossHistory(), WholeCopy(100.0, 6.0, 0.0, 0.0, 1.0), 0.3, 0.1, Goal(0.9)
    )
    assert mean.missed == pytest.approx(6.0 * 0.15)


@pytest.mark.parametrize(("later", "ask"), [(0.21, False), (0.23, True)])
def test_a_mean_is_kept_by_looks_at_twice_its_loss(later, ask):
    past = LossHistory(days=100.0, missed=100.0 * 0.1 * AIM)
    assert is_due(past, WholeCopy(500.0, 1.0, later, 0.0, 0.1), Goal(0.9)) == ask


def test_a_mean_that_was_missed_by_as_much_again_is_mended_at_once():
    past = LossHistory(days=1000.0, missed=1000.0 * 0.2)
    now = TargetRound(100.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    assert wants_more(past, now, Goal(0.9))
    assert not wants_more(LossHistory(), now, Goal(0.9))


@pytest.mark.parametrize(
    ("past", "ahead", "risked"),
    [
        (LossHistory(), 1.0, 0.5 * 0.02),  # of 0.04 a part was lent as missed
        (LossHistory(days=970.0), 1.0, 0.5 * (0.04 - 0.02 * 30 / 1000)),
        (LossHistory(days=100.0, missed=6.0), 1.0, 0.3 * 0.1 * 0.05),  # a tenth is left
        (LossHistory(days=100.0, missed=6.0), 0.5, 0.3 * 0.2 * 0.05),
        (
            LossHistory(days=100.0, missed=6.0),
            0.01,
            0.3 * 0.8 * 0.05,
        ),  # no more than that
    ],
)
def test_a_round_risks_half_of_what_is_spare_and_less_of_what_is_left(
    past, ahead, risked
):
    goal, sides = Goal(0.95, 0.95), set()
    for left in np.geomspace(1e-4, 0.2, 60).tolist():
        now = TargetRound(100.0, left, left, 0.0, left, 0.0, 1.0, ahead=ahead)
        found = risk(past, now, goal.level)
        assert wants_more(past, now, goal) == (found.miss - found.least > risked)
        sides.add(wants_more(past, now, goal))
    assert sides == {False, True}


def test_the_risk_of_a_round_is_a_part_of_what_is_spare():
    assert 0 < WARY < BOLD < 1
    assert BOLD * LossHistory().spare(Goal(0.9, 0.95)) <= 0.01 + 1e-12
    assert target_rule.LOT < 0.1
    assert inf > WINDOW > LENT
