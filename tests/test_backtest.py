import json
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from halflife.models.calibration import LEVELS, crps
from halflife.models.census import METRICS, Census
from halflife.models.experts import RIVALS
from halflife.models.pool import DEFAULT, Study
from halflife.models.setquality import forecast, quality_bounds
from halflife.replay.backtest import backtest, quantiles, references
from lab.forecast_rivals import adaptive_gain, backtest_new, compare
from set_worlds import arrival_survival, collection, worlds


@pytest.fixture(scope="module")
def steady():
    return arrival_survival(21, days=250)


@pytest.fixture(scope="module")
def bursty():
    """Return a world whose objects go in batches, some every few days."""
    rng = np.random.default_rng(6)
    born = np.concatenate([np.full(400, -1.0), rng.uniform(0, 250, 2500)])
    batches = np.sort(rng.uniform(0, 300, 40))
    wish = np.maximum(born, 0) + rng.exponential(40.0, born.size)
    died = np.append(batches, 1e9)[np.searchsorted(batches, wish)]
    return collection(np.arange(251.0), born, died)


def chosen(rows, **wanted):
    return [r for r in rows if all(r[k] == v for k, v in wanted.items())]


def test_every_model_is_held_to_account_at_every_horizon(steady):
    rows = backtest(steady, [1, 7], 0.9)
    assert len(rows) == 2 * 2 * (len(RIVALS) + 1)
    assert {r["model"] for r in rows if r["default"]} == {DEFAULT}
    assert {r["metric"] for r in rows} == set(METRICS)
    assert all(r["confidence"] == 0.9 and r["n"] > 200 for r in rows)
    assert json.loads(json.dumps(rows)) == rows


def test_in_the_world_of_the_paper_everybody_is_right(steady):
    for row in backtest(steady, [7], models=["exponential", DEFAULT]):
        assert row["coverage"] >= 0.85
        assert row["mae"] < 0.03


def test_where_objects_go_in_batches_only_the_default_covers(bursty):
    rows = backtest(bursty, [1, 7])
    paper = chosen(rows, model="exponential", metric="precision")
    own = chosen(rows, model=DEFAULT, metric="precision")
    assert np.mean([r["coverage"] for r in paper]) < 0.9
    assert np.mean([r["coverage"] for r in own]) == pytest.approx(0.95, abs=0.035)


def test_the_back_test_makes_the_forecasts_that_were_made_then(bursty):
    study = Study(Census.of(bursty))
    for days, look in ((1.0, 80), (7.0, 120), (14.0, 200)):
        told = forecast(bursty.until(float(look)), float(look), [days])
        for m, metric in enumerate(METRICS):
            ready = study.at(days).mixture(m)
            again = quality_bounds(ready, np.array([look]), 0.95)
            then = getattr(told, metric)
            assert np.stack(again) == pytest.approx(np.stack(then), abs=0.01)


def test_new_objects_are_foreseen_with_bounds_that_hold(steady, bursty):
    for world in (steady, bursty):
        rows = backtest_new(world, [1, 7])
        assert [row["horizon"] for row in rows] == [1.0, 7.0]
        for row in rows:
            assert row["coverage"] == pytest.approx(0.95, abs=0.05)
            assert row["mae"] < row["truth"]


def test_references_leave_out_the_beginning_and_are_not_too_many():
    census = Census.of(arrival_survival(1, days=2000, arrivals=0.5))
    at = references(census, np.ones(2001, bool))
    assert at[0] == 30
    assert at[-1] == 2000
    assert at.size == 600


@settings(max_examples=25)
@given(worlds())
def test_rows_are_finite_on_every_source(world):
    rows = backtest(world, [1.0, 5.0])
    for row in rows:
        assert all(math.isfinite(v) for v in row.values() if isinstance(v, float))
        assert 0 <= row["coverage"] <= 1
        assert row["n"] > 0
    gain = adaptive_gain(world, 3.0)
    assert all(math.isfinite(v) for v in gain.values())


def test_adapting_pays_where_the_pace_changes():
    rng = np.random.default_rng(2)
    born = np.full(3000, -1.0)
    slow = rng.exponential(400.0, 3000)
    died = np.where(slow < 40, slow, 40 + rng.exponential(60.0, 3000))
    world = collection(np.arange(121.0), born, died)
    gain = adaptive_gain(world, 6.0, "precision")
    assert gain["adaptive"] < gain["static"]
    assert gain["low"] > 0


def test_the_comparison_pairs_forecasts_and_bounds_their_difference(bursty):
    rows = compare(bursty, [1, 7])
    assert {r["rival"] for r in rows} == set(RIVALS)
    for row in rows:
        assert row["more"] == pytest.approx(row["default_mae"] - row["rival_mae"])
        assert row["low"] <= row["more"] <= row["high"]
    last = chosen(rows, rival="last-cycle", metric="recall")[0]
    assert last["high"] < 0


def test_rows_say_how_sharp_forecasts_were(steady):
    rows = backtest(steady, [7], 0.9, [*RIVALS, DEFAULT])
    for row in rows:
        # the price of what was missed comes on top of the width
        assert row["winkler"] >= row["width"] - 1e-12
        # and a distribution is never worse than twice its middle alone
        assert 0.0 < row["crps"] <= 2.0 * row["mae"] + 1e-6
    (ours,) = chosen(rows, model=DEFAULT, metric="recall")
    (last,) = chosen(rows, model="last-cycle", metric="recall")
    assert ours["winkler"] < last["winkler"]
    assert ours["crps"] < last["crps"]


def test_quantiles_ascend_and_hold_the_truth_as_often_as_they_say(steady):
    study = Study(Census.of(steady))
    horizon = study.at(7.0)
    at = references(study.census, horizon.outcome.known)
    for name in (DEFAULT, "exponential"):
        for m, found in enumerate(quantiles(horizon, name, at)):
            assert found.shape == (at.size, LEVELS.size)
            assert (np.diff(found, axis=1) >= -1e-12).all()
            truth = horizon.outcome.quality[m][at]
            below = (truth[:, None] <= found).mean(axis=0)
            if name == DEFAULT:
                assert np.abs(below - LEVELS).max() < 0.2


@given(
    arrays(np.float64, (3, LEVELS.size), elements=st.floats(0.0, 1.0)),
    arrays(np.float64, 3, elements=st.floats(0.0, 1.0)),
)
def test_the_score_of_quantiles_is_that_of_their_own_distribution(found, truth):
    """An oracle: E|X - y| - E|X - X'| / 2 over twenty points, each with its weight."""
    found = np.sort(found, axis=1)
    scores = crps(found, truth)
    for row, y, score in zip(found, truth, scores, strict=True):
        near = np.abs(row - y).mean()
        apart = np.abs(row[:, None] - row[None, :]).mean() / 2.0
        assert score == pytest.approx(near - apart, abs=1e-9)
