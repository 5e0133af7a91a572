"""Items in a table of PostgreSQL, planned as from Parquet files."""

import json
import pickle

import numpy as np
import pytest

import postgres_store
from halflife import cli
from halflife.bench.population import rates_and_weights
from halflife.core.errors import StoreError, UsageError
from halflife.recordings import item_parts, table_parts
from halflife.recordings.item_parts import allocate_folder
from halflife.stores.postgres import item_tables

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

MANY = 3000
RATE, WEIGHT = rates_and_weights(MANY, 1)
COLUMNS = {"page": np.arange(MANY), "rate": RATE, "weight": WEIGHT}
FIELDS = "page BIGINT, rate DOUBLE PRECISION, weight DOUBLE PRECISION"


def run(address, statement, *values):
    schema = address.rpartition("schema=")[2]
    return postgres_store.connect().execute(
        statement.replace("@", f"{schema}."), values, prepare=False
    )


def fill(address, table, rows):
    """Put rows of the columns into a table, in their order."""
    schema = address.rpartition("schema=")[2]
    with (
        postgres_store.connect().cursor() as cursor,
        cursor.copy(f"COPY {schema}.{table} FROM STDIN") as copy,
    ):
        columns = [column[rows].tolist() for column in COLUMNS.values()]
        for row in zip(*columns, strict=True):
            copy.write_row(row)


@pytest.fixture(scope="module")
def items():
    """Return the address of a partitioned table; its halves are files elsewhere."""
    address = postgres_store.fresh()
    run(address, f"CREATE SCHEMA {address.rpartition('=')[2]}")
    run(address, f"CREATE TABLE @items ({FIELDS}) PARTITION BY RANGE (page)")
    for name, low, high in (("first", 0, 1300), ("other", 1300, MANY)):
        values = f"FOR VALUES FROM ({low}) TO ({high})"
        run(address, f"CREATE TABLE @{name} PARTITION OF @items {values}")
    fill(address, "items", slice(None))
    return address


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "items"
    path.mkdir()
    for name, rows in (("first", slice(0, 1300)), ("other", slice(1300, MANY))):
        table = pa.table({n: column[rows] for n, column in COLUMNS.items()})
        parquet.write_table(table, path / f"{name}.parquet")
    return path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_table_gives_the_same_bytes_as_files(items, folder, tmp_path, monkeypatch):
    for module in (item_parts, table_parts):
        monkeypatch.setattr(module, "ROWS", 1024)  # several blocks a part
    monkeypatch.setattr(item_tables, "READ", 3)
    allocate_folder(folder, tmp_path / "files", 600.0, keep=["page"])
    allocate_folder(items, tmp_path / "table", 600.0, keep=["page"])
    assert contents(tmp_path / "table") == contents(tmp_path / "files")
    assert set(contents(tmp_path / "table")) == {
        "first.parquet",
        "other.parquet",
        "_plan.json",
    }


def test_a_part_can_be_read_elsewhere(items, tmp_path):
    with table_parts.table_parts(items, tmp_path, ["page"]) as parts:
        sent = pickle.loads(pickle.dumps(parts))  # noqa: S301  (as to a process)
        assert [part.target for part in sent] == [part.target for part in parts]
        rates = [[b.rate for b in part.blocks()] for part in (*parts, *sent)]
    found = np.concatenate([block for part in rates for block in part])
    assert found.tolist() == [*RATE, *RATE]


def test_a_large_table_is_read_in_ranges_of_its_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(item_tables, "PAGES", 8)
    address = postgres_store.fresh()
    run(address, f"CREATE SCHEMA {address.rpartition('=')[2]}")
    run(address, f"CREATE TABLE @pages ({FIELDS}, note NUMERIC)")
    run(address, "ALTER TABLE @pages ALTER COLUMN note SET DEFAULT 1.50")
    run(address, f"CREATE TABLE @plain ({FIELDS})")
    fill(address, "plain", slice(None))
    run(address, "INSERT INTO @pages SELECT * FROM @plain")
    plan = allocate_folder(
        f"{address}&table=pages", tmp_path / "plan", 600.0, keep=["page", "note"]
    )
    files = sorted((tmp_path / "plan").glob("*.parquet"))
    assert files[0].name == "pages-00000.parquet"
    assert len(files) > 2
    found = pa.concat_tables([parquet.read_table(file) for file in files])
    assert found["page"].to_pylist() == list(range(MANY))
    assert set(found["note"].to_pylist()) == {"1.50"}
    whole = allocate_folder(f"{address}&table=plain", tmp_path / "whole", 600.0)
    assert plan.price == pytest.approx(whole.price, rel=1e-9)


def test_all_passes_see_the_table_as_it_was(items, tmp_path):
    with table_parts.table_parts(items, tmp_path) as parts:
        before = [block.rate.sum() for part in parts for block in part.blocks()]
        run(items, "UPDATE @items SET rate = rate + 1 WHERE page < 10")
        try:
            after = [block.rate.sum() for part in parts for block in part.blocks()]
        finally:
            run(items, "UPDATE @items SET rate = rate - 1 WHERE page < 10")
    assert before == after


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("weight DOUBLE PRECISION", "has no column 'rate'"),
        ("rate TEXT", "column 'rate' must be numbers"),
        ("rate REAL, cost REAL", "column 'cost' has rows without a value"),
        ("rate REAL DEFAULT -2", "rate must be finite and not negative"),
    ],
)
def test_columns_that_cannot_be_used_are_named(tmp_path, columns, said):
    address = postgres_store.fresh()
    run(address, f"CREATE SCHEMA {address.rpartition('=')[2]}")
    run(address, f"CREATE TABLE @items ({columns}, page BIGINT)")
    run(address, "INSERT INTO @items (page) VALUES (1)")
    if "cost" in columns:
        run(address, "UPDATE @items SET rate = 1")
    with pytest.raises(UsageError, match=f"table=items: .*{said}"):
        allocate_folder(address, tmp_path / "plan", 1.0)
    assert not (tmp_path / "plan" / "_plan.json").exists()


def test_tables_that_cannot_be_found_are_named(items, tmp_path):
    with pytest.raises(UsageError, match="table=none: there is no such table"):
        allocate_folder(f"{items}&table=none", tmp_path / "plan", 1.0)
    with pytest.raises(UsageError, match="is no name for a table"):
        allocate_folder(f"{items}&table=a;b", tmp_path / "plan", 1.0)
    with pytest.raises(UsageError, match="has no column 'id'"):
        allocate_folder(items, tmp_path / "plan", 1.0, keep=["id"])
    nowhere = f"postgresql://me:secret@/db?host={tmp_path}&schema=s"
    with pytest.raises(StoreError, match="check that the server runs") as error:
        allocate_folder(nowhere, tmp_path / "plan", 1.0)
    assert "secret" not in str(error.value)


def test_the_verb_plans_a_table(items, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["allocate", items, "--budget", "600", "--out", str(tmp_path / "plan")]
    assert cli.main([*words, "--executor", "in-process", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["items"] == MANY
    assert told["budget_error"] < 1e-9
