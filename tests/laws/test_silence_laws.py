"""Laws of the share of changes that nobody announces, and of rehearsed policies."""

import math
from dataclasses import replace

import numpy as np
import pytest

from halflife.belief.gap_hints import GapHints
from halflife.core.budget import Budget
from halflife.models.silence import (
    LEAST,
    OWN,
    PRETEND,
    ChangedObservations,
    SilentShares,
)
from halflife.policies.laws import made_view, unseen_view
from halflife.policies.rehearsal import (
    ITEMS,
    _at_rest,
    _fetched,
    _intervals,
    _later,
    _turn,
    rehearse,
    some_rows,
)
from halflife.policies.simple import oldest_first


def by_hand(gaps, expected, place):
    """Return the shares by plain loops over items and classes."""
    share = [1.0] * len(place)
    classes = sorted({c for c in place if c >= 0})
    weight = [OWN / (OWN + x) for x in expected]
    for _ in range(20):
        seen = [0.0] * len(place)
        for i, x, n in gaps:
            part = share[i] * max(x, 1e-9)
            seen[i] += n * part / (1.0 - math.exp(-part))
        came, due = {}, {}
        for c in classes:
            mine = [i for i, where in enumerate(place) if where == c]
            came[c] = sum(weight[i] * seen[i] for i in mine)
            due[c] = sum(weight[i] * expected[i] for i in mine)
        around = (sum(came.values()) + PRETEND) / (sum(due.values()) + PRETEND)
        for i, c in enumerate(place):
            if c >= 0:
                usual = (came[c] + PRETEND * around) / (due[c] + PRETEND)
                own = (seen[i] + OWN * usual) / (expected[i] + OWN)
                share[i] = min(max(own, LEAST), 1.0)
    return share


@pytest.mark.parametrize("seed", range(3))
def test_shares_are_found_class_by_class_and_page_by_page(seed):
    rng = np.random.default_rng(seed)
    place = np.array([0, 1, 0, -1, 1, 1, 0])
    expected = rng.uniform(0.0, 30.0, 7)
    item = rng.integers(0, 7, 12)
    x, tally = rng.uniform(0.01, 2.0, 12), rng.choice([1.0, 2.0, 0.5], 12)
    found = (
        SilentShares().fit(ChangedObservations(item, x, tally), expected, place).share_
    )
    rows = list(zip(item.tolist(), x.tolist(), tally.tolist(), strict=True))
    assert found == pytest.approx(by_hand(rows, expected.tolist(), place.tolist()))
    assert found[3] == 1.0  # whom nobody dates


def test_silence_is_worth_nothing_before_it_was_seen_and_something_always_escapes():
    none = ChangedObservations(np.zeros(0, int), np.zeros(0), np.zeros(0))
    place = np.zeros(2, int)
    new = SilentShares().fit(none, np.zeros(2), place).share_
    assert new.tolist() == [1.0, 1.0]
    told = SilentShares().fit(none, np.full(2, 1e6), place).share_
    assert told.tolist() == [LEAST, LEAST]


# Rehearsals


@pytest.mark.parametrize("worth", [(), (0.3,), (2.0, 0.1)])
@pytest.mark.parametrize("share", [1.0, 0.2])
def test_what_changes_are_beyond_the_expected_falls_as_its_slope_says(worth, share):
    one = GapHints(share, sum(worth), sum(-math.expm1(-w) for w in worth))
    x, step = np.geomspace(0.01, 40.0, 60), 1e-4
    beyond, slope = one.beyond(x)
    assert beyond == pytest.approx(one.changes(x) - share * x - one.true, abs=1e-9)
    rise = (one.beyond(x + step)[0] - one.beyond(x - step)[0]) / (2.0 * step)
    assert slope == pytest.approx(rise, rel=1e-4, abs=1e-6)
    assert (slope <= 0.0).all()
    assert (slope >= -0.5 * share).all()


def view_of(n):
    view = replace(unseen_view(n), age=np.arange(n) + 1.0, looks=np.ones(n, int))
    return replace(view, exposure=np.arange(n) + 1.0)


