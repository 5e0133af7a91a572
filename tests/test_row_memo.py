"""Rows of sources are remembered for as long as they hold, and no longer."""

import sqlite3
from contextlib import closing

import pytest

from halflife.core.item import Item
from halflife.stores import ownership
from halflife.stores.sqlite import SqliteStore


@pytest.fixture
def store(tmp_path):
    with SqliteStore.open(tmp_path / "state.db", create=True) as store:
        store.add([Item("a", "s"), Item("b", "t"), Item("c", "s")])
        yield store


def rows(store, evidence):
    found = store.rows_by_source(["s", "t"], evidence)
    return {name: mine.tolist() for name, mine in found.items()}


def test_pages_that_change_hands_are_the_new_owners_at_once(store):
    evidence = store.evidence(["s", "t"])
    assert rows(store, evidence) == {"s": [0, 2], "t": [1]}
    with ownership.reassigning(store, ("s", "t"), 1.0) as db:
        ownership.move(db, ["c"], "t", 1.0)
    assert rows(store, evidence) == {"s": [0], "t": [1, 2]}


def test_what_another_process_moves_is_seen(store):
    evidence = store.evidence(["s", "t"])
    assert rows(store, evidence) == {"s": [0, 2], "t": [1]}
    with closing(sqlite3.connect(store.path)) as other, other:
        mine = "(SELECT source FROM item WHERE key = 'b')"
        other.execute(f"UPDATE item SET source = {mine} WHERE key = 'a'")
    assert rows(store, evidence) == {"s": [2], "t": [0, 1]}


def test_other_evidence_on_the_same_items_has_rows_of_its_own(store):
    assert rows(store, store.evidence(["s", "t"])) == {"s": [0, 2], "t": [1]}
    assert rows(store, store.evidence(["s"]))["s"] == [0, 1]


def test_rows_taken_back_with_their_transaction_are_not_remembered(store):
    def broken():
        with store.together():
            store.add([Item("d", "t")])
            assert rows(store, store.evidence(["s", "t"]))["t"] == [1, 3]
            raise KeyError("d")

    with pytest.raises(KeyError):
        broken()
    assert rows(store, store.evidence(["s", "t"])) == {"s": [0, 2], "t": [1]}
