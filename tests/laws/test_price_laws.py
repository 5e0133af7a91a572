"""The price of a request: by hand on the table of ages."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.allocation.budget_series import frequencies
from halflife.core.value_curve import Worth
from halflife.market import share
from halflife.market.price import AGES, gains, interval_at, long_run, reserve_price
from halflife.models.poisson import Exponential, GammaSurvival


def spent(dense, price):
    """Return requests a day if one thing is renewed when its gain reaches a price."""
    for k in range(AGES.size):
        if dense[k] >= price:
            if k == 0:
                return 1.0 / AGES[0]
            first, last = (math.log(max(x, 1e-300)) for x in dense[k - 1 : k + 1])
            part = (math.log(max(price, 1e-300)) - first) / (last - first)
            return 1.0 / (AGES[k - 1] * (AGES[k] / AGES[k - 1]) ** part)
    return 0.0


def total(gain, cost, many, price):
    rows = zip(gain, cost, many, strict=True)
    return sum(c * m * spent(np.maximum.accumulate(g) / c, price) for g, c, m in rows)


def test_a_gain_is_reached_between_two_ages_as_if_it_grew_like_a_power():
    rng = np.random.default_rng(4)
    dense = np.cumsum(rng.integers(0, 3, (6, AGES.size)), axis=1).astype(float)
    dense[5] = 4.0  # it never grows
    prices = [0.0, 0.5, 1.0, 4.0, 4.5, *dense[0, ::40], dense.max(), dense.max() + 1]
    for price in prices:
        found = interval_at(dense, price)
        for row, days in zip(dense, found, strict=True):
            each = spent(row, price)
            assert days == pytest.approx(1.0 / each if each else np.inf)
    assert interval_at(dense, dense[1, 0]).tolist()[1] == AGES[0]


@pytest.mark.parametrize("budget", [0.01, 0.5, 3.0, 40.0])
def test_at_the_price_the_budget_is_taken(budget):
    gain = np.array([[2.0], [1.0], [0.3]]) * gains(
        Exponential(np.array([0.02, 0.1, 2.0])), 3
    )
    cost, many = np.array([1.0, 5.0, 2.0]), np.array([3.0, 1.0, 10.0])
    price = long_run(gain, cost, budget, many)
    assert total(gain, cost, many, price * 0.999) >= budget
    assert total(gain, cost, many, price * 1.001) <= budget


def test_a_thing_whose_gain_stays_is_renewed_when_it_first_reaches_the_price():
    gain = np.where(np.arange(AGES.size) >= 30, 6.0, 0.0)[None, :]
    one, two = np.ones(1), np.full(1, 2.0)
    every = AGES[30]
    # At 3 a request it is renewed every so many days; above that never.
    assert long_run(gain, two, 2.1 / every, one) < 3.0
    assert long_run(gain, two, 1.0 / every, one) == pytest.approx(3.0)


def test_a_gain_that_falls_again_counts_as_reached():
    up = gains(Exponential(np.array([0.1])), 1)
    down = up.copy()
    down[:, 40:] = 0.0
    flat = np.maximum.accumulate(down, axis=1)
    one = np.ones(1)
    assert long_run(down, one, 0.3, one) == long_run(flat, one, 0.3, one)


def test_what_is_gained_is_what_a_copy_lasts_less_what_is_left_of_it():
    rate = np.array([0.05, 3.0])
    found = gains(Exponential(rate), 2)
    assert found.shape == (2, AGES.size)
    for r, row in zip(rate, found, strict=True):
        by_hand = (1 - np.exp(-r * AGES)) / r - AGES * np.exp(-r * AGES)
        assert row == pytest.approx(by_hand, abs=1e-12)


def test_a_budget_for_everything_at_each_turn_has_no_price():
    gain, one = gains(Exponential(np.array([0.1])), 1), np.ones(1)
    assert long_run(gain, one, 1.0 / AGES[0], one) == 0.0
    assert long_run(gain, one, 0.9 / AGES[0], one) > 0.0
    assert long_run(np.zeros((0, AGES.size)), one[:0], 1.0, one[:0]) == 0.0


@pytest.mark.parametrize(
    ("saved", "most", "said"),
    [
        (0.0, 8.0, 4.0), (2.0, 8.0, 3.0), (8.0, 8.0, 0.0), (9.0, 8.0, 0.0),
        (-3.0, 8.0, 4.0), (0.0, 0.0, 0.0), (0.25, 0.5, 2.0), (0.0, -1.0, 0.0),
    ],
)  # fmt: skip
def test_less_is_asked_for_the_more_is_saved(saved, most, said):
    assert reserve_price(4.0, saved, most) == pytest.approx(said)


STEP = 1.5  # from one point of a curve to the next
POINTS = np.concatenate([[0.0], 1e-3 * STEP ** np.arange(30.0)])


def curve(rate, survival, points=POINTS):
    """Return what requests buy at pages, fetched as if their rates were known."""
    often = frequencies(rate, points)
    every = 1.0 / np.maximum(often, 1e-9)
    fresh = (survival.lasting(every) / every).mean(axis=1)
    return Worth("pages", "freshness", 1.0, points, fresh, fresh, fresh)


@given(
    rate=st.lists(st.floats(0.01, 3.0), min_size=1, max_size=8).map(np.array),
    budget=st.floats(0.01, 20.0),
)
def test_the_price_of_pages_whose_rates_are_known_is_a_slope_of_their_curve(
    rate, budget
):
    n, law = rate.size, Exponential(rate)
    price = long_run(gains(law, n) / n, np.ones(n), budget, np.ones(n))
    worth = curve(rate, law)
    less, more = (share([worth], budget * by).price for by in (1.0 / STEP, STEP))
    # What the table of ages leaves open, and no more.
    assert more * 0.997 <= price <= less * 1.003


def test_rates_taken_for_known_buy_a_little_less_than_prices_say():
    """Ten pages change three times a day; of twenty others little is known.

    A curve of schedules that take rates for known gives the ten no request until one at
    the others gains less than 1 / (30 x 2.89) = 0.01154. By what is believed, those
    gain less than the ten would from 87.4 / 86.4 of that on, 0.01167: until then the
    curve lies below the best there is, and its slope from there on may be less than
    the price.
    """
    shape = np.repeat([87.4, 0.25], [10, 20])
    rate = np.repeat([2.89, 0.0083], [10, 20])
    law = GammaSurvival(shape, shape / rate)
    table, each = gains(law, 30) / 30, np.ones(30)
    drawn = curve(rate, law, np.array([0.0, 1.36, 1.99, 2.91, 4.27, 6.25, 9.15]))
    price, slope = long_run(table, each, 4.5, each), share([drawn], 4.5 / STEP).price
    assert slope == pytest.approx(0.01161, rel=1e-3)
    assert 1.001 * slope < price < 1.01 * slope
    # No schedule buys more than prices say, whatever it takes for known.
    budgets = np.geomspace(0.05, 40.0, 60)
    prices = [long_run(table, each, b, each) for b in budgets]
    paid = np.diff(budgets) * [(a + b) / 2.0 for a, b in pairwise(prices)]
    bought = np.diff(curve(rate, law, np.array([0.0, *budgets])).at(budgets))
    assert (np.cumsum(bought) <= 1.003 * np.cumsum(paid)).all()
