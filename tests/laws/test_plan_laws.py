"""Laws of plans made among few items, and of shares for pages newly found."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.random import default_rng

from contracts.views import view_of
from halflife.belief.neighbours import Neighbours
from halflife.belief.poisson import PoissonBelief
from halflife.core.budget import Budget
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observations
from halflife.core.plan import Plan
from halflife.models.poisson import Exponential, GammaSurvival
from halflife.models.quality import columns
from halflife.policies.discovery import DiscoveryPolicy, _mixed
from halflife.policies.index import Index
from halflife.policies.shortlist import USED, Shortlist
from halflife.policies.simple import oldest_first
from halflife.policies.view_rows import take_rows
from lab.planner import _SLACK, Planner, _alike, _is_stale, _Pool

# A planner with a memory


def world(n=200, seed=0):
    view = view_of(n, default_rng(seed))
    return replace(
        view, weight=view.weight + 1.0, cost=np.ones(n), looked=np.zeros(n, bool)
    )


def test_some_rows_of_a_view_are_all_their_columns():
    view, rows = world(10), np.array([2, 5, 9])
    some = take_rows(view, rows)
    assert list(some.keys) == [view.keys[i] for i in rows]
    for field in fields(view):
        column = getattr(view, field.name)
        if isinstance(column, np.ndarray):
            told = column[rows] if column.size else column  # not all need be known
            np.testing.assert_array_equal(getattr(some, field.name), told)
    assert some.now == view.now
    np.testing.assert_array_equal(some.survival.shape, view.survival.shape[rows])
    np.testing.assert_array_equal(some.survival.exposure, view.survival.exposure[rows])


def test_views_are_alike_if_they_are_of_as_many_items_and_one_kind_of_life():
    view = world(10)
    assert _alike(view, replace(view, now=view.now + 1))
    assert not _alike(view, world(11))
    assert not _alike(view, replace(view, survival=Exponential(view.rate)))


def test_the_law_of_a_view_is_made_of_its_columns_or_of_none():
    view = world(10)
    assert set(columns(view)) == {"shape", "exposure"}
    other = replace(view, survival=GammaSurvival(np.ones(1), np.ones(1)))
    assert not columns(other)


@pytest.mark.parametrize(
    "name", ["exposure", "looks", "weight", "cost", "survival", "nothing"]
)
def test_whatever_is_new_of_an_item_is_news(name):
    view = world(10)
    until = np.where(np.isfinite(view.exposure), view.exposure + 0.5, np.inf)
    pool = _Pool(view, np.zeros(10, bool), 1.0, until)
    now = replace(view, exposure=until.copy())  # up to it nothing is new
    column = {
        "exposure": until,
        "looks": view.looks,
        "weight": view.weight,
        "cost": view.cost,
        "survival": view.survival.shape,
    }.get(name, np.zeros(10))
    row = int(np.flatnonzero(view.held)[1])
    other = column.copy()
    other[row] = 0 if name == "looks" else other[row] + 1e-6
    change = {name: other} if name != "survival" else {}
    if name == "survival":
        change = {"survival": GammaSurvival(other, view.survival.exposure)}
    if name == "nothing":
        change = {}
    found = _is_stale(pool, replace(now, **change))
    assert np.flatnonzero(found).tolist() == ([] if name == "nothing" else [row])


@pytest.mark.parametrize("requests", [1, 4])
@pytest.mark.parametrize("spare", [1, 3])
def test_the_pool_is_who_could_reach_the_last_of_the_best_in_time(requests, spare):
    view = world(60, 3)
    view = replace(view, looked=np.arange(60) % 5 == 0)
    planner = Planner(Index("freshness"), ahead=0.5, spare=spare)
    pool = planner._picked(view, Budget(requests))
    gain = Index("freshness").gain(view)
    open_ = sorted(
        (gain[i] if view.ready[i] and not view.looked[i] else 0.0 for i in range(60)),
        reverse=True,
    )
    assert pool.least == open_[spare * requests - 1]
    later = Index("freshness").gain(replace(view, exposure=view.exposure + 0.5))
    assert pool.rows.tolist() == (later >= pool.least * _SLACK).tolist()
    np.testing.assert_array_equal(pool.until, view.exposure + 0.5)
    assert pool.view is view
    none = planner._picked(view, Budget(0))  # as for one request
    assert none.least == open_[spare - 1]
    every = planner._picked(view, Budget(1000))
    assert every.least == open_[-1]


def test_a_planner_follows_only_what_the_few_can_tell():
    view = world(40)
    assert Planner()._can_follow(view)
    assert not Planner(Index(longest=30.0))._can_follow(view)
    assert not Planner(Index(extra=1.0))._can_follow(view)
    room = view.room.copy()
    room[3] = 5.0
    assert not Planner()._can_follow(replace(view, room=room))
    flat = replace(view, survival=GammaSurvival(np.ones(1), np.ones(1)))
    assert not Planner()._can_follow(flat)


def test_a_pool_of_more_than_a_fourth_of_all_is_not_asked():
    view = world(40, 5)
    planner = Planner(Index("freshness"))
    until = view.exposure + 0.25
    for many, used in ((10, True), (11, False)):
        best = np.argsort(-Index("freshness").gain(np_open(view)))[:many]
        rows = np.isin(np.arange(40), best)
        planner._pool = _Pool(view, rows, 0.0, until)
        found = planner._from_pool(view, Budget(1), None)
        assert (found is not None) == used
    assert planner._from_pool(view, Budget(0), None) is None


def np_open(view):
    """Return the view with what is not open made worthless."""
    return replace(view, weight=np.where(view.ready & ~view.looked, view.weight, 0.0))


def test_a_pool_tells_only_while_its_best_buy_what_others_cannot():
    view = np_open(world(40, 5))
    policy = Index("freshness")
    best = policy(view, Budget(3), None)
    rows = np.isin(np.arange(40), best.rows)
    planner = Planner(policy)
    last = float(best.gain.min())
    for least, used in ((last, True), (last * (1 + 1e-9), False)):
        planner._pool = _Pool(view, rows, least, view.exposure + 0.25)
        found = planner._from_pool(view, Budget(3), None)
        assert (found is not None) == used
    planner._pool = _Pool(view, rows, last, view.exposure + 0.25)
    plan = planner._from_pool(view, Budget(3), None)
    assert plan.rows.tolist() == best.rows.tolist()
    assert plan.keys == best.keys
    assert plan.gain == pytest.approx(best.gain)
    assert [step.why for step in plan] == [step.why for step in best]
    assert planner.weighed == 3
    # three items do not use up a budget of four
    assert planner._from_pool(view, Budget(4), None) is None
    dear = replace(view, cost=np.full(40, 2.0))
    planner._pool = _Pool(dear, rows, 0.0, view.exposure + 0.25)
    assert planner._from_pool(dear, Budget(7), None) is not None  # one is left over
    assert planner._from_pool(dear, Budget(8), None) is None


def test_a_plan_made_anew_weighs_all_and_the_next_ones_few():
    view = world(400, 7)
    planner = Planner(Index("freshness"), ahead=0.01)
    for requests in (2, 2, 3):
        plan = planner(view, Budget(requests), None)
        whole = Index("freshness")(view, Budget(requests), None)
        assert plan.rows.tolist() == whole.rows.tolist()
        assert planner.weighed < 100
    assert planner(view, Budget(390), None).rows.size > 300
    assert planner.weighed == 400
    longest = Planner(Index(longest=5.0))
    longest(view, Budget(3), None)
    assert longest.weighed == 400
    assert longest._pool is None


# A list of few among many


def evidence_of(n=120):
    items = [Item(f"http://h{i % 5}/f{i % 3}/{i}", group=f"h{i % 5}") for i in range(n)]
    evidence, rng = Evidence.of(items), default_rng(0)
    for day in range(5):
        look(evidence, np.flatnonzero(rng.random(n) < 0.6), day + 0.5, rng)
    return evidence


def look(evidence, rows, at, rng):
    digest = tuple(str(x) for x in rng.integers(0, 2, len(rows)))
    keys = tuple(evidence.keys[int(row)] for row in rows)
    seen = np.zeros(len(rows), np.int8)
    looks = Observations(keys, np.full(len(rows), float(at)), seen, digest)
    evidence.take(evidence.weigh(looks))


@pytest.mark.parametrize("make", [Neighbours, PoissonBelief])
def test_a_list_brought_forward_is_what_the_belief_would_say(make):
    evidence, belief = evidence_of(), make()
    few = Shortlist(belief, Index(), size=40, lasts=1.0, block=64)
    few.plan(evidence, 9.0, 9.0, Budget(3), default_rng(0))
    rows = few._rows
    rng = default_rng(1)
    tried = rows[[1, 4, 9]]
    look(evidence, tried, 9.2, rng)
    for since, now in ((9.1, 9.4), (9.3, 9.4), (9.2, 9.2)):
        found = few._aged(evidence, now, since)
        whole = make()(evidence, now, since)
        assert found.now == now
        np.testing.assert_array_equal(found.looked, whole.looked[rows])
        untried = ~np.isin(rows, tried)
        for name in ("age", "exposure"):
            one, other = getattr(found, name), getattr(whole, name)[rows]
            np.testing.assert_allclose(one[untried], other[untried])
        # what was tried since the pass in an earlier turn has had its look
        np.testing.assert_array_equal(found.ready, untried | found.looked)


def test_what_was_tried_at_the_moment_of_the_pass_may_be_asked_for_again():
    evidence, rng = evidence_of(), default_rng(2)
    few = Shortlist(Neighbours(), Index(), size=40, lasts=0.25, block=64)
    few.plan(evidence, 9.0, 9.0, Budget(3), rng)
    look(evidence, few._rows[:20], 9.0, rng)
    found = few._fresh(evidence, 9.1, 9.1, Budget(3))
    assert found is not None
    assert found.ready.all()
    assert Planner().weighed == 0


def test_there_is_no_list_before_the_first_pass():
    with pytest.raises(RuntimeError, match="no list"):
        Shortlist(Neighbours(), Index())._aged(evidence_of(3), 1.0, 1.0)


@pytest.mark.parametrize("make", [Neighbours, PoissonBelief])
def test_the_list_holds_the_best_of_all_and_what_was_tried(make):
    evidence, rng = evidence_of(), default_rng(2)
    look(evidence, np.arange(10), 9.0, rng)
    few = Shortlist(make(), Index(), size=40, block=64)
    few.plan(evidence, 9.1, 8.9, Budget(3), rng)
    whole = Index()(make()(evidence, 9.1, 8.9), Budget(40), rng)
    assert few._rows.tolist() == sorted({*whole.rows.tolist(), *range(10)})
    large = Shortlist(make(), Index(), size=40, block=64)
    large.plan(evidence, 9.1, 8.9, Budget(30), rng)  # twice the budget, if more
    whole = Index()(make()(evidence, 9.1, 8.9), Budget(60), rng)
    assert large._rows.tolist() == sorted({*whole.rows.tolist(), *range(10)})


def test_a_list_is_good_for_its_time_and_its_budget():
    evidence, rng = evidence_of(), default_rng(2)
    few = Shortlist(Neighbours(), Index(), size=40, lasts=0.25, block=64)
    few.plan(evidence, 9.0, 9.0, Budget(3), rng)
    assert few._rows.size == 40
    for now, requests, good in (
        (9.0, 3, True),
        (9.25, 3, True),
        (9.26, 3, False),
        (8.99, 3, False),
        (9.1, 20, True),
        (9.1, 21, False),
    ):
        found = few._fresh(evidence, now, now, Budget(requests))
        assert (found is not None) == good
    assert few._fresh(evidence_of(), 9.1, 9.1, Budget(3)) is None  # of something else
    assert few.passes == 1


def test_a_list_of_which_a_fourth_was_tried_is_used_up():
    for many, good in ((10, True), (11, False)):
        evidence, rng = evidence_of(), default_rng(2)
        few = Shortlist(Neighbours(), Index(), size=40, lasts=0.25, block=64)
        few.plan(evidence, 9.0, 9.0, Budget(3), rng)
        assert USED * few._rows.size == 10
        look(evidence, few._rows[:many], 9.05, rng)
        assert (few._fresh(evidence, 9.1, 9.1, Budget(3)) is not None) == good


def test_rows_of_a_plan_are_those_of_all_items():
    evidence, rng = evidence_of(), default_rng(2)
    few = Shortlist(Neighbours(), Index(), size=40, block=64)
    plan = few.plan(evidence, 9.0, 9.0, Budget(6), rng)
    whole = Index()(Neighbours()(evidence, 9.0, 9.0), Budget(6), rng)
    assert plan.rows.tolist() == whole.rows.tolist()
    assert plan.keys == tuple(evidence.keys[int(i)] for i in plan.rows)
    assert [step.why for step in plan] == [step.why for step in whole]


# Pages newly found


def found_view(held, new, looked=()):
    """Return pages seen before, and pages found of each source, some just tried."""
    names = [f"h{i}" for i in range(held)]
    names += [f"{name}{i}" for name, many in new.items() for i in range(many)]
    n = len(names)
    tried = np.isin(names, looked)
    looks = np.where(np.arange(n) < held, 3, tried.astype(int))
    age = np.where(looks > 0, np.where(tried, 0.0, 5.0), np.inf)
    return replace(
        view_of(n, default_rng(0)),
        keys=tuple(names),
        weight=np.ones(n),
        cost=np.ones(n),
        looks=looks,
        age=age,
        exposure=age.copy(),
        looked=tried,
        ready=np.ones(n, bool),
        rate=np.ones(n),
        survival=Exponential(np.ones(n)),
    )


def plan_of(share, view, requests, left=None, seed=0):
    policy = DiscoveryPolicy(
        oldest_first, share, lambda key: key[0], lambda: left or {}
    )
    plan = policy(view, Budget(requests), default_rng(seed))
    kinds = [key[0] for key in plan.keys]
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


@pytest.mark.parametrize(
    ("share", "new", "requests", "expected"),
    [
        ({"a": 0.5}, {"a": 20}, 9, {"a": 5, "h": 4}),  # 4.5 is rounded up
        ({"a": 0.5, "b": 0.5}, {"a": 20, "b": 20}, 8, {"a": 2, "b": 2, "h": 4}),
        ({"a": 0.5, "b": 0.25}, {"a": 20, "b": 20}, 8, {"a": 2, "b": 1, "h": 5}),
        ({"a": 0.5, "b": 0.5}, {"a": 20}, 8, {"a": 4, "h": 4}),  # no rival
        ({"a": 1.0}, {"a": 20}, 8, {"a": 8}),
        ({"a": 0.125}, {"a": 20}, 8, {"a": 1, "h": 7}),  # exactly one
        ({"a": 0.5}, {"a": 1}, 8, {"a": 1, "h": 7}),
    ],
)
def test_each_source_gets_its_share_divided_by_its_rivals(
    share, new, requests, expected
):
    assert plan_of(share, found_view(30, new), requests) == expected


def test_no_more_is_fetched_of_a_source_than_it_has_left():
    view = found_view(30, {"a": 20, "b": 20})
    share = {"a": 0.5, "b": 0.5}
    assert plan_of(share, view, 8, {"a": 1}) == {"a": 1, "b": 2, "h": 5}
    assert plan_of(share, view, 8, {"a": 0, "b": 9}) == {"b": 2, "h": 6}
    assert plan_of({"a": 0.5}, found_view(30, {"a": 20}), 8, {"a": -3}) == {"h": 8}


def test_what_was_tried_in_this_turn_counts_to_the_share():
    looked = ["a0", "a1", "h0"]
    view = found_view(30, {"a": 20}, looked)
    # of a turn of 5 + 3 requests half are the source's, and two are done
    assert plan_of({"a": 0.5}, view, 5) == {"a": 2, "h": 3}


def test_less_than_one_request_is_one_by_chance():
    view = found_view(30, {"a": 20})
    firsts = [plan_of({"a": 0.3}, view, 1, seed=s) for s in range(40)]
    drawn = [default_rng(s).random() < 0.3 for s in range(40)]
    assert 5 < sum(drawn) < 20
    assert [first == {"a": 1} for first in firsts] == drawn


def test_what_one_side_leaves_over_goes_to_the_other():
    assert plan_of({"a": 0.5}, found_view(2, {"a": 20}), 8) == {"a": 6, "h": 2}
    assert plan_of({"a": 0.0}, found_view(2, {"a": 20}), 8) == {"a": 6, "h": 2}
    assert plan_of({"a": 0.5}, found_view(0, {"a": 3}), 8) == {"a": 3}
    assert plan_of({"a": 0.5}, found_view(9, {}), 8) == {"h": 8}


def test_two_plans_are_mixed_evenly():
    def plan(rows, letter):
        rows = np.array(rows, np.intp)
        keys = tuple(f"{letter}{row}" for row in rows)
        return Plan(keys, rows, rows * 10.0, lambda row: f"{letter} {row}")

    found, rest = plan([7, 8, 9], "f"), plan([1, 2, 3, 4, 5], "r")
    mixed = _mixed(found, np.array([0, 2]), rest, 4)
    # at 1/4 and 3/4 of the way the one, at 1/8, 3/8, 5/8 and 7/8 the other
    assert mixed.keys == ("r1", "f7", "r2", "r3", "f9", "r4")
    assert mixed.rows.tolist() == [1, 7, 2, 3, 9, 4]
    assert mixed.gain.tolist() == [10.0, 70.0, 20.0, 30.0, 90.0, 40.0]
    assert [step.why for step in mixed][:2] == ["r 1", "f 7"]
    even = _mixed(found, np.array([0, 1]), rest, 2)
    assert even.keys == ("f7", "r1", "f8", "r2")  # among equals what was found
    assert _mixed(found, np.array([], int), rest, 2).keys == ("r1", "r2")
    assert _mixed(found, np.array([1]), rest, 0).keys == ("f8",)
    assert _mixed(found, np.array([0, 1, 2]), rest, 1).keys == ("f7", "f8", "r1", "f9")
    assert _mixed(found, np.array([1]), rest, 2).keys == ("r1", "f8", "r2")


def test_a_page_with_a_good_look_before_this_turn_is_not_new():
    view = found_view(0, {"a": 4})
    view = replace(
        view, looks=np.array([0, 1, 1, 2]), looked=np.array([0, 0, 1, 1]) > 0
    )
    policy = DiscoveryPolicy(oldest_first, {"b": 0.1, "a": 0.5}, lambda key: key[0])
    assert policy._sources(view).tolist() == [1, -1, 1, -1]
    assert math.isclose(sum(policy.share.values()), 0.6)
