"""What every store must do with set sources."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from contracts.test_stores import STORES
from halflife.core.errors import LeaseLost, UsageError
from halflife.core.object_store import Listing, Register, Snapshot
from halflife.core.tracker import Tracker
from halflife.stores.memory import MemoryStore
from halflife.stores.table_store import TableStore

KEYS = ("a", "b", "é")
values = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=3))
records = st.dictionaries(
    st.sampled_from(KEYS), st.fixed_dictionaries({"price": values, "maker": values})
)
listings = st.lists(st.tuples(records, st.booleans()), min_size=1, max_size=8)


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    made = STORES[request.param](tmp_path)
    yield made
    if isinstance(made, TableStore):
        made.close()


@pytest.fixture
def run(store):
    return store.begin(["cars"], 0.0, lease=1000.0)


def history(*looks):
    tracker = Tracker(group="maker")
    for at, found in enumerate(looks):
        tracker.take(Listing(float(at), found))
    return tracker


def car(price, maker="x"):
    return {"price": price, "maker": maker}


def small():
    return history({"a": car(1), "b": car(2)}, {"a": car(3)}, {"a": car(3)})


def same(one, other):
    assert one.name == other.name
    assert one.lives.keys == other.lives.keys
    for name in ("absent_before", "first_seen", "last_seen", "gone_by"):
        assert getattr(one.lives, name).tolist() == getattr(other.lives, name).tolist()
    for name in ("looks", "changed", "changed_at"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    assert set(one.lives.attributes) == set(other.lives.attributes)
    for name, column in one.lives.attributes.items():
        again = other.lives.attributes[name]
        assert column.dtype == again.dtype
        assert repr(column.tolist()) == repr(again.tolist())
    return True


def plain(register):
    return (
        list(register.snapshots),
        list(register.spells),
        sorted(register.versions, key=lambda v: (v.key, v.spell, v.seen_from)),
        dict(register.unobserved),
    )


def test_a_collection_comes_back_as_it_was_saved(store, run):
    given = small().register().collection("cars")
    store.save_collection(run, given)
    assert store.collections() == ["cars"]
    assert same(store.collection("cars"), given)


def test_saving_a_collection_again_replaces_it(store, run):
    store.save_collection(run, small().register().collection("cars"))
    other = history({"z": car(1)}).register().collection("cars")
    store.save_collection(run, other)
    assert same(store.collection("cars"), other)


def test_a_source_of_which_nothing_is_kept_is_named(store):
    store.begin(["pages"], 0.0, lease=1.0)
    assert store.collections() == []
    for ask in (store.collection, store.register):
        with pytest.raises(UsageError, match="no set source is named 'pages'"):
            ask("pages")


def test_an_empty_listing_is_a_look_too(store, run):
    given = history({}).register().collection("cars")
    store.save_collection(run, given)
    assert same(store.collection("cars"), given)
    assert store.register("cars").snapshots == [Snapshot(0.0, 0)]


@settings(max_examples=30)
@given(looks=listings)
def test_looks_saved_one_by_one_are_what_the_tracker_knows(looks, tmp_path_factory):
    for make in STORES.values():
        store = make(tmp_path_factory.mktemp("store"))
        run = store.begin(["cars"], 0.0, lease=1000.0)
        tracker = Tracker(group="maker")
        for at, (found, complete) in enumerate(looks):
            tracker.take(Listing(float(at), found, complete))
            store.save_register(run, "cars", tracker.news())
        assert plain(store.register("cars")) == plain(tracker.register())
        whole = tracker.register().collection("cars")
        assert same(store.collection("cars"), whole)
        if isinstance(store, TableStore):
            store.close()


@given(looks=listings, cut=st.integers(0, 8))
def test_a_tracker_read_back_goes_on_as_if_nothing_had_been(looks, cut):
    store = MemoryStore()
    run = store.begin(["cars"], 0.0, lease=1000.0)
    whole, first = Tracker(group="maker"), Tracker(group="maker")
    for at, (found, complete) in enumerate(looks):
        whole.take(Listing(float(at), found, complete))
        if at == cut and at:
            first = Tracker(store.register("cars"), group="maker")
        first.take(Listing(float(at), found, complete))
        store.save_register(run, "cars", first.news())
    assert plain(store.register("cars")) == plain(whole.register())


def test_what_is_kept_cannot_be_changed_from_outside(store, run):
    tracker = small()
    store.save_register(run, "cars", tracker.register())
    tracker.take(Listing(9.0, {}))
    store.register("cars").spells[0].last_seen = 77.0
    assert store.register("cars").spells[0].last_seen == 2.0


def test_groups_that_are_not_seen_are_remembered(store, run):
    tracker = history({f"{m}{i}": car(i, m) for m in "xy" for i in range(10)})
    tracker.take(Listing(1.0, {f"x{i}": car(i) for i in range(10)}))
    store.save_register(run, "cars", tracker.news())
    assert store.register("cars").unobserved == {"y": 0.0}
    tracker.take(Listing(2.0, dict(tracker.held)))
    store.save_register(run, "cars", tracker.news())
    assert store.register("cars").unobserved == {}


def test_odd_numbers_are_kept_as_nothing(store, run):
    given = small().register().collection("cars")
    odd = {"price": np.array([np.nan, np.inf])}
    given = replace(given, lives=replace(given.lives, attributes=odd))
    store.save_collection(run, given)
    found = store.collection("cars").lives.attributes["price"]
    assert found.tolist() == [None, None]


def test_a_run_writes_about_its_own_sources_only(store, run):
    with pytest.raises(UsageError, match="covers cars, not 'boats'"):
        store.save_register(run, "boats", Register())
    with pytest.raises(UsageError, match="covers cars, not 'boats'"):
        store.stage(run, "boats", Listing(0.0, {}), "why")


def test_nothing_is_written_under_a_lost_lease(store, run):
    store.finish(run, 1.0)
    with pytest.raises(LeaseLost):
        store.save_register(run, "cars", small().register())
    with pytest.raises(LeaseLost):
        store.stage(run, "cars", Listing(0.0, {}), "why")
    assert store.collections() == []


def test_an_answer_can_wait_for_a_decision(store, run):
    store.save_register(run, "cars", small().register())
    listing = Listing(3.0, {"é": car(None, "ö")}, complete=True, note="page 2")
    store.stage(run, "cars", listing, "too many gone")
    (waiting,) = store.staged()
    assert (waiting.run, waiting.source) == (run.id, "cars")
    assert waiting.why == "too many gone"
    assert waiting.listing == listing
    assert store.collection("cars").looks.tolist() == [0.0, 1.0, 2.0]


def test_an_answer_that_waits_keeps_what_it_says_is_absent(store, run):
    part = Listing(3.0, {"a": {}}, complete=False, absent=frozenset({"b", "c"}))
    store.stage(run, "cars", part, "too many gone")
    assert store.staged()[0].listing == part


def test_a_later_look_overtakes_an_answer_that_waits(store, run):
    store.stage(run, "cars", Listing(0.0, {}), "first")
    store.stage(run, "cars", Listing(1.0, {}), "second")
    assert [w.why for w in store.staged()] == ["second"]
    store.save_register(run, "cars", small().register())
    assert store.staged() == []


def test_what_a_waiting_answer_shows_is_added_and_the_answer_waits_on(store, run):
    store.save_register(run, "cars", small().register())
    for at, keys in ((3.0, "ac"), (4.0, "acd")):
        tracker = Tracker(store.register("cars"), group="maker")
        listing = Listing(at, {key: car(5) for key in keys})
        tracker.take_shown(listing)
        store.stage(run, "cars", listing, "too many gone", tracker.news())
    (waiting,) = store.staged()
    assert waiting.listing == listing
    kept = store.register("cars")
    assert {s.key: s.last_seen for s in kept.spells}["c"] == 4.0
    assert [s.complete for s in kept.snapshots] == [True, True, True, False, False]
    assert store.collection("cars").looks.tolist() == [0.0, 1.0, 2.0]
    kinds = [(c.at, c.kind, c.key) for c in store.changes.read()][-4:]
    assert kinds == [
        (3.0, "held", ""), (3.0, "new", "c"), (3.0, "changed", "a"), (4.0, "new", "d"),
    ]  # fmt: skip
    tracker = Tracker(kept, group="maker")
    tracker.take_accepted(waiting.listing)
    store.save_register(run, "cars", tracker.news())
    assert store.staged() == []
    assert store.collection("cars").looks.tolist() == [0.0, 1.0, 2.0, 4.0]
    assert store.register("cars").snapshots[-1].complete
    kinds = [(c.kind, c.key) for c in store.changes.read()]
    assert kinds[-1] == ("accepted", "")
    assert len(kinds[4:]) == len(set(kinds[4:]))  # each is logged once


def test_nothing_of_a_waiting_answer_is_added_under_a_lost_lease(store, run):
    store.save_register(run, "cars", small().register())
    before = plain(store.register("cars"))
    tracker = Tracker(store.register("cars"), group="maker")
    listing = Listing(3.0, {"a": car(5), "c": car(1)})
    tracker.take_shown(listing)
    store.finish(run, 3.0)
    with pytest.raises(LeaseLost):
        store.stage(run, "cars", listing, "too many gone", tracker.news())
    assert store.staged() == []
    assert plain(store.register("cars")) == before
