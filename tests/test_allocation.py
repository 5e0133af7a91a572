"""The schedule that spends a budget best: worked numbers, edges, laws."""

import doctest
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import special

from halflife.allocation import (
    allocate,
    blind_bound,
    hindsight_bound,
    hindsight_bound_on_trace,
    index,
    kkt_residual,
    marginal,
    mean_age,
    mean_freshness,
    mean_harmonic,
    signal_bound,
)
from halflife.allocation.curves import inverse_gamma
from halflife.allocation.random_schedules import lambdacrawl
from halflife.bench import allocate as bench, lambdacrawl as published
from halflife.models.poisson import Exponential, GammaSurvival

OBJECTIVES = ("freshness", "age", "harmonic")


@st.composite
def problems(draw, shaped=False):
    n = draw(st.integers(1, 12))

    def column(low, high):
        exponent = st.floats(low, high).map(lambda e: 10.0**e)
        return np.array(draw(st.lists(exponent, min_size=n, max_size=n)))

    rate = column(-3, 3) if shaped else column(-12, 9)
    shape = column(-0.6, 0.6) if shaped else None
    weight, cost = column(-9, 9), column(-2, 2)
    dead = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    if draw(st.booleans()):
        rate = np.where(dead, 0.0, rate)
    budget = 10.0 ** draw(st.floats(-9, 9))
    return rate, budget, {"weight": weight, "cost": cost, "shape": shape}


# Worked numbers


def test_five_pages_get_the_looks_that_cho_and_garcia_molina_print():
    # "Effective page refresh policies", TODS 2003, table 5.1
    plan = allocate([1, 2, 3, 4, 5], 5)
    assert plan.frequency.round(2).tolist() == [1.15, 1.36, 1.35, 1.14, 0.0]


def test_even_looks_at_the_pace_of_change_keep_a_copy_fresh_for_63_percent():
    assert mean_freshness(np.ones(1), np.ones(1))[0] == pytest.approx(1 - np.exp(-1))


def test_one_item_gets_the_whole_budget():
    for objective in OBJECTIVES:
        assert allocate([3.0], 7.0, objective=objective).frequency == pytest.approx([7])


def test_equal_items_get_equal_looks():
    for objective in OBJECTIVES:
        plan = allocate([2.0] * 4, 8.0, objective=objective)
        assert plan.frequency == pytest.approx([2.0] * 4, rel=1e-12)


def test_only_freshness_gives_up_the_fastest_item():
    starved = {o: allocate([1, 1000], 1, objective=o).frequency[1] for o in OBJECTIVES}
    assert starved["freshness"] == 0
    assert starved["age"] > 0
    assert starved["harmonic"] > 0


def test_large_budgets_follow_the_square_root_law():
    plan = allocate([1.0, 4.0, 9.0], 6e6)
    assert plan.frequency == pytest.approx([1e6, 2e6, 3e6], rel=1e-5)


def test_a_dear_item_is_looked_at_less():
    plan = allocate([1.0, 1.0], 4.0, cost=[1.0, 3.0])
    assert plan.frequency[0] > plan.frequency[1]
    assert plan.frequency @ [1.0, 3.0] == pytest.approx(4.0)


def test_shape_one_is_poisson():
    plain = allocate([0.1, 2.0, 5.0], 2.0)
    shaped = allocate([0.1, 2.0, 5.0], 2.0, shape=[1.0, 1.0, 1.0 + 1e-13])
    assert shaped.frequency == pytest.approx(plain.frequency, rel=1e-9)
    assert shaped.value == pytest.approx(plain.value, rel=1e-12)


def test_a_sharper_lifetime_deserves_looks_longer_before_it_is_given_up():
    # With the same scale, survival exp(-t**4) is nearly certain until t = 0.5.
    plan = allocate([1.0, 1.0], 2.0, shape=[0.5, 4.0])
    assert plan.frequency[1] > plan.frequency[0]


@pytest.mark.parametrize("objective", ["freshness", "age", "harmonic"])
def test_a_million_to_one_in_rates_is_solved_to_a_billionth(objective):
    rng = np.random.default_rng(0)
    rate, weight = (
        10.0 ** rng.uniform(-12, 9, 30_000),
        10.0 ** rng.uniform(-9, 9, 30_000),
    )
    plan = allocate(rate, 1e4, weight=weight, objective=objective)
    assert kkt_residual(plan, rate, 1e4, weight=weight, objective=objective) <= 1e-9


