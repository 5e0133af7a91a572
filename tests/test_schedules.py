"""Published schedules: their formulas, and the policies that carry them out."""

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize

from contracts.views import view_of, views
from halflife.allocation import (
    allocate,
    allocate_checks,
    azar,
    lambdacrawl,
    lambdacrawl_approx,
    mean_freshness,
    mean_harmonic,
)
from halflife.allocation.random_schedules import random_freshness, random_harmonic
from halflife.belief.mirror import MirrorSync, spread
from halflife.belief.plain import KnownRates, PlainRates
from halflife.belief.room import CapacityBelief
from halflife.belief.schedule import RequestPace, Scheduled, due_dates
from halflife.belief.weibull import Weibull, fit_weibull
from halflife.bench.population import poisson_recording
from halflife.core.budget import Budget
from halflife.core.evidence import Evidence
from halflife.core.history import Gaps
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.models.poisson import Exponential
from halflife.policies import Strategy
from halflife.policies.best_schedule import FRESHEST
from halflife.policies.choose import best
from halflife.policies.dates import due_by_chance, due_first, frequencies
from halflife.policies.explore import explore_commit_over
from halflife.policies.index import Index
from halflife.policies.weibull import scheduled
from halflife.replay.pages import Replay
from lab import schedules as bench


def population(n, seed):
    rng = np.random.default_rng(seed)
    rate = np.exp(rng.normal(-1.0, 1.2, n))
    return (
        rate,
        rng.integers(1, 6, n).astype(float),
        rng.integers(1, 4, n).astype(float),
    )


def slsqp(loss, n, spent, budget, top=None):
    found = minimize(
        loss,
        np.full(n, 0.01),
        method="SLSQP",
        bounds=[(1e-9, None if top is None else top[i]) for i in range(n)],
        constraints=[{"type": "ineq", "fun": lambda f: budget - spent @ f}],
        options={"maxiter": 3000, "ftol": 1e-14},
    )
    return found.fun


# --- formulas -----------------------------------------------------------------


def test_even_spacing_beats_random_order_beats_random_moments():
    one = np.ones(1)
    even = mean_freshness(one, one)[0]
    # In random order the gap between two looks is 1 + u - v, both from 0..1.
    shuffled = quad(lambda g: (1 - abs(g - 1)) * -np.expm1(-g), 0, 2)[0]
    at_random = random_freshness(one, one)[0]
    assert [round(f, 3) for f in (even, shuffled, at_random)] == [0.632, 0.6, 0.5]


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_even_spacing_is_never_worse_than_random_moments(frequency, rate):
    f, r = np.array([frequency]), np.array([rate])
    assert mean_freshness(f, r) >= random_freshness(f, r) - 1e-12
    assert mean_harmonic(f, r) <= random_harmonic(f, r) + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_the_closed_form_of_azar_matches_a_general_solver(seed):
    rate, weight, cost = population(20, seed)
    found = azar(rate, 3.0, weight=weight, cost=cost)
    oracle = slsqp(
        lambda f: -np.average(random_freshness(f, rate), weights=weight), 20, cost, 3.0
    )
    assert found.value == pytest.approx(-oracle, abs=1e-6)
    assert found.value >= -oracle - 1e-9
    assert cost @ found.frequency == pytest.approx(3.0)


def test_azar_gives_up_what_is_not_worth_its_price():
    found = azar([0.1, 0.1, 50.0], 0.2)
    assert found.frequency[2] == 0.0
    np.testing.assert_allclose(found.frequency[:2], 0.1)


@given(st.integers(0, 10_000), st.floats(1e-6, 1e4))
def test_azar_spends_the_budget_and_equalises_what_looks_buy(seed, budget):
    rate, weight, cost = population(8, seed)
    found = azar(rate, budget, weight=weight, cost=cost)
    assert cost @ found.frequency == pytest.approx(budget, rel=1e-8)
    worth = weight * rate / (cost * (found.frequency + rate) ** 2)
    looked = found.frequency > 1e-9 * budget
    np.testing.assert_allclose(worth[looked], found.price, rtol=1e-6)
    assert np.all(worth <= found.price * (1 + 1e-6))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("told", [0, 6])
