"""The least requests that keep targets: what is asked for, and what is granted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflife.market.keeping import (
    FASTEST,
    LONGEST,
    SLOWEST,
    Pace,
    Stand,
    kept,
    steered,
)
from halflife.market.limits import Limits
from halflife.market.offering import intervals
from halflife.worth import Offers

SHARE = st.floats(0.0, 1.0)
LEVEL = st.floats(0.05, 0.99)
PACES = st.builds(Pace, st.floats(0, 50), st.floats(SLOWEST, FASTEST))
ANY_PACE = st.none() | PACES


@st.composite
def stands(draw, pace=ANY_PACE):
    now = draw(SHARE)
    later = draw(st.floats(0.0, now))
    whole, needed = draw(st.integers(1, 60)), draw(st.floats(0, 200))
    return Stand("a", draw(LEVEL), now, later, float(whole), needed, draw(pace))


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
    taken = kept(offers, asks, budget, turn=turn)
    assert offers.cost[taken.rows].sum() <= budget + 1e-6
    for i, name in enumerate(offers.sources):
        due = float(offers.cost[turn.urgent & (offers.source == i)].sum())
        most = max(asks.get(name, 0.0), due)
        assert spent_on(offers, taken, name) <= most + 1e-6


@given(markets(), st.floats(0, 60))
def test_the_same_market_gives_the_same_grants(market, budget):
    offers, asks, turn = market
    one, two = (kept(offers, asks, budget, turn=turn) for _ in range(2))
    assert one.rows.tolist() == two.rows.tolist()
    assert one.waits == two.waits


@given(markets())
def test_nothing_is_spent_where_nobody_asks_and_nothing_is_late(market):
    offers, _, turn = market
    calm = replace(turn, urgent=np.zeros(len(offers), dtype=bool))
    assert kept(offers, {}, 1e6, turn=calm).requests == 0.0


def test_a_limit_of_its_own_holds_whatever_a_source_asks_for():
    offers = Offers(("a",), np.zeros(8, dtype=np.intp), np.ones(8), np.ones(8))
    turn = intervals(np.ones(8), np.zeros(8), np.full(8, np.inf))
    taken = kept(offers, {"a": 6.0}, 100.0, Limits(most={"a": 3.0}), turn=turn)
    assert taken.requests == 3.0


def test_if_not_all_fits_those_that_ask_go_by_gain_per_request():
    offers = Offers(
        ("a", "b", "c"),
        np.array([0, 0, 1, 1, 2]),
        np.ones(5),
        np.array([5.0, 1.0, 4.0, 3.0, 99.0]),
    )
    turn = intervals(np.ones(5), np.zeros(5), np.full(5, np.inf))
    taken = kept(offers, {"a": 2.0, "b": 2.0}, 3.0, turn=turn)
    assert taken.rows.tolist() == [0, 2, 3]  # the best of c is not asked for


@given(stands(), st.floats(0, 3))
def test_far_above_the_level_nothing_is_asked_for_and_nothing_adds_up(stand, days):
    far = replace(stand, now=1.0, later=max(stand.easy, stand.level))
    after = steered(far, days, 100.0)
    assert far.ask() == after.ask() == 0.0
    if after.pace is not None:
        assert after.pace.owed <= far.pace.owed


@given(stands(), LEVEL, st.floats(0, 3), st.floats(1, 500), st.floats(0, 100))
def test_a_higher_level_never_asks_for_less(stand, level, days, most, more):
    higher = replace(stand, level=max(level, stand.level), needed=stand.needed + more)
    low, high = (steered(one, days, most) for one in (stand, higher))
    assert low.ask() <= high.ask()


@given(stands(PACES), st.floats(0, 3), st.floats(1, 500))
def test_a_pace_stays_within_its_bounds_and_owes_a_day_at_most(stand, days, most):
    after = steered(stand, days, most).pace
    assert SLOWEST <= after.times <= FASTEST
    assert after.owed <= max(most * LONGEST, 1.0) + 1e-9


def test_a_level_that_nothing_keeps_asks_for_no_more_than_the_budget():
    stand = Stand("a", 0.9, 0.2, 0.2, 0.0, float("inf"), Pace())
    assert steered(stand, 0.5, 48.0).ask() == 24.0


def test_what_is_needed_adds_up_over_turns_until_it_is_a_request():
    stand = Stand("a", 0.9, 0.93, 0.93, 0.0, 12.0, Pace())
    asked = 0.0
    for _ in range(96 * 2):  # two days of quarters of an hour
        stand = steered(stand, 1 / 96, 1000.0)
        assert stand.ask() <= 1.0
        asked += stand.ask()
        stand = replace(stand, pace=stand.pace.paid(stand.ask()))
    fall = 12.0 * (1.0 - np.exp(-0.3 * 2)) / 0.3  # the pace falls slowly meanwhile
    assert asked == pytest.approx(fall, abs=1.1)


@pytest.mark.parametrize(("now", "faster"), [(0.89, True), (0.91, False)])
def test_the_pace_grows_fast_below_the_level_and_falls_slowly_above(now, faster):
    stand = Stand("a", 0.9, now, now, 0.0, 12.0, Pace())
    times = steered(stand, 1 / 24, 1000.0).pace.times
    assert times == pytest.approx(np.exp(6 / 24) if faster else np.exp(-0.3 / 24))


@pytest.mark.parametrize(("later", "ask"), [(0.95, 0.0), (0.9, 0.0), (0.899, 7.0)])
def test_what_is_renewed_whole_is_due_before_it_falls_below_its_level(later, ask):
    stand = Stand("a", 0.9, 0.96, later, 7.0, 3.0)
    assert steered(stand, 1.0, 100.0) == stand
    assert stand.ask() == ask


def test_a_stand_says_why_it_asks():
    whole = Stand("a", 0.9, 0.92, 0.89, 7.0, 3.0)
    assert whole.why() == "would soon be below 0.9: 0.89"
    assert replace(whole, now=0.85, later=0.84).why() == "is below 0.9: 0.84"
    pages = Stand("a", 0.9, 0.92, 0.89, 7.0, 30.0, Pace(1.0, 1.5))
    assert pages.why() == "0.92 of 0.9 kept by 1.5 x 30 requests a day"
