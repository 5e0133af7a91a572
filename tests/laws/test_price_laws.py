"""The price of a request: by hand on the table of ages."""

import numpy as np
import pytest

from halflife.market.price import AGES, asked, gains, long_run, reached
from halflife.models.poisson import Exponential


def spent(dense, price):
    """Return requests a day if one thing is renewed when its gain reaches a price."""
    for k in range(AGES.size):
        if dense[k] >= price:
            if k == 0:
                return 1.0 / AGES[0]
            part = (price - dense[k - 1]) / (dense[k] - dense[k - 1])
            return 1.0 / (AGES[k - 1] * (AGES[k] / AGES[k - 1]) ** part)
    return 0.0


def total(gain, cost, many, price):
    rows = zip(gain, cost, many, strict=True)
    return sum(c * m * spent(np.maximum.accumulate(g) / c, price) for g, c, m in rows)


def test_a_gain_is_reached_between_two_ages_by_its_share_in_the_logarithm():
    rng = np.random.default_rng(4)
    dense = np.cumsum(rng.integers(0, 3, (6, AGES.size)), axis=1).astype(float)
    dense[5] = 4.0  # it never grows
    prices = [0.0, 0.5, 1.0, 4.0, 4.5, *dense[0, ::40], dense.max(), dense.max() + 1]
    for price in prices:
        found = reached(dense, price)
        for row, days in zip(dense, found, strict=True):
            each = spent(row, price)
            assert days == pytest.approx(1.0 / each if each else np.inf)
    assert reached(dense, dense[1, 0]).tolist()[1] == AGES[0]


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
    assert asked(4.0, saved, most) == pytest.approx(said)
