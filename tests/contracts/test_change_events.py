"""What every store writes into its log of changes when it is told what was observed."""

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from change_replay import held_keys, records
from contracts.test_life_stores import car, listings
from contracts.test_stores import STORES
from halflife.core.change import Change
from halflife.core.errors import LeaseLost
from halflife.core.item import Item
from halflife.core.object_store import NEVER, Listing, Register
from halflife.core.observation import MOVED, Content, Observation, Observations, Seen
from halflife.core.tracker import Tracker
from halflife.stores.held_pages import HELD, KEPT, WAITS, HeldFetch
from halflife.stores.memory import MemoryStore
from halflife.stores.sqlite import SqliteStore
from halflife.stores.table_store import TableStore
from store_cases import KEYS, batched, observations
from store_looks import absent, failed, hint, present

ITEMS = [Item(key, "site" if key < "c" else "other", group="g") for key in KEYS]


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    made = STORES[request.param](tmp_path)
    made.add(ITEMS)
    yield made
    if isinstance(made, TableStore):
        made.close()


@pytest.fixture
def run(store):
    return store.begin(["other", "site", "cars"], 0.0, lease=1e6)


def put(store, run, *looks):
    store.append(run, Observations.of(looks))


def log(store, kind=None):
    found = [(c.key, c.kind, dict(c.fields)) for c in store.changes.read()]
    return [one for one in found if kind in {None, one[1]}]


# Pages


def test_what_becomes_of_a_page_is_reported_in_order(store, run):
    put(store, run, present("a", 1.0, "1"))
    put(store, run, present("a", 2.0, "1"), present("c", 2.0, "9"))
    put(store, run, present("a", 3.0, "2"))
    put(store, run, absent("a", 4.0))
    put(store, run, present("a", 5.0, "2"))
    found = store.changes.read()
    assert found == [
        Change(1.0, "site", "a", "new", {"text": (None, "1")}, 1),
        Change(2.0, "other", "c", "new", {"text": (None, "9")}, 2),
        Change(3.0, "site", "a", "changed", {"text": ("1", "2")}, 3),
        Change(4.0, "site", "a", "gone", {}, 4),
        Change(5.0, "site", "a", "returned", {"text": (None, "2")}, 5),
    ]


def test_hints_failures_and_a_page_that_never_was_there_change_nothing(store, run):
    put(store, run, hint("a", 1.0), failed("b", 1.0), absent("c", 1.0))
    put(store, run, absent("c", 2.0), hint("new", 2.0, item=Item("new", "site")))
    assert store.changes.last() == 0
    put(store, run, present("c", 3.0, "1"), failed("a", 3.0))
    assert log(store) == [("c", "new", {"text": (None, "1")})]


def test_the_same_observation_is_reported_once(store, run):
    for _ in range(2):
        put(store, run, present("a", 1.0, "1"), present("a", 2.0, "2"))
    assert [kind for _, kind, _ in log(store)] == ["new", "changed"]


def test_a_batch_that_comes_back_to_a_page_reports_each_change(store, run):
    looks = [present("a", 1.0, "1"), absent("a", 2.0), absent("a", 3.0)]
    put(store, run, *looks, present("a", 4.0, "1"), present("a", 5.0, "2"))
    kinds = [kind for _, kind, _ in log(store)]
    assert kinds == ["new", "gone", "returned", "changed"]


def test_nothing_is_reported_under_a_lost_lease(store, run):
    store.begin(["site"], 2e6, lease=1.0)
    with pytest.raises(LeaseLost):
        put(store, run, present("a", 1.0))
    assert store.changes.last() == 0


def test_what_is_undone_is_not_reported(tmp_path):
    with SqliteStore.open(tmp_path / "state.db", create=True) as store:
        store.add(ITEMS)
        run = store.begin(["site"], 0.0, lease=1e6)
        with pytest.raises(ZeroDivisionError):
            put_and_fail(store, run)
        assert store.changes.read() == []
        put(store, run, present("a", 1.0))
        assert [kind for _, kind, _ in log(store)] == ["new"]