def test_a_budget_inside_the_steepest_place_is_met():
    # Item 2 is given up at price 0.5; one float below it would ask for 27 000 looks.
    rate, weight = np.array([1.0, 1e6]), np.array([1.0, 0.5e6])
    for budget in (0.6, 1.0, 30.0, 20_000.0):
        plan = allocate(rate, budget, weight=weight)
        assert plan.frequency.sum() == pytest.approx(budget, rel=1e-12)
        assert kkt_residual(plan, rate, budget, weight=weight) <= 1e-9


# Edges


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_without_items_nothing_is_lost(objective):
    plan = allocate([], 5.0, objective=objective)
    assert plan.frequency.size == 0
    assert plan.price == 0
    assert plan.value == (1.0 if objective == "freshness" else 0.0)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_items_that_never_change_or_do_not_matter_get_no_looks(objective):
    plan = allocate([0.0, 1.0, 1.0], 2.0, weight=[1, 1, 0], objective=objective)
    assert plan.frequency == pytest.approx([0.0, 2.0, 0.0])
    assert kkt_residual(
        plan, [0.0, 1.0, 1.0], 2.0, weight=[1, 1, 0], objective=objective
    ) == pytest.approx(0.0, abs=1e-9)


def test_what_never_changes_counts_as_fresh():
    assert allocate([0.0, 1.0], 0.0).value == 0.5


def test_without_budget_everything_that_changes_is_lost():
    for objective, lost in (("freshness", 0.0), ("age", np.inf), ("harmonic", np.inf)):
        plan = allocate([1.0, 2.0], 0.0, objective=objective)
        assert plan.frequency.tolist() == [0.0, 0.0]
        assert plan.value == lost
        assert kkt_residual(plan, [1.0, 2.0], 0.0, objective=objective) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rate": [1.0, np.nan]}, "rate must be .* got nan at index 1"),
        ({"rate": [1.0, -2.0]}, "rate must be .* got -2.0 at index 1"),
        ({"rate": [[1.0]]}, "rate must be one number an item"),
        ({"rate": [1.0, 1e31]}, "rate must be .* at index 1"),
        ({"weight": [1.0, np.inf]}, "weight must be .* got inf at index 1"),
        ({"weight": [1.0]}, "weight must be one number, or one for each of the 2"),
        ({"cost": [0.0, 1.0]}, "cost must be .* got 0.0 at index 0"),
        ({"shape": 0.01}, "shape must be between"),
        ({"budget": np.nan}, "budget must be .* got nan"),
        ({"budget": -1.0}, "budget must be .* got -1.0"),
        ({"objective": "speed"}, "objective must be 'freshness', 'age' or 'harmonic'"),
        ({"objective": "harmonic", "shape": 2.0}, "counts the changes missed"),
    ],
)
def test_what_cannot_be_used_is_named(change, message):
    arguments = {"rate": [1.0, 2.0], "budget": 1.0, **change}
    with pytest.raises(ValueError, match=message):
        allocate(**arguments)


# Laws


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(problem=problems())
def test_every_allocation_is_optimal_to_a_billionth(objective, problem):
    rate, budget, more = problem
    plan = allocate(rate, budget, objective=objective, **more)
    assert np.all(np.isfinite(plan.frequency))
    assert np.all(plan.frequency >= 0)
    if np.any(rate > 0):
        assert kkt_residual(plan, rate, budget, objective=objective, **more) <= 1e-9


@pytest.mark.parametrize("objective", ["freshness", "age"])
@given(problem=problems(shaped=True))
def test_every_weibull_allocation_is_optimal_to_a_billionth(objective, problem):
    rate, budget, more = problem
    plan = allocate(rate, budget, objective=objective, **more)
    if np.any(rate > 0):
        assert kkt_residual(plan, rate, budget, objective=objective, **more) <= 1e-9


@given(problem=problems())
def test_freshness_lies_between_none_and_all_and_grows_with_the_budget(problem):
    rate, budget, more = problem
    less, enough = (allocate(rate, b, **more) for b in (budget, 2 * budget))
    assert 0 <= less.value <= enough.value + 1e-12 <= 1 + 1e-9
    assert enough.price <= less.price * (1 + 1e-9)


