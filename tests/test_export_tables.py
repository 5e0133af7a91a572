"""Records as CSV and Parquet: every value is there, whatever the records are."""

import csv
import io
import json
from contextlib import nullcontext
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from halflife.core.object_store import Listing
from halflife.core.tracker import Tracker
from halflife.engine import export_files, export_parquet
from halflife.engine.export_rows import ExportSelection
from halflife.stores.memory import MemoryStore
from halflife.stores.sqlite import SqliteStore

pq = pytest.importorskip("pyarrow.parquet", reason="needs halflife[parquet]")
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
SAME = {
    "whole": st.integers(-(2**63), 2**63 - 1),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "either": st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9),
    "flag": st.booleans(),
    "word": WORDS | st.sampled_from(['a"b', "a\nb", "2026-11-01T00:00:00", "1"]),
}
MIXED = {
    "nested": st.lists(st.integers(0, 3), max_size=2),
    "mixed": st.integers(0, 3) | WORDS | st.booleans(),
    "key": WORDS,
    "": WORDS,
}
RECORD = st.fixed_dictionaries(
    {}, optional={n: v | st.none() for n, v in {**SAME, **MIXED}.items()}
)
NAMES = count()
KINDS = {"a": {int}, "b": {str}, "c": {bool}, "d": {int, float}}


def kept(store, records):
    """Keep records as those of the source ``cars``; return what is wanted of it."""
    run = store.begin(["cars"], 1.0, lease=1.0)
    tracker = Tracker()
    tracker.take(Listing(1.0, {str(n): one for n, one in enumerate(records)}))
    store.save_register(run, "cars", tracker.news())
    store.finish(run, 1.0)
    return ExportSelection("cars")


@given(records=st.lists(RECORD, min_size=1, max_size=8), rows=st.sampled_from([3, 99]))
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_parquet_has_the_values_of_all_records(records, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(export_parquet, "ROWS", rows)
    monkeypatch.setattr(export_parquet, "_TOGETHER", rows)
    store = MemoryStore()
    path = tmp_path / f"{next(NAMES)}.parquet"
    assert export_files.save(store, kept(store, records), "parquet", path) == len(
        records
    )
    names = {name for record in records for name in record}
    found = pq.read_table(path)
    assert set(found.column_names) == {"key", "first_seen", "last_seen"} | {
        "field_key" if name == "key" else name for name in names
    }
    for row, record in zip(found.to_pylist(), records, strict=True):
        for name in names:
            value = row["field_key" if name == "key" else name]
            assert same(value, record.get(name)), (name, value)


def same(value, expected):
    """Say whether a cell has a value: itself, or its JSON where types are mixed."""
    if value is None or expected is None:
        return value is expected
    if isinstance(value, str) and not isinstance(expected, str):
        return json.loads(value) == expected
    return value == expected


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_csv_has_nested_values_and_flags_as_json(tmp_path, kind):
    records = [{"a": True, "b": [1, "ü"]}, {"b": {"c": 1}, "a": False, "d": 0}, {}]
    parts, place = [], nullcontext(MemoryStore())
    if kind == "file":
        place = SqliteStore.open(tmp_path / "x.db", create=True)
    with place as store:
        wanted = kept(store, records)
        assert export_files.write(store, wanted, "csv", parts.append) == 3
    rows = list(csv.DictReader(io.StringIO(b"".join(parts).decode())))
    assert [(r["a"], r["b"], r["d"]) for r in rows] == [
        ("true", '[1, "ü"]', ""),
        ("false", '{"c": 1}', "0"),
        ("", "", ""),
    ]


def test_plain_records_are_read_by_pyarrow_alone(tmp_path, monkeypatch):
    store = MemoryStore()
    wanted = kept(store, [{"a": 1, "b": "x", "c": True, "d": 0.5}, {"a": None}, {}])
    monkeypatch.setattr(export_parquet.json, "loads", pytest.fail)
    monkeypatch.setattr(type(store.holdings), "fields", lambda *_: KINDS)
    export_files.save(store, wanted, "parquet", tmp_path / "x")
    table = pq.read_table(tmp_path / "x")
    assert [str(table.schema.field(name).type) for name in KINDS] == [
        "int64", "string", "bool", "double",
    ]  # fmt: skip
    assert table["a"].to_pylist() == [1, None, None]


def test_groups_of_large_records_are_small(tmp_path, monkeypatch):
    monkeypatch.setattr(export_parquet, "LETTERS", 1000)
    monkeypatch.setattr(export_parquet, "_TOGETHER", 2)
    store = MemoryStore()
    wanted = kept(store, [{"text": "x" * 400} for _ in range(9)])
    export_files.save(store, wanted, "parquet", tmp_path / "x")
    assert pq.ParquetFile(tmp_path / "x").metadata.num_row_groups == 3


def test_a_number_too_large_for_parquet_is_named(tmp_path):
    store = MemoryStore()
    wanted = kept(store, [{"a": 1}, {"a": 2**63}])
    with pytest.raises(Exception, match="too large for Parquet; choose jsonl or csv"):
        export_files.save(store, wanted, "parquet", tmp_path / "x")
