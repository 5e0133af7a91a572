"""Laws of what a look buys where hints of change come, some of them false."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import poisson

from halflife.allocation.signals import SignalRates, cycle, value
from lab.hinted_bound import _mixed, hinted_bound


def by_definition(rate, recall, false):
    """Return a, g and k of the docstring; k is kept at 36, a above a millionth."""
    silent = max(1.0 - recall, 1e-6) * rate
    told = recall * rate + false
    if told == 0:
        return silent, told, 0.0
    return silent, told, min(math.log(told / false), 36.0) if false else 36.0


def cycle_by_hand(silent, told, worth, until):
    """Return length and fresh time of a cycle, summed hint by hint."""
    shift, total = worth / silent, silent + told
    false = told * math.exp(-worth)  # v
    i = np.arange(2000)
    left = np.maximum(until - i * shift, 0.0)
    length = poisson.sf(i, told * left) / told
    fresh = (false / total) ** i / total * poisson.sf(i, total * left)
    return float(length.sum()), float(fresh.sum())


CASES = [
    (rate, recall, false)
    for rate in (0.02, 0.7, 9.0)
    for recall in (0.0, 0.3, 0.95, 1.0)
    for false in (0.0, 0.05, 2.0)
]


@pytest.mark.parametrize(("rate", "recall", "false"), CASES)
def test_hints_are_told_and_worth_what_their_rates_say(rate, recall, false):
    silent, told, worth = by_definition(rate, recall, false)
    found = SignalRates.of(np.array([rate]), recall, false)
    assert found.silent == pytest.approx([silent])
    assert found.hint_rate == pytest.approx([told])
    assert found.worth == pytest.approx([worth], rel=1e-9, abs=1e-12)
    assert found.shift == pytest.approx([worth / silent], rel=1e-9, abs=1e-12)
    assert found.rate == pytest.approx([rate], rel=2e-6, abs=2e-6)


@pytest.mark.parametrize("precision", [0.1, 0.5, 1.0])
def test_precision_is_the_share_of_hints_that_are_true(precision):
    found = SignalRates.at(np.array([3.0]), 0.4, precision)
    true, false = 0.4 * 3.0, 0.4 * 3.0 * (1 / precision - 1)
    assert found.hint_rate == pytest.approx([true + false])
    assert true / found.hint_rate[0] == pytest.approx(precision)
    same = SignalRates.of(np.array([3.0]), 0.4, false)
    assert found.worth == pytest.approx(same.worth)


def test_an_item_that_never_changes_tells_nothing():
    found = SignalRates.of(np.zeros(2), 0.5, np.array([0.0, 1.0]))
    assert found.worth.tolist() == [0.0, 0.0]
    assert found.silent.tolist() == [0.0, 0.0]
    assert np.isfinite(found.shift).all()
    length, fresh = cycle(found, np.array([5.0, 5.0]))
    np.testing.assert_allclose(length, 5.0)
    np.testing.assert_allclose(fresh, 5.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate": -1e-9, "recall": 0.5, "false": 0.0},
        {"rate": 1.0, "recall": -1e-9, "false": 0.0},
        {"rate": 1.0, "recall": 1.0 + 1e-9, "false": 0.0},
        {"rate": 1.0, "recall": 0.5, "false": -1e-9},
    ],
)
def test_rates_and_shares_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match="recall must lie"):
        SignalRates.of(**wrong)
    fine = {"rate": 1.0, "recall": 0.5, "false": 0.5}
    one_of_two = {name: np.array([fine[name], wrong[name]]) for name in fine}
    with pytest.raises(ValueError, match="recall must lie"):
        SignalRates.of(**one_of_two)


def test_the_ends_of_what_can_be_are_allowed():
    assert SignalRates.of(0.0, 0.0, 0.0).hint_rate == 0
    assert SignalRates.of(1.0, 1.0, 0.0).hint_rate == 1
    assert SignalRates.at(1.0, 1.0, 1.0).hint_rate == 1
    for precision in (0.0, 1.0 + 1e-9, -0.5):
        with pytest.raises(ValueError, match="precision must lie"):
            SignalRates.at(1.0, 0.5, precision)
        with pytest.raises(ValueError, match="precision must lie"):
            SignalRates.at(1.0, 0.5, np.array([0.5, precision]))


@pytest.mark.parametrize("recall", [0.3, 0.5, 0.9])
@pytest.mark.parametrize("false", [0.02, 0.4, 3.0])
def test_cycles_are_the_sums_over_the_hints_that_come(recall, false):
    until = np.geomspace(0.05, 40.0, 12)
    rate = np.full(12, 0.6)
    model = SignalRates.of(rate, recall, false)
    found = cycle(model, until)
    for i, end in enumerate(until):
        expected = cycle_by_hand(
            model.silent[i], model.hint_rate[i], model.worth[i], float(end)
        )
        assert found.length[i] == pytest.approx(expected[0], rel=1e-9)
        assert found.fresh[i] == pytest.approx(expected[1], rel=1e-9)


def test_items_of_unlike_hints_do_not_mix():
    rate = np.array([0.1, 0.5, 2.0, 5.0, 0.5])
    recall = np.array([0.9, 0.0, 0.5, 0.7, 1e-5])
    false = np.array([0.1, 1.0, 0.3, 0.0, 1.0])
    until = np.array([8.0, 3.0, 2.0, 4.0, 6.0])
    both = cycle(SignalRates.of(rate, recall, false), until)
    for i in range(5):
        one = cycle(
            SignalRates.of(rate[i : i + 1], recall[i], false[i]), until[i : i + 1]
        )
        assert both.length[i] == pytest.approx(one.length[0])
        assert both.fresh[i] == pytest.approx(one.fresh[0])


def test_hints_worth_next_to_nothing_are_an_even_stream():
    rate, recall, false = np.array([0.5]), 0.01, 2.0  # k is 0.0025
    model = SignalRates.of(rate, recall, false)
    assert 0 < model.worth[0] < 0.02
    found = cycle(model, np.array([4.0]))
    speed = 1.0 + model.hint_rate[0] * model.shift[0]
    assert found.length[0] == pytest.approx(4.0 / speed)
    # fresh while the effective age, which grows by `speed` a day, is below 4
    fresh = -math.expm1(-model.silent[0] * 4.0) / (model.silent[0] * speed)
    assert found.fresh[0] == pytest.approx(fresh)
    by_hand = cycle_by_hand(*(float(x[0]) for x in _parts(model)), 4.0)
    assert found.length[0] == pytest.approx(by_hand[0], rel=0.01)
    assert found.fresh[0] == pytest.approx(by_hand[1], rel=0.01)


def _parts(model):
    return model.silent, model.hint_rate, model.worth


def test_a_hint_worth_just_enough_is_summed_up():
    model = SignalRates(np.array([0.5]), np.array([1.0]), np.array([0.02]))
    found = cycle(model, np.array([4.0]))
    length, fresh = cycle_by_hand(0.5, 1.0, 0.02, 4.0)
    assert found.length[0] == pytest.approx(length, rel=1e-9)
    assert found.fresh[0] == pytest.approx(fresh, rel=1e-9)
    even = 4.0 / (1.0 + 1.0 * 0.04)
    assert length != pytest.approx(even, rel=1e-4)


def test_a_cycle_longer_than_any_copy_lasts_is_fresh_no_longer():
    model = SignalRates.of(np.array([1.0]), 0.3, 0.2)
    far, farther = (cycle(model, np.array([t])) for t in (100.0, 1e9))
    assert farther.fresh[0] == pytest.approx(far.fresh[0], rel=1e-9)
    assert np.isfinite(farther.length).all()
    whole = cycle_by_hand(*(float(x[0]) for x in _parts(model)), 45.0 / 0.7)
    assert farther.fresh[0] == pytest.approx(whole[1], rel=1e-9)
    assert farther.length[0] == pytest.approx(whole[0], rel=1e-9)


@pytest.mark.parametrize("recall", [0.0, 0.4, 0.9])
def test_a_look_buys_fresh_days_less_those_it_would_have_had_anyway(recall):
    age = np.geomspace(0.1, 30.0, 9)
    model = SignalRates.of(np.full(9, 0.4), recall, 0.3)
    found = value(model, age)
    for i, end in enumerate(age):
        parts = [float(x[i]) for x in _parts(model)]
        length, fresh = cycle_by_hand(*parts, float(end))
        expected = fresh - math.exp(-parts[0] * end) * length
        assert found[i] == pytest.approx(expected, rel=1e-7, abs=1e-12)


def best_of_two(rate, weight, budget, recall, precision):
    """Return the best mean freshness of two items, over a grid of cycles."""
    one = SignalRates.at(np.ones(1), recall, precision)
    until = np.geomspace(1e-3, 200.0, 4000)
    grid = SignalRates.at(np.ones(until.size), recall, precision)
    length, fresh = cycle(grid, until)
    frequency, kept = 1.0 / length, fresh / length
    first = frequency * rate[0]
    left = (budget - first) / rate[1]  # what is left for the other, in its own time
    can = (left > 0) & (left >= frequency.min()) & (left <= frequency.max())
    order = np.argsort(frequency)
    other = np.interp(left[can], frequency[order], kept[order])
    both = (weight[0] * kept[can] + weight[1] * other) / weight.sum()
    assert one.rate[0] == pytest.approx(1.0)
    return float(both.max())


@pytest.mark.parametrize("recall", [0.2, 0.6])
@pytest.mark.parametrize("precision", [0.3, 0.9])
@pytest.mark.parametrize("budget", [0.8, 3.0])
def test_no_pair_of_cycles_beats_the_bound_and_one_reaches_it(
    recall, precision, budget
):
    rate, weight = np.array([0.5, 1.5]), np.array([1.0, 2.5])
    bound = hinted_bound(rate, budget, recall, precision, weight=weight)
    best = best_of_two(rate, weight, budget, recall, precision)
    assert best <= bound + 2e-4
    assert bound == pytest.approx(best, abs=1e-3)


def test_without_weights_all_items_count_alike():
    rate = np.array([0.5, 1.5, 4.0])
    plain = hinted_bound(rate, 2.0, 0.5, 0.8)
    assert plain == hinted_bound(rate, 2.0, 0.5, 0.8, weight=np.ones(3))
    assert plain == pytest.approx(
        hinted_bound(rate, 2.0, 0.5, 0.8, weight=np.full(3, 7.0))
    )
    heavy = hinted_bound(rate, 2.0, 0.5, 0.8, weight=np.array([1e6, 1.0, 1.0]))
    alone = hinted_bound(rate[:1], 2.0, 0.5, 0.8)
    assert heavy == pytest.approx(alone, abs=1e-3)


def test_one_item_is_kept_as_fresh_as_its_budget_allows():
    rate, recall, precision, budget = 0.5, 0.4, 0.7, 0.3
    one = SignalRates.at(np.array([rate]), recall, precision)

    def over(until):
        return 1.0 / cycle(one, np.array([until])).length[0] - budget

    until = brentq(over, 1e-3, 1e3)
    found = cycle(one, np.array([until]))
    bound = hinted_bound(np.array([rate]), budget, recall, precision)
    assert bound == pytest.approx(found.fresh[0] / found.length[0], abs=1e-3)


def test_more_looks_than_anybody_asks_for_keep_everything_fresh():
    assert hinted_bound(np.array([1.0, 2.0]), 1e5, 0.5, 0.5) == pytest.approx(
        1.0, abs=1e-3
    )


def test_a_mix_takes_the_budget():
    more = np.array([3.0, 1.0]), np.array([0.9, 0.5])
    less = np.array([1.0, 1.0]), np.array([0.5, 0.5])
    w = np.array([1.0, 3.0])
    low, high = (0.5 + 1.5) / 4, (0.9 + 1.5) / 4
    for budget, expected in (
        (2.0, low),
        (3.0, (low + high) / 2),
        (3.5, low + 0.75 * (high - low)),
        (4.0, high),
        (9.0, high),
        (1.0, low),
    ):
        assert _mixed(more, less, budget, w) == pytest.approx(expected)
    assert _mixed(less, less, 5.0, w) == pytest.approx(low)