@pytest.mark.parametrize("objective", ["age", "harmonic"])
@given(problem=problems())
def test_losses_shrink_as_the_budget_grows(objective, problem):
    rate, budget, more = problem
    less, enough = (
        allocate(rate, b, objective=objective, **more) for b in (budget, 2 * budget)
    )
    assert 0 <= enough.value <= less.value * (1 + 1e-9)


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(problem=problems(), more_budget=st.floats(1.001, 1e3))
def test_a_larger_budget_never_takes_looks_from_anyone(objective, problem, more_budget):
    rate, budget, more = problem
    less = allocate(rate, budget, objective=objective, **more)
    enough = allocate(rate, budget * more_budget, objective=objective, **more)
    grown = np.maximum(enough.frequency, less.frequency)
    if np.all(enough.frequency >= less.frequency * (1 - 1e-8)):
        return
    # Items whose worth hardly falls with the first looks, at prices that differ by less
    # than a billionth, can share in more than one way. Then a schedule that takes from
    # nobody is as good as the one that was found.
    same = replace(enough, frequency=grown)
    spent = float((more["cost"] * grown).sum())
    off = kkt_residual(same, rate, spent, objective=objective, **more)
    assert off <= 1e-8


@pytest.mark.parametrize("more_budget", [2.0, 10.0])
def test_items_of_nearly_the_same_price_share_a_larger_budget_as_well(more_budget):
    rate, cost = np.ones(9), np.ones(9)
    rate[6], cost[8] = 1e4, 0.9999999995733978
    for budget in (1.0, more_budget):
        plan = allocate(rate, budget, weight=rate, cost=cost)
        assert kkt_residual(plan, rate, budget, weight=rate, cost=cost) <= 1e-9


# Items that are given up at the same price to the last digit can share what is left
# in more than one way, so two schedules are the same if each is optimal for both.


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(problem=problems(), factor=st.floats(1e-3, 1e3))
def test_a_clock_in_other_units_gives_the_same_schedule(objective, problem, factor):
    rate, budget, more = problem
    rate = np.where(rate < 1e-9, 0.0, rate)
    plan = allocate(rate, budget, objective=objective, **more)
    fast = allocate(rate * factor, budget * factor, objective=objective, **more)
    same = replace(plan, frequency=fast.frequency / factor)
    assert kkt_residual(same, rate, budget, objective=objective, **more) <= 1e-8 or (
        not rate.any()
    )


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(problem=problems(), factor=st.floats(1e-6, 1e6))
def test_only_the_ratio_of_weights_matters(objective, problem, factor):
    rate, budget, more = problem
    plan = allocate(rate, budget, objective=objective, **more)
    heavy = {**more, "weight": more["weight"] * factor}
    same = allocate(rate, budget, objective=objective, **heavy)
    assert same.price == pytest.approx(plan.price * factor, rel=1e-8)
    assert same.value == pytest.approx(plan.value, rel=1e-8, abs=1e-12)


@given(problem=problems())
def test_no_simple_rule_is_fresher(problem):
    rate, budget, more = problem
    weight, cost = more["weight"], more["cost"]
    best = allocate(rate, budget, **more).value
    for rule in (np.ones_like(rate), rate, weight):
        if (cost * rule).sum() > 0:
            looks = rule * budget / (cost * rule).sum()
            value = (weight * mean_freshness(looks, rate)).sum() / weight.sum()
            assert value <= best + 1e-9


# Many items: stand-ins find the price, slopes finish


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("kinds", [1, 5, None])
def test_many_items_are_solved_to_a_billionth(objective, kinds):
    rng = np.random.default_rng(2)
    n, more = 50_000, {}
    rate, weight = rng.lognormal(-2, 1.8, n), np.ceil(10 * rng.pareto(1.2, n) + 1)
    if objective != "harmonic" and kinds != 1:
        shape = rng.uniform(0.3, 4.0, n if kinds is None else kinds)
        more["shape"] = shape if kinds is None else shape[rng.integers(0, kinds, n)]
    for budget in (1e-3 * n, 0.2 * n, 30.0 * n):
        plan = allocate(rate, budget, weight=weight, objective=objective, **more)
        off = kkt_residual(
            plan, rate, budget, weight=weight, objective=objective, **more
        )
        assert off <= 1e-9
        assert plan.frequency.sum() == pytest.approx(budget, rel=1e-12)


def test_the_value_of_a_weibull_schedule_is_its_mean_freshness():
    rng = np.random.default_rng(4)
    rate, weight = rng.lognormal(-2, 1.8, 500), rng.lognormal(0, 1, 500)
    rate[:20], weight[20:30] = 0.0, 0.0
    shape = rng.uniform(0.3, 4.0, 500)
    plan = allocate(rate, 60.0, weight=weight, shape=shape)
    each = mean_freshness(plan.frequency, rate, shape)
    expected = (weight * each).sum() / weight.sum()
    assert plan.value == pytest.approx(expected, rel=1e-10)


