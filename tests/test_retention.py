"""What leaves the state file changes nothing that is believed or planned."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.belief.poisson import PoissonBelief
from halflife.core.budget import Budget
from halflife.core.item import Item
from halflife.core.observation import Observations
from halflife.core.store import Note
from halflife.models.quality import freshness_forecast
from halflife.policies.index import harmonic
from halflife.stores import summaries
from halflife.stores.outbox import Outbox
from halflife.stores.retention import RemovedRows, RetentionLimits, clear
from halflife.stores.sqlite import SqliteStore
from store_cases import KEYS, batched, observations, state
from store_looks import failed, hint, present

SITE = [Item(key, "site", group=f"g{key}") for key in KEYS]


@pytest.fixture
def store(tmp_path):
    with SqliteStore.open(tmp_path / "state.db", create=True) as store:
        yield store


def write(store, looks, began=0.0):
    run = store.begin(["site"], began, lease=1e9)
    store.append(run, Observations.of(looks))
    store.finish(run, began)


def rows(store, table):
    with store.reading() as db:
        return db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def daily(days, key="a"):
    return [present(key, float(day), str(day // 3)) for day in range(days)]


@given(data=st.data(), keep=st.floats(0.0, 1000.0), now=st.floats(0.0, 1100.0))
@settings(max_examples=40)
def test_evidence_is_the_same_before_and_after_and_with_more_looks(
    tmp_path_factory, data, keep, now
):
    # The log knows a look that it has already; one that was removed it cannot know.
    looks = list(dict.fromkeys(data.draw(observations())))
    batches = data.draw(batched(looks))
    folder = tmp_path_factory.mktemp("law")
    with (
        SqliteStore.open(folder / "whole.db", create=True) as whole,
        SqliteStore.open(folder / "cleared.db", create=True) as cleared,
    ):
        for store in (whole, cleared):
            store.add(SITE)
        for batch in batches:
            for store in (whole, cleared):
                run = store.begin(["site"], 0.0, lease=1e9)
                store.append(run, batch)
                store.finish(run, 0.0)
            held = cleared.held(KEYS)
            clear(cleared, RetentionLimits(observations=keep, runs=0.0), now)
            assert state(cleared.evidence()) == state(whole.evidence())
            assert cleared.held(KEYS) == held
            assert cleared.verify() == []
    with SqliteStore.open(folder / "cleared.db") as again:
        assert state(again.evidence())[3:] == state_of(folder / "whole.db")[3:]


def test_a_look_that_is_sent_again_counts_once_while_the_log_has_it(store):
    store.add(SITE)
    looks = [present("a", 1.0), failed("a", 2.0)]
    for _ in range(2):
        write(store, looks)
    assert store.evidence().failures.max() == 1
    clear(
        store, RetentionLimits(observations=10.0, runs=0.0), 5.0
    )  # nothing is as old as that
    write(store, looks)
    assert store.evidence().failures.max() == 1


def state_of(path):
    with SqliteStore.open(path) as store:
        return state(store.evidence())


def test_plan_and_forecast_are_the_same_before_and_after(store):
    store.add(SITE)
    rng = np.random.default_rng(5)
    for day in range(200):
        looks = [present(k, day + 0.1 * i, str(day // rng.integers(1, 9)))
                 for i, k in enumerate(KEYS)]  # fmt: skip
        write(store, looks, float(day))

    def believed():
        view = PoissonBelief()(store.evidence(["site"]), 201.0, 201.0)
        cast = freshness_forecast(view, np.array([0.0, 1.0, 7.0]))
        plan = harmonic.policy(view, Budget(3), np.random.default_rng(0))
        steps = [(s.request.key, s.gain, s.why) for s in plan]
        return cast.mean.tolist(), cast.low.tolist(), cast.high.tolist(), steps

    before = believed()
    done = clear(store, RetentionLimits(observations=10.0), 201.0)
    store._cache.clear()
    assert believed() == before
    assert done.observations > 500


def test_only_the_last_good_look_of_an_old_item_stays(store):
    store.add(SITE)
    write(store, daily(50))
    write(store, [present("b", 60.0), failed("b", 200.0)])
    assert clear(store, RetentionLimits(observations=30.0), 100.0).observations == 49
    assert store.held(["a", "b"])[0].at == 49.0
    assert rows(store, "observation") == 3
    assert store.verify() == []


def test_a_look_that_is_no_longer_the_last_good_one_leaves_the_next_time(store):
    store.add(SITE)
    write(store, daily(50))
    clear(store, RetentionLimits(observations=30.0), 100.0)
    write(store, [present("a", 101.0, "new")])
    assert clear(store, RetentionLimits(observations=30.0), 102.0).observations == 1
    assert store.held(["a"])[0].at == 101.0
    assert store.verify() == []


def test_clearing_twice_does_nothing_more(store):
    store.add(SITE)
    write(store, daily(50))
    clear(store, RetentionLimits(observations=30.0), 100.0)
    assert clear(store, RetentionLimits(observations=30.0), 100.0) == RemovedRows()


def test_a_look_from_the_future_does_not_keep_the_past(store):
    store.add(SITE)
    write(store, [present("a", 90_000.0), *daily(50), present("a", 95.0)])
    assert clear(store, RetentionLimits(observations=30.0), 100.0).observations == 51
    assert store.verify() == []


def test_hints_that_count_are_rolled_up_too(store):
    store.add(SITE)
    write(store, [present("a", 0.0), hint("a", 1.0, modified=0.9)])
    write(store, [present("a", 2.0, "2"), present("a", 99.0, "2")])
    before = state(store.evidence())
    clear(store, RetentionLimits(observations=30.0), 100.0)
    store._cache.clear()
    assert state(store.evidence()) == before
    assert before[3]["changes"][0] == 1
    assert store.verify() == []


def test_verify_finds_a_base_that_was_tampered_with(store):
    store.add(SITE)
    write(store, daily(50))
    clear(store, RetentionLimits(observations=30.0), 100.0)
    with store.together() as db:
        db.execute("UPDATE rolled SET changes = changes + 1")
    assert "changes of 1 items does not follow from the log: a" in store.verify()


def test_what_was_charged_is_never_forgotten(store):
    run = store.begin(["site"], 0.0, lease=1e9)
    for day in range(100):
        store.charge(run, 5, day + 0.25)
        store.charge(run, -1, day + 0.25)
    before = {since: store.spent(since) for since in (0.0, 30.0, 69.3, 90.0, 99.5)}
    assert clear(store, RetentionLimits(ledger=1.0), 100.0).ledger == 2 * 69
    assert {since: store.spent(since) for since in before} == before
    assert rows(store, "ledger") == 2 * 31
    assert store.verify() == []


def test_runs_go_when_nothing_of_them_is_left_but_tokens_still_grow(store):
    store.add(SITE)
    for day in range(50):
        write(store, [present("a", float(day), str(day))], float(day))
    last = store.begin(["site"], 99.0, lease=1.0)
    store.finish(last, 99.0)
    done = clear(store, RetentionLimits(observations=30.0, runs=30.0), 100.0)
    assert done.runs == 49  # those of the held look and the latest stay
    assert store.begin(["site"], 100.0, lease=1.0).token > last.token
    assert store.verify() == []


def test_an_interrupted_run_can_still_be_taken_up(store, tmp_path):
    store.add(SITE)
    with SqliteStore.open(tmp_path / "state.db") as other:
        other.begin(["site"], 99.9, lease=0.01)
    clear(store, RetentionLimits(runs=0.0), 100.0)
    assert store.begin(["site"], 100.0, lease=1.0).resumed


def test_old_messages_leave_and_those_that_wait_stay(store):
    outbox = Outbox(store)
    with store.together() as db:
        for number, (kept, ended) in enumerate(
            [("sent", 1.0), ("dead", 1.0), ("waiting", None), ("sent", 99.0)]
        ):
            db.execute(
                "INSERT INTO message VALUES (?, 't', 'held', 'raised', 0.0, '[]',"
                " ?, 0.0, 1, ?, '')",
                (number + 1, kept, ended),
            )
    assert clear(store, RetentionLimits(messages=30.0), 100.0).messages == 2
    assert outbox.tally() == {"waiting": 1, "sent": 1, "dead": 0}


def test_the_summary_in_use_stays_however_old(store):
    summaries.VERSIONS.save(store, summaries.SummaryVersions(9, 2), "s")
    for version in range(1, 10):
        store.save_note("s", "summary", Note(1, "{}"), version)
    store.save_note("t", "summary", Note(1, "{}"), 1)
    store.save_note("t", "summary_versions", Note(1, "{"))
    assert clear(store, RetentionLimits(summaries=3), 100.0).summaries == 5
    assert store.note_numbers("s", "summary") == [2, 7, 8, 9]
    assert store.note_numbers("t", "summary") == [1]


def test_room_is_used_again_and_given_back_when_asked(store):
    store.add(SITE)
    write(store, [present("a", i / 100.0, f"{i:032x}") for i in range(5000)])
    clear(store, RetentionLimits(observations=30.0, changes=30.0), 100.0)
    before = pragma(store, "page_count")
    assert pragma(store, "freelist_count") > before / 2
    store.compact()
    assert pragma(store, "freelist_count") == 0
    assert pragma(store, "page_count") < before / 2
    assert store.verify() == []


def pragma(store, name):
    with store.reading() as db:
        return db.execute(f"PRAGMA {name}").fetchone()[0]
