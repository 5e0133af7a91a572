"""Cycles with hints, against a simulation that knows nothing of the formulas."""

import numpy as np
import pytest
from scipy.integrate import quad

from halflife.allocation import blind_bound, index, signal_bound
from halflife.allocation.signals import SignalRates, cycle, value
from halflife.bench.population import rates_and_weights
from halflife.models.poisson import Exponential
from lab.hinted_bound import hinted_bound


def simulated(rate, recall, false, until, rounds, rng):
    """Return mean length and mean fresh time of cycles, change by change."""
    model = SignalRates.of(rate, recall, false)
    shift, lengths, fresh = float(model.shift), [], []
    for _ in range(rounds):
        now, age, first = 0.0, 0.0, np.inf
        change, wrong = rng.exponential(1 / rate), rng.exponential(1 / false)
        while True:
            event = min(change, wrong)
            if age + event - now >= until:
                now += until - age
                break
            age, now = age + event - now, event
            if change <= wrong:
                first = min(first, now)
                told = rng.random() < recall
                change = now + rng.exponential(1 / rate)
            else:
                told, wrong = True, now + rng.exponential(1 / false)
            age += shift * told
            if age >= until:
                break
        lengths.append(now)
        fresh.append(min(first, now))
    return np.array(lengths), np.array(fresh)


@pytest.mark.parametrize("until", [1.5, 4.0, 9.0])
@pytest.mark.parametrize(("recall", "false"), [(0.6, 0.4), (0.9, 0.05), (0.2, 1.0)])
def test_cycles_last_and_stay_fresh_as_long_as_simulated_ones(recall, false, until):
    rng = np.random.default_rng(7)
    lengths, fresh = simulated(0.5, recall, false, until, 4000, rng)
    told = cycle(SignalRates.of(np.array([0.5]), recall, false), np.array([until]))
    for sample, expected in ((lengths, told.length), (fresh, told.fresh)):
        error = 4.0 * sample.std() / np.sqrt(sample.size) + 1e-9
        assert expected[0] == pytest.approx(sample.mean(), abs=error)


def test_without_hints_a_look_buys_the_plain_index():
    rate, age = np.geomspace(1e-3, 10.0, 20), np.geomspace(0.1, 50.0, 20)
    plain = index(Exponential(rate), age, "freshness")
    for model in (SignalRates.of(rate, 0.0, 0.0), SignalRates.of(rate, 0.0, 3.0)):
        np.testing.assert_allclose(value(model, age), plain, rtol=1e-9, atol=1e-12)


def test_hints_worth_next_to_nothing_leave_the_index_as_it_is():
    rate, age = np.geomspace(1e-2, 1.0, 9), np.geomspace(0.5, 20.0, 9)
    plain = index(Exponential(rate), age, "freshness")
    weak = value(SignalRates.of(rate, 1e-4, 1.0), age)
    np.testing.assert_allclose(weak, plain, rtol=2e-3)


def test_with_perfect_hints_a_look_buys_nothing_until_one_comes():
    model = SignalRates.of(np.array([0.5]), 1.0, 0.0)
    assert value(model, np.array([20.0]))[0] == pytest.approx(0.0, abs=1e-4)
    after = np.array([20.0]) + model.shift
    assert value(model, after)[0] == pytest.approx(1 / 0.5, rel=1e-4)


def test_the_first_term_is_an_integral_over_the_time_of_the_first_hint():
    a, g, until = 0.2, 0.7, 3.0
    model = SignalRates(np.array([a]), np.array([g]), np.array([5.0]))
    told = cycle(model, np.array([until]))
    length = quad(lambda t: np.exp(-g * t), 0, until)[0]
    fresh = quad(lambda t: np.exp(-(a + g) * t), 0, until)[0]
    assert told.length[0] == pytest.approx(length)
    assert told.fresh[0] == pytest.approx(fresh)


def test_the_bound_lies_between_those_without_hints_and_with_perfect_ones():
    rate, weight = rates_and_weights(300, 0)
    blind = blind_bound(rate, 60.0, weight=weight)
    perfect = signal_bound(rate, 60.0, weight=weight)
    nothing = hinted_bound(rate, 60.0, 0.0, 1.0, weight=weight)
    everything = hinted_bound(rate, 60.0, 1.0, 1.0, weight=weight)
    assert nothing == pytest.approx(blind, abs=2e-4)
    assert everything == pytest.approx(perfect, abs=2e-4)
    table = np.array(
        [
            [hinted_bound(rate, 60.0, r, p, weight=weight) for p in (1.0, 0.5, 0.2)]
            for r in (0.3, 0.6, 0.9)
        ]
    )
    assert (np.diff(table, axis=0) > 0).all()  # more recall
    assert (np.diff(table, axis=1) < 0).all()  # less precision
    assert blind < table.min()
    assert table.max() < perfect