@given(
    k=st.floats(1.1, 11.0),
    place=st.floats(-200.0, 14.0).map(
        lambda e: 10.0**e if e < -0.3 else 1.0 - 10.0 ** (-e - 1.0)
    ),
)
def test_the_inverse_gamma_function_is_right_over_the_whole_range(k, place):
    y = float(np.clip(place, 1e-290, 1 - 1e-15))
    x, lead = inverse_gamma(np.array([k]), np.array([y]))
    assert special.gammainc(k, x[0]) == pytest.approx(y, rel=1e-12, abs=0)
    density = np.exp(k * np.log(x[0]) - x[0] - special.gammaln(k))
    assert lead[0] == pytest.approx(density, rel=1e-9)


# The index


@given(
    shape=st.floats(-3, 3),
    exposure=st.floats(-6, 6),
    early=st.floats(-6, 6),
    later=st.floats(0, 3),
)
def test_the_index_is_a_number_and_never_falls(shape, exposure, early, later):
    law = GammaSurvival(np.array([10.0**shape] * 3), np.array([10.0**exposure] * 3))
    age = np.array([10.0**early, 10.0 ** (early + later), np.inf])
    for objective in OBJECTIVES:
        gain = index(law, age, objective)
        assert not np.any(np.isnan(gain))
        assert gain[0] >= 0
        assert gain[1] >= gain[0] * (1 - 1e-6) - 1e-15 * age[1] ** 2
        assert gain[2] >= gain[1] * (1 - 1e-6)


def test_the_index_is_what_one_more_look_adds():
    rate, interval = np.array([0.2, 1.0, 7.0]), np.array([3.0, 0.5, 1.0])
    for objective in OBJECTIVES:
        gain = index(Exponential(rate), interval, objective)
        more = marginal(1 / interval, rate, objective=objective)
        assert gain == pytest.approx(more, rel=1e-12)


def test_a_copy_never_made_is_worth_all_the_fresh_days_to_come():
    law = GammaSurvival(np.array([3.0, 0.5]), np.array([4.0, 4.0]))
    never = np.full(2, np.inf)
    assert index(law, never, "freshness").tolist() == [2.0, np.inf]
    assert index(law, never, "age").tolist() == [np.inf, np.inf]
    assert index(law, never, "harmonic").tolist() == [np.inf, np.inf]
    still = Exponential(np.zeros(2))
    assert index(still, np.array([5.0, np.inf]), "freshness").tolist() == [0, np.inf]


def test_an_unknown_objective_is_refused():
    with pytest.raises(ValueError, match="objective must be"):
        index(Exponential(np.ones(1)), np.ones(1), "speed")
    with pytest.raises(ValueError, match="objective must be"):
        marginal(np.ones(1), np.ones(1), objective="speed")


def test_means_at_the_ends():
    looks, rate = np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])
    assert mean_freshness(looks, rate).tolist() == [0.0, 1.0, 1.0]
    assert mean_age(looks, rate).tolist() == [np.inf, 0.0, 0.0]
    assert mean_harmonic(looks, rate).tolist() == [np.inf, 0.0, 0.0]


def test_means_keep_their_digits_when_changes_are_rare():
    looks, rate = np.ones(1), np.full(1, 1e-9)
    assert 1 - mean_freshness(looks, rate)[0] == pytest.approx(5e-10, rel=1e-6)
    assert mean_age(looks, rate)[0] == pytest.approx(1e-9 / 6, rel=1e-8)
    assert mean_harmonic(looks, rate)[0] == pytest.approx(5e-10, rel=1e-8)


# Bounds


@given(problem=problems())
def test_more_knowledge_never_hurts(problem):
    rate, budget, more = problem
    know = {"weight": more["weight"], "cost": more["cost"]}
    blind = blind_bound(rate, budget, **know)
    told = signal_bound(rate, budget, **know)
    foreseen = hindsight_bound(rate, budget, **know)
    assert blind <= told + 1e-9
    assert told <= foreseen + 1e-9
    assert foreseen <= 1 + 1e-9


def test_hindsight_on_half_the_changes_keeps_the_longer_half():
    assert hindsight_bound([1.0], 0.5) == pytest.approx(0.5 * (1 + np.log(2)))
    assert signal_bound([1.0], 0.5) == 0.5


def test_bounds_at_the_ends():
    for bound in (blind_bound, signal_bound, hindsight_bound):
        assert bound([], 1.0) == 1.0
        assert bound([1.0], 1.0, weight=[0.0]) == 1.0
        assert bound([1.0], 0.0) == 0.0
        assert bound([0.0, 1.0], 0.0) == 0.5
    assert signal_bound([1.0, 2.0], 3.0) == 1.0
    assert hindsight_bound([1.0, 2.0], 3.0) == 1.0


