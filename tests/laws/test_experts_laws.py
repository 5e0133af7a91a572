"""Forecasts of set sources from counts made object by object."""

import math

import numpy as np
import pytest

from halflife.models import decay
from halflife.models.ages import (
    LifeTable,
    life_table_hazard,
    survivors,
    weibull_hazard,
)
from halflife.models.census import Census
from halflife.models.experts import (
    LAST,
    MOST,
    POOL,
    RIVALS,
    TRAINING_STEPS,
    Experts,
    _between,
    season,
    trained_values,
)
from set_worlds import collection

LOOKS = np.array([0, 1, 2, 3, 4.5, 5, 6, 7, 8, 9, 10, 11, 14, 15, 16, 17.0])


def a_world(seed=0, looks=LOOKS):
    rng = np.random.default_rng(seed)
    born = np.concatenate([np.full(30, -1.0), rng.uniform(0, 17, 40)])
    return collection(looks, born, np.maximum(born, 0) + rng.exponential(9.0, 70))


@pytest.fixture(scope="module")
def world():
    return a_world()


@pytest.fixture(scope="module")
def experts(world):
    return Experts(Census.of(world))


def gaps_of(world):
    """Return gone, new, days lived, length and qualities of each gap between looks."""
    rows = []
    for a, b in zip(world.looks[:-1], world.looks[1:], strict=True):
        one, two = set(world.held(a).tolist()), set(world.held(b).tolist())
        both, gap = len(one & two), b - a
        rows.append(
            (
                len(one) - both,
                len(two) - both,
                gap * (len(one) + both) / 2,
                gap,
                -math.log(max(both / len(one), math.exp(-MOST))),
                -math.log(max(both / len(two), math.exp(-MOST))),
            )
        )
    return rows


def rates_by_hand(world, i, window, step=1.0):
    looks = world.looks
    begin = min(j for j in range(i + 1) if looks[j] >= looks[i] - window)
    rows = gaps_of(world)[min(begin, max(i - 1, 0)) : i]
    gone, new, lived, time = (sum(r[k] for r in rows) for k in range(4))
    size = max(world.held(looks[i]).size, 1)
    rate = (gone + 0.5) / max(lived, size * step)
    return rate, (new + 0.5) / max(time, step), gone


@pytest.mark.parametrize("window", [0.3, 1.0, 1.5, 4.0, np.inf])
def test_rates_are_events_of_a_window_over_what_was_watched_in_it(
    world, experts, window
):
    found = np.array(experts.rates(window)).T
    for i in range(LOOKS.size):
        assert found[i] == pytest.approx(rates_by_hand(world, i, window))


@pytest.mark.parametrize(
    ("name", "horizon", "window"),
    [
        ("exponential", 2.0, np.inf),
        ("exponential-short", 2.0, 7.0),
        ("exponential-short", 9.0, 9.0),
        ("exponential-long", 2.0, 30.0),
        ("exponential-long", 2.0, 8.0),
        ("last-cycle", 5.0, 1.01),
    ],
)
def test_even_lives_decay_by_the_rates_of_a_window(name, horizon, window):
    looks = LOOKS / 16 if (name, window) == ("exponential-long", 8.0) else LOOKS
    world = a_world(1, looks)
    step = 1 / 16 if looks is not LOOKS else 1.0
    ahead = np.linspace(0.5, 6.0, looks.size) * step
    found = Experts(Census.of(world)).expected(name, horizon, ahead)
    for i, t in enumerate(ahead):
        a, m, _ = rates_by_hand(world, i, window, step)
        size = max(world.held(looks[i]).size, 1)
        kept, new = size * math.exp(-a * t), m * (1 - math.exp(-a * t)) / a
        assert found[0, i] == pytest.approx(-math.log(kept / size))
        assert found[1, i] == pytest.approx(-math.log(kept / (kept + new)))


@pytest.mark.parametrize("name", sorted({*POOL, *RIVALS, "chosen-ar"}))
def test_of_the_last_copy_alone_the_same_is_expected_any_days_ahead(experts, name):
    ahead = np.array([0.25, 1.0, 3.5, 40.0, 900.0])
    found = experts.expected(name, 2.0, ahead, LAST)
    for i, days in enumerate(ahead):
        every = experts.expected(name, 2.0, np.full(LOOKS.size, days))
        assert found[:, i] == pytest.approx(every[:, -1])