def test_lambdacrawl_matches_a_general_solver_also_with_news(seed, told):
    rate, weight, cost = population(15, seed)
    news = np.arange(15) < told

    def loss(f):
        each = np.where(
            news, -np.log(np.minimum(f / rate, 1.0)), random_harmonic(f, rate)
        )
        return np.average(each, weights=weight)

    top = [r if n else None for r, n in zip(rate, news, strict=True)]
    found = lambdacrawl(rate, 3.0, weight=weight, cost=cost, complete=news)
    oracle = slsqp(loss, 15, cost, 3.0, top)
    assert found.value == pytest.approx(loss(found.frequency))
    assert abs(found.value - oracle) < 1e-6 * max(1.0, oracle)
    assert cost @ found.frequency == pytest.approx(3.0)
    assert np.all(found.chance[news] <= 1.0)
    assert not found.chance[~news].any()


def test_lambdacrawl_rates_are_the_published_root():
    rate, weight, _ = population(9, 5)
    found = lambdacrawl(rate, 4.0, weight=weight)
    root = (-rate + np.sqrt(rate**2 + 4 * weight * rate / found.price)) / 2
    np.testing.assert_allclose(found.frequency, root, rtol=1e-8)


def test_all_news_is_followed_if_the_budget_allows_it():
    found = lambdacrawl([1.0, 2.0], 9.0, complete=np.array([True, True]))
    assert found.frequency.tolist() == [1.0, 2.0]
    assert found.chance.tolist() == [1.0, 1.0]
    assert (found.price, found.value) == (0.0, 0.0)


def test_the_approximation_is_exact_when_weights_go_with_rates():
    rate = np.array([0.1, 0.5, 2.0])
    exact = lambdacrawl(rate, 1.0, weight=3 * rate)
    rough = lambdacrawl_approx(rate, 1.0, weight=3 * rate)
    np.testing.assert_allclose(exact.frequency, rough.frequency, rtol=1e-9)
    assert rough.value == pytest.approx(exact.value)


@pytest.mark.parametrize("schedule", [azar, lambdacrawl, lambdacrawl_approx])
def test_without_items_budget_or_weight_there_are_no_looks(schedule):
    assert schedule([], 1.0).frequency.size == 0
    assert not schedule([1.0, 2.0], 0.0).frequency.any()
    assert not schedule([1.0, 2.0], 1.0, weight=0.0).frequency.any()


# --- schedules kept to --------------------------------------------------------


def seen_at(keys, at, digest="a"):
    return Observations.of(Observation(key, at, Seen.PRESENT, digest) for key in keys)


def fold(evidence, looks):
    evidence.take(evidence.weigh(looks))


def evidence_of(n):
    return Evidence.of(Item(f"k{i}") for i in range(n))


def test_a_schedule_is_solved_for_what_is_spent_a_day():
    evidence, pace = evidence_of(4), RequestPace()
    assert pace.follow(evidence, 10.0) is None
    fold(evidence, seen_at(("k0", "k1", "k2"), 10.0))
    assert pace.follow(evidence, 10.0) is None
    assert pace.follow(evidence, 10.5) == pytest.approx(6.0)


def test_what_earlier_runs_spent_is_gone_by_at_first():
    evidence = evidence_of(3)
    for day in range(20):
        fold(evidence, seen_at(("k0", "k1"), float(day), str(day % 2)))
    assert RequestPace().follow(evidence, 19.5) == pytest.approx(2.0, rel=1e-6)


def test_due_dates_follow_the_five_pages_of_cho_and_garcia_molina():
    evidence = evidence_of(5)
    fold(evidence, seen_at(evidence.keys, 1.0))
    told = KnownRates(np.arange(1.0, 6.0))
    belief = Scheduled(FRESHEST, told)
    assert np.all(belief(evidence, 1.0, 1.0).due == 2.0)
    fold(evidence, seen_at(evidence.keys, 1.5))
    view = belief(evidence, 2.0, 2.0)
    often = 1.0 / (view.due - 1.5)
    np.testing.assert_allclose(often, [1.15, 1.36, 1.35, 1.14, 0.0], atol=5.01e-3)
    np.testing.assert_allclose(frequencies(view), often)
    plan = due_first(view, Budget(5), np.random.default_rng(0))
    assert set(plan.keys) == {"k0", "k1", "k2", "k3"}


