"""What every store must do with its smaller parts."""

from dataclasses import replace

import numpy as np
import pytest

from contracts.test_stores import STORES
from halflife.alerts.messages import Event, Letter
from halflife.core.change import Change
from halflife.core.errors import LeaseLost, UsageError
from halflife.core.host import HostState
from halflife.core.item import Item
from halflife.core.object_store import Listing
from halflife.core.observation import Content, Observation, Observations, Seen
from halflife.core.tracker import Tracker
from halflife.stores.forecasts import ForecastCheck, IssuedForecast
from halflife.stores.held_pages import HELD, KEPT, WAITS, HeldFetch
from halflife.stores.table_store import TableStore
from store_looks import absent, failed, hint, present

ITEMS = [Item("a", "s", group="g"), Item("b", "s", group="h"), Item("c", "t")]


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    made = STORES[request.param](tmp_path)
    made.add(ITEMS)
    yield made
    if isinstance(made, TableStore):
        made.close()


@pytest.fixture
def kept(store):
    return store.forecasts


def cast(made, ahead, source="s"):
    return IssuedForecast(source, "freshness", made, ahead, 0.9, 0.8, 0.95)


def write(store, *looks):
    run = store.begin(["s"], 0.0, lease=1e9)
    store.append(run, Observations.of(looks))
    store.finish(run, 0.0)


# Items, log, ledger


def test_items_are_counted_by_source(store):
    assert store.item_count() == 3
    assert store.item_count(["s"]) == 2
    assert store.item_count(["s", "t"]) == 3
    assert store.item_count(["nobody"]) == 0


def test_the_rows_of_each_source_are_those_of_its_items(store):
    store.add([Item("d", "s"), Item("e", "t")])
    evidence = store.evidence(["s", "t"])
    rows = store.rows_by_source(["s", "t"], evidence)
    keys = {name: [evidence.keys[i] for i in mine] for name, mine in rows.items()}
    assert keys == {"s": ["a", "b", "d"], "t": ["c", "e"]}
    assert all(np.all(np.diff(mine) > 0) for mine in rows.values())
    assert not any(r.size for r in store.rows_by_source(["nobody"], evidence).values())


def test_the_rows_of_sources_follow_what_becomes_known(store):
    evidence = store.evidence(["s", "t"])
    before = store.rows_by_source(["s", "t"], evidence)
    again = store.rows_by_source(["t", "s"], evidence)
    assert {name: mine.tolist() for name, mine in again.items()} == {
        name: mine.tolist() for name, mine in before.items()
    }
    store.add([Item("later", "t")])
    after = store.rows_by_source(["s", "t"], evidence)
    assert after["s"].tolist() == before["s"].tolist()
    assert after["t"].tolist() == [*before["t"].tolist(), len(evidence) - 1]
    assert store.rows_by_source(["s"], evidence).keys() == {"s"}


def test_the_notes_of_failed_observations_are_found_by_item_and_time(store):
    write(store, failed("a", 1.0, "first"), failed("a", 2.0, "then"), present("b", 1.0))
    assert store.failure_notes([("a", 2.0)]) == ["then"]
    assert store.failure_notes([("b", 1.0), ("a", 1.0), ("x", 1.0)]) == ["first"]


def test_what_was_spent_is_told_by_the_sources_of_runs(store):
    for names, at, requests in [("s", 1.0, 5), ("t", 1.0, 7), ("s", 2.0, 3)]:
        run = store.begin([names], at, lease=1.0)
        store.charge(run, requests, at)
        store.finish(run, at)
    run = store.begin(["s", "t"], 3.0, lease=1.0)
    store.charge(run, 100, 3.0)
    assert store.spent_by(["s"], 0.0) == 8
    assert store.spent_by(["s"], 1.5) == 3
    assert store.spent_by(["t", "s"], 0.0) == 100
    assert store.spent_by(["nobody"], 0.0) == 0


def test_a_fence_lets_only_the_holder_through(store):
    run = store.begin(["s"], 0.0, lease=1.0)
    store.fence(run)
    store.begin(["s"], 2.0, lease=1.0)
    with pytest.raises(LeaseLost):
        store.fence(run)


def test_an_answer_that_waited_is_dismissed_by_its_run(store):
    run = store.begin(["s"], 0.0, lease=1.0)
    store.stage(run, "s", Listing(0.5, {"x": {}}), "odd")
    assert store.dismiss(run.id + 1) == 0
    assert store.dismiss(run.id) == 1
    assert store.staged() == []


