"""Hosts on lease, and pages of these hosts, handed out by PostgreSQL."""

from contextlib import ExitStack, closing
from random import Random

import pytest

import fleet_parts as parts
import postgres_store
from fleet_parts import WINDOW, Clock, handed_out, in_thread, worker
from halflife.core.errors import LeaseLost, StoreError
from halflife.core.item import Item
from halflife.stores import ledger
from halflife.stores.postgres import ledger_window, work_schema, work_statements
from halflife.stores.postgres.ledger_window import LedgerWindow
from halflife.stores.postgres.store import PostgresStore
from halflife.stores.postgres.work_queue import BudgetWindow, WorkQueue
from halflife.stores.work import SeenAnswer
from processes import wait_for

# As they were while a page's row had its lease and its answer.
OLD_PAGES = """
CREATE TABLE work_item (
    item BIGINT PRIMARY KEY, run BIGINT NOT NULL, host TEXT COLLATE "C" NOT NULL,
    gain DOUBLE PRECISION NOT NULL, whole BIGINT NOT NULL, token BIGINT,
    done TIMESTAMPTZ, requests BIGINT NOT NULL DEFAULT 0, answer BYTEA)"""
OLD_TABLES = (
    *(one for one in work_schema.STATEMENTS if "work_" not in one),
    "ALTER TABLE host_lease DROP COLUMN items",
    OLD_PAGES,
    """CREATE INDEX work_item_waiting ON work_item (host, gain DESC, item)
    WHERE done IS NULL""",
    "CREATE INDEX work_item_done ON work_item (done) WHERE done IS NOT NULL",
    "INSERT INTO work_item VALUES (1, 1, 'h.test', 1, 0, 5, now(), 2, 'saw')",
    "INSERT INTO work_item VALUES (2, 1, 'h.test', 1, 0, 5)",
    "INSERT INTO host_lease (host, ready, best) VALUES ('h.test', now(), 1)",
)


def spent(address):
    with PostgresStore.open(address, readonly=True) as store:
        return store.spent(0.0)


def seen(batch, answer=b"x"):
    return [SeenAnswer(page.item, 1, answer) for page in batch.pages]


def test_pages_are_handed_out_by_gain_host_by_host():
    gains = [1.0, 5.0, 2.0, 3.0]  # of hosts h0, h1, h0, h1
    with handed_out(4, gains, hosts=2) as (address, _), worker(address) as one:
        first, second = one.lease_pages(2, 10, WINDOW)
        assert [page.gain for page in first.pages] == [5.0, 3.0]
        assert [page.gain for page in second.pages] == [2.0, 1.0]
        assert first.token != second.token


def test_the_best_host_goes_first_to_who_takes_one():
    with (
        handed_out(4, [1.0, 5.0, 2.0, 3.0], hosts=2) as (address, _),
        worker(address) as one,
        worker(address) as other,
    ):
        (mine,) = one.lease_pages(1, 1, WINDOW)
        (theirs,) = other.lease_pages(5, 1, WINDOW)
        assert (mine.host, theirs.host) == ("h1.test", "h0.test")
        assert other.lease_pages(5, 1, WINDOW) == []


def test_no_page_is_with_two_workers_however_many_ask_at_once():
    with handed_out(200, hosts=40) as (address, _), ExitStack() as stack:
        many = [stack.enter_context(worker(address)) for _ in range(4)]
        asked = [in_thread(lambda q=q: q.lease_pages(10, 5, WINDOW)) for q in many]
        found = [page.item for get in asked for batch in get() for page in batch.pages]
        assert len(found) == len(set(found)) == 200
        assert spent(address) == 200


def test_what_is_acknowledged_comes_to_the_planner_once():
    with handed_out(2) as (address, planner), worker(address) as one:
        (batch,) = one.lease_pages(1, 10, WINDOW)
        one.acknowledge(batch, seen(batch, b"saw"))
        one.acknowledge(
            batch, seen(batch, b"again")
        )  # it did not hear that it was kept
        got = planner.answers(["site"], 10)
        assert [answer.answer for answer in got] == [b"saw", b"saw"]
        assert planner.answers(["other"], 10) == []
        planner.file([answer.item for answer in got])
        assert planner.answers(["site"], 10) == []
        assert planner.open_pages(["site"]) == (0, 0)