def put_and_fail(store, run):
    with store.together():
        put(store, run, present("a", 1.0))
        assert store.changes.last() == 1
        raise ZeroDivisionError


@settings(max_examples=60)
@given(data=st.data())
def test_both_stores_report_what_a_plain_reading_of_the_log_finds(
    data, tmp_path_factory
):
    looks = data.draw(observations())
    batches = data.draw(batched(looks))
    memory = MemoryStore()
    with SqliteStore.open(
        tmp_path_factory.mktemp("store") / "state.db", create=True
    ) as file:
        for store in (memory, file):
            store.add(ITEMS)
            run = store.begin(["site", "other"], 0.0, lease=1e6)
            for batch in batches:
                store.append(run, batch)
        assert file.changes.read() == memory.changes.read()
        found = [replace(c, seq=0) for c in file.changes.read()]
        assert found == plain_reading(looks)
        evidence = memory.evidence(["site", "other"])
        there = {
            key for key, seen in zip(KEYS, evidence.seen, strict=True) if seen == 0
        }
        kept = held_keys(memory.changes.read())
        assert {key for keys in kept.values() for key in keys} == there


def plain_reading(looks):
    """Return the changes that observations show, one at a time."""
    source, logged, now, ever, found = (
        {i.key: i.source for i in ITEMS},
        set(),
        {},
        set(),
        [],
    )
    for look in looks:
        same = look.key, look.at, look.seen, look.digest
        if look.seen > Seen.ABSENT or same in logged:
            continue
        logged.add(same)
        before, now[look.key] = now.get(look.key), look
        was_there = before is not None and before.seen is Seen.PRESENT
        about = look.at, source[look.key], look.key
        if look.seen is Seen.ABSENT:
            found += [Change(*about, "gone")] if was_there else []
        elif not was_there:
            kind = "returned" if look.key in ever else "new"
            found.append(Change(*about, kind, {"text": (None, look.digest)}))
            ever.add(look.key)
        elif before.digest != look.digest:
            text = before.digest, look.digest
            found.append(Change(*about, "changed", {"text": text}))
    return found


def test_a_page_that_moved_for_good_is_reported_once(store, run):
    put(store, run, present("a", 1.0, note="redirected to http://b/"))
    put(store, run, present("a", 2.0, note=f"{MOVED}http://b/"))
    put(store, run, present("a", 3.0, note=f"{MOVED}http://b/"), present("b", 3.0))
    put(store, run, present("a", 4.0, note=f"{MOVED}http://c/"))
    assert log(store, "moved") == [
        ("a", "moved", {"url": ("a", "http://b/")}),
        ("a", "moved", {"url": ("http://b/", "http://c/")}),
    ]


# Answers of pages that are held


def aside(key, at, state, digest="9", body=b"<p>down"):
    look = Observation(
        key, at, Seen.PRESENT, digest, content=Content("text/html", body)
    )
    return HeldFetch(look, state, "its text is odd", "was", "shape")


def test_an_answer_that_must_be_decided_is_reported_once(store, run):
    put(store, run, present("a", 1.0, "1"))
    store.held_answers.save(run.id, aside("a", 2.0, WAITS))
    assert log(store, "held") == []
    store.held_answers.save(run.id, aside("a", 3.0, HELD))
    store.held_answers.save(run.id, aside("a", 4.0, HELD))
    store.held_answers.set_state(store.held_answers.rows(), HELD)
    assert log(store, "held") == [("a", "held", {"why": (None, "its text is odd")})]
    assert store.changes.read()[-1].at == 3.0


def test_answers_that_are_held_together_are_reported_with_the_reason(store, run):
    for key in "ab":
        store.held_answers.save(run.id, aside(key, 2.0, WAITS))
    store.held_answers.set_state(store.held_answers.rows(), HELD, "all are alike")
    assert log(store) == [
        (key, "held", {"why": (None, "all are alike")}) for key in "ab"
    ]


