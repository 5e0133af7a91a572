"""What looks have shown of summaries is kept, a row a version."""

from math import inf

import pytest

from halflife.core.store import Note
from halflife.stores import summary_lifetimes
from halflife.stores.memory import MemoryStore
from halflife.stores.sqlite import SqliteStore
from halflife.stores.summary_lifetimes import MOST, Life, life, lives, note


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    if request.param == "memory":
        yield MemoryStore()
        return
    with SqliteStore.open(tmp_path / "state.db", create=True) as store:
        yield store


def test_of_a_database_never_looked_at_nothing_is_known(store):
    assert lives(store, "books") == []
    assert life(store, "books", 3, 100.0) == Life(3, 100.0, 100.0)


def test_looks_are_kept_and_the_last_of_a_version_counts(store):
    first = Life(1, 100.0, 100.0).with_result(104.0, holds=True)
    note(store, "books", first)
    note(store, "books", first.with_result(109.0, holds=False))
    note(store, "books", Life(2, 109.0, 109.0))
    note(store, "films", Life(1, 5.0, 5.0))
    (old, new) = lives(store, "books")
    assert (old.held, old.failed, old.looked) == (4.0, 9.0, 109.0)
    assert (new.held, new.failed, new.is_doubted) == (0.0, inf, False)
    assert life(store, "books", 1, 0.0) == old


def test_a_doubt_ends_with_the_next_look_that_tells():
    doubted = Life(1, 100.0, 100.0).with_result(102.0, holds=True).with_doubt(105.0)
    assert doubted.is_doubted
    assert (doubted.held, doubted.doubted, doubted.looked) == (2.0, 5.0, 105.0)
    assert not doubted.with_result(106.0, holds=True).is_doubted
    assert not doubted.with_result(106.0, holds=False).is_doubted


def test_only_so_many_versions_are_remembered(store):
    for version in range(1, MOST + 4):
        note(store, "books", Life(version, float(version), float(version)))
    assert [one.version for one in lives(store, "books")] == list(range(4, MOST + 4))


@pytest.mark.parametrize("text", ["", "[", "[1]", '[{"version": 1, "x": 2}]', "{}x"])
def test_what_cannot_be_read_is_unknown_and_said(store, text, caplog):
    store.save_note("books", "summary_lifetimes", Note(1, text))
    assert lives(store, "books") == []
    assert "summary_lifetimes of books" in caplog.text
    assert summary_lifetimes.lives(store, "films") == []