# Forecasts


def test_a_forecast_comes_back_as_it_was_made(kept):
    kept.issue([cast(1.0, 7.0), cast(1.0, 0.0), cast(2.0, 1.0, "other")])
    waiting = kept.waiting("s")
    assert [replace(f, id=0) for f in waiting] == [cast(1.0, 0.0), cast(1.0, 7.0)]
    assert waiting[1].due == 8.0
    assert kept.settled("s") == []
    assert kept.made("s", 1.5) == []


def test_an_outcome_is_written_once(kept):
    kept.issue([cast(1.0, 1.0)])
    (one,) = kept.waiting("s")
    kept.settle([replace(one, told=2.0, found=0.5, looks=4.0, draw=0.3)])
    kept.settle([replace(one, told=3.0, found=1.0, looks=None, draw=0.9)])
    assert kept.waiting("s") == []
    assert kept.settled("s") == [replace(one, told=2.0, found=0.5, looks=4.0, draw=0.3)]


def test_what_nobody_saw_is_dropped_and_what_was_seen_is_not(kept):
    kept.issue([cast(1.0, 1.0), cast(2.0, 1.0)])
    first, second = kept.waiting("s")
    kept.settle([replace(first, told=2.0, found=1.0)])
    kept.drop([first, second])
    assert [f.id for f in kept.made("s", 0.0)] == [first.id]


def test_checks_come_back_as_columns_and_silence_is_counted(kept):
    kept.note("s", [ForecastCheck("a", 1.0, 0.5, 2.0, 0.8, fresh=True)])
    kept.note(
        "s",
        [
            ForecastCheck("b", 2.0, 0.25, 1.0, 0.7, fresh=False),
            ForecastCheck("a", 2.0, 0.25, 2.0, 0.6, fresh=None),
        ],
    )
    checks = kept.checks("s")
    assert checks.at.tolist() == [1.0, 2.0]
    assert checks.chance.tolist() == [0.5, 0.25]
    assert checks.believed.tolist() == [0.8, 0.7]
    assert checks.fresh.tolist() == [True, False]
    assert checks.group[0] != checks.group[1]
    assert checks.silent == 1
    assert kept.checks("s", since=1.5).at.tolist() == [2.0]
    assert kept.checks("other").at.size == 0


def test_what_was_held_then_is_compared_with_what_was_seen_last(store, kept):
    write(
        store,
        present("a", 1.0, "1"),
        present("b", 1.0, "1"),
        present("a", 3.0, "2"),
        failed("b", 4.0),
        hint("b", 5.0),
        present("a", 6.0, "2"),
        present("b", 6.0, "1"),
    )
    assert kept.still(["a", "b"], 0.5) == [None, None]
    assert kept.still(["a", "b"], 2.0) == [False, True]
    assert kept.still(["a", "b"], 3.0) == [True, True]


def test_what_was_read_off_comes_with_its_outcome(kept):
    told = replace(cast(1.0, 3.5), told=4.5, found=0.7, looks=1.0, draw=0.5)
    kept.record([told, replace(told, source="t", told=9.0)])
    assert [replace(one, id=0) for one in kept.settled("s")] == [told]
    assert kept.waiting("s") == []
    assert kept.settled_sources(4.0) == {"s", "t"}
    assert kept.settled_sources(5.0) == {"t"}


def test_sources_with_forecasts_or_checks_are_audited(kept):
    kept.issue([cast(1.0, 1.0, "z"), cast(5.0, 1.0)])
    kept.note("t", [ForecastCheck("c", 6.0, 0.5, 1.0, 0.8, fresh=True)])
    assert kept.audited(0.0, 9) == (["s", "t", "z"], 2)
    assert kept.audited(4.0, 1) == (["s"], 2)


# Answers that are not believed yet


def answer(key, at, state=WAITS, shape="new", content=None):
    look = Observation(key, at, Seen.PRESENT, "1", "2", '"e"', 0.5, "n", content)
    return HeldFetch(look, state, "why", "was", shape)


