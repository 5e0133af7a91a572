"""Forecasts of set sources: horizons, bands and versions, checked part by part."""

from dataclasses import replace

import numpy as np
import pytest

from halflife.core.lifetimes import Collection, Lives
from halflife.models import setquality
from halflife.models.census import METRICS, Census
from halflife.models.conformal import DISPERSION
from halflife.models.experts import POOL
from halflife.models.pool import GROWTH, Study
from halflife.models.setquality import (
    Band,
    _loss,
    _ratio_to,
    _set_forecast,
    _with_past,
    days_until_below,
    forecast,
    quality_band,
    quality_bounds,
    recall_ahead,
    versions,
)
from set_lives import grown
from set_worlds import collection

INF = np.inf


@pytest.fixture(scope="module")
def world():
    return grown(np.random.default_rng(7), (0.05, 0.1), days=36, arrivals=7.0)


@pytest.fixture(scope="module")
def study(world):
    return Study(Census.of(world))


def test_before_any_look_nothing_is_held_and_nothing_can_be_wrong():
    nothing = collection([], [], [])
    found = forecast(nothing, 3.0, [0.0, 2.0], 0.9)
    assert (found.status, found.size, found.confidence) == ("no look yet", 0, 0.9)
    assert found.at.tolist() == [3.0, 5.0]
    for band in (found.precision, found.recall):
        assert [x.tolist() for x in band] == [[1.0] * 2, [0.0] * 2, [1.0] * 2]
    for band in (found.gone, found.new):
        assert [x.tolist() for x in band] == [[0.0] * 2] * 3


def test_after_one_look_all_may_have_gone():
    one = collection([0.0], np.full(4, -1.0), np.full(4, 9.0))
    found = forecast(one, 1.0, [1.0])
    assert (found.status, found.size) == ("one look only", 4)
    assert [x.tolist() for x in found.gone] == [[0.0], [0.0], [4.0]]
    assert [x.tolist() for x in found.recall] == [[1.0], [0.0], [1.0]]


def test_an_empty_source_fills_at_the_mean_pace_so_far():
    # Two of three gaps brought something: 6 objects in 3 days, half of one lent.
    looks, born = np.arange(4.0), [0.5, 0.5, 0.5, 0.5, 1.5, 1.5]
    empty = collection(looks, born, np.full(6, 2.5))
    found = forecast(empty, 4.0, [0.0, 5.0])
    assert (found.status, found.size) == ("nothing held", 0)
    mean = 6.5 / 3.0 * np.array([1.0, 6.0])  # days since the last look
    half = 3.0 * np.sqrt(mean + (DISPERSION * mean) ** 2)
    assert found.new.mean == pytest.approx(mean)
    assert found.new.high == pytest.approx(mean + half)
    assert found.new.low == pytest.approx(np.maximum(mean - half, 0.0))
    assert found.precision.low.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("days", "told"),
    [
        (0.2, 1.0),  # no horizon is shorter than a step
        (1.0, 1.0),
        (1.1, 1.0),  # the look that tells comes 0.9 later, more than 0.33 + 0.5
        (1.2, 1.0),  # comes by two thirds of the horizon too late
        (2.05, 2.0),
        (2.9, 2.9),  # and here by 3 %
        (11.5, 11.5),
        (12.0, 12.0),
        (30.0, 12.0),  # a third of the history
    ],
)
def test_the_horizon_that_tells_is_the_nearest_with_a_past(study, days, told):
    assert _with_past(study, days) == pytest.approx(told)


def test_a_horizon_with_half_the_past_of_whole_steps_tells_of_itself():
    # Looks 1 or 2 days apart: of 1.05 days only the gaps of 2, which are too late,
    # or those that begin a step before another look, tell.
    for many, told in [(8, 1.0), (2, 1.0)]:
        gaps = [1.0] * 20 + [1.05] * many
        looks = np.concatenate([[0.0], np.cumsum(gaps)])
        rng = np.random.default_rng(0)
        born = rng.uniform(-3, 20, 80)
        made = Study(Census.of(collection(looks, born, born + rng.exponential(9, 80))))
        past = made.at(1.05).outcome.known.sum()
        other = made.at(1.0).outcome.known.sum()
        expected = 1.05 if 2 * past >= other else told
        assert _with_past(made, 1.05) == expected