def test_items_never_seen_are_due_first():
    due = due_dates(np.array([-np.inf, 3.0]), np.array([0.0, 1.0]))
    view = view_of(2, np.random.default_rng(0))
    view = replace(
        view,
        due=due,
        looks=np.array([0, 1]),
        age=np.array([np.inf, 97.0]),
        looked=np.zeros(2, bool),
        ready=np.ones(2, bool),
    )
    for policy in (due_first, due_by_chance):
        plan = policy(view, Budget(9), np.random.default_rng(1))
        assert plan.keys[0] == "k0"
        assert plan[0].why == "never seen yet"


def test_looks_by_chance_go_with_the_frequencies():
    n, draws = 3, 3000
    view = view_of(n, np.random.default_rng(0))
    often = np.array([1.0, 2.0, 5.0])
    view = replace(
        view,
        looks=np.ones(n, np.intp),
        looked=np.zeros(n, bool),
        ready=np.ones(n, bool),
        cost=np.ones(n),
        age=np.full(n, 2.0),
        due=view.now - 2.0 + 1 / often,
    )
    rng = np.random.default_rng(3)
    first = [int(due_by_chance(view, Budget(1), rng).rows[0]) for _ in range(draws)]
    share = np.bincount(first, minlength=n) / draws
    np.testing.assert_allclose(share, often / often.sum(), atol=0.03)


def test_the_same_rates_at_random_moments_keep_fewer_copies_fresh():
    rate = np.ones(100)
    recording = poisson_recording(rate, np.ones(100), 20, 0)
    replay = Replay(recording, 100.0, 0.0, 20.0, ticks=10, warm=4.0)

    def reached(policy):
        belief = partial(
            Scheduled,
            FRESHEST,
            KnownRates(rate),
        )
        return bench.expected(replay, Strategy(policy, belief), rate, 0)

    # A look at a moment drawn for each tick, not twice in one, is a little better
    # than one at any moment.
    assert reached(due_first) == pytest.approx(0.632, abs=0.005)
    assert reached(due_by_chance) == pytest.approx(0.5, abs=0.03)


def test_exploring_looks_at_all_alike_and_then_commits_for_good():
    rate = np.array([0.02, 0.1, 0.5, 20.0])
    recording = poisson_recording(rate, np.ones(4), 40, 2)
    replay = Replay(recording, 4.0, 0.0, 40.0, ticks=4)
    dues = []
    replay.score(
        explore_commit_over(40.0, 0.5),
        watch=lambda v, _: dues.append(v.due - v.now + v.age),
    )
    early, late = dues[:79], dues[85:]
    assert all(np.allclose(d, 1.0) for d in early)
    assert all(np.allclose(d, late[0]) or not np.isfinite(d).all() for d in late)
    assert not np.allclose(late[0][:3], late[0][0])


# --- Weibull ------------------------------------------------------------------


@pytest.mark.parametrize("shape", [0.5, 1.0, 2.5])
def test_weibull_survival_is_its_own_integral(shape):
    s = Weibull(np.array([0.7]), shape)
    t = np.array([1.9])
    lasting = quad(lambda u: s.alive(np.array([u]))[0], 0, 1.9)[0]
    moment = quad(lambda u: u * s.alive(np.array([u]))[0], 0, 1.9)[0]
    np.testing.assert_allclose(s.lasting(t), lasting, rtol=1e-7)
    np.testing.assert_allclose(s.moment(t), moment, rtol=1e-7)


@pytest.mark.parametrize("shape", [0.55, 1.0, 2.0])
def test_the_shape_of_all_is_learned_from_gaps_of_different_lengths(shape):
    rng = np.random.default_rng(4)
    item = np.repeat(np.arange(40), 200)
    rate = rng.uniform(0.3, 1.5, 40)[item]
    length = rng.exponential(1.0, item.size)
    changed = rng.random(item.size) < -np.expm1(-rate * length**shape)
    found = fit_weibull(Gaps(item, length, changed, np.ones(item.size)), 40)
    assert abs(np.log(found.shape / shape)) < 0.25
    assert np.median(np.abs(np.log(found.rate / rate[::200]))) < 0.2


def test_without_gaps_changes_are_taken_to_come_at_random():
    none = np.zeros(0)
    gaps = Gaps(none.astype(np.intp), none, none.astype(np.bool_), none)
    assert fit_weibull(gaps, 3).shape == 1.0


