"""Evidence kept as columns: whatever happened since, it is what the rows say."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.stores import columns, evidence_rows
from halflife.stores.sqlite import SqliteStore
from store_cases import KEYS, batched, hinted, observations, state

ITEMS = [Item(key, "s") for key in KEYS]


def seen(key, at, digest="1"):
    return Observation(key, at, Seen.PRESENT, digest)


@pytest.fixture
def small(monkeypatch):
    """Let few items be enough for columns."""
    monkeypatch.setattr(columns, "FEWEST", 2)


@pytest.fixture
def path(tmp_path, small):
    del small
    path = tmp_path / "state.db"
    with SqliteStore.open(path, create=True) as store:
        store.add(Item(f"k{i}", "s", group=f"g{i % 2}") for i in range(5))
        run = store.begin(["s"], 0.0, lease=9.0)
        store.append(run, Observations.of(seen(f"k{i}", 1.0) for i in range(4)))
        store.finish(run, 1.0)
    return path


@pytest.fixture
def layered(path, monkeypatch):
    """Columns of four looks, and two layers over them that were written later."""
    monkeypatch.setattr(columns, "FEWEST", 5)
    monkeypatch.setattr(columns, "LAYER", 2)
    with SqliteStore.open(path) as store:
        run = store.begin(["s"], 2.0, lease=9.0)
        store.append(run, Observations.of([seen("k1", 3.0, "2"), seen("k2", 3.5)]))
        store.add([Item("k3", "s", weight=4.0)])
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("INSERT INTO item_group VALUES (7, 'g7')")
            db.execute("UPDATE item SET grp = 7 WHERE key = 'k3'")
        long = "a text that is rather long"
        store.append(run, Observations.of([seen("k1", 4.0, long), seen("k4", 4.0)]))
        store.finish(run, 4.0)
    return path


def marks(path):
    with closing(sqlite3.connect(path)) as db:
        query = "SELECT part FROM filed_column WHERE name = 'later_number' ORDER BY 1"
        return [part for (part,) in db.execute(query)]


def both(path):
    """Return the evidence as columns tell it, and as rows do."""
    with closing(sqlite3.connect(path)) as db:
        return columns.load(db, ["s"]), evidence_rows.evidence(db, ["s"])


def test_columns_are_written_and_say_what_the_rows_say(path):
    found, rows = both(path)
    assert isinstance(found, Evidence)
    assert state(found) == state(rows)
    assert found.number.tolist() == rows.number.tolist()


def test_evidence_from_columns_can_be_written_to(path):
    found, rows = both(path)
    for evidence in (found, rows):
        looks = Observations.of(
            [seen("k1", 2.0, "a longer text than that"), seen("k4", 2.5)]
        )
        evidence.take(evidence.weigh(looks))
        evidence.add([Item("new", group="g9")])
    assert state(found) == state(rows)
    assert found.row("new") == 5


def test_what_another_program_changed_since_is_seen(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE item SET weight = 7 WHERE key = 'k2'")
        db.execute("DELETE FROM evidence WHERE item = 1")
        db.execute("UPDATE evidence SET failures = 3 WHERE item = 2")
    found, rows = both(path)
    assert found is not None
    assert state(found) == state(rows)
    assert found.weight[2] == 7


@pytest.mark.parametrize(
    "change",
    ["DELETE FROM item WHERE key = 'k4'", "UPDATE item SET key = 'x' WHERE id = 1"],
)
def test_columns_with_an_item_that_is_gone_are_not_believed(path, change):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(change)
    found, rows = both(path)
    assert found is None
    with SqliteStore.open(path) as store:
        assert state(store.evidence(["s"])) == state(rows)


def test_an_item_added_by_another_process_during_a_run_is_not_lost(path):
    with SqliteStore.open(path) as store, SqliteStore.open(path) as other:
        run = store.begin(["s"], 2.0, lease=9.0)
        store.evidence(["s"])
        other.add([Item("theirs", "s"), Item("k0", "s", weight=5.0)])
        store.add([Item("ours", "s")])
        store.append(run, Observations.of(seen(f"k{i}", 3.0, "2") for i in range(5)))
        store.finish(run, 3.0)
    found, rows = both(path)
    assert found is None or state(found) == state(rows)
    with SqliteStore.open(path) as store:
        assert state(store.evidence(["s"])) == state(rows)
        assert "theirs" in store.evidence(["s"]).keys
        assert store.evidence(["s"]).weight[0] == 5.0


def test_damaged_columns_are_found_and_the_rows_are_read(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE filed_column SET data = x'00' WHERE name = 'quiet'")
    _, rows = both(path)
    with SqliteStore.open(path) as store:
        assert state(store.evidence(["s"])) == state(rows)
        assert store.verify() == ["the columns of s cannot be read"]


def test_columns_that_differ_from_the_rows_are_found(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute('UPDATE filed SET groups = \'["g0", "other"]\'')
    with SqliteStore.open(path) as store:
        assert any("columns" in problem for problem in store.verify())


def test_notes_of_what_was_touched_do_not_pile_up(path):
    with SqliteStore.open(path) as store:
        run = store.begin(["s"], 2.0, lease=9.0)
        for turn in range(20):
            store.append(
                run, Observations.of(seen(f"k{i}", 3.0 + turn) for i in range(5))
            )
        store.finish(run, 30.0)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM touched").fetchone()[0] <= 10
        assert db.execute("SELECT count(*) FROM filed").fetchone()[0] == 1


def test_what_was_written_since_lies_over_the_columns(layered):
    found, rows = both(layered)
    assert len(marks(layered)) == 2
    assert found is not None
    assert state(found) == state(rows)
    assert hinted(found) == hinted(rows)
    assert found.weight[3] == 4.0
    assert found.groups[found.group[3]] == "g7"
    assert found.digest[1] == "a text that is rather long"


def test_no_row_is_read_that_a_layer_holds(layered):
    with closing(sqlite3.connect(layered)) as db:
        last = marks(layered)[-1]
        filed = columns.find(db, ["s"])
        left = evidence_rows.evidence(
            db, ["s"], evidence_rows.since(filed.upto, last, 5)
        )
    assert len(left) == 0


def test_a_row_written_after_the_last_layer_counts(layered):
    with closing(sqlite3.connect(layered)) as db, db:
        db.execute("DELETE FROM evidence WHERE item = 2")
        db.execute("DELETE FROM gap WHERE item = 2")
        db.execute("UPDATE evidence SET failures = 3 WHERE item = 3")
    found, rows = both(layered)
    assert found is not None
    assert state(found) == state(rows)
    assert found.looks[1] == 0


def test_new_items_are_found_over_layers_too(layered):
    with SqliteStore.open(layered) as store:
        run = store.begin(["s"], 5.0, lease=9.0)
        store.add([Item("new", "s", weight=2.0, group="g9")])
        store.append(run, Observations.of([seen("new", 6.0), seen("k2", 6.0, "3")]))
        store.append(run, Observations.of([seen("new", 7.0, "4")]))
        store.finish(run, 7.0)
    found, rows = both(layered)
    assert found is not None
    assert state(found) == state(rows)
    assert found.row("new") == 5


def test_layers_under_the_columns_do_not_count(layered):
    with closing(sqlite3.connect(layered)) as db, db:
        # as a program writes that knows of columns, but not of layers
        db.execute("INSERT INTO touched (item) VALUES (1), (2), (3), (4), (5)")
        columns.save(db, ["s"], evidence_rows.evidence(db, ["s"]))
        assert columns.waiting(db, ["s"]) == (0.0, 0.0)
        db.execute(
            "INSERT INTO filed_column"
            " SELECT filed, 'later_' || name, 1, kind, size, form, data"
            " FROM filed_column WHERE name = 'number'"
        )
    assert marks(layered) == [1]
    found, rows = both(layered)
    assert found is not None
    assert state(found) == state(rows)


def test_a_damaged_layer_is_found_and_the_rows_are_read(layered):
    with closing(sqlite3.connect(layered)) as db, db:
        db.execute("UPDATE filed_column SET data = x'00' WHERE name = 'later_quiet'")
        db.execute("UPDATE filed_column SET form = 'plain' WHERE name = 'later_quiet'")
    _, rows = both(layered)
    with SqliteStore.open(layered) as store:
        assert state(store.evidence(["s"])) == state(rows)
        assert store.verify() == ["the columns of s cannot be read"]


@given(looks=observations(), data=st.data(), fewest=st.sampled_from([1, 4, 9]))
def test_however_looks_come_columns_and_rows_agree(
    looks, data, fewest, tmp_path_factory
):
    path = tmp_path_factory.mktemp("columns") / "state.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "FEWEST", fewest)
        patch.setattr(columns, "LAYER", 2)
        with SqliteStore.open(path, create=True) as store:
            store.add(ITEMS)
            run = store.begin([ITEMS[0].source], 0.0, lease=1e9)
            for batch in data.draw(batched(looks)):
                store.append(run, batch)
            live = store.evidence(run.sources)
    with closing(sqlite3.connect(path)) as db:
        found = columns.load(db, run.sources)
        rows = evidence_rows.evidence(db, run.sources)
    if found is not None:
        assert state(found) == state(rows)
        assert hinted(found) == hinted(rows)
        assert np.array_equal(found.looks, live.looks)