def test_further_ahead_losses_grow_as_the_mean_of_the_models_does(study):
    last = study.census.looks.size - 1

    def mean(days):
        ahead = np.full(last + 1, days)
        both = [study.experts.expected(n, 4.0, ahead)[:, last] for n in POOL]
        lost, missed = np.array(both).sum(axis=0) / len(POOL)
        new = np.exp(min(missed - lost, GROWTH)) - np.exp(-lost)
        return np.array([lost, missed, new])

    for days in (2.0, 4.0, 40.0):
        ratio = mean(days) / mean(4.0)
        found = _ratio_to(study.at(4.0), np.array([days, 9.0]))
        assert found[:, 0] == pytest.approx(ratio)


@pytest.mark.parametrize("days", [0.4, 3.0, 25.0])
def test_losses_are_bounds_about_what_the_horizon_that_tells_expects(study, days):
    found = _loss(study, days, 0.9)
    told = _with_past(study, days)
    horizon, last = study.at(told), study.census.looks.size - 1
    further = _ratio_to(study.at(told), np.array([days]))[:, 0]
    ratio = np.ones(3) if told == days else further
    for m in range(2):
        guess = horizon.pooled[m, last] * ratio[m]
        by_hand = horizon.mixture(m).bounds(np.array([last]), np.array([guess]), 0.9)
        assert found[m] == pytest.approx(by_hand[:, 0])
    new = horizon.newcomers()
    guess = new.scored.guess[[last]] * ratio[2]
    by_hand = new.bounds(np.array([last]), guess, 0.9)
    assert found[2] == pytest.approx(by_hand[:, 0])


def test_at_once_nothing_is_lost(study):
    for days in (0.0, -1.0):
        assert _loss(study, days, 0.9).tolist() == [[0.0] * 3] * 3


def test_a_forecast_is_made_of_the_losses_since_the_last_look(world, study):
    found = forecast(world, 36.5, [0.5, 6.0], 0.9)
    size = study.census.size[-1]
    assert found.size == size
    for i, days in enumerate((1.0, 6.5)):
        losses = _loss(study, days, 0.9)
        least, middle, most = np.exp(-losses[0])
        assert found.precision.mean[i] == pytest.approx(middle)
        assert found.precision.high[i] == pytest.approx(least)
        assert found.precision.low[i] == pytest.approx(most)
        assert found.recall.mean[i] == pytest.approx(np.exp(-losses[1][1]))
        new = [found.new.low[i], found.new.mean[i], found.new.high[i]]
        assert new == pytest.approx(size * losses[2])


def test_bands_of_losses_count_precision_as_only_falling_whatever_the_order():
    census = Census.of(collection(np.arange(25.0), np.full(10, -1.0), np.full(10, 99)))
    losses = np.zeros((3, 3, 3))
    losses[0] = [[0.3, 0.1, 0.2], [0.5, 0.2, 0.6], [0.9, 0.7, 0.6]]
    losses[1] = [[0.2, 0.1, 0.05], [0.3, 0.2, 0.1], [0.4, 0.3, 0.2]]
    losses[2] = [[0.1, 0.2, 0.3], [0.2, 0.3, 0.4], [0.5, 0.6, 0.7]]
    at = np.array([30.0, 26.0, 28.0])
    found = _set_forecast(losses.copy(), at, census, 0.8)
    assert (found.size, found.status, found.confidence) == (10, "ok", 0.8)
    least, middle, most = [0.3, 0.1, 0.2], [0.6, 0.2, 0.6], [0.9, 0.7, 0.7]
    assert found.precision.high == pytest.approx(np.exp(-np.array(least)))
    assert found.precision.mean == pytest.approx(np.exp(-np.array(middle)))
    assert found.precision.low == pytest.approx(np.exp(-np.array(most)))
    assert found.recall.mean == pytest.approx(np.exp(-losses[1][1]))  # left alone
    assert found.gone.mean == pytest.approx(10 - 10 * np.exp(-np.array(middle)))
    assert found.gone.low == pytest.approx(10 - 10 * np.exp(-np.array(least)))
    assert found.gone.high == pytest.approx(10 - 10 * np.exp(-np.array(most)))
    assert [x.tolist() for x in found.new] == [
        pytest.approx(10 * losses[2][k]) for k in (1, 0, 2)
    ]


