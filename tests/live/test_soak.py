"""Some hours of the service on a clock that runs fast: nothing grows with turns."""

import importlib
from pathlib import Path

import pytest

from halflife.net import wire

BENCHMARKS = Path(__file__).parents[2] / "lab" / "benchmarks"


@pytest.fixture
def soak(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(wire, "_IDLE", 0.05)  # a rest then need not be long
    return importlib.import_module("soak")


def test_file_handles_do_not_grow_with_turns_whatever_is_kept(soak):
    size = soak.Size(days=0.12, pages=24, hosts=8, budget=360, rest=0.3, rests=4)
    found = soak.soak(size)
    assert found["turns"] >= 20
    results = {"SyncOutcome", "ListingOutcome", "SamplingOutcome", "FormOutcome"}
    assert set(found["results"]) == results
    assert found["handles"]["last"] <= found["handles"]["first"]
    assert found["threads"]["last"] <= found["threads"]["first"]


def test_what_is_flat_and_what_is_not_is_told_apart(soak):
    day = [float(i) for i in range(1, 14)]
    noise = [0.3, -0.2, 0.1, -0.4, 0.2, 0.0, -0.1, 0.3, -0.3, 0.2, -0.2, 0.1, 0.0]
    flat = soak.slope(day, [100.0 + e for e in noise])
    assert flat["flat"]
    assert flat["a_day_low"] < 0 < flat["a_day_high"]
    grows = soak.slope(
        day, [100.0 + 2.0 * d + e for d, e in zip(day, noise, strict=True)]
    )
    assert not grows["flat"]
    assert grows["a_day_low"] < 2.0 < grows["a_day_high"]
    slowly = soak.slope(day, [100.0 + 0.1 * d for d in day])
    assert slowly["flat"]  # a tenth of a percent a day, however sure
