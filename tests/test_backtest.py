import json
import math

import numpy as np
import pytest
from hypothesis import given, settings

from halflife.models.census import METRICS, Census
from halflife.models.experts import RIVALS
from halflife.models.pool import DEFAULT, Study
from halflife.models.setquality import forecast, quality_bounds
from halflife.replay.backtest import backtest, references
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
            ready = study.at(days).calibrated(m, 0.95)
            again = quality_bounds(ready, np.array([look]))
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
