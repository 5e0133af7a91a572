"""A store is copied between SQLite and PostgreSQL without loss."""

import json
from collections import Counter

import pytest
from typer.testing import CliRunner

import postgres_store
from halflife.cli import app
from halflife.core.errors import AlreadyRunning, StoreError
from halflife.core.item import Item
from halflife.core.observation import Observations
from halflife.engine import bootstrap
from halflife.stores.location import open_store
from halflife.stores.schema import reference
from halflife.stores.sqlite import SqliteStore
from halflife.stores.store_copy import DERIVED, copy_store
from halflife.stores.tables import pack, unpack
from lab import showcase
from store_looks import HEX, present

NOW = 20_000.0


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A state with something of everything in it."""
    folder = tmp_path_factory.mktemp("shown")
    showcase.build(folder, NOW)
    return folder / "halflife.db"


def content(place):
    """Return all rows of all tables, in any order, and the numbers given out."""
    with open_store(place, readonly=True) as store, store.reading():
        return {
            name: Counter(plain(store.rows_of(name), table.columns.values()))
            for name, table in reference().items()
            if name not in DERIVED
        }


def plain(rows, kinds):
    kinds = list(kinds)
    for row in rows:
        yield tuple(
            pack(unpack(v)) if k == "ANY" and v is not None else v
            for v, k in zip(row, kinds, strict=True)
        )


def test_a_copy_to_the_server_and_back_holds_every_row(file, tmp_path):
    there, back = postgres_store.fresh(), tmp_path / "back.db"
    counts = copy_store(file, there, NOW)
    assert copy_store(there, back, NOW) == counts
    assert content(file) == content(there) == content(back)
    assert sum(counts.values()) > 1000
    full = {name for name, rows in counts.items() if rows}
    assert {"life", "page_version", "note", "forecast", "change"} <= full
    with open_store(file, readonly=True) as old, open_store(back) as new:
        assert new.verify() == []
        assert new.last_numbers() == old.last_numbers()
        assert new.changes.last() == old.changes.last()
        assert new.holdings.fields("jobs") == old.holdings.fields("jobs")


def test_numbers_go_on_after_those_of_the_copied_store(tmp_path):
    place, there = tmp_path / "one.db", postgres_store.fresh()
    with open_store(place, create=True) as store:
        store.add([Item("a", "s")])
        run = store.begin(["s"], NOW, lease=1.0)
        store.append(run, Observations.of([present("a", NOW, HEX)]))
        with store.together() as db:  # the last change has left the log
            db.execute("DELETE FROM change")
        store.finish(run, NOW)
    copy_store(place, there, NOW)
    with open_store(there) as copy:
        assert copy.changes.last() == 1
        again = copy.begin(["s"], NOW + 1, lease=1.0)
        assert again.token > run.token
        copy.append(again, Observations.of([present("a", NOW + 1, "new")]))
        assert [change.seq for change in copy.changes.read()] == [2]
        assert copy.verify() == []


def test_a_store_that_is_in_use_is_neither_copied_nor_overwritten(tmp_path):
    place, there = tmp_path / "one.db", postgres_store.fresh()
    now = bootstrap.clock()
    with open_store(place, create=True) as store:
        store.begin(["s"], now, lease=1.0)
        with pytest.raises(AlreadyRunning, match="stop it first"):
            copy_store(place, there, now)
    copy_store(place, there, now)
    with pytest.raises(StoreError, match="in use already"):
        copy_store(place, there, now)


def test_a_sync_that_begins_while_a_store_is_copied_leaves_no_copy(
    tmp_path, monkeypatch
):
    place, there, now = tmp_path / "one.db", tmp_path / "two.db", bootstrap.clock()
    with open_store(place, create=True) as store:
        fill, runs = SqliteStore.fill, []

        def begin(new, table, rows):
            if not runs:
                runs.append(store.begin(["s"], now, lease=1.0))
            fill(new, table, rows)

        monkeypatch.setattr(SqliteStore, "fill", begin)
        with pytest.raises(AlreadyRunning, match="stop it first"):
            copy_store(place, there, now)
        store.finish(runs[0], now)
        assert copy_store(place, there, now)["run"] == 1


def test_the_verb_copies_and_says_so(file, tmp_path):
    words = ["store", "copy", str(file), postgres_store.fresh(), "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["tables"]["run"] > 0
    wrong = CliRunner().invoke(app, ["store", "copy", str(tmp_path / "x"), "y.db"])
    assert wrong.exit_code != 0
