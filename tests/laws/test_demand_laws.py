"""Laws of demand at a price, and of the search for the price that meets a budget."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from halflife.allocation import curves
from halflife.allocation.bisection import Ends, find_prices
from halflife.allocation.demand import (
    BLOCK,
    STAND_INS,
    Demand,
    DemandPoint,
    _cells,
    _Trials,
    spend_budget,
)
from halflife.allocation.search import Search

CURVES = {
    "freshness": (curves.freshness, True),
    "harmonic": (curves.harmonic, False),
    "age": (curves.age, False),
    "bent": (curves.weibull_freshness, True),
}


def demand_of(name, n=90, seed=0, **more):
    rng = np.random.default_rng(seed)
    curve, limited = CURVES[name]
    first, pace, cost = (np.exp(rng.normal(0.0, 1.0, n)) for _ in range(3))
    bent = name in ("age", "bent")
    shape = rng.uniform(0.5, 2.0, n) if bent else np.ones(n)
    return Demand(curve, first, pace, cost, shape, limited, **more)


def one_by_one(demand, price):
    """Return the frequency and the slope of each item, asked for alone."""
    frequency, slope = [], []
    for i in range(demand.first.size):
        paid = price if demand.floor is None else max(price, demand.floor[i])
        y = max(paid / demand.first[i], 1e-290)
        spacing, bend = demand.curve(np.array([y]), demand.shape[i : i + 1])
        looks, falls = demand.pace[i] / spacing[0], bend[0]
        if demand.limited and y >= 1.0:
            looks = falls = 0.0
        if demand.floor is not None and demand.floor[i] >= price:
            falls = 0.0
        if demand.limits is not None:
            fewest, most = demand.limits[:, i]
            falls = falls if fewest < looks < most else 0.0
            looks = min(max(looks, fewest), most)
        frequency.append(looks)
        slope.append(falls)
    return np.array(frequency), np.array(slope)


FLOOR = np.linspace(0.1, 0.6, 90)
LIMITS = np.stack([np.linspace(0.0, 0.4, 90), np.linspace(0.4, 3.0, 90)])


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("more", [{}, {"floor": FLOOR}, {"limits": LIMITS}])
@pytest.mark.parametrize("price", [0.05, 0.35, 2.0])
def test_demand_is_that_of_its_items_one_by_one(name, more, price):
    demand = demand_of(name, **more)
    frequency, slope = np.empty(90), np.empty(90)
    total, change = demand.at(price, frequency, slope)
    looks, falls = one_by_one(demand, price)
    np.testing.assert_allclose(frequency, looks, rtol=1e-9)
    spent = demand.cost * looks
    assert total == pytest.approx(math.fsum(spent))
    assert change == pytest.approx(-math.fsum(spent * falls), rel=1e-6)
    paid = np.maximum(price, 0.0 if demand.floor is None else demand.floor)
    asks = (paid < demand.first) | (not demand.limited)
    np.testing.assert_allclose(slope[asks], falls[asks], rtol=1e-5)
    again = np.empty(90)
    assert demand.at(price, again) == pytest.approx((total, change))
    np.testing.assert_array_equal(again, frequency)


def test_who_asks_for_exactly_a_limit_or_pays_exactly_a_floor_has_no_slope():
    free = demand_of("harmonic", 6)
    asked, slope = np.empty(6), np.empty(6)
    free.at(0.3, asked)
    for limits in ((asked, np.full(6, 99.0)), (np.zeros(6), asked)):
        free._replace(limits=np.stack(limits)).at(0.3, np.empty(6), slope)
        assert not slope.any()
    free._replace(floor=np.full(6, 0.3)).at(0.3, np.empty(6), slope)
    assert not slope.any()


def test_where_demand_is_steeper_than_floats_can_follow_the_search_ends():
    tried, curve = [], curves.freshness

    def counted(y, shape):
        tried.append(y)
        return curve(y, shape)

    n = 50
    demand = demand_of("freshness", n)._replace(
        curve=counted, first=np.ones(n), pace=np.full(n, 1e6), cost=np.ones(n)
    )
    frequency, _ = spend_budget(demand, 3.0, 0.0)
    assert frequency.sum() == pytest.approx(3.0)
    assert len(tried) < 100


def test_at_the_very_price_of_its_first_look_nobody_asks():
    demand = demand_of("freshness", 4)._replace(first=np.array([1.0, 2.0, 0.5, 1.5]))
    frequency = np.empty(4)
    demand.at(1.0, frequency)
    assert (frequency > 0).tolist() == [False, True, False, True]


def test_who_was_given_up_is_steep_by_how_near_its_price_is():
    demand = demand_of("freshness", 3)._replace(first=np.array([1.0, 0.99999, 0.5]))
    frequency, slope = np.empty(3), np.empty(3)
    demand.at(1.0, frequency, slope)
    # moved by ln(1 / 0.99999), the second is just about to be taken on again
    np.testing.assert_allclose(slope[1:] * np.log([1 / 0.99999, 2.0]), 1e-5, rtol=1e-4)
    assert slope[0] > 1e9


def test_more_items_than_a_block_ask_for_the_sum_of_all():
    n = 2 * BLOCK + 100
    demand = demand_of("harmonic", n)
    frequency, slope = np.empty(n), np.empty(n)
    total, change = demand.at(0.3, frequency, slope)
    spacing, bend = curves.harmonic(0.3 / demand.first, np.ones(n))
    np.testing.assert_allclose(frequency, demand.pace / spacing)
    spent = demand.cost * frequency
    assert total == pytest.approx(math.fsum(spent))
    assert change == pytest.approx(-math.fsum(spent * bend))


def test_a_price_of_nothing_asks_for_much_but_not_endlessly():
    demand = demand_of("harmonic", 3)
    frequency = np.empty(3)
    demand.at(0.0, frequency)
    assert np.isfinite(frequency).all()
    assert (frequency > 1e100).all()


@pytest.mark.parametrize("name", ["freshness", "harmonic"])
@pytest.mark.parametrize("factor", [1 - 2.5e-6, 1 + 2.5e-6])
def test_close_to_a_known_price_the_steep_are_computed_anew(name, factor):
    demand = demand_of(name)
    price = 0.4 * factor
    # two items about to be given up and two just given up
    edge = np.array([1 + 1e-6, 1 + 2e-6, 1 - 1e-6, 1 - 2e-6])
    demand = demand._replace(
        first=np.append(demand.first[4:], 0.4 * edge if name == "freshness" else edge)
    )
    frequency, slope, near, exact = (np.empty(90) for _ in range(4))
    demand.at(0.4, frequency, slope)
    found = demand.near(price, DemandPoint(0.4, frequency, slope), near)
    total, _ = demand.at(price, exact)
    np.testing.assert_allclose(near, exact, rtol=1e-9)
    assert found[0] == pytest.approx(total, rel=1e-10)
    assert found[1] == pytest.approx(-float((near * demand.cost) @ slope))


def test_trials_close_by_are_quick_and_far_ones_are_not():
    asked, curve = [], curves.harmonic

    def counted(y, shape):
        asked.append(y.size)
        return curve(y, shape)

    demand = demand_of("harmonic")._replace(curve=counted)
    trials = _Trials(demand)
    exact = np.empty(90)
    for price, quick in (
        (0.4, False),
        (0.4 * (1 + 1e-6), True),
        (0.4 * (1 - 2e-6), True),
        (0.4 * (1 + 1e-5), False),
        (0.2, False),
        (0.2 * (1 - 1e-6), True),
    ):
        asked.clear()
        frequency, total, change = trials.at(price)
        assert (sum(asked) < 90) == quick
        demand.at(price, exact)
        np.testing.assert_allclose(frequency, exact, rtol=1e-9)
        assert total == pytest.approx(float(exact @ demand.cost), rel=1e-9)
        assert change < 0


@pytest.mark.parametrize("more", [{"floor": FLOOR}, {"limits": LIMITS}])
def test_trials_with_floors_or_limits_are_all_computed(more):
    demand = demand_of("harmonic", **more)
    trials, exact = _Trials(demand), np.empty(90)
    for price in (0.3, 0.3 * (1 + 1e-6)):
        frequency, _, _ = trials.at(price)
        demand.at(price, exact)
        np.testing.assert_array_equal(frequency, exact)


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_cells_are_equal_parts_of_the_range(n):
    values = np.random.default_rng(n).normal(0.0, 3.0, 50)
    low, high = values.min(), values.max()
    step = (high - low) / (n - 1) if n > 1 else np.inf
    expected = [math.floor((v - low) / step + 0.5) for v in values]
    assert _cells(values, n).tolist() == expected
    assert _cells(np.full(3, 2.5), n).tolist() == [0, 0, 0]
    assert (_cells(values, n).min(), _cells(values, n).max()) == (0, n - 1)


@pytest.mark.parametrize("name", ["harmonic", "age"])
def test_stand_ins_are_weighted_means_of_near_items(name):
    demand = demand_of(name, 4000)
    few = demand.summary()
    mass = demand.pace * demand.cost
    assert few.first.size <= min(STAND_INS, 4000)
    assert (few.pace > 0).all()
    assert few.pace.sum() == pytest.approx(mass.sum())
    assert float(few.pace @ np.log(few.first)) == pytest.approx(
        float(mass @ np.log(demand.first)), rel=1e-9
    )
    assert float(few.pace @ few.shape) == pytest.approx(float(mass @ demand.shape))
    assert (few.cost == 1.0).all()
    # each item has a stand-in no further away than a cell is wide
    rows = 64 if name == "age" else 1
    width = np.ptp(np.log(demand.first)) / (STAND_INS // rows - 1)
    thick = np.ptp(demand.shape) / (rows - 1) if rows > 1 else 1.0
    for i in range(0, 4000, 97):
        near = np.abs(np.log(few.first) - np.log(demand.first[i])) <= width
        near &= np.abs(few.shape - demand.shape[i]) <= thick
        assert near.any()


@pytest.mark.parametrize("name", ["freshness", "harmonic", "bent"])
def test_the_slope_of_demand_is_the_mean_one_between_two_prices(name):
    demand = demand_of(name)
    low, high = (one_by_one(demand, 0.3 * by)[0] @ demand.cost for by in (0.98, 1.02))
    expected = math.log(high / low) / math.log(1.02 / 0.98)
    assert demand.slope(0.3) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["freshness", "harmonic", "bent"])
@pytest.mark.parametrize("start", [-30.0, -1.0, 15.0])
def test_wherever_the_search_starts_the_budget_is_met_at_one_price(name, start):
    demand = demand_of(name)
    for budget in (0.1, 10.0, 900.0):
        frequency, price = spend_budget(demand, budget, start)
        assert float(frequency @ demand.cost) == pytest.approx(budget, rel=1e-10)
        top = float(demand.first.max()) * (1 - 1e-12) if demand.limited else 1e30

        def over(log_price, budget=budget):
            return demand.at(math.exp(log_price), np.empty(90))[0] - budget

        if over(math.log(top)) > 0:
            continue  # the last item is steeper than floats can follow
        root = brentq(over, -100.0, math.log(top), xtol=1e-13)
        assert math.log(price) == pytest.approx(root, abs=1e-6)
        looks = one_by_one(demand, price)[0]
        sure = np.abs(price / demand.first - 1.0) > 1e-4
        np.testing.assert_allclose(frequency[sure], looks[sure], rtol=1e-5)


# The search for one price


def test_the_bracket_takes_the_side_that_the_budget_tells():
    search = Search(0.0, np.inf)
    search.move(2.0, -2.0, 1.0)
    assert (search.low, search.high) == (0.0, np.inf)
    at = search.at
    assert at == pytest.approx(math.log(2.0))
    search.move(1.0, -1.0, 1.0)  # exactly the budget: no lower price is needed
    assert (search.low, search.high) == (0.0, at)


@pytest.mark.parametrize("total", [1e-3, 0.5, 40.0])
def test_where_demand_is_a_power_of_the_price_one_step_meets_the_budget(total):
    """Demand of c price**-2, as few requests as it may be: its log is a line."""
    search = Search(0.0, np.inf)
    search.move(total, -2.0 * total, total / 9.0)
    assert search.at == pytest.approx(math.log(3.0))


@pytest.mark.parametrize("power", [0.25, 0.9, 3.0])
def test_the_chord_is_followed_where_the_tangent_misleads(power):
    """Demand of price**-power, told to fall a thousand times as steeply."""
    search = Search(0.0, np.inf)
    for _ in range(2):
        total = search.price**-power
        search.move(total, -1000.0 * power * total, 0.5)
    assert search.price == pytest.approx(0.5 ** (-1.0 / power))


def test_two_trials_at_one_price_have_no_chord():
    search = Search(0.0, np.inf)
    first = search._step(2.0, -2.0, 1.0)
    assert search._step(2.0, -2.0, 1.0) == first == pytest.approx(math.log(2.0))


def test_a_limited_search_begins_below_the_price_that_nobody_pays():
    search = Search(math.log(3.0), 4.0)
    assert search.price == pytest.approx(3.0)
    assert search.price_at(search.high) == pytest.approx(4.0)
    assert search.price_at(search.high) <= 4.0
    assert Search(math.log(4.0), 4.0).price == pytest.approx(3.6)
    assert Search(math.log(1e-200), 4.0).price == pytest.approx(1e-200)
    assert Search(-750.0, 4.0).price == pytest.approx(0.0, abs=1e-300)


def test_a_bracket_is_tight_when_its_ends_are_one_price():
    search = Search(0.0, np.inf)
    assert not search.tight
    search.low, search.high = 0.0, 1e-13
    assert search.tight
    search.high = 1e-11
    assert not search.tight
    search.high = np.inf
    assert not search.tight


def test_without_an_end_the_search_strides_out_and_within_one_it_halves():
    search = Search(0.0, np.inf)
    search.move(2.0, 0.0, 1.0)  # no slope: further up
    assert search.at == 4.0
    search.move(2.0, 0.0, 1.0)
    assert search.at == 8.0
    search = Search(80.0, np.inf)
    search.move(2.0, 0.0, 1.0)
    assert search.at == 80.0 + 4.0 * 10.0  # far out in longer strides
    search = Search(0.0, np.inf)
    search.move(0.5, 0.0, 1.0)
    assert search.at == -4.0
    search = Search(-80.0, np.inf)
    search.move(0.5, 0.0, 1.0)
    assert search.at == -120.0
    search.move(2.0, 0.0, 1.0)
    assert search.at == -100.0  # the middle


@pytest.mark.parametrize("slope", [-1e-9, -1e-3])
def test_a_flat_tangent_does_not_lead_out_of_this_world(slope):
    up, down = Search(0.0, np.inf), Search(0.0, np.inf)
    up.move(2.0, 2.0 * slope, 1.0)
    down.move(0.5, 0.5 * slope, 1.0)
    assert up.at == 40.0
    assert down.at == -40.0


@pytest.mark.parametrize(
    ("total", "change"), [(0.0, -1.0), (1.0, 0.0), (1.0, 1.0), (1.0, -1e-320)]
)
def test_without_demand_or_a_falling_one_there_is_no_step(total, change):
    search = Search(0.0, np.inf)
    assert search._step(total, change, 1.0) == np.inf


def test_a_chord_that_rises_is_not_followed():
    search = Search(0.0, np.inf)
    search.move(8.0, -8.0, 1.0)
    at = search.at
    search._seen = (at - 1.0, math.log(1.0))  # as if demand had risen
    search.move(2.0, -4.0, 1.0)
    assert search.at == pytest.approx(at + math.log(2.0) / 2.0)


def test_a_chord_leads_from_wherever_the_last_price_was():
    search = Search(1.0, np.inf)  # demand is price**-2, its tangent told wrong

    def move():
        total = math.exp(-2.0 * search.at)
        search.move(total, -9.0 * total, math.exp(-7.0))

    move()
    assert search.at == pytest.approx(1.0 + 5.0 / 9.0)
    move()
    assert search.at == pytest.approx(3.5)


def test_a_step_too_small_to_be_taken_gives_way_to_the_middle():
    search = Search(8.0, np.inf)
    search.low, search.high = 6.0, 10.0
    search.move(1.0 + 2.0**-52, -1.0, 1.0)
    assert (search.low, search.at) == (8.0, 9.0)
    search = Search(8.0, np.inf)
    search.low, search.high = 6.0, 10.0
    search.move(1.0 - 2.0**-53, -1.0, 1.0)
    assert (search.high, search.at) == (8.0, 7.0)


def test_a_step_is_not_taken_out_of_the_bracket():
    search = Search(0.0, np.inf)
    search.low, search.high = -1.0, 0.5
    search.move(9.0, -9.0, 1.0)  # the tangent leads to ln 9, which is too far
    assert search.low == 0.0
    assert search.at == pytest.approx(0.25)


def test_steps_that_do_not_halve_give_way_to_the_middle():
    search = Search(0.0, np.inf)
    search.low, search.high = -10.0, 10.0
    search._before = 1.0
    search.move(math.e**0.6, -(math.e**0.6), 1.0)  # a step of 0.6, over half of 1
    assert search.at == pytest.approx(5.0)
    search = Search(0.0, np.inf)
    search.low, search.high = -10.0, 10.0
    search._before = 1.0
    search.move(math.e**0.4, -(math.e**0.4), 1.0)
    assert search.at == pytest.approx(0.4)
    assert (search._before, search._last) == (np.inf, pytest.approx(0.4))


def test_where_no_price_is_too_high_a_tangent_is_stretched():
    # of demand that falls like 1 / price: d ln price / d m is z / expm1(z), z = e**m
    search = Search(math.log(2.0), 4.0)
    z = math.log(2.0)  # 1 - exp(-z) = 1 / 2
    assert search.at == pytest.approx(math.log(z))
    search.move(2.0, -2.0, 1.0)
    stretch = z / math.expm1(z)
    assert search.at == pytest.approx(math.log(z) + math.log(2.0) / stretch)


def test_far_below_the_top_a_price_follows_its_coordinate_as_it_is():
    search = Search(0.0, 4.0)
    search.at = -800.0  # exp of it is nothing
    assert search._stretch() == 1.0


# Many prices at once


def test_halving_ends_at_neighbours_and_shares_between_them():
    jump = np.array([0.3, -2.0, 7.0])

    def asked(log_price):
        return np.where(log_price <= jump, 6.0, 2.0)

    budget = np.array([3.0, 5.0, 2.5])
    ends = find_prices(asked, budget, np.full(3, -300.0), np.full(3, 300.0))
    np.testing.assert_allclose(ends.low, jump, rtol=1e-12)
    np.testing.assert_allclose(ends.high, jump, rtol=1e-12)
    np.testing.assert_allclose(ends.share, (budget - 2.0) / 4.0)
    assert ends.mix(np.full(3, 6.0), np.full(3, 2.0), ends.share) == pytest.approx(
        budget
    )


def test_budgets_out_of_reach_take_one_of_the_ends():
    ends = find_prices(
        lambda m: np.full(m.size, 4.0),
        np.array([9.0, 4.0, 1.0]),
        np.full(3, -1.0),
        np.full(3, 1.0),
    )
    assert ends.share.tolist() == [1.0, 0.0, 0.0]
    assert isinstance(ends, Ends)
