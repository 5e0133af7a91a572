"""Laws of what the solver of schedules is made of: input, demand, prices."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import brentq
from scipy.special import gammainc, gammaincinv, gammaln

from halflife.allocation import allocate
from halflife.allocation.bisection import Ends, find_prices
from halflife.allocation.columns import HUGE, TINY, amount, columns, non_negative
from halflife.allocation.curves import (
    _near_inverse,
    freshness,
    harmonic,
    inverse_gamma,
    poisson_age,
)
from halflife.allocation.demand import STAND_INS, Demand, DemandPoint, spend_budget
from halflife.allocation.search import Search
from halflife.allocation.solver import first_of, start_of

positive = st.floats(0.01, 100.0)


# columns


def test_weights_are_told_in_parts_of_the_largest():
    found = columns([1.0, 2.0, 3.0], weight=[2.0, 8.0, 0.0], cost=3.0)
    assert found.weight.tolist() == [0.25, 1.0, 0.0]
    assert found.scale == 8.0
    assert found.cost.tolist() == [3.0] * 3
    assert found.shape.tolist() == [1.0] * 3
    assert found.useful.tolist() == [True, True, False]
    assert not found.is_weibull


def test_the_pace_is_one_over_the_days_in_which_a_hazard_of_one_adds_up():
    found = columns([4.0, 8.0, 0.0], shape=[2.0, 3.0, 1.0])
    np.testing.assert_allclose(found.pace, [2.0, 2.0, 0.0])  # rate t**shape = 1
    assert found.is_weibull
    assert found.useful.tolist() == [True, True, False]
    some = found.take(np.array([False, True, False]))
    assert (some.rate.tolist(), some.shape.tolist()) == ([8.0], [3.0])
    assert some.scale == found.scale


def test_what_is_too_small_to_square_counts_as_nothing():
    found = columns([TINY / 2, TINY, 1.0], weight=[1.0, TINY / 2, 1.0])
    assert found.pace.tolist() == [0.0, TINY, 1.0]
    assert found.weight.tolist() == [1.0, 0.0, 1.0]
    assert amount("budget", TINY / 2) == 0.0
    assert amount("budget", TINY) == TINY
    assert amount("budget", HUGE) == HUGE
    assert columns([1.0], weight=[0.0]).weight.tolist() == [0.0]


@pytest.mark.parametrize(
    "bad",
    [
        {"rate": [[1.0]]},
        {"rate": [1.0, -1e-9]},
        {"rate": [np.nan]},
        {"rate": [np.inf]},
        {"rate": [1.0], "weight": [1.0, 2.0]},
        {"rate": [1.0], "weight": -1.0},
        {"rate": [1.0], "cost": 0.0},
        {"rate": [1.0], "cost": TINY / 2},
        {"rate": [1.0], "cost": HUGE * 2},
        {"rate": [1.0], "shape": 0.09},
        {"rate": [1.0], "shape": 10.1},
        {"rate": [1e10], "shape": 0.1},
    ],
)
def test_numbers_that_make_no_sense_are_refused(bad):
    with pytest.raises(ValueError, match="must be"):
        columns(**bad)


def test_the_ends_of_what_is_allowed_are_allowed():
    found = columns([0.0, 1.0], cost=[TINY, HUGE], shape=[0.1, 10.0])
    assert found.cost.tolist() == [TINY, HUGE]
    assert non_negative("x", 0.0) == 0.0
    for bad in (-1.0, HUGE * 1.1, np.nan):
        with pytest.raises(ValueError, match="between 0 and 1e30"):
            amount("budget", bad)


def test_a_refusal_names_the_first_bad_row():
    with pytest.raises(ValueError, match=r"got -2\.0 at index 1"):
        columns([1.0, -2.0, -3.0])


# demand

CURVES = {"freshness": (freshness, True), "harmonic": (harmonic, False)}


def demand_of(name, *, n=400, seed=0, **more):
    rng = np.random.default_rng(seed)
    curve, limited = CURVES[name]
    first, pace, cost = (np.exp(rng.normal(0.0, 1.0, n)) for _ in range(3))
    return Demand(curve, first, pace, cost, np.ones(n), limited, **more)


def asked(demand, price):
    """Return the frequencies, item by item, by the definition of the curve."""
    found = []
    for first, pace in zip(demand.first, demand.pace, strict=True):
        y = price / first
        if demand.limited and y >= 1.0:
            found.append(0.0)
            continue
        spacing = demand.curve(np.array([y]), np.ones(1))[0][0]
        found.append(pace / spacing)
    return np.array(found)


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("price", [0.01, 0.3, 2.0])
def test_items_ask_for_their_pace_over_the_spacing_that_the_price_allows(name, price):
    demand = demand_of(name, n=60)
    frequency = np.empty(60)
    total, _ = demand.at(price, frequency)
    np.testing.assert_allclose(frequency, asked(demand, price))
    assert total == pytest.approx(float(frequency @ demand.cost))


@pytest.mark.parametrize("name", CURVES)
def test_the_change_with_the_price_is_what_differences_show(name):
    demand, price, step = demand_of(name, n=30), 0.2, 1e-5
    scratch = np.empty(30)
    slope = np.empty(30)
    total, change = demand.at(price, scratch, slope)
    more, less = (demand.at(price * math.exp(s), scratch)[0] for s in (-step, step))
    assert change == pytest.approx((less - more) / (2 * step), rel=1e-4)
    assert change < 0 < total
    up, down = asked(demand, price * math.exp(step)), asked(demand, price)
    alive = (down > 0) & (up > 0)
    by_hand = -np.log(up[alive] / down[alive]) / step
    np.testing.assert_allclose(slope[alive], by_hand, rtol=1e-3)


def test_the_slope_of_demand_is_that_between_prices_two_in_a_hundred_apart():
    demand = demand_of("harmonic", n=50)
    scratch = np.empty(50)
    low, high = (demand.at(0.4 * by, scratch)[0] for by in (0.98, 1.02))
    assert demand.slope(0.4) == pytest.approx(
        math.log(high / low) / math.log(1.02 / 0.98)
    )
    assert demand_of("freshness", n=5).slope(1e9) is None


def test_who_is_limited_asks_for_no_less_and_no_more():
    limits = np.array([np.full(40, 0.2), np.full(40, 1.5)])
    free, bound = (
        demand_of("harmonic", n=40),
        demand_of("harmonic", n=40, limits=limits),
    )
    frequency, slope = np.empty(40), np.empty(40)
    bound.at(0.3, frequency, slope)
    np.testing.assert_allclose(frequency, np.clip(asked(free, 0.3), 0.2, 1.5))
    inside = (frequency > 0.2) & (frequency < 1.5)
    assert inside.any()
    assert (~inside).any()
    assert (slope[inside] > 0).all()
    assert (slope[~inside] == 0).all()


def test_who_has_a_floor_pays_no_less_than_it():
    floor = np.linspace(0.1, 0.9, 40)
    held = demand_of("harmonic", n=40, floor=floor)
    frequency, slope = np.empty(40), np.empty(40)
    held.at(0.5, frequency, slope)
    by_hand = [demand_of("harmonic", n=40).take(np.array([i])) for i in range(40)]
    for i, one in enumerate(by_hand):
        alone = np.empty(1)
        one.at(max(0.5, floor[i]), alone)
        assert frequency[i] == pytest.approx(alone[0])
        assert (slope[i] > 0) == (floor[i] < 0.5)


@pytest.mark.parametrize("name", CURVES)
def test_close_to_a_known_price_demand_follows_its_slopes(name):
    demand, price = demand_of(name), 0.3
    frequency, slope = (np.empty(400) for _ in range(2))
    demand.at(price, frequency, slope)
    there, exact = np.empty(400), np.empty(400)
    for factor in (1 - 2e-6, 1 + 2e-6):
        found = demand.near(price * factor, DemandPoint(price, frequency, slope), there)
        total, change = demand.at(price * factor, exact)
        np.testing.assert_allclose(there, exact, rtol=1e-9, atol=1e-12)
        assert found[0] == pytest.approx(total, rel=1e-10)
        assert found[1] == pytest.approx(change, rel=1e-4)


@pytest.mark.parametrize("bent", [False, True])
def test_stand_ins_ask_for_nearly_what_the_items_ask_for(bent):
    demand = demand_of("harmonic", n=3000)
    if bent:
        shape = np.random.default_rng(1).uniform(0.5, 2.0, 3000)
        demand = demand._replace(shape=shape)
    few = demand.summary()
    assert few.first.size <= STAND_INS
    assert (few.pace * few.cost).sum() == pytest.approx(
        (demand.pace * demand.cost).sum()
    )
    if bent:
        total = few.pace.sum()
        mean = (demand.pace * demand.cost) @ demand.shape
        assert few.pace @ few.shape / total == pytest.approx(mean / total)
        assert few.first.size <= 3000
    for price in (0.01, 0.5, 5.0):
        one, two = (d.at(price, np.empty(d.first.size))[0] for d in (demand, few))
        assert two == pytest.approx(one, rel=1e-3)


def test_like_items_become_one_stand_in():
    demand = demand_of("harmonic", n=9)._replace(first=np.full(9, 2.0))
    few = demand.summary()
    assert few.first == pytest.approx([2.0])
    assert few.pace == pytest.approx([demand.pace @ demand.cost])
    assert few.cost.tolist() == [1.0]


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("budget", [0.5, 30.0, 2000.0])
def test_settling_spends_the_budget_at_one_price(name, budget):
    demand = demand_of(name)
    frequency, price = spend_budget(demand, budget, 0.0)
    assert float(frequency @ demand.cost) == pytest.approx(budget, rel=1e-9)
    sure = np.abs(price / demand.first - 1.0) > 1e-6  # not about to be given up
    assert sure.sum() >= 399
    by_hand = asked(demand, price)
    np.testing.assert_allclose(frequency[sure], by_hand[sure], rtol=1e-6, atol=1e-9)

    def over(log_price):
        return demand.at(math.exp(log_price), np.empty(400))[0] - budget

    if demand.limited and budget < 1.0:  # nobody but the last asks for anything
        assert price == pytest.approx(demand.first.max())
        return
    top = math.log(demand.first.max()) - 1e-9 if demand.limited else 40.0
    assert math.log(price) == pytest.approx(brentq(over, -60.0, top), abs=1e-7)


def test_items_given_up_at_one_price_share_what_is_left():
    n = 50
    demand = demand_of("freshness", n=n)._replace(
        first=np.ones(n), pace=np.full(n, 1e6), cost=np.ones(n)
    )
    frequency, price = spend_budget(demand, 3.0, 0.0)
    assert frequency.sum() == pytest.approx(3.0)
    assert price == pytest.approx(1.0)
    np.testing.assert_allclose(frequency, 3.0 / n)


# the search for a price


@pytest.mark.parametrize("top", [np.inf, 3.0])
@pytest.mark.parametrize("start", [-30.0, -1.0, 0.9, 6.0])
@pytest.mark.parametrize("power", [0.5, 2.0])
def test_the_search_finds_where_demand_meets_the_budget(top, start, power):
    def demand(price):
        ratio = 1.0 if np.isinf(top) else 1.0 - price / top
        return ratio * price**-power

    search, seen = Search(start, top), []
    for _ in range(100):
        price = search.price
        seen.append(price)
        total, step = demand(price), 1e-6
        change = (demand(price * (1 + step)) - demand(price * (1 - step))) / (2 * step)
        search.move(total, change, 7.0)
        if abs(total - 7.0) < 1e-9 * 7.0:
            break
    root = brentq(lambda p: demand(p) - 7.0, 1e-9, 2.99 if top == 3.0 else 1e9)
    assert seen[-1] == pytest.approx(root, rel=1e-8)
    assert len(seen) < 40


def test_the_bracket_always_holds_the_price():
    search, root = Search(2.0, np.inf), 5.0
    for _ in range(60):
        total = (search.price / root) ** -3
        search.move(total, 0.0, 1.0)  # no slope is known: it is halved
        assert search.low <= math.log(root) <= search.high
        if search.tight:
            break
    assert search.tight
    assert search.price_at(search.low) == pytest.approx(root, rel=1e-10)


@given(m=st.floats(-20.0, 3.0), top=positive)
def test_a_coordinate_stands_for_a_price_below_the_top(m, top):
    search = Search(0.0, top)
    price = search.price_at(m)
    assert price == pytest.approx(top * (1 - math.exp(-math.exp(m))), rel=1e-9)
    assert Search(0.0, np.inf).price_at(m) == pytest.approx(math.exp(m))


@given(m=st.floats(-8.0, 2.0))
def test_the_stretch_is_how_fast_the_price_follows_the_coordinate(m):
    search, step = Search(0.0, 4.0), 1e-6
    search.at = m
    up, down = (math.log(search.price_at(m + s)) for s in (step, -step))
    assert search._stretch() == pytest.approx((up - down) / (2 * step), rel=1e-4)
    free = Search(0.0, np.inf)
    free.at = m
    assert free._stretch() == 1.0


def test_the_search_begins_at_the_price_it_is_given():
    assert Search(math.log(2.0), np.inf).price == pytest.approx(2.0)
    assert Search(math.log(2.0), 5.0).price == pytest.approx(2.0)
    assert Search(math.log(99.0), 5.0).price == pytest.approx(0.9 * 5.0)


def test_one_newton_step_finds_a_power_law_at_once():
    search = Search(0.0, np.inf)
    search.move(1.0, -2.0, 0.25)  # demand is price**-2
    assert search.price == pytest.approx(2.0)
    known = Search(0.0, np.inf, slope=-0.5)
    known.move(1.0, -2.0, 0.25)  # told better than the tangent: price**-0.5
    assert known.price == pytest.approx(16.0)


def test_after_two_prices_the_chord_leads():
    search = Search(0.0, np.inf)
    search.move(8.0, -80.0, 1.0)  # a tangent that is far too steep
    at = search.at
    assert at == pytest.approx(math.log(8.0) / 10.0)
    total = 8.0 * math.exp(-3.0 * at)
    search.move(total, -100.0 * total, 1.0)  # demand really is 8 price**-3
    assert search.price == pytest.approx(2.0)


# many prices at once


@given(budgets=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=5))
def test_halving_meets_every_budget(budgets):
    budget = np.array(budgets)
    ends = find_prices(
        lambda m: 1.0 / (1.0 + np.exp(m)) * 2e3,
        budget,
        np.full(budget.size, -40.0),
        np.full(budget.size, 40.0),
    )
    np.testing.assert_allclose(ends.low, np.log(2e3 / budget - 1.0), atol=1e-9)
    np.testing.assert_allclose(ends.low, ends.high, atol=1e-12)
    assert ((ends.share >= 0) & (ends.share <= 1)).all()


def test_where_demand_jumps_the_ends_share_what_is_left():
    def asked(m):
        return np.where(m < 0.5, 10.0, 2.0)

    ends = find_prices(asked, np.array([4.0]), np.array([-9.0]), np.array([9.0]))
    assert ends.share == pytest.approx([0.25])
    mixed = ends.mix(np.array([10.0]), np.array([2.0]), ends.share)
    assert mixed == pytest.approx([4.0])
    assert Ends(*(np.zeros(1),) * 3).mix(np.ones(1), np.zeros(1), np.ones(1)) == 1.0


@pytest.mark.parametrize("objective", ["freshness", "age", "harmonic"])
def test_many_items_are_settled_as_well_as_few(objective):
    rng = np.random.default_rng(5)
    rate = np.exp(rng.normal(-2.0, 1.5, 500))
    few = allocate(rate, 40.0, objective=objective)
    copies = STAND_INS // 500 + 1
    many = allocate(np.tile(rate, copies), 40.0 * copies, objective=objective)
    np.testing.assert_allclose(
        many.frequency[:500], few.frequency, rtol=1e-6, atol=1e-9
    )
    assert many.price == pytest.approx(few.price, rel=1e-8)


@given(x=st.floats(0.05, 30.0))
def test_curves_undo_what_a_look_is_worth(x):
    at, one = np.array([x]), np.ones(1)
    fresh = 1 - (1 + x) * math.exp(-x)
    assert freshness(np.array([fresh]), one)[0] == pytest.approx(at, rel=1e-6)
    assert harmonic(np.array([x - 1 + math.exp(-x)]), one)[0] == pytest.approx(at)
    age = x**2 / 2 - 1 + (1 + x) * math.exp(-x)
    assert poisson_age(np.array([age]), one)[0] == pytest.approx(at, rel=1e-6)


@pytest.mark.parametrize("objective", ["freshness", "age", "harmonic"])
@pytest.mark.parametrize("budget", [0.5, 40.0, 5000.0])
def test_the_price_if_every_look_came_soon_is_an_upper_bound_that_is_reached(
    objective, budget
):
    rng = np.random.default_rng(3)
    given_ = columns(np.exp(rng.normal(-1.0, 1.0, 200)), rng.uniform(0.5, 2.0, 200))
    first = first_of(given_, objective)
    curve = {"freshness": freshness, "age": poisson_age, "harmonic": harmonic}[
        objective
    ]
    limited = objective == "freshness"
    demand = Demand(curve, first, given_.pace, given_.cost, given_.shape, limited)
    start = start_of(demand, budget, objective)
    _, price = spend_budget(demand, budget, start)
    assert start >= math.log(price) - 1e-9
    soon = 1e6 * budget  # looks so often that nothing but the first term is left
    _, price = spend_budget(demand, soon, start_of(demand, soon, objective))
    assert start_of(demand, soon, objective) == pytest.approx(math.log(price), rel=1e-3)


@given(k=st.floats(1.1, 11.0), y=st.floats(0.001, 0.999))
def test_the_inverse_of_the_incomplete_gamma_begins_near_its_end(k, y):
    at, part = np.array([k]), np.array([y])
    near = _near_inverse(at, part, gammaln(at))
    exact = gammaincinv(at, part)
    assert abs(math.log(near[0] / exact[0])) < 0.15
    found, lead = inverse_gamma(at, part)
    np.testing.assert_allclose(found, exact, rtol=1e-8)
    step = 1e-6  # lead is dP / d ln x
    rise = gammainc(at, exact * math.exp(step)) - gammainc(at, exact * math.exp(-step))
    assert lead[0] == pytest.approx(rise[0] / (2 * step), rel=1e-4)