@pytest.mark.parametrize(("n", "requests"), [(8, 4.0), (5, 1.0), (16, 8.0)])
def test_who_goes_by_age_fetches_all_as_often(n, requests):
    found = rehearse(oldest_first, view_of(n), requests)
    assert found.sum() == pytest.approx(requests, rel=0.05)
    assert found == pytest.approx(np.full(n, requests / n), rel=0.15)


def test_without_requests_or_items_nothing_is_fetched():
    assert rehearse(oldest_first, view_of(3), 0.0).tolist() == [0.0] * 3
    assert rehearse(oldest_first, view_of(0), 3.0).size == 0


def test_time_passes_for_all_and_a_fetch_begins_anew():
    view = made_view(9, 1)
    later = _later(view, 2.0)
    assert later.now == view.now + 2.0
    assert later.age.tolist() == (view.age + 2.0).tolist()
    assert later.exposure.tolist() == (view.exposure + 2.0).tolist()
    assert not later.looked.any()
    rows, interval = np.array([2, 5]), np.arange(9) + 0.5
    after = _fetched(later, rows, interval, np.random.default_rng(0))
    others = np.setdiff1d(np.arange(9), rows)
    for name in ("age", "exposure", "doubt"):
        assert getattr(after, name)[rows].tolist() == [0.0, 0.0]
        column = getattr(later, name)[others].tolist()
        assert getattr(after, name)[others].tolist() == column
    assert (after.looks - later.looks).tolist() == [0, 0, 1, 0, 0, 1, 0, 0, 0]
    assert after.looked.tolist() == [i in {2, 5} for i in range(9)]
    assert after.due[rows].tolist() == (later.now + interval[rows]).tolist()
    assert after.due[others].tolist() == later.due[others].tolist()
    grown = after.changes - later.changes
    assert grown[rows].tolist() == after.changed[rows].astype(int).tolist()
    assert not grown[others].any()


def test_a_fetch_finds_a_change_as_often_as_is_believed():
    view = replace(made_view(400, 2), looks=np.ones(400, int))
    view = replace(view, age=np.ones(400), exposure=np.ones(400))
    every, zero = np.arange(400), np.zeros(400)
    found = [
        _fetched(view, every, zero, np.random.default_rng(seed)).changed
        for seed in range(40)
    ]
    once = _fetched(view, every, zero, np.random.default_rng(0))
    assert (once.changes - view.changes).tolist() == found[0].astype(int).tolist()
    expected = 1.0 - view.survival.alive(view.exposure)
    assert np.mean(found) == pytest.approx(expected.mean(), abs=0.01)


def test_dates_keep_their_intervals_and_hosts_their_room_is_forgotten():
    view = made_view(9, 3)
    found = _intervals(view, 0.25)
    for i in range(9):
        seen = math.isfinite(view.age[i])  # who was not is due at once
        days = view.due[i] - (view.now - view.age[i]) if seen else 0.25
        expected = max(days, 0.0)
        assert found[i] == pytest.approx(expected)
    undated = replace(view, due=np.zeros(0))
    assert _intervals(undated, 0.25).size == 0
    rest = _at_rest(replace(view, room=np.zeros(9)))
    assert rest.ready.all()
    assert np.isinf(rest.room).all()


def test_a_turn_spends_its_grant_and_no_more():
    view = replace(view_of(9), cost=np.full(9, 2.0))
    interval, rng = np.ones(9), np.random.default_rng(0)
    for grant, fetched in ((1, 0), (2, 1), (5, 2), (99, 9)):
        assert _turn(oldest_first, view, grant, interval, rng).looked.sum() == fetched
    plan = oldest_first(view, Budget(5), rng)
    assert view.cost[plan.rows].sum() <= 5


def test_few_rows_stand_for_very_many_where_a_policy_is_rehearsed():
    class Plain:
        pace = schedule = None

    class Says:
        pace, schedule = (lambda _: None), None

    many = np.arange(10, 10 + 3 * ITEMS)
    few = some_rows(Plain, many)
    assert few.size == ITEMS
    assert (few[0], few[-1]) == (many[0], many[-1])
    assert some_rows(Says, many) is many
    just = many[:ITEMS]
    assert some_rows(Plain, just) is just