def test_an_answer_that_is_believed_after_all_is_accepted_and_then_a_change(store, run):
    put(store, run, present("a", 1.0, "1"))
    store.held_answers.save(run.id, aside("a", 2.0, HELD))
    page = store.held_answers.row("a")
    put(store, run, store.held_answers.observation(page))
    assert log(store)[1:] == [
        ("a", "held", {"why": (None, "its text is odd")}),
        ("a", "accepted", {}),
        ("a", "changed", {"text": ("1", "9")}),
    ]


@pytest.mark.parametrize("state", [WAITS, HELD, KEPT])
def test_a_page_that_is_well_again_accepts_nothing(store, run, state):
    put(store, run, present("a", 1.0, "1"))
    store.held_answers.save(run.id, aside("a", 2.0, state))
    put(store, run, present("a", 3.0, "1"))
    assert log(store, "accepted") == []
    assert log(store, "changed") == []


def test_a_copy_that_is_put_back_is_a_change_and_so_is_its_successor(store, run):
    put(store, run, present("a", 1.0, "1"), present("b", 1.0, "1"))
    put(store, run, present("a", 2.0, "9"))
    store.held_answers.save(run.id, aside("a", 3.0, HELD, "9"))
    before = Content("text/html", b"<p>up")
    store.held_answers.put_back(present("a", 2.0, "1", content=before))
    assert log(store)[-1] == ("a", "changed", {"text": ("9", "1")})
    put(store, run, aside("a", 4.0, HELD).observation)
    assert log(store)[-2:] == [
        ("a", "accepted", {}),
        ("a", "changed", {"text": (None, "9")}),
    ]


# Records


def test_what_becomes_of_a_record_is_reported_with_its_fields(store, run):
    tracker = Tracker()
    for at, found in enumerate(
        [{"x": car(1)}, {"x": car(2)}, {}, {}, {"x": car(2, "z")}]
    ):
        tracker.take(Listing(float(at), found))
        store.save_register(run, "cars", tracker.news())
    assert store.changes.read() == [
        Change(0.0, "cars", "x", "new", {"price": (None, 1), "maker": (None, "x")}, 1),
        Change(1.0, "cars", "x", "changed", {"price": (1, 2)}, 2),
        Change(3.0, "cars", "x", "gone", {}, 3),
        Change(
            4.0, "cars", "x", "returned", {"price": (None, 2), "maker": (None, "z")}, 4
        ),
    ]


def test_fields_that_come_and_go_have_no_value_while_they_are_not_there(store, run):
    tracker = Tracker()
    for at, found in enumerate([{"p": 1, "q": float("nan")}, {"p": 1, "r": 2.5}]):
        tracker.take(Listing(float(at), {"x": found}))
        store.save_register(run, "cars", tracker.news())
    assert log(store)[-1] == ("x", "changed", {"r": (None, 2.5)})


def test_news_that_are_saved_twice_are_reported_once(store, run):
    tracker = Tracker()
    for at, found in enumerate([{"x": car(1)}, {"x": car(2)}, {}, {}]):
        tracker.take(Listing(float(at), found))
    news = tracker.news()
    for _ in range(2):
        store.save_register(run, "cars", news)
    assert [kind for _, kind, _ in log(store)] == ["new", "changed", "gone"]


def test_a_broken_listing_and_one_that_lacks_a_record_once_change_nothing(store, run):
    tracker = Tracker()
    tracker.take(Listing(0.0, {"x": car(1)}))
    tracker.reject(1.0, "it answered 500")
    tracker.take(Listing(2.0, {}))
    tracker.take(Listing(3.0, {"x": car(1)}))
    store.save_register(run, "cars", tracker.news())
    assert [kind for _, kind, _ in log(store)] == ["new"]