def test_an_answer_that_is_put_aside_comes_back_whole(store):
    held, body = store.held_answers, Content("text/html", b"<p>down")
    held.save(7, answer("a", 1.0, content=body))
    held.save(8, answer("nobody", 1.0))
    (page,) = held.rows()
    assert (page.key, page.source, page.host, page.run) == ("a", "s", "g", 7)
    assert (page.since, page.seen, page.was, page.shape) == (1.0, 1, "was", "new")
    assert held.observation(page) == answer("a", 1.0, content=body).observation
    assert held.row("a") == page
    assert held.row("b") is None
    assert held.observation(replace(page, key="b")) is None


def test_the_same_answer_again_is_counted_and_another_begins_anew(store):
    held = store.held_answers
    held.save(7, answer("a", 1.0))
    held.save(8, answer("a", 2.0, HELD))
    again = held.row("a")
    assert (again.run, again.since, again.seen, again.state) == (7, 1.0, 2, HELD)
    held.save(9, answer("a", 3.0, shape="other"))
    other = held.row("a")
    assert (other.run, other.since, other.seen, other.shape) == (7, 3.0, 1, "other")


def test_a_body_without_room_is_asked_for_again(store):
    body = Content("text/html", b"<p>down")
    store.held_answers.save(7, answer("a", 1.0, content=body), room=False)
    found = store.held_answers.observation(store.held_answers.row("a"))
    assert found == Observation("a", 1.0, Seen.PRESENT, "1", note="n")


def test_held_answers_change_their_state_and_leave_with_a_good_observation(store):
    held = store.held_answers
    for key, at in (("b", 1.0), ("a", 2.0), ("c", 3.0)):
        held.save(7, answer(key, at))
    assert [page.key for page in held.rows(["s"])] == ["b", "a"]
    held.set_state(held.rows(["s"]), KEPT)
    held.set_state([held.row("c")], HELD, "all alike")
    assert [(p.state, p.why) for p in held.rows()] == [
        (KEPT, "why"), (KEPT, "why"), (HELD, "all alike"),
    ]  # fmt: skip
    write(store, present("a", 4.0), failed("b", 4.0))
    assert [page.key for page in held.rows()] == ["b", "c"]
    write(store, absent("b", 5.0))
    assert [page.key for page in held.rows()] == ["c"]


def test_pages_of_the_same_host_that_are_well_are_counted(store):
    store.add([Item(f"g{i}", "s", group="g") for i in range(4)])
    write(store, *(present(f"g{i}", float(i)) for i in range(3)), absent("g3", 3.0))
    held = store.held_answers
    assert (held.well_since("s", "g", 1.0), held.others("s", "g")) == (3, 3)
    held.save(7, answer("g2", 4.0))
    assert (held.well_since("s", "g", 1.0), held.others("s", "g")) == (2, 2)
    assert (held.well_since("t", "g", 0.0), held.others("s", "nowhere")) == (0, 0)


# Messages


def test_a_message_waits_is_claimed_and_sent(store):
    box = store.outbox
    letter = Letter("ops", "k", "raised", 1.0, 1.0, (Event("s", 1.0, "why"),))
    with store.together():
        box.post([letter])
    assert store.outbox.tally() == {"waiting": 1, "sent": 0, "dead": 0}
    (message,) = box.due(2.0)
    assert box.claim(message, 3.0)
    assert not box.claim(message, 3.0)
    box.sent(message, 2.5)
    assert (store.outbox.tally()["sent"], box.due(9.0)) == (1, [])


# Reports


def test_runs_are_told_with_what_they_took(store):
    first = store.begin(["s"], 1.0, lease=1.0)
    store.charge(first, 3, 1.0)
    store.charge(first, -1, 1.0)
    store.finish(first, 1.5)
    second = store.begin(["s", "t"], 2.0, lease=1.0)
    store.finish(second, 2.5, done=False)
    ran = store.reports.recent_runs("s", 5)
    assert [(one.id, one.state, one.ended, one.requests) for one in ran] == [
        (second.id, "interrupted", 2.5, 0), (first.id, "done", 1.5, 2),
    ]  # fmt: skip
    assert [one.id for one in store.reports.recent_runs("t", 5)] == [second.id]
    assert store.reports.recent_runs("s", 1) == ran[:1]
    assert store.reports.last_finished() == 1.5
    account = store.reports.account(first.id)
    assert (account.sources, account.requests, account.state) == (("s",), 2, "done")
    with pytest.raises(UsageError, match="nothing is known of run 99"):
        store.reports.account(99)


