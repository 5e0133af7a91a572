"""Plans from Parquet folders, on the command line."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def items(tmp_path):
    folder = tmp_path / "items"
    folder.mkdir()
    rate = np.arange(1.0, 6.0)
    for name, rows in (("a", slice(0, 2)), ("b", slice(2, 5))):
        table = pa.table({"page": list("vwxyz"[rows]), "rate": rate[rows]})
        parquet.write_table(table, folder / f"{name}.parquet")
    return folder


def test_a_folder_is_planned_into_another(asked, items, tmp_path):
    out = tmp_path / "plan"
    words = ("--budget", "5", "--out", str(out), "--keep", "page")
    code, answer = asked("allocate", str(items), *words)
    assert code == 0
    assert answer["items"] == 5
    assert answer["budget_error"] < 1e-9
    assert answer["kkt_residual"] < 1e-9
    rows = parquet.read_table(out).to_pylist()
    found = {row["page"]: round(row["frequency"], 2) for row in rows}
    assert found == {"v": 1.15, "w": 1.36, "x": 1.35, "y": 1.14, "z": 0.0}


def test_the_executor_of_the_settings_is_used_and_checked(
    asked, fails, items, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    settings = tmp_path / "halflife.toml"
    words = ("--budget", "5", "--out", str(tmp_path / "plan"))
    settings.write_text('executor = "dask"\n')
    code, complaint = fails("allocate", str(items), *words)
    assert code == 2
    assert "executor: must be 'in-process'" in complaint
    assert "got 'dask'" in complaint
    settings.write_text('executor = "in-process"\n')
    code, _ = asked("allocate", str(items), *words)
    assert code == 0


def test_what_is_wrong_with_the_folders_is_said_in_a_line(fails, items, tmp_path):
    out = ("--out", str(tmp_path / "plan"))
    code, complaint = fails("allocate", str(tmp_path / "no"), "--budget", "5", *out)
    assert (code, "no folder with Parquet files" in complaint) == (2, True)
    words = ("--budget", "5", *out, "--executor", "dask")
    code, complaint = fails("allocate", str(items), *words)
    assert (code, "executor must be" in complaint) == (2, True)


def test_the_bench_out_of_core_prints_what_others_rely_on(asked):
    words = ("--items", "4000", "--out-of-core", "--executor", "in-process")
    code, answer = asked("bench", "allocate", *words)
    assert code == 0
    assert answer["budget_error"] < 1e-9
    assert answer["kkt_residual"] < 1e-9
    assert answer["seconds"] > 0
    assert answer["peak_mb"] > 0


def test_the_bench_out_of_core_knows_no_shapes(fails):
    words = ("--items", "100", "--out-of-core", "--shape", "weibull")
    code, complaint = fails("bench", "allocate", *words)
    assert (code, "leave out --shape" in complaint) == (2, True)