def test_less_than_half_an_object_kept_is_none():
    loss = np.log(np.array([[1.0, 1.25], [1.6, 1.6], [2.0, 1.9]]))
    assert np.exp(-loss[2, 0]) == 0.5
    found = quality_band(loss, 1)
    assert found.low == pytest.approx([0.0, 1 / 1.9])
    assert found.mean == pytest.approx([0.625, 0.625])
    assert found.high == pytest.approx([1.0, 0.8])
    each = quality_band(loss, np.array([2.0, 0.9]))
    assert each.low == pytest.approx([0.5, 0.0])


def test_bounds_of_past_forecasts_are_those_that_were_made_then(study):
    ready = study.at(3.0).mixture(1)
    looks = np.array([20, 11, 30])
    found = quality_bounds(ready, looks, 0.9)
    for k, look in enumerate(looks.tolist()):
        at = np.array([look])
        ends = ready.bounds(at, ready.scored.guess[at], 0.9)[:, 0]
        assert found.high[k] == pytest.approx(np.exp(-ends[0]))
        assert found.mean[k] == pytest.approx(np.exp(-ends[1]))
        assert found.low[k] == pytest.approx(np.exp(-ends[2]))
    none = quality_bounds(ready, np.zeros(0, np.intp), 0.9)
    assert [x.size for x in none] == [0, 0, 0]


@pytest.mark.parametrize(
    ("metric", "doubt", "since"), [("precision", 2.0, 0.0), ("recall", 1.0, 0.75)]
)
def test_when_finds_the_day_on_which_the_doubted_bound_passes_the_level(
    world, study, metric, doubt, since
):
    row, level = METRICS.index(metric), 0.7

    def low(days):
        _, middle, most = np.exp(-_loss(study, since + days, 0.8)[row])
        return max(middle - doubt * (middle - most), 0.0)

    found = days_until_below(world, 36.0 + since, metric, level, 0.9, doubt=doubt)
    # The bound is a line within a sixteenth of the last doubling.
    step = 0.25
    while low(step) >= level:
        step *= 2
    width = step / 2 / 16 if step > 0.25 else step / 16
    assert low(max(found - width, 0.0)) >= level >= low(found + width)
    assert found > 0


def test_when_interpolates_between_the_last_two_bounds(world, study):
    level = 0.7

    def low(days):
        return float(np.exp(-_loss(study, days, 0.8)[0][2]))

    fine, late = 0.0, 0.25
    while low(late) >= level:
        fine, late = late, 2 * late
    for _ in range(4):
        middle = (fine + late) / 2
        fine, late = (middle, late) if low(middle) >= level else (fine, middle)
    share = (low(fine) - level) / (low(fine) - low(late))
    by_hand = fine + share * (late - fine)
    assert days_until_below(world, 36.0, "precision", level, 0.9) == pytest.approx(
        by_hand
    )


def test_when_says_never_for_what_holds_a_year_and_now_for_what_is_low(world, study):
    assert days_until_below(world, 36.0, "precision", 1.01, 0.9) == 0.0
    assert days_until_below(world, 36.0, "precision", 0.0, 0.9) is None
    late = days_until_below(world, 36.0 + 30.0, "precision", 0.9, 0.9)
    assert late == 0.0  # it was below long ago
    few = collection([0.0], [-1.0], [9.0])
    assert days_until_below(few, 1.0, "recall", 0.5) is None
    empty = collection([0.0, 1.0], [-1.0], [0.5])
    assert days_until_below(empty, 1.0, "recall", 0.5) is None
    two = collection([0.0, 1.0], [-1.0, -1.0], [0.5, 9.0])
    assert days_until_below(two, 1.0, "recall", 0.99) is not None
    # A confidence of a half or less asks for the least that two sides can have.
    low = float(np.exp(-_loss(study, 5.0, 0.01)[0][2]))
    assert days_until_below(world, 36.0, "precision", low, 0.3) == pytest.approx(
        5.0, abs=0.5
    )


