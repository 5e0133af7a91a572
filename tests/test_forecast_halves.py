"""Forecasts of set sources, scored on halves of the sources they were not chosen on."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from halflife.models.calibration import LEVELS
from halflife.models.census import Census
from halflife.models.pool import Study
from lab import forecast_halves
from lab.forecast_halves import (
    BEFORE,
    FIELDS,
    SHIPPED,
    Case,
    Forecasts,
    Group,
    conditions,
    held_out,
    main,
    pit,
    scored,
)
from set_lives import grown

DAY = 86400.0


def case(source, winkler, coverage=0.95):
    """Return made-up scores: one number a variant."""
    scores = {
        name: np.array([coverage, 0.1, one, 0.01, 0.01])
        for name, one in winkler.items()
    }
    return Case("site", source, "recall", 7.0, scores, {}, {})


def test_scores_of_three_forecasts_by_hand():
    low, mean, high = np.full(3, 0.6), np.full(3, 0.7), np.full(3, 0.8)
    told = Forecasts(low, mean, high, np.full((3, LEVELS.size), 0.7))
    found = dict(zip(FIELDS, scored(told, np.array([0.6, 0.7, 0.9])), strict=True))
    assert found["coverage"] == pytest.approx(2 / 3)
    assert found["width"] == pytest.approx(0.2)
    assert found["winkler"] == pytest.approx(0.2 + 40 * 0.1 / 3)
    assert found["crps"] == pytest.approx(0.1)
    assert found["mae"] == pytest.approx(0.1)


def test_the_pit_of_a_right_forecast_is_even_with_and_without_atoms():
    rng = np.random.default_rng(4)
    truth = rng.random(20_000)
    spread = np.tile(LEVELS, (truth.size, 1))
    assert pit(spread, truth) == pytest.approx(np.full(10, 0.1), abs=0.012)
    half = np.maximum(truth - 0.5, 0.0)  # nothing lost in every second case
    atoms = np.tile(np.maximum(LEVELS - 0.5, 0.0), (truth.size, 1))
    assert pit(atoms, half) == pytest.approx(np.full(10, 0.1), abs=0.015)
    assert pit(spread, np.full(truth.size, 0.5))[[0, 9]].tolist() == [0.0, 0.0]


def test_every_forecast_has_one_weekday_one_size_and_one_surprise_at_most():
    world = grown(np.random.default_rng(7), (0.05,), days=50, arrivals=7.0)
    horizon = Study(Census.of(world)).at(2.0)
    looks = np.arange(10, 40)
    found = conditions(horizon, 1, looks)
    week = np.sum([v for k, v in found.items() if k.startswith("weekday")], axis=0)
    assert (week == 1).all()
    # Day 0 was Thursday, 1 January 1970, so day 11 was a Monday.
    assert found["weekday Mon"][1]
    size = np.sum([v for k, v in found.items() if k.startswith("size")], axis=0)
    assert (size == 1).all()
    after = np.sum([v for k, v in found.items() if k.startswith("last")], axis=0)
    told = horizon.ready[1].scored.settled[looks]
    assert after.tolist() == (told > 0).astype(int).tolist()


def test_what_is_chosen_on_one_half_is_scored_on_the_other():
    good = {BEFORE: 1.0, SHIPPED: 0.5}
    bad = {BEFORE: 1.0, SHIPPED: 2.0}
    found = [case(name, good if name in "abc" else bad) for name in "abcdef"]
    rows = held_out(found, 4)
    assert len(rows) == 8
    for here, there in zip(rows[::2], rows[1::2], strict=True):
        assert here["split"] == there["split"]
        assert {here["half"], there["half"]} == {0, 1}
    for row in rows:
        share = row["shipped_winkler_of_before"]
        # The other half holds the rest: it is the better for what this one is worse.
        other = 2.5 - share
        assert row["chosen"] == (SHIPPED if other < 1.0 else BEFORE)
        expected = share if row["chosen"] == SHIPPED else 1.0
        assert row["winkler_of_before"] == pytest.approx(expected)


def test_a_variant_that_does_not_cover_is_not_chosen():
    found = [case("a", {BEFORE: 1.0, SHIPPED: 0.1})]
    found[0].scores[SHIPPED][0] = forecast_halves.LEAST_COVERED - 0.01
    assert Group(found).best() == BEFORE
    found[0].scores[BEFORE][0] = 0.5  # of those that all fail, the best score
    assert Group(found).best() == SHIPPED


def test_the_ratio_of_scores_has_a_paired_interval_over_sources():
    new = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 2.0}
    found = [case(name, {BEFORE: 1.0, SHIPPED: one}) for name, one in new.items()]
    mean, low, high = Group(found).ratio(SHIPPED)
    assert mean == pytest.approx(2.0)
    assert 1.0 <= low < 2.0 < high <= 3.0
    assert Group(found).ratio(BEFORE) == [1.0, 1.0, 1.0]


@pytest.fixture
def folder(tmp_path):
    """Return a folder with two sites whose pages come and go."""
    rng = np.random.default_rng(1)
    rows = {"site": [], "page": [], "created_at": [], "deleted_at": []}
    for site in ("one.example", "two.example"):
        born = np.concatenate([np.zeros(60), rng.uniform(0, 90, 60)])
        died = born + rng.exponential(80.0, 120)
        rows["site"] += [site] * 120
        rows["page"] += [f"/{i}" for i in range(120)]
        rows["created_at"] += (born * DAY).tolist()
        rows["deleted_at"] += [d * DAY if d < 100 else None for d in died]
    pq.write_table(pa.table(rows), tmp_path / "pages.parquet")
    return tmp_path


def test_any_folder_is_studied_and_every_row_says_what_it_shows(
    folder, monkeypatch, capsys
):
    monkeypatch.setattr("lab.unseen.DAYS", 95.0)
    monkeypatch.setattr(forecast_halves, "DAILY", (1.0, 7.0))
    main([str(folder), "--splits", "2"])
    found = json.loads(capsys.readouterr().out)
    assert found["tried"] >= len(forecast_halves.MIXED)
    pooled = [r for r in found["horizons"] if r["metric"] == "both"]
    assert {r["variant"] for r in pooled} == {BEFORE, *forecast_halves.MIXED}
    assert {r["days"] for r in found["horizons"]} == {1.0, 7.0, None}
    for row in found["horizons"]:
        assert row["shows"] == "all sources"
        assert 0.0 <= row["coverage"] <= 1.0
        assert row["winkler"] >= row["width"] >= 0.0
    assert len(found["held_out"]) == 4
    assert {r["shows"] for r in found["held_out"]} == {
        "the half that it was not chosen on"
    }
    for row in found["conditional"]:
        assert sum(row["pit"]) == pytest.approx(1.0)
        assert "all" in row["coverage"]