def test_owners_are_told_with_what_they_have(store):
    write(store, present("a", 1.0), absent("b", 1.0), failed("a", 2.0))
    run = store.begin(["jobs"], 3.0, lease=1.0)
    tracker = Tracker()
    for at, keys in ((3.0, "xyz"), (4.0, "xy"), (5.0, "xy")):
        tracker.take(Listing(at, {key: {} for key in keys}))
    store.save_register(run, "jobs", tracker.register())
    found = {one.name: one for one in store.reports.owners()}
    assert sorted(found) == ["jobs", "s", "t"]
    assert (found["s"].items, found["s"].looked, found["s"].gone) == (2, 2, 1)
    assert (found["jobs"].objects, found["t"].looked) == (2, 0)
    claims = [("a", "t"), ("c", "t"), ("unknown", "t")]
    assert store.reports.foreign(claims) == [("a", "s", "t")]


def test_what_lies_ahead_and_what_is_old_is_counted(store):
    write(store, present("a", 1.0), present("a", 5.0), hint("b", 9.0))
    run = store.begin(["s"], 0.0, lease=1e9)
    store.charge(run, 1, 9.0)
    assert dict(store.reports.ahead_of(4.0)) == {"observation": 2, "ledger": 1}
    assert dict(store.reports.ahead_of(9.0)) == {"observation": 0, "ledger": 0}
    assert store.reports.old_observations(5.0) == 1


def test_hosts_in_trouble_are_told(store):
    for name, closed, failures, status in (
        ("b", 9.0, 0, 200), ("a", 0.0, 4, 503), ("c", 0.0, 1, 0), ("d", 0.0, 0, 404),
    ):  # fmt: skip
        store.save_host(HostState(name, closed, failures, "", status, 0.0))
    assert [one.name for one in store.reports.failing_hosts(3, 5.0)] == ["a", "b"]
    assert sorted(store.reports.hosts_without_robots()) == ["a", "c"]


def test_nothing_is_told_of_an_empty_store(store):
    assert store.reports.last_finished() is None
    assert store.reports.holders() == []
    assert store.reports.observations([], 0.0) == []
    assert store.forecasts.audited(0.0, 9) == ([], 0)
    assert store.outbox.alarms() == []
    assert store.held_answers.rows() == []


def test_who_holds_a_lease_is_told_where_others_could(store):
    store.begin(["s"], 1.0, lease=2.0)
    told = [(one.source, one.expires) for one in store.reports.holders()]
    assert told == ([("s", 3.0)] if isinstance(store, TableStore) else [])


# Changes


def changed(at, source="s", key="a", kind="changed", **fields):
    return Change(at, source, key, kind, fields)


def test_changes_are_numbered_in_the_order_of_writing(store):
    store.changes.append([changed(2.0), changed(1.0, "t", "c", "new")])
    store.changes.append([changed(3.0, price=(1, 2.5), name=(None, "ß"))])
    read = store.changes.read()
    assert [(c.seq, c.at, c.source, c.key, c.kind) for c in read] == [
        (1, 2.0, "s", "a", "changed"),
        (2, 1.0, "t", "c", "new"),
        (3, 3.0, "s", "a", "changed"),
    ]
    assert read[2].fields == {"price": (1, 2.5), "name": (None, "ß")}
    assert store.changes.last() == 3


def test_whoever_reads_on_from_a_number_misses_none_and_repeats_none(store):
    store.changes.append(changed(float(day)) for day in range(10))
    read, cursor = [], 0
    while some := store.changes.read(cursor, 3):
        read += some
        cursor = some[-1].seq
    assert [c.at for c in read] == [float(day) for day in range(10)]


def test_changes_are_read_by_source(store):
    store.changes.append([changed(1.0), changed(2.0, "t", "c"), changed(3.0)])
    assert [c.seq for c in store.changes.read(sources=["t"])] == [2]
    assert [c.seq for c in store.changes.read(1, sources=["s", "t"])] == [2, 3]
    assert store.changes.read(sources=["nobody"]) == []


def test_a_moment_stands_before_the_first_change_since_then(store):
    assert store.changes.before(1.0) == 0
    store.changes.append([changed(1.0), changed(2.0), changed(2.0)])
    assert store.changes.before(0.5) == 0
    assert store.changes.before(2.0) == 1
    assert store.changes.before(2.5) == 3