def test_the_average_lets_the_mean_decay_a_day_go_on(world, experts):
    ahead = np.linspace(0.5, 9.0, LOOKS.size)
    found = experts.expected("average", 1.0, ahead)
    rows = gaps_of(world)
    for i, t in enumerate(ahead):
        time = max(sum(r[3] for r in rows[:i]), 1.0)
        for metric in (0, 1):
            total = sum(r[4 + metric] for r in rows[:i])
            by_hand = max(total / time * t, 1e-9)
            assert found[metric, i] == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("name", "hazard"), [("weibull", weibull_hazard), ("life-table", life_table_hazard)]
)
def test_aged_lives_survive_by_their_table_and_newcomers_by_their_age(
    world, experts, name, hazard
):
    ahead = np.linspace(0.5, 9.0, LOOKS.size)
    found = experts.expected(name, 1.0, ahead)
    table = LifeTable.of(experts.census)
    alive, fresh = survivors(table, hazard(table), ahead)
    for i, t in enumerate(ahead):
        new = rates_by_hand(world, i, np.inf)[1] * t * fresh[i]
        kept = world.held(LOOKS[i]).size * alive[i]
        assert found[0, i] == pytest.approx(-math.log(alive[i]))
        missed = max(-math.log(kept / (kept + new)), 1e-9)
        assert found[1, i] == pytest.approx(missed)


def rolled(now, lags, values, steps):
    """Return the decay of so many steps by the recursion, one after the other."""
    values, total = list(values), 0.0
    while steps > 0:
        d = min(now[0] + sum(b * values[-k] for b, k in zip(now[1:], lags)), 0.0)  # noqa: B905
        values.append(d)
        total += d * min(steps, 1.0)
        steps -= 1.0
    return total


@pytest.mark.parametrize("kind", ["static", "adaptive", "kalman", "chosen"])
def test_autoregressions_go_on_from_the_latest_decay(world, experts, kind):
    ahead = np.linspace(0.5, 7.25, LOOKS.size)
    found = experts.expected(f"{kind}-ar", 1.0, ahead)
    for row, metric in enumerate(("precision", "recall")):
        quality = np.exp([-r[4 + row] for r in gaps_of(world)])
        series = decay.Series.of(LOOKS, quality, 1.0)
        lags, held = experts.coefficients(metric, kind)
        assert lags == decay.choose_lags(series.decay[: series.place[-1]], season=7)
        for i, t in enumerate(ahead):
            known = series.decay[: series.place[i]].tolist()
            first = known[:1] or [0.0]
            before = first * 20 + known
            loss = -rolled(held[i], lags, before, t)
            assert found[row, i] == pytest.approx(min(max(loss, 1e-9), MOST))


def test_each_kind_of_autoregression_is_the_one_it_is_called(world, experts):
    for metric, quality in zip(
        ("precision", "recall"), experts.census.turnover.quality, strict=True
    ):
        series = decay.Series.of(LOOKS, quality, 1.0)
        lags, static = experts.coefficients(metric, "static")
        trained = int(series.place[-1])  # all of 17 days are training
        makers = {
            "static": decay.static_coefficients,
            "adaptive": decay.adaptive_coefficients,
            "kalman": decay.kalman_coefficients,
        }
        made = {k: make(series, lags, trained) for k, make in makers.items()}
        for kind, by_hand in made.items():
            found = experts.coefficients(metric, kind)[1]
            np.testing.assert_allclose(found, by_hand)
        best = decay.best_coefficients(series, lags, list(made.values()))
        np.testing.assert_allclose(experts.coefficients(metric, "chosen")[1], best)
        errors = decay.error_variance(series, lags, static)
        np.testing.assert_allclose(experts.paths(metric, "static")[1], errors)


def test_losses_stay_within_what_is_told_apart():
    looks = np.arange(6.0)
    gone = collection(looks, np.full(5, -1.0), np.full(5, 1.5))  # all go at once
    experts = Experts(Census.of(gone))
    found = experts.expected("exponential", 1.0, np.full(6, 1e9))
    assert found.max() == MOST
    assert experts.expected("average", 1.0, np.zeros(6)).min() == 1e-9


@pytest.mark.parametrize(
    ("step", "steps"),
    [(1 / 24, 24), (0.49, 2), (0.5, 7), (1.0, 7), (1.5, 7), (1.51, 0), (7.0, 0)],
)
def test_a_season_is_a_day_of_short_steps_or_a_week_of_days(step, steps):
    assert season(step) == steps


def test_training_takes_thirty_days_and_no_more_than_so_many_steps():
    looks = np.arange(50.0)
    series = decay.Series.of(looks, np.full(49, 0.9), 1.0)
    assert trained_values(series, looks) == 30  # the look on day 30 still counts
    early = looks - 0.5
    early[0] = 0.0
    assert trained_values(series, early) == 30
    short = np.arange(900) / 24.0
    hourly = decay.Series.of(short, np.full(899, 0.9), 1 / 24)
    assert trained_values(hourly, short) == TRAINING_STEPS
    nothing = np.zeros(0)
    assert trained_values(decay.Series.of(nothing, nothing, 1.0), nothing) == 0


def test_sums_between_two_places_are_sums_of_slices():
    values = np.array([3.0, -1.0, 4.0, 1.5])
    pairs = [(a, b) for b in range(5) for a in range(b + 1)]
    begin, end = np.array(pairs).T
    by_hand = [values[a:b].sum() for a, b in pairs]
    assert _between(values, begin, end) == pytest.approx(by_hand)