def test_hindsight_on_a_trace_buys_the_longest_gaps():
    start, at = np.array([0, 3, 3, 4]), np.array([1.0, 2.0, 8.0, 4.0])
    # Free: 1 + 10 + 4 days; gaps 1, 6, 2 and 6 days.
    free = [hindsight_bound_on_trace(start, at, 10.0, k) * 30 for k in range(6)]
    assert free == pytest.approx([15, 21, 27, 29, 30, 30])


def test_hindsight_on_a_trace_weighs_and_prices_gaps():
    start, at = np.array([0, 1, 2]), np.array([4.0, 5.0])
    bound = hindsight_bound_on_trace(
        start, at, 10.0, 1, weight=[1.0, 3.0], cost=[1.0, 2.0]
    )
    # Item 2's gap is worth 15 for 2 requests, item 1's 6 for 1: half of the first.
    assert bound == pytest.approx((4 + 15 + 7.5) / 40)


def test_a_trace_out_of_order_is_refused():
    with pytest.raises(ValueError, match="ascend"):
        hindsight_bound_on_trace(np.array([0, 2]), np.array([2.0, 1.0]), 9.0, 1)
    with pytest.raises(ValueError, match="horizon must be"):
        hindsight_bound_on_trace(np.array([0, 1]), np.array([2.0]), 0.0, 1)


def test_a_trace_of_nothing_that_matters_is_fresh():
    nothing = hindsight_bound_on_trace(np.array([0]), np.zeros(0), 5.0, 3)
    ignored = hindsight_bound_on_trace(
        np.array([0, 1]), np.ones(1), 5.0, 0, weight=[0.0]
    )
    assert (nothing, ignored) == (1.0, 1.0)


# The bench


@pytest.mark.parametrize("measure", [bench.run, bench.weibull])
def test_the_bench_measures_an_exact_schedule(measure):
    row = measure(1000)
    assert row["kkt_residual"] <= 1e-9
    assert row["budget_error"] <= 1e-9
    assert row["rival_seconds_per_item"] > 0
    assert row["rival_ratio"] > 0


def test_the_rival_finds_the_same_weibull_schedule():
    rng = np.random.default_rng(3)
    rate, weight = rng.lognormal(-2, 1.5, 20), rng.integers(1, 20, 20).astype(float)
    shape = rng.uniform(0.5, 2.0, 20)
    ours = allocate(rate, 4.0, weight=weight, shape=shape).frequency
    found = bench.nested_weibull(rate, weight, shape, 4.0)
    assert found == pytest.approx(ours, rel=1e-6)


def test_the_published_bisection_finds_the_price_of_random_looks():
    rng = np.random.default_rng(3)
    rate, weight = rng.lognormal(-2, 1.5, 50), 1e4 * rng.integers(1, 20, 50)
    ours = lambdacrawl(rate, 10.0, weight=weight)
    for total in (published.by_page, published.fetches_at_price):
        price = published.bisection(rate, weight, 10.0, total)
        assert price == pytest.approx(ours.price, abs=0.2)
    looks = published.by_bisection(rate, weight, 10.0)
    assert looks == pytest.approx(ours.frequency, rel=1e-4)


def test_the_published_search_over_splits_comes_near_one_price_for_all():
    rng = np.random.default_rng(3)
    rate, weight = rng.lognormal(-2, 1.5, 50), 1e4 * rng.integers(1, 20, 50)
    told = rng.random(50) < 0.3
    ours = lambdacrawl(rate, 6.0, weight=weight, complete=told)
    looks, chance = published.mixed(rate, weight, told, 6.0)
    assert chance == pytest.approx(ours.chance[told], rel=0.05)
    assert looks == pytest.approx(ours.frequency[~told], rel=0.05)
    spent = looks.sum() + (chance * rate[told]).sum()
    assert spent == pytest.approx(6.0, rel=1e-3)


def test_the_rival_finds_the_same_schedule():
    rng = np.random.default_rng(3)
    rate, weight = rng.lognormal(-2, 1.5, 50), rng.integers(1, 20, 50).astype(float)
    ours = allocate(rate, 10.0, weight=weight).frequency
    assert bench.nested_brentq(rate, weight, 10.0) == pytest.approx(ours, rel=1e-6)


def test_the_page_on_allocation_shows_what_the_code_does():
    page = Path(__file__).parents[1] / "docs" / "allocation.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert (failed, tried >= 6) == (0, True)
