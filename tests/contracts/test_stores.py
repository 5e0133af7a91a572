"""What every store must do; a new store is added to STORES and nowhere else."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import postgres_store
from halflife.core.errors import AlreadyRunning, LeaseLost, UsageError
from halflife.core.history import History
from halflife.core.host import HostState
from halflife.core.item import Item
from halflife.core.observation import Content, Observation, Observations, Seen
from halflife.core.store import Note
from halflife.stores.memory import MemoryStore
from halflife.stores.postgres.store import PostgresStore
from halflife.stores.sqlite import SqliteStore
from halflife.stores.table_store import TableStore
from store_cases import KEYS, batched, hinted, observations, state
from store_looks import HEX, absent, failed, hint, present

STORES = {
    "memory": lambda _: MemoryStore(),
    "sqlite": lambda folder: SqliteStore.open(folder / "state.db", create=True),
    "postgres": lambda _: postgres_store.empty(),
}
ITEMS = [Item(key, "site", weight=i + 1.0, group=key) for i, key in enumerate(KEYS)]


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    made = STORES[request.param](tmp_path)
    made.add(ITEMS)
    yield made
    if isinstance(made, TableStore):
        made.close()


@pytest.fixture
def run(store):
    return store.begin(["site"], 0.0, lease=1000.0)


def put(store, run, *looks):
    store.append(run, Observations.of(looks))


# Items


def test_what_is_sent_for_an_item_is_its_key_unless_it_was_found_with_more(store):
    found = Item("page", "site", url="page?sid=1")
    store.add([found, Item("e", "site")])
    run = store.begin(["site"], 0.0, lease=1.0)
    other = Item("other", "site", url="other?sid=2")
    store.append(
        run, Observations.of([Observation("other", 0.5, Seen.HINT, item=other)])
    )
    store.add([Item("page", "site", weight=2.0), Item("other", "site")])
    sent = [store.url_of(key) for key in ("page", "other", "e", "unknown")]
    assert sent == ["page?sid=1", "other?sid=2", "e", "unknown"]
    kept = {item.key: item.url for item in store.items()}
    assert (kept["page"], kept["other"], kept["e"]) == (*sent[:2], "")


def test_new_items_are_counted_and_known_ones_get_the_new_weight(store):
    assert store.add([Item("a", "site", weight=5.0), Item("d", "site")]) == 1
    weights = {item.key: item.weight for item in store.items()}
    assert weights == {"a": 5.0, "b": 2.0, "c": 3.0, "d": 1.0}
    assert store.evidence(["site"]).weight.tolist() == [5.0, 2.0, 3.0, 1.0]


def test_an_item_comes_back_as_it_was_given(store):
    item = Item("https://example.org/é?q=1", "other", 0.25, 3.0, "example.org")
    store.add([item])
    assert store.items(["other"]) == [item]
    assert store.items(["site"]) == ITEMS
    assert store.items() == [*ITEMS, item]
    assert store.items(["nobody"]) == []


def test_a_key_belongs_to_the_source_that_named_it_first(store):
    assert store.add([Item("a", "other", weight=7.0)]) == 0
    assert store.items(["other"]) == []
    assert store.evidence(["site"]).weight[0] == 7.0


def test_adding_items_reaches_evidence_already_read(store):
    store.evidence(["site"])
    store.add([Item("d", "site", group="g"), Item("e", "other")])
    evidence = store.evidence(["site"])
    assert evidence.keys == ("a", "b", "c", "d")
    assert evidence.groups[evidence.group[3]] == "g"
    assert store.evidence().keys == ("a", "b", "c", "d", "e")


# Looks


def test_looks_are_folded_into_the_evidence(store, run):
    put(store, run, present("a", 1.0, "x"), present("b", 1.0), failed("c", 1.0))
    put(store, run, present("a", 3.0, "y"), present("b", 4.0))
    evidence = store.evidence(["site"])
    assert evidence.looks.tolist() == [2, 2, 0]
    assert evidence.changes.tolist() == [1, 0, 0]
    assert evidence.quiet.tolist() == [0.0, 3.0, 0.0]
    assert evidence.failures.tolist() == [0, 0, 1]


def test_evidence_is_one_object_that_append_keeps_up_to_date(store, run):
    evidence = store.evidence(["site"])
    put(store, run, present("a", 1.0))
    assert store.evidence(["site"]) is evidence
    assert evidence.looks.tolist() == [1, 0, 0]


def test_evidence_on_other_selections_follows_too(store, run):
    store.add([Item("z", "other")])
    everything, other = store.evidence(), store.evidence(["other"])
    put(store, run, present("a", 1.0))
    assert everything.looks.tolist() == [1, 0, 0, 0]
    assert other.looks.tolist() == [0]
    assert store.evidence(["site", "other"]).looks.tolist() == [1, 0, 0, 0]


def test_adding_the_same_look_twice_changes_nothing(store, run):
    looks = Observations.of([present("a", 1.0, HEX), failed("b", 1.0), hint("c", 1.0)])
    store.append(run, looks)
    once = state(store.evidence(["site"]))
    store.append(run, looks)
    put(store, run, present("a", 1.0, HEX), present("a", 1.0, HEX))
    assert state(store.evidence(["site"])) == once
    assert store.history(["site"]).at.tolist() == [1.0]


def test_a_batch_sent_again_with_more_in_it_adds_only_what_is_new(store, run):
    put(store, run, present("a", 1.0, "x"))
    put(store, run, present("a", 1.0, "x"), present("a", 2.0, "y"), present("b", 1.0))
    assert store.evidence(["site"]).looks.tolist() == [2, 1, 0]
    assert store.evidence(["site"]).changes.tolist() == [1, 0, 0]


def test_looks_of_another_kind_at_the_same_moment_are_all_kept(store, run):
    put(store, run, failed("a", 1.0), present("a", 1.0, "x"), hint("a", 1.0))
    put(store, run, present("a", 1.0, "y"))
    assert store.evidence(["site"]).looks[0] == 2


def test_hints_are_counted_and_are_no_looks(store, run):
    put(store, run, present("a", 1.0))
    put(store, run, hint("a", 2.0, modified=1.5), hint("b", 2.0, modified=1.5))
    evidence = store.evidence(["site"])
    assert evidence.hints.tolist() == [1, 0, 0]
    assert evidence.claimed.tolist() == [1.5, 1.5, -np.inf]
    assert evidence.looks.tolist() == [1, 0, 0]
    assert evidence.tried_at.tolist() == [1.0, -np.inf, -np.inf]
    assert store.history(["site"]).at.size == 1


def test_a_hint_from_a_run_of_another_source_does_not_count(store, run):
    store.add([Item("z", "other")])
    other = store.begin(["other"], 0.0, lease=1000.0)
    put(store, other, present("z", 1.0))
    put(store, run, hint("z", 2.0, modified=2.0))
    assert store.evidence(["other"]).hints.tolist() == [0]
    assert store.evidence().hints.tolist() == [0, 0, 0, 0]
    if isinstance(store, TableStore):
        assert store.verify() == []


def test_a_hint_makes_an_item_known(store, run):
    item = Item("new", "site", weight=4.0, group="g")
    put(store, run, hint("new", 1.0, item=item), present("new", 2.0), hint("new", 3.0))
    assert store.items(["site"])[-1] == item
    assert store.evidence(["site"]).keys[-1] == "new"
    assert store.evidence(["site"]).looks[-1] == 1
    put(store, run, hint("new", 4.0, item=replace(item, weight=9.0)))
    assert store.items(["site"])[-1] == item


def test_a_hint_of_another_source_s_item_is_kept(store, run):
    store.add([Item("z", "other")])
    put(
        store,
        run,
        hint("z", 1.0, item=Item("z", "site")),
        hint("y", 1.0, item=Item("y")),
    )
    assert store.items(["other"]) == [Item("z", "other")]
    assert store.items([""]) == [Item("y")]


@pytest.mark.parametrize(
    "wrong",
    [
        present("nobody", 1.0),
        hint("nobody", 1.0),
        present("z", 1.0),
        present("y", 1.0, item=Item("y", "other")),
        present("a", float("nan")),
        present("a", float("inf")),
    ],
    ids=["unknown", "hint of unknown", "not ours", "named elsewhere", "nan", "inf"],
)
def test_a_look_that_cannot_be_placed_is_refused_with_all_its_batch(store, run, wrong):
    store.add([Item("z", "other")])
    before = state(store.evidence(["site"]))
    with pytest.raises(UsageError):
        put(
            store, run, present("a", 1.0), hint("n", 1.0, item=Item("n", "site")), wrong
        )
    assert state(store.evidence(["site"])) == before
    assert [item.key for item in store.items()] == [*KEYS, "z"]


def test_an_empty_batch_is_no_news(store, run):
    put(store, run)
    assert store.evidence(["site"]).looks.tolist() == [0, 0, 0]


@given(looks=observations(), data=st.data())
def test_history_is_that_of_the_log(looks, data):
    store = MemoryStore()
    store.add(ITEMS)
    run = store.begin(["site"], 0.0, lease=1.0)
    for batch in data.draw(batched(looks)):
        store.append(run, batch)
    expected = History.of(dict.fromkeys(looks), keys=KEYS)
    assert_same_history(store.history(), expected)


def assert_same_history(one, other):
    assert one.keys == other.keys
    assert one.start.tolist() == other.start.tolist()
    assert one.at.tolist() == other.at.tolist()
    assert one.seen.tolist() == other.seen.tolist()
    for column, twin in zip(one.gaps(), other.gaps(), strict=True):
        assert column.tolist() == twin.tolist()


def opened_again(store):
    if isinstance(store, SqliteStore):
        return SqliteStore.open(store.path)
    return PostgresStore.open(postgres_store.address("shared"))


@settings(max_examples=40)
@given(looks=observations(), data=st.data())
def test_every_store_comes_to_the_same_evidence(looks, data):
    comes_to_the_same_evidence("sqlite", looks, data)


@settings(max_examples=8)
@given(looks=observations(), data=st.data())
def test_a_server_comes_to_the_same_evidence(looks, data):
    comes_to_the_same_evidence("postgres", looks, data)


def comes_to_the_same_evidence(kind, looks, data):
    batches = data.draw(batched(looks))
    again = data.draw(st.lists(st.sampled_from(batches), max_size=2))
    with TemporaryDirectory() as folder:
        memory, disk = stores = [STORES[k](Path(folder)) for k in ("memory", kind)]
        for store in stores:
            store.add(ITEMS)
            run = store.begin(["site"], 0.0, lease=1000.0)
            for batch in [*batches, *again]:
                store.append(run, batch)
        assert state(disk.evidence(["site"])) == state(memory.evidence(["site"]))
        assert state(disk.evidence()) == state(memory.evidence())
        assert hinted(disk.evidence()) == hinted(memory.evidence())
        assert_same_history(disk.history(), memory.history())
        assert disk.held(KEYS) == memory.held(KEYS)
        assert disk.verify() == []
        disk.close()
        with opened_again(disk) as reopened:
            assert state(reopened.evidence(["site"])) == state(memory.evidence())
            assert hinted(reopened.evidence()) == hinted(memory.evidence())
            assert_same_history(reopened.history(), memory.history())


# Copies


def test_the_last_good_look_is_held_with_its_validators(store, run):
    look = present("a", 2.0, HEX, raw=HEX[::-1], etag='W/"1"', modified=1.5, note="n")
    put(store, run, present("a", 1.0, "x"), look, failed("a", 3.0), hint("a", 4.0))
    put(store, run, absent("b", 1.0))
    assert store.held(["c", "a", "nobody", "b"]) == [None, look, None, absent("b", 1.0)]


def test_columns_without_details_are_held_too(store, run):
    put(store, run, present("a", 1.0, HEX, etag="old"))
    columns = Observations(
        ("a",), np.array([2.0]), np.array([0], dtype=np.int8), ("x",)
    )
    store.append(run, columns)
    assert store.held(["a"]) == [present("a", 2.0, "x")]


def test_the_latest_copy_is_kept_and_outlives_an_absence(store, run):
    first, second = Content("text/html", b"\0" * 5000), Content("text/plain", b"")
    put(store, run, present("a", 1.0, "1", content=first))
    assert store.content("a") == first
    put(store, run, present("a", 2.0, "2", content=second), absent("a", 3.0))
    assert store.content("a") == second
    assert store.content("b") is None
    assert store.content("nobody") is None


# Leases


def test_a_source_can_be_leased_once(store, run):
    with pytest.raises(AlreadyRunning, match="site"):
        store.begin(["other", "site"], 1.0, lease=1.0)
    assert store.begin(["other"], 1.0, lease=1.0).sources == ("other",)


def test_a_finished_run_gives_its_lease_back(store, run):
    store.finish(run, 1.0)
    again = store.begin(["site"], 2.0, lease=1.0)
    assert again.token > run.token
    assert (again.began, again.resumed) == (2.0, False)


def test_a_run_must_name_its_sources(store):
    with pytest.raises(UsageError, match="name the sources"):
        store.begin([], 0.0, lease=1.0)


def test_sources_are_leased_each_once_and_in_order(store):
    run = store.begin(["y", "x", "y"], 0.0, lease=1.0)
    assert run.sources == ("x", "y")
    store.finish(run, 0.5)


def test_an_expired_lease_is_taken_over_and_the_run_goes_on(store):
    first = store.begin(["site", "more"], 10.0, lease=0.25)
    store.charge(first, 3, 10.0)
    second = store.begin(["more", "site"], 10.5, lease=0.25)
    assert second.token > first.token
    assert (second.began, second.resumed) == (10.0, True)
    third = store.begin(["more", "site"], 11.0, lease=0.25)
    assert (third.began, third.resumed) == (10.0, True)
    store.finish(third, 11.1)
    assert not store.begin(["more", "site"], 11.2, lease=1.0).resumed


def test_a_run_that_is_not_done_gives_its_lease_back_and_is_resumed(store):
    first = store.begin(["site"], 10.0, lease=1.0)
    store.finish(first, 10.1, done=False)
    second = store.begin(["site"], 10.2, lease=1.0)
    assert (second.began, second.resumed) == (10.0, True)
    store.finish(second, 10.3)
    assert not store.begin(["site"], 10.4, lease=1.0).resumed


def test_what_was_interrupted_long_ago_is_not_resumed(store):
    store.begin(["site"], 10.0, lease=0.25)
    late = store.begin(["site"], 12.0, lease=0.25)
    assert (late.began, late.resumed) == (12.0, False)


def test_a_run_of_other_sources_does_not_go_on(store):
    first = store.begin(["site", "more"], 10.0, lease=0.25)
    part = store.begin(["site"], 10.5, lease=0.25)
    assert (part.began, part.resumed) == (10.5, False)
    for attempt in (store.finish, lambda r, now: store.charge(r, 1, now)):
        with pytest.raises(LeaseLost):
            attempt(first, 10.6)


def test_a_refused_run_changes_nothing(store):
    old = store.begin(["a"], 0.0, lease=1.0)
    store.begin(["b"], 0.0, lease=100.0)
    with pytest.raises(AlreadyRunning):
        store.begin(["a", "b"], 2.0, lease=1.0)
    store.charge(old, 1, 2.0)


def test_a_lease_can_be_renewed(store, run):
    store.renew(run, 999.0, lease=10.0)
    with pytest.raises(AlreadyRunning):
        store.begin(["site"], 1005.0, lease=1.0)
    assert store.begin(["site"], 1009.0, lease=1.0).resumed


@pytest.mark.parametrize(
    "write",
    [
        lambda store, run: put(store, run, present("a", 1.0)),
        put,
        lambda store, run: store.charge(run, 1, 1.0),
        lambda store, run: store.renew(run, 1.0, lease=1.0),
        lambda store, run: store.finish(run, 1.0),
    ],
    ids=["append", "append nothing", "charge", "renew", "finish"],
)
def test_nothing_is_written_under_a_lost_lease(store, run, write):
    store.begin(["site"], 2000.0, lease=1.0)
    with pytest.raises(LeaseLost):
        write(store, run)
    assert store.spent(0.0) == 0
    assert store.evidence(["site"]).looks.tolist() == [0, 0, 0]


# Ledger, hosts, notes


def test_what_was_spent_is_counted_from_a_moment_on(store, run):
    for at, requests in [(1.0, 5), (2.0, 7), (2.0, -3), (0.5, 100), (3.0, 1)]:
        store.charge(run, requests, at)
    assert [store.spent(at) for at in (0.0, 1.0, 2.0, 3.0, 4.0)] == [110, 10, 5, 1, 0]


def test_a_host_is_remembered(store):
    assert store.host("https://a:443") is None
    store.save_host(HostState("https://a:443"))
    assert store.host("https://a:443") == HostState("https://a:443")
    state = HostState("https://a:443", 9.5, 3, "User-agent: *\0é", 200, 8.5)
    store.save_host(state)
    assert store.host("https://a:443") == state


def test_a_note_replaces_the_one_before(store):
    assert store.note("", "prior") is None
    store.save_note("", "prior", Note(1, ""))
    assert store.note("", "prior") == Note(1, "")
    store.save_note("", "prior", Note(2, '{"π": 3}'))
    assert store.note("", "prior") == Note(2, '{"π": 3}')


def test_notes_are_told_apart_by_source_kind_and_number(store):
    for number in (10, 2):
        store.save_note("site", "summary", Note(1, str(number)), number)
    store.save_note("other", "summary", Note(1, "x"), 2)
    store.save_note("site", "breaker", Note(1, "y"))
    assert store.note_numbers("site", "summary") == [2, 10]
    store.remove_note("site", "summary", 2)
    store.remove_note("site", "summary", 3)  # there is none
    assert store.note_numbers("site", "summary") == [10]
    assert store.note("other", "summary", 2) == Note(1, "x")
    assert store.note("site", "breaker") == Note(1, "y")
