import numpy as np
import pytest

from lab.unseen import _daily, collections, pooled, run

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def test_daily_looks_show_what_was_there_at_the_start_of_each_day():
    rng = np.random.default_rng(0)
    born = rng.uniform(-200.0, 500.0, 300)
    died = born + rng.exponential(80.0, 300)
    died[rng.random(300) < 0.3] = np.inf
    pages = [f"p{i}" for i in range(300)]
    found = _daily("site", pages, born, died)
    for look in found.looks[::30].tolist():
        there = {p for p, b, d in zip(pages, born, died, strict=True) if b <= look < d}
        seen = np.flatnonzero(found.lives.present(look)).tolist()
        assert {found.lives.keys[i] for i in seen} == there


def test_each_site_is_forecast_and_counts_once(tmp_path):
    rng = np.random.default_rng(1)
    born = rng.uniform(0.0, 600.0, 400)
    died = np.minimum(born + rng.exponential(400.0, 400), 600.0)
    table = pa.table(
        {
            "site": ["a"] * 200 + ["b"] * 200,
            "page": [f"p{i}" for i in range(400)],
            "created_at": (born * 86400).astype(np.int64),
            "deleted_at": (died * 86400).astype(np.int64),
        }
    )
    parquet.write_table(table, tmp_path / "pages.parquet")
    assert [c.name for c in collections(tmp_path)] == ["a", "b"]
    rows = run(tmp_path)
    told = pooled(rows)
    assert len(told) == 6
    assert {row["sites"] for row in told} == {2}
    assert all(0 <= row["coverage"] <= 1 for row in told)
    assert pooled([]) == []