@settings(max_examples=40)
@given(looks=listings, every=st.integers(1, 4))
def test_the_log_of_records_leads_from_nothing_to_what_is_held(
    looks, every, tmp_path_factory
):
    logs = []
    for make in STORES.values():
        store = make(tmp_path_factory.mktemp("store"))
        run = store.begin(["cars"], 0.0, lease=1000.0)
        tracker = Tracker(group="maker")
        for at, (found, complete) in enumerate(looks, 1):
            tracker.take(Listing(float(at), found, complete))
            if at % every == 0 or at == len(looks):
                store.save_register(run, "cars", tracker.news())
        changes = store.changes.read()
        logs.append(changes)
        register = store.register("cars")
        there = {s.key for s in register.spells if s.gone_by == NEVER}
        assert held_keys(changes).get("cars", set()) == there
        last = Tracker(register).held
        assert {k: v for k, v in records(changes).items() if k in last} == last
        if isinstance(store, TableStore):
            store.close()
    assert logs[0] == logs[1] == logs[2]


def test_an_answer_of_a_listing_is_held_once_and_accepted(store, run):
    tracker = Tracker()
    tracker.take(Listing(1.0, {"x": car(1)}))
    store.save_register(run, "cars", tracker.news())
    for at in (2.0, 3.0):
        store.stage(run, "cars", Listing(at, {"y": car(2)}), "all are missing")
    (waiting,) = store.staged()
    tracker.take(waiting.listing)
    store.save_register(run, "cars", tracker.news())
    assert [(c.at, c.key, c.kind) for c in store.changes.read()] == [
        (1.0, "x", "new"),
        (2.0, "", "held"),
        (3.0, "", "accepted"),
        (3.0, "y", "new"),
    ]
    assert log(store, "held") == [("", "held", {"why": (None, "all are missing")})]


def test_an_answer_that_another_look_overtakes_is_not_accepted(store, run):
    store.stage(run, "cars", Listing(2.0, {}), "nothing is there")
    tracker = Tracker()
    tracker.take(Listing(3.0, {"x": car(1)}))
    store.save_register(run, "cars", tracker.news())
    assert [kind for _, kind, _ in log(store)] == ["held", "new"]


def test_a_history_that_is_imported_reports_what_differs_from_what_was_held(store, run):
    tracker = Tracker()
    tracker.take(Listing(0.0, {"x": car(1), "y": car(2), "z": car(3)}))
    for at in (1.0, 2.0):
        tracker.take(Listing(at, {"y": car(2), "z": car(3)}))
    store.save_register(run, "cars", tracker.news())
    before = store.changes.last()
    other = Tracker()
    for at in range(100):  # a hundred versions, of which only the last one counts
        other.take(Listing(float(at), {"x": car(7), "y": car(2), "z": car(at)}))
    for at in (100.0, 101.0):
        other.take(Listing(at, {"x": car(7), "z": car(99)}))
    store.save_register(run, "cars", other.register(), anew=True)
    found = store.changes.read(before)
    assert [(c.key, c.kind, c.fields.get("price")) for c in found] == [
        ("y", "gone", None),
        ("x", "returned", (None, 7)),
        ("z", "changed", (3, 99)),
    ]
    store.save_register(run, "cars", other.register(), anew=True)
    assert store.changes.last() == found[-1].seq
    assert held_keys(store.changes.read()) == {"cars": {"x", "z"}}


def test_a_first_history_reports_only_what_is_there_at_its_end(store, run):
    collection = Register(**_register_parts()).collection("cars")
    store.save_collection(run, collection)
    assert [(key, kind) for key, kind, _ in log(store)] == [("b", "new")]


def _register_parts():
    tracker = Tracker()
    for at, keys in enumerate(["a", "ab", "b", "b"]):
        tracker.take(Listing(float(at), {key: car(at) for key in keys}))
    kept = tracker.register()
    return {"snapshots": kept.snapshots, "spells": kept.spells}
