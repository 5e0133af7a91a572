"""What every store gives out of what it holds, one by one."""

import json

from hypothesis import given, settings, strategies as st

from contracts.test_life_stores import listings
from halflife.core.item import Item
from halflife.core.object_store import Listing
from halflife.core.observation import Content, Observations
from halflife.core.tracker import Tracker
from halflife.engine import change_feed
from halflife.stores.memory import MemoryStore
from halflife.stores.sqlite import SqliteStore
from store_looks import absent, present


@settings(max_examples=25)
@given(looks=listings, at=st.floats(0.0, 9.0))
def test_both_stores_give_the_same_records_now_then_and_ever(
    looks, at, tmp_path_factory
):
    path = tmp_path_factory.mktemp("holdings") / "state.db"
    memory = MemoryStore()
    with SqliteStore.open(path, create=True) as file:
        for store in (memory, file):
            run = store.begin(["cars"], 0.0, lease=1e6)
            tracker = Tracker(group="maker")
            for day, (found, complete) in enumerate(looks):
                tracker.take(Listing(float(day), found, complete))
                store.save_register(run, "cars", tracker.news())
        one, other = memory.holdings, file.holdings
        for ask in (
            lambda held: held.records("cars"),
            lambda held: held.records("cars", at),
            lambda held: held.record_history("cars"),
            lambda held: held.record_history("cars", "a"),
        ):
            assert list(ask(one)) == list(ask(other))
        assert list(one.fields("cars").items()) == list(other.fields("cars").items())
        assert one.sources_of("a") == other.sources_of("a")
        assert list(other.records("nobody")) == list(one.records("nobody")) == []
        now = {row.key: json.loads(row.text) for row in other.records("cars")}
        held = Tracker(file.register("cars")).held
        assert {key: now[key] for key in held} == held
        # What was true then is what the history says was true then.
        ever = other.record_history("cars")
        true = [r for r in ever if r.begins <= at and (r.ends is None or at < r.ends)]
        then = {row.key: row.text for row in other.records("cars", at)}
        assert {row.key: row.text for row in true} == then


def test_both_stores_give_the_same_pages_and_their_versions(tmp_path):
    memory = MemoryStore()
    with SqliteStore.open(tmp_path / "state.db", create=True) as file:
        for store in (memory, file):
            store.add([Item("a", "s"), Item("b", "s"), Item("c", "s")])
            run = store.begin(["s"], 0.0, lease=1e6)
            for day, text in enumerate("xyz"):
                body = Content("text/plain", text.encode())
                look = present("a", float(day), text, content=body)
                store.append(run, Observations.of([look]))
            store.append(
                run, Observations.of([present("b", 1.0, "q"), absent("c", 1.0)])
            )
        for ask in (
            lambda held: held.pages("s"),
            lambda held: held.pages("s", 1.5),
            lambda held: held.page_history("s"),
        ):
            assert list(ask(memory.holdings)) == list(ask(file.holdings))
        rows = [(r.key, r.body) for r in file.holdings.pages("s")]
        assert rows == [("a", b"z"), ("b", None)]
        assert [r.body for r in file.holdings.pages("s", 1.5)] == [b"y"]
        ever = [(r.begins, r.ends) for r in file.holdings.page_history("s")]
        assert ever == [(0.0, 1.0), (1.0, 2.0), (2.0, None)]


def test_a_reader_who_stops_at_a_number_gets_nothing_beyond(tmp_path):
    with SqliteStore.open(tmp_path / "state.db", create=True) as store:
        store.add([Item(str(n), "s") for n in range(9)])
        run = store.begin(["s"], 0.0, lease=1e6)
        store.append(run, Observations.of(present(str(n), 1.0) for n in range(9)))
        found = [change.seq for change in change_feed.read(store, 2, (), 5)]
        assert found == [3, 4, 5]
