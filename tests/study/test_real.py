"""Studies of recorded sources say what is known of them."""

from pathlib import Path

import numpy as np
import pytest

from halflife.recordings.objects import load_parquet
from halflife.study import empirical, run

DATA = Path(__file__).parents[2] / ".." / "shared" / "data" / "objects"

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not DATA.is_dir(), reason="the recorded histories are absent"),
]


@pytest.mark.parametrize(
    ("name", "lag", "precision", "recall"),
    [
        ("crypto_jobs", 7.0, 0.92, 0.91),
        ("crypto_jobs", 30.0, 0.70, 0.67),
        ("toyota_inventory", 7.0, 0.70, 0.72),
        ("toyota_inventory", 30.0, 0.14, 0.15),
        ("pge_outages", 1 / 24, 0.73, 0.71),
    ],
)
def test_copies_decay_as_is_known_of_the_source(name, lag, precision, recall):
    source = load_parquet(DATA / name, name)
    lags = np.array([0.0, lag])
    found = empirical.decay(source, empirical.references(source, lags, 200), lags)
    assert found.mean("precision")[1] == pytest.approx(precision, abs=0.04)
    assert found.mean("recall")[1] == pytest.approx(recall, abs=0.04)


def test_a_recorded_source_is_studied(tmp_path):
    source = load_parquet(DATA / "toyota_inventory", "toyota_inventory")
    files = run.study(source, tmp_path)
    assert len(files) == 8
    page = files[0][0].read_text(encoding="utf-8")
    assert page.count("<svg") >= 12