def test_a_worker_whose_lease_ran_out_cannot_acknowledge():
    with handed_out(2) as (address, planner), worker(address) as slow:
        (batch,) = slow.lease_pages(1, 10, WINDOW)
        Clock(address).pass_by(parts.LEASE + 1)
        with pytest.raises(LeaseLost, match="refused"):
            slow.acknowledge(batch, seen(batch))
        assert slow.beat([(batch.host, batch.token)], 0) == {}
        with worker(address) as quick:
            (again,) = quick.lease_pages(1, 10, WINDOW)
            assert again.token > batch.token
            assert {p.item for p in again.pages} == {p.item for p in batch.pages}
            with pytest.raises(LeaseLost):
                slow.acknowledge(batch, seen(batch))
            quick.acknowledge(again, seen(again, b"quick"))
        assert {one.answer for one in planner.answers(["site"], 10)} == {b"quick"}


def test_a_lease_that_is_renewed_lasts():
    with handed_out(2) as (address, _), worker(address) as one:
        (batch,) = one.lease_pages(1, 10, WINDOW)
        held = [(batch.host, batch.token)]
        for _ in range(3):
            Clock(address).pass_by(parts.LEASE - 5)
            assert one.beat(held, 0) == {batch.host: False}
        one.acknowledge(batch, seen(batch))


def test_leases_that_a_worker_never_heard_of_are_not_renewed():
    with handed_out(2) as (address, _), worker(address) as one:
        one.lease_pages(1, 10, WINDOW)  # and the answer was lost on the way
        one.beat([], 0)
        with worker(address) as other:
            assert len(other.lease_pages(1, 10, WINDOW)) == 1


def test_a_host_that_is_given_back_keeps_its_delay_with_the_next_worker():
    with handed_out(3) as (address, _), worker(address) as one:
        (batch,) = one.lease_pages(1, 1, WINDOW)
        one.acknowledge(batch, seen(batch))
        one.release(batch, (2.0, 8.0))  # asked 2 s ago, not again for 8 s
        with worker(address) as other:
            assert other.lease_pages(1, 1, WINDOW) == []
            Clock(address).pass_by(9)
            (next_one,) = other.lease_pages(1, 1, WINDOW)
            assert 11.0 <= next_one.ago < 12.0


def test_a_host_of_a_dead_worker_counts_as_asked_until_its_lease_ran_out():
    with handed_out(3) as (address, _), worker(address) as dead:
        dead.lease_pages(1, 1, WINDOW)
        Clock(address).pass_by(parts.LEASE + 4)
        with worker(address) as other:
            (batch,) = other.lease_pages(1, 1, WINDOW)
            assert 4.0 <= batch.ago < 5.0


def test_pages_that_were_not_fetched_go_back_and_to_another():
    with handed_out(3) as (address, planner), worker(address) as one:
        (batch,) = one.lease_pages(1, 10, WINDOW)
        one.acknowledge(batch, seen(batch)[:1])
        one.release(batch, (0.0, 0.0))
        assert planner.open_pages(["site"]) == (2, 2)
        with worker(address) as other:
            (rest,) = other.lease_pages(1, 10, WINDOW)
            assert {p.item for p in rest.pages} == {p.item for p in batch.pages[1:]}


def test_the_budget_holds_across_workers():
    window = BudgetWindow(7, 1.0)
    with handed_out(20, hosts=10) as (address, _), ExitStack() as stack:
        many = [stack.enter_context(worker(address)) for _ in range(4)]
        asked = [in_thread(lambda q=q: q.lease_pages(3, 1, window)) for q in many]
        found = [page for get in asked for batch in get() for page in batch.pages]
        assert len(found) == 7
        assert spent(address) == 7
        assert many[0].draw(found[0].run, 3, window)[0] == 0
        many[1].give_back(found[0].run, 2, 20000.0)
        assert spent(address) == 5


