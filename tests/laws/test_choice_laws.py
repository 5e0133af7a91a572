"""Laws of how policies weigh items and choose what to ask for."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.random import default_rng
from scipy.integrate import quad

from contracts.views import view_of
from halflife.allocation import allocate, index
from halflife.allocation.signals import SignalRates, value
from halflife.belief.weibull import Weibull
from halflife.core.budget import Budget
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.models.poisson import Exponential
from halflife.models.signals import Announced
from halflife.policies.champion import PATIENCE, PatientIndex, champion_of
from halflife.policies.choose import best
from halflife.policies.dates import due_by_chance, due_first, frequencies
from halflife.policies.explore import exploring
from halflife.policies.index import NEVER_SEEN_DAYS, Index, _why, days
from halflife.policies.lambdacrawl import as_published
from halflife.policies.ncis import HintedIndex, _gain, _why as hinted_why, greedy_ncis
from halflife.policies.rounds import InRounds
from halflife.policies.simple import (
    heaviest_unseen,
    most_missed,
    oldest_first,
    oldest_first_by_chance,
)
from halflife.policies.weibull import best_intervals

FEW = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 10_000)


def world(seed, n=12):
    """Return a view of unlike items with exponential lives."""
    rng = default_rng(seed)
    view = view_of(n, rng)
    rate = rng.exponential(0.4, n) + 0.01
    return replace(
        view,
        weight=rng.uniform(0.5, 3.0, n),
        rate=rate,
        survival=Exponential(rate),
    )


# The best that can be paid


def chosen(view, requests, score):
    """Return the rows of the best, one by one, as long as hosts and budget allow."""
    open_ = [
        i
        for i in range(len(view))
        if view.ready[i] and not view.looked[i] and score[i] > -math.inf
    ]
    open_.sort(key=lambda i: (-score[i], i))
    spent = dict.fromkeys(view.group.tolist(), 0.0)
    for i in np.flatnonzero(view.looked):
        spent[view.group[i]] += view.cost[i]
    fitting = []
    for i in open_:  # a group that is full takes nothing more, however cheap
        spent[view.group[i]] += view.cost[i]
        if spent[view.group[i]] <= view.room[i]:
            fitting.append(i)
    total, rows = 0.0, []
    for i in fitting:
        total += view.cost[i]
        if total > requests:
            break
        rows.append(i)
    return rows


@settings(max_examples=60, deadline=None)
@given(
    seed=seeds,
    requests=st.integers(0, 16),
    tight=st.booleans(),
    levels=st.integers(1, 9),
)
def test_the_best_are_taken_one_by_one_as_long_as_hosts_and_budget_allow(
    seed, requests, tight, levels
):
    rng = default_rng(seed)
    view = view_of(12, rng)
    score = rng.integers(0, levels, 12).astype(float)  # with ties
    score[rng.random(12) < 0.15] = -np.inf
    if tight:
        room = rng.integers(0, 7, 3).astype(float)
        room[rng.random(3) < 0.4] = np.inf
        view = replace(view, room=room[view.group])
    plan = best(view, Budget(requests), score, score + 7.0, lambda row: f"row {row}")
    assert plan.rows.tolist() == chosen(view, requests, score)
    assert plan.keys == tuple(view.keys[i] for i in plan.rows)
    assert plan.gain.tolist() == [score[i] + 7.0 for i in plan.rows]
    assert [step.why for step in plan] == [f"row {row}" for row in plan.rows]


@pytest.mark.parametrize("requests", [1, 7, 60, 399, 400, 500])
def test_of_very_many_the_best_are_found(requests):
    view = replace(
        view_of(400, default_rng(1)),
        ready=np.ones(400, bool),
        looked=np.zeros(400, bool),
        cost=np.ones(400),
    )
    score = default_rng(2).normal(size=400)
    plan = best(view, Budget(requests), score, score, str)
    assert plan.rows.tolist() == np.argsort(-score)[:requests].tolist()


def test_room_and_budget_are_used_to_the_last_request():
    view = replace(
        view_of(4, default_rng(0)),
        ready=np.ones(4, bool),
        looked=np.zeros(4, bool),
        cost=np.array([2.0, 1.0, 1.0, 2.0]),
        group=np.zeros(4, int),
        room=np.full(4, 4.0),
    )
    score = np.array([4.0, 3.0, 2.0, 1.0])
    for requests, rows in ((4, [0, 1, 2]), (3, [0, 1]), (9, [0, 1, 2]), (1, [])):
        plan = best(view, Budget(requests), score, score, str)
        assert plan.rows.tolist() == rows


# Rules of thumb


def ordered(view, value):
    """Return the open rows by value, the earlier first among equals."""
    rows = [i for i in range(len(view)) if view.ready[i] and not view.looked[i]]
    return sorted(rows, key=lambda i: (-value[i], i))


@FEW
@given(seed=seeds)
def test_rules_of_thumb_go_by_age_missed_changes_or_weight(seed):
    view = replace(world(seed), cost=np.ones(12))
    age = np.minimum(view.age, 1e9)
    for policy, value_ in (
        (oldest_first, age),
        (most_missed, view.rate * age),
        (heaviest_unseen, view.weight * age),
    ):
        plan = policy(view, Budget(5), default_rng(0))
        assert plan.rows.tolist() == ordered(view, value_)[:5]
        assert plan.gain.tolist() == value_[plan.rows].tolist()


def test_by_chance_only_ties_fall_otherwise():
    view = replace(
        view_of(4, default_rng(0)),
        ready=np.ones(4, bool),
        looked=np.zeros(4, bool),
        cost=np.ones(4),
        age=np.array([2.0, 3.0, 2.0, 1.0]),
        looks=np.ones(4, int),
    )
    plans = [oldest_first_by_chance(view, Budget(4), default_rng(s)) for s in range(20)]
    assert {tuple(plan.rows.tolist()) for plan in plans} == {(1, 0, 2, 3), (1, 2, 0, 3)}
    assert plans[0].gain[0] == 3.0
    assert plans[0].reason(1) == "not seen for 3 days"
    new = replace(view, age=np.full(4, np.inf), looks=np.zeros(4, int))
    first = {
        int(oldest_first_by_chance(new, Budget(1), default_rng(s)).rows[0])
        for s in range(60)
    }
    assert first == {0, 1, 2, 3}
    assert oldest_first(new, Budget(1), default_rng(0)).reason(0) == "never seen yet"


def test_missed_changes_are_told():
    view = replace(world(1), rate=np.full(12, 0.5), age=np.full(12, 4.0))
    plan = most_missed(view, Budget(3), default_rng(0))
    assert plan.reason(int(plan.rows[0])) == "2 changes missed"


# Due dates


def dated():
    return replace(
        view_of(5, default_rng(0)),
        now=100.0,
        ready=np.ones(5, bool),
        looked=np.zeros(5, bool),
        cost=np.ones(5),
        looks=np.array([1, 1, 0, 1, 1]),
        age=np.array([2.0, 4.0, np.inf, 1.0, 3.0]),
        due=np.array([99.0, 104.0, -np.inf, np.inf, 97.0]),
    )


def test_what_is_due_longest_comes_first_and_says_since_when():
    plan = due_first(dated(), Budget(9), default_rng(0))
    assert plan.rows.tolist() == [2, 4, 0, 1]  # the fourth is never due
    assert plan.gain.tolist() == [1e9, 3.0, 1.0, -4.0]
    assert [step.why for step in plan] == [
        "never seen yet",
        "due 3 days ago",
        "due 24 h ago",
        "due in 4 days",
    ]
    now = replace(dated(), due=np.full(5, 100.0))
    assert due_first(now, Budget(1), None).reason(0) == "due 0 s ago"


def test_frequencies_are_one_over_the_days_from_the_last_look_to_the_date():
    found = frequencies(dated())
    # seen on day 98, 96, never, 99 and 97
    expected = [1 / (99 - 98), 1 / (104 - 96), 1.0, 0.0]
    assert found[:4] == pytest.approx(expected)
    assert found[4] == pytest.approx(1e9)  # due when it was seen


def test_by_chance_the_first_to_come_are_taken():
    view = replace(dated(), due=np.array([99.0, 104.0, -np.inf, np.inf, 107.0]))
    often = np.array([1.0, 1 / 8, 1.0, 0.0, 1 / 10])
    counts = np.zeros(5)
    for seed in range(300):
        plan = due_by_chance(view, Budget(2), default_rng(seed))
        wait = default_rng(seed).exponential(size=5)
        with np.errstate(divide="ignore"):
            comes = np.where(view.held, wait / often, -1.0)
        assert plan.rows.tolist() == np.argsort(comes)[:2].tolist()
        counts[plan.rows] += 1
    assert counts[2] == 300
    assert counts[3] == 0
    share = 1.0 / (1.0 + 1 / 8 + 1 / 10)
    assert counts[0] / 300 == pytest.approx(share, abs=0.08)
    assert plan.gain == pytest.approx(often[plan.rows])
    assert plan.reason(2) == "never seen yet"
    assert plan.reason(0) == "drawn at random, at 1 fetch a day"


# The index


def exact(rate, age, objective):
    """Return U(age) of an exponential life by quadrature: the integral of u dD(u)."""
    slope = {
        "freshness": lambda u: u * rate * math.exp(-rate * u),
        "age": lambda u: u * -math.expm1(-rate * u),
        "harmonic": lambda u: -math.expm1(-rate * u),
    }[objective]
    middle = min(age, 3.0 / rate)
    return quad(slope, 0.0, middle)[0] + quad(slope, middle, age, limit=200)[0]


@pytest.mark.parametrize("objective", ["freshness", "age", "harmonic"])
def test_a_look_buys_weight_times_index_over_cost(objective):
    view = world(4)
    found = Index(objective).gain(view)
    for i in range(len(view)):
        age = view.exposure[i] if view.held[i] else NEVER_SEEN_DAYS
        bought = exact(view.rate[i], age, objective)
        expected = view.weight[i] * bought / view.cost[i]
        assert found[i] == pytest.approx(expected, rel=1e-6)
    plan = Index(objective)(view, Budget(30), None)
    assert (np.diff(plan.gain) <= 0).all()
    assert plan.gain == pytest.approx(found[plan.rows])


def test_the_index_gives_no_look_to_what_gains_nothing():
    view = replace(world(4), weight=np.zeros(12))
    assert len(Index()(view, Budget(30), None)) == 0
    assert len(PatientIndex()(view, Budget(30), default_rng(0))) == 0
    assert len(greedy_ncis(view, Budget(30), None)) == 0
    assert len(HintedIndex()(view, Budget(30), None)) == 0


def test_with_an_extra_cost_of_changes_the_chance_of_one_is_paid_for():
    view = world(4)
    plain, dear = Index("harmonic").gain(view), Index("harmonic", extra=3.0).gain(view)
    for i in range(len(view)):
        age = view.exposure[i] if view.held[i] else NEVER_SEEN_DAYS
        chance = min(view.rate[i] * exact(view.rate[i], age, "freshness"), 1.0)
        expected = plain[i] * view.cost[i] / (view.cost[i] + 3.0 * chance)
        assert dear[i] == pytest.approx(expected, rel=1e-6)


def test_intervals_are_kept_within_their_bounds():
    view = replace(
        view_of(4, default_rng(0)),
        age=np.array([1.0, 2.0, 8.0, 9.0]),
        looks=np.ones(4, int),
    )
    score = np.array([5.0, 6.0, 7.0, 8.0])
    assert Index().bounded(view, score).tolist() == score.tolist()
    early = Index(shortest=2.0).bounded(view, score)
    assert early.tolist() == [-np.inf, 6.0, 7.0, 8.0]  # 2 days are enough
    soon = replace(view, age=np.array([0.4, 0.5, 0.6, 9.0]))
    assert Index(shortest=0.5).bounded(soon, score)[0] == -np.inf
    assert Index(shortest=0.5).bounded(soon, score)[1:].tolist() == [6.0, 7.0, 8.0]
    late = Index(longest=8.0).bounded(view, score)
    assert late[:3].tolist() == [5.0, 6.0, 7.0]
    assert late[3] > 1e29
    later = Index(longest=7.0).bounded(view, score)
    assert later[3] > later[2] > 1e29
    policy = Index(longest=8.0)
    assert policy.why(view, 3) == "not seen for more than 8 days"
    assert policy.why(view, 2) == _why(view, 2)
    new = replace(view, looks=np.array([0, 1, 1, 0]))
    assert policy.why(new, 3) == "never seen yet"


def test_reasons_tell_the_chance_rate_age_and_an_unusual_weight():
    rate = np.array([math.log(2.0), 1.0, 1.0])
    view = replace(
        view_of(3, default_rng(0)),
        looks=np.array([1, 0, 2]),
        age=np.array([2.0, np.inf, 1.0]),
        exposure=np.array([2.0, np.inf, 0.0]),
        rate=rate,
        survival=Exponential(rate),
        weight=np.array([1.0, 1.0, 2.5]),
    )
    assert (
        _why(view, 0) == "75% likely changed: 0.693 changes a day, last seen 2 days ago"
    )
    assert _why(view, 1) == "never seen yet"
    assert _why(view, 2) == (
        "0% likely changed: 1 change a day, last seen 24 h ago, weight 2.5"
    )
    heavy = replace(view, weight=np.array([1.0, 1.0, 1.2345678]))
    assert _why(heavy, 2).endswith("weight 1.23457")
    busy = replace(view, exposure=np.array([3.0, np.inf, 1.49]))
    assert _why(busy, 0) == (
        "88% likely changed: 0.693 changes a day, last seen 2 days ago"
        " (3 days, by signs of change nearby)"
    )
    assert "nearby" not in _why(busy, 2)
    assert hinted_why(view, 0) == "75% likely changed: last seen 2 days ago"
    assert hinted_why(view, 1) == "never seen yet"
    longer = replace(view, exposure=np.array([3.0, np.inf, 0.0]))
    assert hinted_why(longer, 0) == (
        "88% likely changed: last seen 2 days ago, hints say so"
    )


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (2.0, "2 days"),
        (1.9, "46 h"),
        (1 / 24, "1 h"),
        (0.04, "58 min"),
        (12.34, "12.3 days"),
        (44.501 / 1440, "45 min"),
        (44.499 / 1440, "44 min"),
    ],
)
def test_stretches_of_time_have_the_unit_that_fits(length, said):
    assert days(length) == said


# The champion


def test_boldness_counts_doubt_as_age_and_patience_the_harmonic_loss():
    view = world(6)
    found = PatientIndex("freshness", boldness=1.5, patience=0.1).gain(view)
    for i in range(len(view)):
        age = (
            view.exposure[i] + 1.5 * view.doubt[i] if view.held[i] else NEVER_SEEN_DAYS
        )
        bought = exact(view.rate[i], age, "freshness")
        bought += 0.1 * exact(view.rate[i], age, "harmonic")
        expected = view.weight[i] * bought / view.cost[i]
        assert found[i] == pytest.approx(expected, rel=1e-6)
    plain = PatientIndex("age").gain(view)
    assert plain == pytest.approx(Index("age").gain(view))


def test_the_champion_plans_as_the_index_does_but_for_ties():
    view = world(7)
    index_plan = Index("freshness")(view, Budget(9), None)
    bold_plan = PatientIndex("freshness")(view, Budget(9), default_rng(1))
    assert bold_plan.rows.tolist() == index_plan.rows.tolist()
    assert bold_plan.gain == pytest.approx(index_plan.gain)
    same = replace(
        view,
        weight=np.ones(12),
        cost=np.ones(12),
        looks=np.zeros(12, int),
        survival=Exponential(np.ones(12)),
        looked=np.zeros(12, bool),
        ready=np.ones(12, bool),
    )
    first = {
        int(PatientIndex()(same, Budget(1), default_rng(s)).rows[0]) for s in range(80)
    }
    assert len(first) > 8
    bounded = PatientIndex("freshness", shortest=1e9)(view, Budget(9), default_rng(0))
    assert not any(view.held[row] for row in bounded.rows)


def test_only_freshness_is_given_patience_and_all_plan_in_rounds():
    for objective, patience in (
        ("freshness", PATIENCE),
        ("age", 0.0),
        ("harmonic", 0.0),
    ):
        strategy = champion_of(objective)
        assert strategy.policy.rounds == 16
        assert strategy.policy.policy.patience == patience
        assert strategy.policy.policy.objective == objective


@pytest.mark.parametrize(
    ("budget", "done", "part"), [(8, 0, 2), (7, 0, 2), (5, 3, 2), (1, 7, 1), (2, 11, 2)]
)
def test_a_turn_is_dealt_out_in_rounds(budget, done, part):
    view = replace(
        view_of(12, default_rng(0)),
        cost=np.ones(12),
        looked=np.arange(12) < done,
        ready=np.ones(12, bool),
    )
    asked = []

    def policy(view, budget, rng):
        asked.append(budget.requests)
        return oldest_first(view, budget, rng)

    InRounds(policy)(view, Budget(budget), None)
    assert asked == [part]  # a fourth of what is left and was spent, rounded up


# Hints


def hinted(seed=3, n=8):
    rng = default_rng(seed)
    view = world(seed, n)
    silent, told = rng.uniform(0.05, 0.5, n), rng.uniform(0.1, 1.0, n)
    worth = rng.uniform(0.1, 2.0, n)
    law = Announced(Exponential(silent), silent, told, worth)
    return replace(view, survival=law), SignalRates(silent, told, worth)


def test_with_hints_a_look_buys_their_value_at_the_effective_age():
    view, hints = hinted()
    age = np.where(view.held, view.exposure, NEVER_SEEN_DAYS)
    expected = view.weight * value(hints, age) / view.cost
    assert _gain(view) == pytest.approx(expected)
    plan = greedy_ncis(view, Budget(20), None)
    assert plan.gain == pytest.approx(expected[plan.rows])
    assert (np.diff(plan.gain) <= 0).all()


def test_without_hints_it_is_the_plain_index_of_freshness():
    view = world(5)
    plain = Index("freshness").gain(view)
    assert _gain(view) == pytest.approx(plain, rel=1e-6)
    assert HintedIndex().gain(view) == pytest.approx(plain, rel=1e-6)


def test_the_hinted_index_is_less_by_what_hints_will_tell_anyway():
    view, hints = hinted()
    found = HintedIndex().gain(view)
    plain = Index("freshness").gain(view)
    for i in range(len(view)):
        one = SignalRates(
            *(x[i : i + 1] for x in (hints.silent, hints.hint_rate, hints.worth))
        )
        rate = float(hints.silent[i])
        age = view.exposure[i] if view.held[i] else NEVER_SEEN_DAYS
        load = min(rate * age, -math.log(1e-12))  # where it is surely stale
        told = float(value(one, np.array([load / rate]))[0])
        share = told / exact(rate, load / rate, "freshness")
        assert found[i] == pytest.approx(plain[i] * min(share, 1.0), rel=1e-5)
    assert (found < plain * 0.999).any()
    plan = HintedIndex()(view, Budget(20), None)
    assert plan.gain == pytest.approx(found[plan.rows])


def test_what_was_just_seen_gains_nothing_by_hints():
    view, _ = hinted()
    now = replace(view, exposure=np.zeros(8), looks=np.ones(8, int))
    assert HintedIndex().gain(now) == pytest.approx(np.zeros(8))


# Schedules by date


def test_best_intervals_take_the_shape_that_survival_has():
    view = world(8)
    plain = allocate(view.rate, 3.0, weight=view.weight, cost=view.cost)
    assert best_intervals(view, 3.0) == pytest.approx(plain.frequency)
    bent = replace(view, survival=Weibull(view.rate, 1.7))
    found = allocate(view.rate, 3.0, weight=view.weight, cost=view.cost, shape=1.7)
    assert best_intervals(bent, 3.0) == pytest.approx(found.frequency)
    assert found.frequency != pytest.approx(plain.frequency)
    straight = replace(view, survival=Weibull(view.rate, 1.0))
    assert best_intervals(straight, 3.0) == pytest.approx(plain.frequency)


@pytest.mark.parametrize("make", [as_published, exploring])
def test_rates_pretend_half_a_day_with_a_change_and_one_without(make):
    evidence = Evidence.of([Item("a", "s"), Item("b", "s")])
    for day, digest in ((0.0, "1"), (3.0, "1")):
        look = Observation("a", day, Seen.PRESENT, digest)
        evidence.take(evidence.weigh(Observations.of([look])))
    view = make()(evidence, 5.0, 5.0)
    # 0.5 / (exp(r / 2) - 1) = 3 + 0.5 quiet days
    assert view.rate[0] == pytest.approx(2 * math.log(1 + 0.5 / 3.5), rel=1e-6)


def test_exploring_waits_for_a_share_of_the_horizon():
    assert exploring().wait == pytest.approx(0.15 * 90.0)
    assert exploring(30.0, 0.5).wait == pytest.approx(15.0)
    assert exploring().every == np.inf


def test_the_index_of_many_laws_is_that_of_each():
    rate = np.array([0.1, 1.0, 5.0])
    age = np.array([3.0, 2.0, 0.5])
    for objective in ("freshness", "age", "harmonic"):
        found = index(Exponential(rate), age, objective)
        expected = [exact(r, t, objective) for r, t in zip(rate, age, strict=True)]
        assert found == pytest.approx(expected, rel=1e-8)
