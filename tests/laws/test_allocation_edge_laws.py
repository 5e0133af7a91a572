"""Edges of the allocation: exactly spent budgets, no weight, no hints, no price."""

import math

import numpy as np
import pytest

from halflife.allocation.bounds import hindsight_bound
from halflife.allocation.hosts import allocate_polite
from halflife.allocation.objectives import mean_age, mean_freshness, mean_harmonic
from halflife.allocation.search import Search
from halflife.allocation.signals import SignalRates, cycle
from halflife.allocation.solver import allocate


def test_whoever_can_look_after_each_change_is_always_fresh():
    rate, cost = np.array([0.5, 0.25]), np.array([1.0, 2.0])
    assert hindsight_bound(rate, 1.0, cost=cost) == 1.0
    assert hindsight_bound(rate, 0.999, cost=cost) < 1.0


@pytest.mark.parametrize("objective", ["freshness", "age", "harmonic"])
def test_what_has_no_weight_has_no_part_in_the_value(objective):
    alone = allocate([1.0, 0.3], 0.7, objective=objective)
    more = allocate([1.0, 0.3, 5.0], 0.7, weight=[1, 1, 0], objective=objective)
    assert more.value == pytest.approx(alone.value)
    assert more.frequency[2] == 0.0
    nobody = allocate([1.0], 0.7, weight=[0.0], objective=objective)
    assert nobody.value == (1.0 if objective == "freshness" else 0.0)


def test_without_looks_nothing_stays_fresh_and_ages_have_no_end():
    looks, rate = np.array([0.0, 0.0]), np.array([2.0, 0.0])
    assert mean_freshness(looks, rate).tolist() == [0.0, 1.0]
    assert mean_age(looks, rate).tolist() == [math.inf, 0.0]
    assert mean_harmonic(looks, rate).tolist() == [math.inf, 0.0]


def test_where_prices_vanish_the_coordinate_is_their_logarithm():
    search = Search(-5.0, 1.0)
    search.at = -800.0
    assert search._stretch() == 1.0
    search.at = math.log(0.5)
    assert search._stretch() == pytest.approx(0.5 / math.expm1(0.5))
    assert Search(-5.0, math.inf)._stretch() == 1.0


def test_an_open_bracket_is_left_in_growing_strides():
    search = Search(0.0, math.inf)
    assert search._middle() == -4.0
    search.at = 24.0
    assert search._middle() == 24.0 - 4.0 * 3.0
    search.low = 24.0
    assert search._middle() == 24.0 + 4.0 * 3.0
    search.high = 30.0
    assert search._middle() == 27.0


@pytest.mark.parametrize("until", [0.5, 4.0])
def test_an_item_of_which_nobody_tells_has_a_plain_cycle(until):
    hints = SignalRates(np.array([0.3]), np.array([0.0]), np.array([2.0]))
    found = cycle(hints, np.array([until]))
    assert found.length == pytest.approx([until])
    assert found.fresh == pytest.approx([(1 - math.exp(-0.3 * until)) / 0.3])


@pytest.mark.parametrize(
    ("rate", "recall", "false"),
    [([1.0, 1.0], [0.5, 1.1], 0.0), ([1.0, 1.0], [-0.1, 0.5], 0.0),
     ([-1.0, 1.0], 0.5, 0.0), ([1.0, 1.0], 0.5, [0.0, -1.0])],
)  # fmt: skip
def test_hints_of_one_item_that_cannot_be_are_refused(rate, recall, false):
    with pytest.raises(ValueError, match="recall must lie in"):
        SignalRates.of(rate, recall, false)


def test_hosts_that_are_full_one_after_the_other_leave_the_rest_to_others():
    # Host 0 is full at once; what it leaves lowers the price until host 1 is full.
    rate, host = np.array([1.0, 1.0, 1.0, 1.0]), np.array([0, 1, 2, 2])
    cap = np.array([0.05, 0.6, math.inf])
    found = allocate_polite(rate, 2.0, host=host, cap=cap)
    assert found.frequency.sum() == pytest.approx(2.0)
    assert found.frequency[0] == pytest.approx(0.05)
    rest = allocate(rate[2:], 2.0 - 0.05 - found.frequency[1])
    assert found.frequency[2:] == pytest.approx(rest.frequency)
    even = allocate(rate[1:], 1.95).frequency[0]
    assert found.frequency[1] == pytest.approx(min(0.6, even))