def test_versions_end_where_the_next_begins():
    looks = np.arange(0.0, 10.0)
    lives = Lives(
        keys=("a", "b", "c"),
        absent_before=np.array([-INF, 1.0, 3.0]),
        first_seen=np.array([0.0, 2.0, 4.0]),
        last_seen=np.array([9.0, 6.0, 9.0]),
        gone_by=np.array([INF, 7.0, INF]),
        attributes={},
    )
    changed, at = np.array([1, 0, 0]), np.array([5.0, 8.0, 3.0])
    found = versions(Collection("x", looks, lives, changed, at))
    rows = {
        tuple(x)
        for x in zip(
            found.lives.absent_before.tolist(),
            found.lives.first_seen.tolist(),
            found.lives.last_seen.tolist(),
            found.lives.gone_by.tolist(),
            strict=True,
        )
    }
    assert rows == {
        (-INF, 0.0, 2.0, 3.0),  # a, until it changed on day 3
        (3.0, 3.0, 7.0, 8.0),
        (8.0, 8.0, 9.0, INF),
        (1.0, 2.0, 4.0, 5.0),  # b
        (5.0, 5.0, 6.0, 7.0),
        (3.0, 4.0, 9.0, INF),  # c never changed
    }
    assert len(set(found.lives.keys)) == 6
    assert found.changed.size == found.changed_at.size == 0
    assert found.looks is looks
    none = versions(collection([], [], []))
    assert len(none.lives) == 0


def test_the_last_version_of_each_object_ends_as_the_object_does():
    looks = np.arange(0.0, 10.0)
    lives = Lives(
        keys=("a", "b"),
        absent_before=np.array([-INF, 1.0]),
        first_seen=np.array([0.0, 2.0]),
        last_seen=np.array([5.0, 6.0]),
        gone_by=np.array([6.0, 7.0]),
        attributes={},
    )
    found = versions(Collection("x", looks, lives, np.array([1]), np.array([4.0])))
    assert found.lives.last_seen.tolist() == [5.0, 3.0, 6.0]
    assert found.lives.gone_by.tolist() == [6.0, 4.0, 7.0]


def test_only_the_latest_looks_count_and_what_was_there_then(monkeypatch):
    world = grown(np.random.default_rng(3), (0.2,), days=30, arrivals=4.0)
    monkeypatch.setattr(setquality, "LOOKS", 12)
    found = forecast(world, 25.0, [2.0])
    known = world.until(25.0)
    begin = 25.0 - 11.0
    recent = replace(
        known.select(known.lives.last_seen >= begin),
        looks=known.looks[known.looks >= begin],
    )
    assert recent.looks.size == 12
    monkeypatch.setattr(setquality, "LOOKS", 1500)
    again = forecast(recent, 25.0, [2.0])
    for one, two in zip(found.recall, again.recall, strict=True):
        assert one == pytest.approx(two)
    assert found.status == again.status == "short history: wide bounds"
    # As many looks as may count are all taken.
    monkeypatch.setattr(setquality, "LOOKS", known.looks.size)
    whole = forecast(world, 25.0, [2.0])
    assert whole.status == "ok"
    assert isinstance(whole.recall, Band)


def test_recall_alone_is_the_recall_of_the_forecast(world):
    looks = np.arange(4.0)
    empty = collection(looks, np.zeros(3), np.full(3, 2.5))
    one = collection([0.0], np.full(4, -1.0), np.full(4, 9.0))
    for source in (world, world.until(5.0), collection([], [], []), one, empty):
        for ahead in ([0.0, 0.3], [1.0, 30.0, 4.0]):
            whole = forecast(source, 36.5, ahead, 0.8).recall
            alone = recall_ahead(source, 36.5, ahead, 0.8)
            for mine, theirs in zip(alone, whole, strict=True):
                np.testing.assert_array_equal(mine, theirs)
