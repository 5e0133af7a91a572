"""State files of earlier versions: what a step changes, and what stays."""

import sqlite3
from contextlib import closing

import pytest

from halflife.core.errors import Damaged
from halflife.stores import change_log, schema
from halflife.stores.sqlite import SqliteStore
from sink_parts import changes


def file_of(path, version):
    """Make a file as an earlier version has it, with a few changes in its log."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        schema.upgrade(db, schema.STEPS[:version])
        db.execute("PRAGMA journal_mode = WAL")
        change_log.append(db, changes(3))
    return path


def test_the_log_of_changes_takes_the_same_kinds_after_its_check_was_eased(tmp_path):
    path = file_of(tmp_path / "state.db", 13)
    with SqliteStore.open(path) as store:
        store.changes.append(changes(2, 4))
        assert [change.seq for change in store.changes.read()] == [1, 2, 3, 4, 5]
        assert store.verify() == []
        with (
            pytest.raises(Damaged, match="CHECK constraint failed"),
            store.together() as db,
        ):
            db.execute(change_log._ADD, (1.0, 1, "a", "odd", "{}"))
        with store.reading() as db:
            (sql,) = db.execute(
                "SELECT sql FROM sqlite_schema WHERE name = 'change'"
            ).fetchone()
    assert "kind = 'new' OR" in sql
    assert " IN (" not in sql
