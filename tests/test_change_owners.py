"""What becomes of the log of changes when pages or records change hands."""

import pytest

from halflife.core.item import Item
from halflife.core.object_store import Listing
from halflife.core.observation import Observation, Observations, Seen
from halflife.core.tracker import Tracker
from halflife.stores import ownership
from halflife.stores.sqlite import SqliteStore
from store_looks import absent, present


@pytest.fixture
def store(tmp_path):
    with SqliteStore.open(tmp_path / "state.db", create=True) as made:
        made.add([Item("a", "old"), Item("b", "old"), Item("c", "kept")])
        run = made.begin(["kept", "old"], 0.0, lease=1.0)
        found = Item("found", "old")
        hints = [Observation("found", 1.0, Seen.HINT, item=found)]
        looks = [present("a", 1.0, "1"), absent("b", 1.0), present("c", 1.0, "2")]
        made.append(run, Observations.of([*looks, *hints]))
        made.append(run, Observations.of([present("found", 2.0, "3")]))
        tracker = Tracker()
        tracker.take(Listing(2.0, {"x": {"p": 1}}))
        made.save_register(run, "old", tracker.news())
        made.finish(run, 2.0)
        yield made


def told(store, after=0):
    changes = store.changes.read(after)
    return [(c.source, c.key, c.kind) for c in changes]


def test_a_renamed_source_takes_its_changes_along_under_their_numbers(store):
    before = store.changes.read()
    with ownership.reassigning(store, ("old", "new"), 3.0) as db:
        ownership.rename(db, "old", "new")
    after = store.changes.read()
    assert [(c.seq, c.key, c.kind) for c in after] == [
        (c.seq, c.key, c.kind) for c in before
    ]
    assert {c.source for c in after} == {"new", "kept"}
    assert store.verify() == []


def test_a_source_that_is_forgotten_takes_its_changes_along_and_no_number_returns(
    store,
):
    last = store.changes.last()
    with ownership.reassigning(store, ("old",), 3.0) as db:
        ownership.forget(db, "old")
    assert told(store) == [("kept", "c", "new")]
    assert store.changes.last() == last
    store.add([Item("a", "old")])
    run = store.begin(["old"], 4.0, lease=1.0)
    store.append(run, Observations.of([present("a", 4.0, "1")]))
    (again,) = store.changes.read(last)
    assert (again.key, again.kind, again.seq) == ("a", "new", last + 1)
    assert store.verify() == []


def test_pages_that_another_source_takes_are_gone_there_and_new_here(store):
    last = store.changes.last()
    with ownership.reassigning(store, ("old", "kept"), 3.0) as db:
        ownership.move(db, ["a", "b", "c"], "kept", 3.0)
        ownership.move_found(db, "old", "kept", 3.0)
    assert told(store, last) == [
        ("old", "a", "gone"),
        ("kept", "a", "new"),
        ("old", "found", "gone"),
        ("kept", "found", "new"),
    ]
    (new,) = [c for c in store.changes.read(last) if c.key == "a" and c.kind == "new"]
    assert new.fields == {"text": (None, "1"), "source": ("old", "kept")}
