"""Made-up set sources on which bounds are held to what came."""

import json

import numpy as np
import pytest

from halflife.models.census import Census
from lab import made_sets
from lab.forecast_halves import MIXED


def test_objects_go_at_the_pace_of_each_day():
    def pace(_, days):
        return np.where(np.arange(days) == 3, 0.5, 0.0)

    kind = made_sets.MadeKind(pace, 10, held=4000, come=0.0)
    size = Census.of(kind.source(1)).size
    assert size[:4].tolist() == [4000] * 4
    assert size[4:].tolist() == [size[4]] * 7
    assert size[4] / 4000 == pytest.approx(np.exp(-0.5), abs=0.02)


@pytest.mark.parametrize("name", made_sets.KINDS)
def test_every_kind_has_a_rate_for_each_day(name):
    kind = made_sets.KINDS[name]
    pace = kind.pace(np.random.default_rng(2), kind.days)
    assert pace.shape == (kind.days,)
    assert (pace >= 0.0).all()


def test_every_kind_is_scored_at_every_confidence(monkeypatch, capsys):
    short = made_sets.MadeKind(lambda _, days: np.full(days, 0.05), 40)
    monkeypatch.setattr(made_sets, "KINDS", {"short": short})
    made_sets.main(["--sources", "1"])
    rows = json.loads(capsys.readouterr().out)
    assert {row["variant"] for row in rows} == {*MIXED}
    assert len(rows) == 3 * len(MIXED)
    for row in rows:
        assert 0.0 <= row["coverage"] <= 1.0
        assert row["winkler"] >= row["width"] >= 0.0
