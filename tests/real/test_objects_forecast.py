from pathlib import Path

import numpy as np
import pytest

from halflife.models.census import METRICS, Census
from halflife.models.pool import DEFAULT
from halflife.models.setquality import forecast
from halflife.recordings.objects import load_parquet
from halflife.replay.backtest import backtest
from lab.objects import horizons, main

FOLDER = Path(__file__).parents[2] / ".." / "shared" / "data" / "objects"
SOURCES = [
    "crypto_jobs", "ai_jobs", "toyota_inventory", "llm_prices", "github_ranking",
]  # fmt: skip

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no histories in {FOLDER}"),
]


@pytest.fixture(scope="module")
def rows():
    found = []
    for name in SOURCES:
        source = load_parquet(FOLDER / name, name)
        wanted = ["exponential", "average", DEFAULT]
        found += backtest(source, horizons(Census.of(source).step), models=wanted)
    return found


def pooled(rows, field, **wanted):
    some = [r for r in rows if all(r[k] == v for k, v in wanted.items())]
    return np.average([r[field] for r in some], weights=[r["n"] for r in some])


@pytest.mark.parametrize("metric", METRICS)
def test_bounds_hold_about_as_often_as_promised_on_most_sources(rows, metric):
    held = {
        s: pooled(rows, "coverage", source=s, metric=metric, model=DEFAULT)
        for s in SOURCES
    }
    assert sum(0.93 <= share <= 0.97 for share in held.values()) >= 3, held
    assert min(held.values()) >= 0.9, held


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("rival", ["exponential", "average"])
def test_the_default_errs_no_more_than_simple_models(rows, metric, rival):
    for source in SOURCES:
        own = pooled(rows, "mae", source=source, metric=metric, model=DEFAULT)
        other = pooled(rows, "mae", source=source, metric=metric, model=rival)
        assert own <= 1.06 * other, source


def test_the_bounds_of_the_paper_are_too_narrow_on_real_sources(rows):
    shares = [
        pooled(rows, "coverage", source=s, metric="precision", model="exponential")
        for s in SOURCES
    ]
    assert np.median(shares) < 0.8


def test_minutes_are_forecast_as_well_as_days():
    source = load_parquet(FOLDER / "pge_outages", "pge_outages")
    moments = source.looks[3000::1500]
    held = []
    for now in moments:
        later = source.looks[np.searchsorted(source.looks, now + 1 / 24)]
        told = forecast(source, now, [later - now])
        held.append(told.precision.low[0] <= source.quality(now, later)[0])
    assert np.mean(held) >= 0.8


def test_the_study_prints_rows(tmp_path, capsys):
    (tmp_path / "one").symlink_to((FOLDER / "toyota_inventory").resolve())
    main([str(tmp_path)])
    printed = capsys.readouterr().out
    assert '"results"' in printed
    assert '"coverage"' in printed