def test_a_known_shape_is_kept():
    belief = scheduled(1.7)
    evidence = evidence_of(3)
    fold(evidence, seen_at(evidence.keys, 0.5))
    fold(evidence, seen_at(evidence.keys, 1.5, "b"))
    assert belief(evidence, 2.0, 2.0).survival.shape == 1.7


# --- MirrorSync ---------------------------------------------------------------


@given(
    st.lists(st.floats(0.01, 100.0), min_size=1, max_size=9), st.floats(0.01, 1000.0)
)
def test_the_projection_spends_the_budget_and_keeps_the_order(interval, budget):
    given = np.array(interval)
    found = spread(given, np.ones(given.size), budget)
    assert np.sum(1 / found) == pytest.approx(budget, rel=1e-6)
    assert np.all(np.diff(found[np.argsort(given)]) >= 0)


def test_mirror_sync_learns_to_leave_the_hopeless_alone():
    rate = np.repeat([0.02, 30.0, 1.0], 8)
    recording = poisson_recording(rate, np.ones(24), 80, 5)
    replay = Replay(recording, 24.0, 0.0, 80.0, ticks=4, warm=70.0)
    dues = []
    replay.score(
        Strategy(due_first, partial(MirrorSync, 0.2, 0.3)),
        watch=lambda v, _: dues.append(v.due - v.now + v.age),
    )
    still, hopeless, worth = np.median(np.array(dues[-100:]), axis=0).reshape(3, 8)
    assert worth.mean() < 0.5 * hopeless.mean()
    assert worth.mean() < 0.5 * still.mean()


def test_mirror_sync_probes_now_and_then():
    belief, evidence = MirrorSync(probes=0.25), evidence_of(400)
    fold(evidence, seen_at(evidence.keys, 1.0))
    due = belief(evidence, 1.0, 1.0).due
    probed = due < due.max() - 1e-9
    assert probed.mean() == pytest.approx(0.25, abs=0.02)
    early = (due[probed] - 1.0) / (due.max() - 1.0)
    assert early.mean() == pytest.approx(0.5, abs=0.05)


# --- terms of the index rule --------------------------------------------------


def looked_long_ago(n, age, rate, **columns):
    view = view_of(n, np.random.default_rng(0))
    base = {
        "looks": np.ones(n, np.intp),
        "looked": np.zeros(n, bool),
        "ready": np.ones(n, bool),
        "cost": np.ones(n),
        "weight": np.ones(n),
        "age": age,
        "exposure": age,
        "rate": rate,
        "survival": Exponential(rate),
    }
    return replace(view, **{**base, **columns})


def test_with_cheap_checks_the_index_is_the_price_at_the_best_intervals():
    rate, weight, _ = population(12, 1)
    found = allocate_checks(rate, 3.0, check=0.25, extra=0.75, weight=weight)
    some = found.frequency > 0
    view = looked_long_ago(
        int(some.sum()),
        1 / found.frequency[some],
        rate[some],
        weight=weight[some],
        cost=np.full(int(some.sum()), 0.25),
    )
    gain = Index("freshness", extra=0.75).gain(view)
    np.testing.assert_allclose(gain, found.price, rtol=1e-7)


def test_no_item_is_looked_at_again_too_soon():
    age = np.array([0.5, 2.0, 3.0])
    view = looked_long_ago(3, age, np.full(3, 1.0))
    plan = Index("harmonic", shortest=1.0)(view, Budget(9), np.random.default_rng(0))
    assert set(plan.keys) == {"k1", "k2"}


def test_what_was_left_alone_too_long_comes_first_oldest_first():
    age = np.array([40.0, 5.0, 50.0, 6.0])
    view = looked_long_ago(4, age, np.full(4, 1.0), weight=np.array([0, 9.0, 1, 8]))
    policy = Index("freshness", longest=30.0)
    plan = policy(view, Budget(9), np.random.default_rng(0))
    assert plan.keys == ("k2", "k0", "k1", "k3")
    assert plan[0].why == "not seen for more than 30 days"