def test_a_sync_beside_workers_waits_for_its_turn_at_the_ledger():
    with handed_out(20, hosts=10) as (address, _), worker(address) as one:
        with PostgresStore.open(address) as store:
            run = store.begin(["listing"], 20000.0, lease=1.0)
            with one._changing() as db:
                now, room = one._ledger.room(db, WINDOW)
                assert room == WINDOW.requests
                charged = in_thread(lambda: store.charge(run, 5, now))
                db.execute("SELECT pg_sleep(0.05)")
                assert one._ledger.room(db, WINDOW)[1] == WINDOW.requests
            charged()
        assert spent(address) == 5


def test_a_host_that_another_needs_is_asked_for():
    with handed_out(1) as (address, _), worker(address) as one, worker(address) as two:
        lease = one.lease_host("www.h0.test")
        assert lease.ago is None
        assert two.lease_host("www.h0.test") is None
        held = [(lease.host, lease.token)]
        assert one.beat(held, 0) == {"www.h0.test": True}
        one.release(lease, (3.0, 0.0))
        assert 3.0 <= two.lease_host("www.h0.test").ago < 4.0


def test_a_host_that_another_waits_for_is_left_to_it():
    with handed_out(4) as (address, _), worker(address) as one, worker(address) as two:
        (batch,) = one.lease_pages(1, 1, WINDOW)
        assert two.lease_host("h0.test") is None
        one.release(batch, (0.0, 0.0))
        assert one.lease_pages(1, 1, WINDOW) == []
        lease = two.lease_host("h0.test")
        two.release(lease, (0.0, 0.0))
        assert len(one.lease_pages(1, 1, WINDOW)) == 1


def test_who_no_longer_waits_for_a_host_keeps_nobody_from_it():
    with handed_out(4) as (address, _), worker(address) as one, worker(address) as two:
        (batch,) = one.lease_pages(1, 1, WINDOW)
        assert two.lease_host("h0.test") is None
        one.release(batch, (0.0, 0.0))
        earlier = "wanted - interval '3 seconds'"
        Clock(address).run(f"UPDATE @host_lease SET wanted = {earlier}")
        assert len(one.lease_pages(1, 1, WINDOW)) == 1


def test_one_rules_at_a_time_and_the_next_takes_over_when_it_dies():
    with (
        handed_out(2) as (address, planner),
        closing(WorkQueue.open(address, 3)) as next_one,
    ):
        assert not next_one.stand_for_election()
        planner._connection.db.link.close()  # its process died
        assert not planner.is_elected()
        wait_for(next_one.stand_for_election)  # the server hears of it in a moment
        with PostgresStore.open(address) as store:
            next_one.take_over(store, 20000.0)
            run = store.begin(["site"], 20000.0, lease=1.0)  # taken from the old one
            with pytest.raises(LeaseLost, match="planner"):
                planner.hand_out(run.id, [("http://h0.test/0", "h0.test", 1.0, 0)])
            next_one.withdraw(["site"])
            assert next_one.open_pages(["site"]) == (0, 0)
        assert next_one.is_elected()


def test_what_a_worker_is_at_is_not_withdrawn():
    with handed_out(4, hosts=2) as (address, planner), worker(address) as one:
        (batch,) = one.lease_pages(1, 1, WINDOW)
        planner.withdraw(["site"])
        assert planner.open_pages(["site"]) == (0, 1)
        one.acknowledge(batch, seen(batch))
        one.release(batch, (0.0, 0.0))
        assert one.lease_pages(5, 5, WINDOW) == []
        assert len(planner.answers(["site"], 5)) == 1


def test_a_page_whose_answer_is_not_filed_is_not_handed_out_again():
    with handed_out(2) as (address, planner), worker(address) as one:
        (batch,) = one.lease_pages(1, 10, WINDOW)
        one.acknowledge(batch, seen(batch)[:1])
        one.release(batch, (0.0, 0.0))
        rows = [(page.key, batch.host, 1.0, 0) for page in batch.pages]
        planner.hand_out(batch.pages[0].run, rows)
        assert planner.open_pages(["site"]) == (1, 1)
        assert planner.is_open(["site"])
        planner.file([batch.pages[0].item])
        planner.hand_out(batch.pages[0].run, rows)
        assert planner.open_pages(["site"]) == (2, 2)
        assert not planner.is_open(["other"])


