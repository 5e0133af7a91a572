import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from halflife.core.errors import UsageError
from halflife.recordings.objects import load_parquet
from halflife.stores.memory import MemoryStore
from objects_folder import REAL, tables, write

START = 20454.0  # 2026-01-01
LIVED = ("first_seen", "last_seen")


def test_a_folder_becomes_a_collection(tmp_path):
    found = load_parquet(write(tmp_path, tables()), "cars")
    assert found.name == "cars"
    assert (found.looks - START).tolist() == [0, 1, 2, 3, 5]
    lives = found.lives
    assert lives.keys == ("b", "a", "b")
    assert (lives.first_seen - START).tolist() == [1, 0, 5]
    assert (lives.last_seen - START).tolist() == [2, 5, 5]
    assert (lives.absent_before - START).tolist() == [0, -np.inf, 3]
    assert (lives.gone_by - START).tolist() == [3, np.inf, np.inf]
    assert set(lives.attributes) == {"price", "maker"}


def test_attributes_are_as_first_seen(tmp_path):
    found = load_parquet(write(tmp_path, tables()), "cars")
    assert found.lives.attributes["price"].tolist() == [5.0, 7.0, 6.0]
    assert found.lives.attributes["maker"].tolist() == ["x", "y", "x"]


def test_every_version_after_the_first_is_a_change(tmp_path):
    found = load_parquet(write(tmp_path, tables()), "cars")
    assert found.changed.tolist() == [1, 1]
    assert (found.changed_at - START).tolist() == [2, 3]


@pytest.mark.parametrize("name", ["lifetimes", "versions", "snapshots"])
def test_a_missing_file_is_named(tmp_path, name):
    write(tmp_path, tables())
    (tmp_path / f"{name}.parquet").unlink()
    with pytest.raises(UsageError, match=rf"{name}\.parquet: missing"):
        load_parquet(tmp_path, "cars")


@pytest.mark.parametrize(
    ("file", "column"),
    [("lifetimes", "gone_by"), ("versions", "spell"), ("snapshots", "valid")],
)
def test_a_missing_column_is_named(tmp_path, file, column):
    content = tables()
    del content[file][column]
    with pytest.raises(UsageError, match=rf"{file}\.parquet: has no column '{column}'"):
        load_parquet(write(tmp_path, content), "cars")


def test_times_that_are_no_times_are_refused(tmp_path):
    content = tables()
    content["versions"]["seen_from"] = pa.array(["yesterday"] * 5)
    with pytest.raises(UsageError, match="'seen_from' holds string, not times"):
        load_parquet(write(tmp_path, content), "cars")


def test_a_version_of_an_unknown_spell_is_refused(tmp_path):
    content = tables()
    content["versions"]["spell"] = pa.array([0, 1, 0, 7, 0], pa.int16())
    with pytest.raises(UsageError, match="a spell that lifetimes"):
        load_parquet(write(tmp_path, content), "cars")


def test_a_spell_named_twice_is_refused(tmp_path):
    content = tables()
    content["lifetimes"]["spell"] = pa.array([0, 0, 0], pa.int16())
    with pytest.raises(UsageError, match="the same spell twice"):
        load_parquet(write(tmp_path, content), "cars")


def test_a_file_that_is_no_parquet_is_refused(tmp_path):
    write(tmp_path, tables())
    (tmp_path / "versions.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(UsageError, match="cannot be read as Parquet"):
        load_parquet(tmp_path, "cars")


def test_an_empty_history_is_a_collection_of_nothing(tmp_path):
    content = {
        file: {name: column[:0] for name, column in columns.items()}
        for file, columns in tables().items()
    }
    found = load_parquet(write(tmp_path, content), "cars")
    assert len(found.lives) == found.looks.size == found.changed.size == 0


def test_moments_are_read_to_the_microsecond(tmp_path):
    content = tables()
    content["snapshots"]["taken_at"] = content["snapshots"]["date"]
    for columns in content.values():
        for name in columns.keys() & {"seen_from", "taken_at", *LIVED}:
            days = columns[name].cast(pa.int32()).to_pylist()
            moments = [round((day + 0.5) * 86400e9) + 1 for day in days]
            columns[name] = pa.array(moments, pa.timestamp("ns", "UTC"))
    found = load_parquet(write(tmp_path, content), "cars")
    assert (found.looks - START).tolist() == [0.5, 1.5, 2.5, 3.5, 5.5]
    assert (found.lives.first_seen - START).tolist() == [1.5, 0.5, 5.5]


def test_odd_attributes_can_be_kept(tmp_path):
    content = tables()
    dates = pa.array([None, *content["lifetimes"]["last_seen"].to_pylist()[1:]])
    content["lifetimes"]["sold"] = dates
    content["lifetimes"]["tags"] = pa.array([["x"], None, []])
    found = load_parquet(write(tmp_path, content), "cars")
    store = MemoryStore()
    run = store.begin(["cars"], 0.0, lease=1.0)
    store.save_collection(run, found)
    kept = store.collection("cars").lives.attributes
    assert kept["sold"].tolist() == [None, "2026-01-06", "2026-01-06"]
    assert kept["tags"][0] == "['x']"


@pytest.mark.real
@pytest.mark.parametrize("name", ["pge_outages", "crypto_jobs"])
def test_a_real_history_is_whole(name):
    if not REAL.exists():
        pytest.skip("the recorded histories of real sources are not here")
    found = load_parquet(REAL / name, name)
    lives = found.lives
    assert len(lives) > 10_000
    assert np.all(lives.absent_before < lives.first_seen)
    assert np.all(lives.first_seen <= lives.last_seen)
    assert np.all(lives.last_seen < lives.gone_by)
    assert np.isin(lives.first_seen, found.looks).all()
    assert np.isin(lives.last_seen, found.looks).all()
    assert np.all(np.diff(found.looks) > 0)
