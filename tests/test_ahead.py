"""Evidence that is read ahead: it counts only if it is what would be read now."""

import sqlite3
from contextlib import closing

import pytest

from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.stores import columns, evidence_rows
from halflife.stores.sqlite import SqliteStore
from store_cases import state


def seen(key, at, digest="1"):
    return Observation(key, at, Seen.PRESENT, digest)


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "FEWEST", 2)
    path = tmp_path / "state.db"
    with SqliteStore.open(path, create=True) as store:
        store.add(Item(f"k{i}", "s") for i in range(5))
        run = store.begin(["s"], 0.0, lease=9.0)
        store.append(run, Observations.of(seen(f"k{i}", 1.0) for i in range(4)))
        store.finish(run, 1.0)
    return path


@pytest.fixture
def store(path):
    """A store that has read ahead, and is done with it."""
    with SqliteStore.open(path) as store:
        store.read_ahead(["other", "s"])
        store._prefetch.end()
        yield store


def rows(path):
    with closing(sqlite3.connect(path)) as db:
        return evidence_rows.evidence(db, ["s"])


def test_what_was_read_ahead_is_not_read_again(store, path, monkeypatch):
    monkeypatch.delattr(columns, "load")
    assert state(store.evidence(["s"])) == state(rows(path))


def test_a_lease_taken_meanwhile_does_no_harm(store, path, monkeypatch):
    monkeypatch.delattr(columns, "load")
    run = store.begin(["s"], 2.0, lease=9.0)
    store.add([Item("k0", "s")])
    assert state(store.evidence(run.sources)) == state(rows(path))


def test_what_another_process_writes_meanwhile_is_seen(store, path):
    with SqliteStore.open(path) as other:
        other.add([Item("theirs", "s"), Item("k0", "s", weight=5.0)])
    found = store.evidence(["s"])
    assert state(found) == state(rows(path))
    assert found.weight[0] == 5.0


def test_what_we_write_meanwhile_is_seen(store, path):
    store.add([Item("ours", "s"), Item("k1", "s", weight=3.0)])
    found = store.evidence(["s"])
    assert state(found) == state(rows(path))
    assert found.row("ours") == 5


def test_evidence_on_other_sources_is_none_of_it(store):
    store.add([Item("x", "other")])
    assert len(store.evidence(["other"])) == 1
    assert len(store.evidence(["s"])) == 5


def test_what_was_read_for_sources_that_are_kept_apart_now_is_given_up(path):
    with SqliteStore.open(path) as store:
        store.add([Item("t0", "t")])
        run = store.begin(["s", "t"], 2.0, lease=9.0)
        store.append(run, Observations.of([seen("t0", 2.0), seen("k0", 2.0)]))
        store.finish(run, 2.0)
    with SqliteStore.open(path) as store:
        store.read_ahead(["s", "t"])
        assert store._prefetch.sources == {"s", "t"}
        assert len(store.evidence(["t"])) == 1
        assert store._prefetch is None


def test_looks_go_on_from_what_was_read_ahead(store, path):
    run = store.begin(["s"], 2.0, lease=9.0)
    store.evidence(run.sources)
    store.append(run, Observations.of([seen("k1", 3.0, "2")]))
    assert state(store.evidence(["s"])) == state(rows(path))


def test_columns_that_cannot_be_read_ahead_are_read_from_rows(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE filed_column SET data = x'00' WHERE name = 'quiet'")
    with SqliteStore.open(path) as store:
        store.read_ahead(["s"])
        assert state(store.evidence(["s"])) == state(rows(path))


@pytest.mark.parametrize("sources", [["other"], []])
def test_nothing_is_read_ahead_of_what_is_not_wanted(path, sources):
    with SqliteStore.open(path) as store:
        store.read_ahead(sources)
        assert store._prefetch is None


def test_nothing_is_read_ahead_without_columns(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM filed_column")
        db.execute("DELETE FROM filed")
    with SqliteStore.open(path) as store:
        store.read_ahead(["s"])
        assert store._prefetch is None
        assert len(store.evidence(["s"])) == 5


def test_a_store_that_is_closed_leaves_nothing_behind(path):
    with SqliteStore.open(path) as store:
        store.read_ahead(["s"])
    assert [file.name for file in path.parent.iterdir()] == ["state.db"]