def test_a_host_that_is_being_leased_keeps_its_pages():
    with handed_out(2) as (address, planner), worker(address) as one:
        with one._changing() as db:
            db.execute(work_statements.BEST_HOSTS, (1, one.worker, one.worker, 30.0))
            withdrawn = in_thread(lambda: planner.withdraw(["site"]))
            db.execute("SELECT pg_sleep(0.05)")
            db.execute(work_statements.PAGES, (["h0.test"], 1, 10, 20000.0))
        withdrawn()
        assert planner.open_pages(["site"]) == (0, 1)


def test_answers_come_in_whole_batches_oldest_first():
    with handed_out(6, hosts=2) as (address, planner), worker(address) as one:
        first, second = one.lease_pages(2, 10, WINDOW)
        one.acknowledge(second, seen(second))
        one.acknowledge(first, seen(first))
        got = [answer.item for answer in planner.answers(["site"], 1)]
        assert got == [page.item for page in second.pages]
        assert len(planner.answers(["site"], 4)) == 6
        planner.file(got)
        got = [answer.item for answer in planner.answers(["site"], 9)]
        assert got == [page.item for page in first.pages]


def test_what_the_window_has_left_is_what_the_whole_ledger_says():
    days, rng = 1.0 / 864.0, Random(1)  # 100 s: none leaves it while the test runs
    window, two = BudgetWindow(100, days), (LedgerWindow(), LedgerWindow())
    with postgres_store.empty() as store, store.together() as db:
        run = store.begin(["site"], 20000.0, lease=1.0)
        for _ in range(60):
            (now,) = db.execute(ledger_window._NOW).fetchone()[:1]
            requests = rng.randint(-3, 9)  # less than none are given back
            ledger.charge(db, run.id, now + rng.uniform(-1.5, 1.5) * days, requests)
            left = rng.choice(two).room(db, window)[1]
            assert left == LedgerWindow().room(db, window)[1]


def test_charges_that_leave_the_window_free_its_room():
    window, one = BudgetWindow(10, 1.0), LedgerWindow()
    with postgres_store.empty() as store, store.together() as db:
        run = store.begin(["site"], 20000.0, lease=1.0)
        (now,) = db.execute(ledger_window._NOW).fetchone()[:1]
        ledger.charge(db, run.id, now - 1.0 + 2e-7, 4)  # 17 ms before it leaves
        ledger.charge(db, run.id, now, 3)
        assert one.room(db, window)[1] == 3
        db.execute("SELECT pg_sleep(0.03)")
        assert one.room(db, window)[1] == 7


def test_older_tables_of_workers_are_brought_up_to_date():
    address = postgres_store.fresh()
    schema = address.rpartition("=")[2]
    with PostgresStore.open(address, create=True) as store:
        store.add(Item(f"http://h.test/{i}", "site") for i in range(2))
    db = postgres_store.connect()
    db.execute(f"SET search_path = {schema}")
    try:
        for statement in OLD_TABLES:
            db.execute(statement)
    finally:
        db.execute("RESET search_path")
    with closing(WorkQueue.open(address, 3.0)) as queue:
        assert queue.answers(["site"], 9) == [SeenAnswer(1, 2, b"saw")]
        assert queue.open_pages(["site"]) == (1, 1)
        queue.join("w", parts.ME)
        (batch,) = queue.lease_pages(9, 9, WINDOW)
        assert [page.item for page in batch.pages] == [2]


def test_the_tables_of_workers_are_ours_to_verify():
    with handed_out(1) as (address, _), PostgresStore.open(address) as store:
        assert store.verify() == []


def test_without_a_store_there_is_nothing_to_hand_out():
    with pytest.raises(StoreError, match="there is no store in"):
        WorkQueue.open(postgres_store.fresh(), 3.0)