@settings(max_examples=60)
@given(view=views(most=9), seed=st.integers(0, 99), requests=st.integers(0, 6))
def test_room_is_used_as_well_as_by_trying_everything(view, seed, requests):
    rng = np.random.default_rng(seed)
    room = rng.integers(0, 4, 3).astype(float)[view.group]
    view = replace(
        view, room=room, cost=np.ones(len(view)), looked=np.zeros(len(view), bool)
    )
    gain = rng.random(len(view)) + 0.01
    plan = best(view, Budget(requests), gain, gain, str)
    most = 0.0
    rows = np.flatnonzero(view.ready)
    for size in range(min(requests, rows.size) + 1):
        for pick in itertools.combinations(rows.tolist(), size):
            mine = list(pick)
            asked = np.bincount(view.group[mine], minlength=3)
            if np.all(asked[view.group[mine]] <= room[mine]):
                most = max(most, float(gain[mine].sum()))
    assert plan.gain.sum() == pytest.approx(most)


@settings(max_examples=60)
@given(view=views(most=12), requests=st.integers(0, 8), seed=st.integers(0, 99))
def test_whatever_is_passed_over_scores_below_its_own_price(view, requests, seed):
    rng = np.random.default_rng(seed)
    room = rng.integers(0, 5, 3).astype(float)[view.group]
    view = replace(view, room=room, cost=np.ones(len(view)))
    gain = rng.random(len(view))
    plan = best(view, Budget(requests), gain, gain, str)
    passed = view.ready & ~view.looked
    passed[plan.rows] = False
    worst = gain[plan.rows].min(initial=np.inf)
    spent = len(plan) == requests
    for row in np.flatnonzero(passed):
        mates = plan.rows[view.group[plan.rows] == view.group[row]]
        asked = mates.size + np.sum(view.looked & (view.group == view.group[row]))
        full = asked >= room[row]
        own = gain[mates].min(initial=np.inf)
        assert (spent and gain[row] <= worst) or (full and gain[row] <= own)


def test_groups_are_given_room_by_name():
    evidence = Evidence.of(
        [Item("a", group="x"), Item("b", group="y"), Item("c", group="x")]
    )
    belief = CapacityBelief(PlainRates(), {"x": 3.0, "y": np.inf}.__getitem__)
    assert belief(evidence, 1.0, 1.0).room.tolist() == [3.0, np.inf, 3.0]
    assert len(belief(Evidence(), 1.0, 1.0)) == 0


# --- all of them --------------------------------------------------------------


@pytest.mark.parametrize("name", bench.LEARNED)
def test_every_strategy_spends_its_budget_and_no_more(name):
    rate, weight, _ = population(30, 9)
    recording = poisson_recording(rate, weight, 12, 3)
    replay = Replay(recording, 6.0, 0.0, 12.0, ticks=2, warm=2.0)
    score = replay.score(bench.LEARNED[name], 1)
    assert 60 <= score.requests <= 72
    assert 0 < score.freshness <= 1


def test_the_bench_compares_every_policy_with_the_bound():
    rows = bench.run(0.2, items=60, days=3)
    assert [row["policy"] for row in rows] == list(bench.LEARNED)
    assert all(0.2 < row["learned"] < 1.3 for row in rows)


def test_a_schedule_told_the_rates_comes_close_to_the_bound():
    rate, weight, _ = population(200, 6)
    recording = poisson_recording(rate, weight, 40, 3)
    replay = Replay(recording, 60.0, 0.0, 40.0, ticks=10, warm=20.0)
    bound = allocate(rate, 60.0, weight=weight).value
    for name, least in (("cgm-freshness", 0.98), ("freshness", 0.995)):
        reached = bench.expected(replay, bench.told(name, rate), rate, 0)
        assert least * bound < reached < 1.005 * bound


def test_of_looks_at_random_moments_freshness_and_loss_have_closed_forms():
    frequency, rate = np.array([0.0, 1.0, 3.0, 2.0, 0.0]), np.array([1.0, 1, 0.5, 0, 0])
    fresh = random_freshness(frequency, rate)
    assert fresh.tolist() == pytest.approx([0.0, 0.5, 3 / 3.5, 1.0, 1.0])
    loss = random_harmonic(frequency, rate)
    assert loss.tolist() == pytest.approx(
        [np.inf, np.log(2), np.log(3.5 / 3), 0.0, 0.0]
    )
