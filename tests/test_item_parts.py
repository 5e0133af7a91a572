"""A folder of Parquet files, planned into another, and what may be wrong with it."""

import json

import numpy as np
import pytest

from halflife.allocation import allocate
from halflife.bench.out_of_core import make_file
from halflife.bench.population import rates_and_weights
from halflife.core.errors import UsageError
from halflife.recordings import item_parts
from halflife.recordings.item_parts import allocate_folder

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

RATE, WEIGHT = rates_and_weights(700, 1)


def _folder(path, *tables):
    path.mkdir()
    for number, columns in enumerate(tables):
        parquet.write_table(pa.table(columns), path / f"{number}.parquet")
    return path


@pytest.fixture
def items(tmp_path):
    key = np.arange(700)
    tables = [
        {"page": key[rows], "rate": RATE[rows], "weight": WEIGHT[rows]}
        for rows in (slice(0, 300), slice(300, 700))
    ]
    return _folder(tmp_path / "items", *tables)


def _read(folder, column):
    files = sorted(folder.glob("*.parquet"))
    return np.concatenate([parquet.read_table(f)[column].to_numpy() for f in files])


def test_each_file_gets_the_looks_a_day_of_its_items(items, tmp_path, monkeypatch):
    monkeypatch.setattr(item_parts, "ROWS", 128)  # several blocks a file
    out = tmp_path / "plan"
    plan = allocate_folder(items, out, 140.0, keep=["page"])
    expected = allocate(RATE, 140.0, weight=WEIGHT)
    assert _read(out, "frequency") == pytest.approx(expected.frequency, rel=1e-6)
    assert _read(out, "page").tolist() == list(range(700))
    assert plan.price == pytest.approx(expected.price, rel=1e-9)
    told = json.loads((out / "_plan.json").read_text())
    assert told["spent"] == pytest.approx(140.0, rel=1e-9)
    assert told["items"] == 700
    assert sorted(p.name for p in out.iterdir()) == [
        "0.parquet",
        "1.parquet",
        "_plan.json",
    ]


def test_whole_numbers_and_single_precision_are_taken(tmp_path):
    rate = np.array([1, 2, 3, 4, 5])
    folder = _folder(tmp_path / "items", {"rate": rate, "weight": np.ones(5, "f4")})
    allocate_folder(folder, tmp_path / "plan", 5.0)
    found = _read(tmp_path / "plan", "frequency").round(2)
    assert found.tolist() == [1.15, 1.36, 1.35, 1.14, 0.0]


def test_the_made_up_files_are_the_same_every_time(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        make_file(tmp_path / name, (3, 500))
    one, two = (next((tmp_path / n).iterdir()).read_bytes() for n in ("one", "two"))
    assert one == two


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"weight": [1.0]}, r"0.parquet: has no column 'rate'"),
        ({"rate": [1.0, None]}, r"0.parquet: column 'rate' has rows without a value"),
        ({"rate": ["often"]}, r"0.parquet: column 'rate' must be numbers"),
        ({"rate": [1.0, -2.0]}, r"0.parquet: rate must be finite and not negative"),
        ({"rate": [1.0], "cost": [0.0]}, r"0.parquet: cost must be between"),
    ],
)
def test_columns_that_cannot_be_used_are_named(tmp_path, columns, said):
    folder = _folder(tmp_path / "items", columns)
    with pytest.raises(UsageError, match=said):
        allocate_folder(folder, tmp_path / "plan", 1.0)
    assert not (tmp_path / "plan" / "_plan.json").exists()


def test_a_bad_number_far_down_a_file_can_be_found(tmp_path, monkeypatch):
    monkeypatch.setattr(item_parts, "ROWS", 4)
    rate = np.ones(10)
    rate[6] = np.inf
    folder = _folder(tmp_path / "items", {"rate": rate})
    with pytest.raises(UsageError, match=r"got inf at index 2, counted from row 4"):
        allocate_folder(folder, tmp_path / "plan", 1.0)


def test_folders_that_cannot_be_used_are_named(items, tmp_path):
    with pytest.raises(UsageError, match="no folder with Parquet files"):
        allocate_folder(tmp_path / "nowhere", tmp_path / "plan", 1.0)
    with pytest.raises(UsageError, match="is not empty; name a new folder"):
        allocate_folder(items, items, 1.0)
    with pytest.raises(UsageError, match="has no column 'id'"):
        allocate_folder(items, tmp_path / "plan", 1.0, keep=["id"])
    (items / "9.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(UsageError, match=r"9.parquet: cannot be read as Parquet"):
        allocate_folder(items, tmp_path / "plan", 1.0)
