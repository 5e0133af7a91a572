"""Sources that workers read whole: leases on rows of a real PostgreSQL."""

from contextlib import closing

import numpy as np
import pytest

import postgres_store
from fleet_parts import Clock, handed_out, worker
from halflife.config import Config
from halflife.core.errors import LeaseLost, StoreError
from halflife.core.value_curve import Offers
from halflife.engine import scheduler
from halflife.engine.fleet import report_codec
from halflife.engine.fleet.source_handout import LOST, SourceHandout, _report
from halflife.engine.workers import WorkGrant, is_handed_out
from halflife.kinds.listing.runner import ListingOutcome
from halflife.kinds.protocol import Report
from halflife.kinds.whole import report_on
from halflife.market.offers import TakenOffers
from halflife.stores.owner import Owner
from halflife.stores.postgres.store import PostgresStore
from halflife.stores.postgres.work_queue import WorkQueue
from halflife.stores.postgres.work_sources import DEATHS, EndedSource, SourceTask

ALL = ["a", "b", "c"]
DAY = 20000.0


@pytest.fixture(scope="module")
def shared():
    """A store with a planner, for test after test."""
    with handed_out(1) as (address, planner):
        yield address, planner, Clock(address)


@pytest.fixture
def out(shared):
    """The planner's end of a queue in which nothing is handed out, and its address."""
    address, planner, clock = shared
    clock.run("DELETE FROM @work_source")
    return planner.sources, address, clock


def hand_out(planner, **gains):
    for name, gain in gains.items():
        planner.hand_out(SourceTask(name, f"{name}.test", gain, 10, 4.0))


def die(clock):
    clock.run("UPDATE @work_source SET expires = expires - interval '1 hour'")


def test_sources_are_handed_out_by_what_a_request_buys(out):
    planner, address, _ = out
    hand_out(planner, a=1.0, b=3.0, c=2.0)
    with worker(address) as one, worker(address) as two:
        taken = [each.sources.lease(ALL) for each in (one, two, one, two)]
        assert [row and row.source for row in taken] == ["b", "c", "a", None]
        assert taken[0].requests == 10
        tokens = [row.token for row in taken[:3]]
        assert sorted(set(tokens)) == tokens


def test_a_worker_takes_only_what_its_settings_know(out):
    planner, address, _ = out
    hand_out(planner, a=1.0, b=3.0)
    with worker(address) as one:
        assert one.sources.lease(["a", "z"]).source == "a"
        assert one.sources.lease(["a", "z"]) is None


def test_sources_of_one_host_go_to_one_worker_at_a_time(out):
    planner, address, _ = out
    for name in ("a", "b"):
        planner.hand_out(SourceTask(name, "h.test", 1.0, 10, 0.0))
    planner.hand_out(SourceTask("c", "", 0.5, 10, 0.0))
    with worker(address) as one, worker(address) as two:
        first = one.sources.lease(ALL)
        assert first.source == "a"
        assert two.sources.lease(ALL).source == "c"
        assert two.sources.lease(ALL) is None
        assert one.sources.lease(ALL).source == "b"


def test_a_report_ends_it_and_what_was_handed_out_already_is_not_again(out):
    planner, address, _ = out
    hand_out(planner, a=1.0)
    with worker(address) as one:
        leased = one.sources.lease(ALL)
        hand_out(planner, a=9.0)
        assert planner.under_way() == {"a": 4.0}
        one.sources.hand_in(leased, "it went well")
        assert one.sources.lease(ALL) is None
        assert planner.ended() == [EndedSource("a", "it went well", 0)]
        planner.take_out(["a"])
        assert planner.under_way() == {}


def test_what_a_dead_worker_read_goes_to_another_and_the_dead_is_refused(out):
    planner, address, clock = out
    hand_out(planner, a=1.0)
    with worker(address) as dead, worker(address) as one:
        lost = dead.sources.lease(ALL)
        assert one.sources.lease(ALL) is None
        die(clock)
        leased = one.sources.lease(ALL)
        assert leased.token > lost.token
        assert dead.sources.renew([lost.token]) == set()
        with pytest.raises(LeaseLost, match="'a' has run out"):
            dead.sources.hand_in(lost, "too late")
        dead.sources.give_back(lost, 0)
        one.sources.hand_in(leased, "read")
        assert planner.ended()[0].report == "read"


def test_a_lease_that_ran_out_and_that_nobody_took_is_held_still(out):
    planner, address, clock = out
    hand_out(planner, a=1.0)
    with worker(address) as slow, worker(address) as other:
        leased = slow.sources.lease(ALL)
        die(clock)
        assert slow.sources.renew([leased.token]) == {leased.token}
        assert other.sources.lease(ALL) is None


def test_a_lease_that_its_worker_never_heard_of_ends(out):
    planner, address, _ = out
    hand_out(planner, a=1.0, b=2.0)
    with worker(address) as one, worker(address) as two:
        known, _ = one.sources.lease(ALL), one.sources.lease(ALL)
        assert one.sources.renew([known.token]) == {known.token}
        assert two.sources.lease(ALL).source == "a"


def test_a_source_that_workers_die_of_is_given_up(out):
    planner, address, clock = out
    hand_out(planner, a=1.0)
    with worker(address) as one:
        for _ in range(DEATHS):
            assert planner.ended() == []
            assert one.sources.lease(ALL) is not None
            die(clock)
        assert one.sources.lease(ALL) is None
    (ended,) = planner.ended()
    assert _report(ended).trouble == LOST
    assert _report(ended).failures == {"a": 1}
    planner.take_out(["a"])
    assert planner.under_way() == {}


def test_the_run_of_a_dead_worker_ends_and_what_it_was_charged_is_known(out):
    planner, address, clock = out
    hand_out(planner, a=1.0)
    with (
        PostgresStore.open(address) as store,
        worker(address) as one,
        worker(address) as two,
    ):
        one.sources.lease(ALL)
        run = store.begin(["a"], DAY, lease=1.0)  # this process is a worker's
        store.charge(run, 7, DAY)
        die(clock)
        leased = two.sources.lease(ALL)
        two.sources.take_over(store, leased, DAY)
        with pytest.raises(LeaseLost):
            store.charge(run, 1, DAY)
        store.finish(store.begin(["a"], DAY, lease=1.0), DAY)
        two.sources.hand_in(leased, report_codec.pack(Report(("a",), 5)))
        (ended,) = planner.ended()
        assert _report(ended).requests == 12


def test_who_syncs_by_hand_is_left_in_peace(out):
    planner, address, clock = out
    hand_out(planner, a=1.0)
    with PostgresStore.open(address) as store, worker(address) as one:
        leased = one.sources.lease(ALL)
        run = store.begin(["a"], DAY, lease=1.0)
        clock.run("UPDATE @worker SET owner = 'another process'")
        one.sources.take_over(store, leased, DAY)
        store.charge(run, 1, DAY)
        store.finish(run, DAY)


def test_what_a_worker_reads_is_not_withdrawn(out):
    planner, address, clock = out
    hand_out(planner, a=2.0, b=1.0)
    with worker(address) as one:
        leased = one.sources.lease(ALL)
        one.sources.give_back(leased, 3)
        assert one.sources.lease(ALL).source == "a"
        assert planner.withdraw(ALL) == {"b": 0}
        die(clock)
        assert planner.withdraw(ALL) == {"a": 3}


def test_a_planner_that_was_replaced_hands_nothing_out(out):
    planner, _, clock = out
    hand_out(planner, a=1.0)
    clock.run("UPDATE @planner SET epoch = epoch + 1")
    for act in (
        lambda: hand_out(planner, b=1.0),
        lambda: planner.take_out(["a"]),
        lambda: planner.withdraw(["a"]),
    ):
        with pytest.raises(LeaseLost, match="planner"):
            act()
    clock.run("UPDATE @planner SET epoch = epoch - 1")
    assert planner.under_way() == {"a": 4.0}


def test_nothing_is_done_while_a_source_is_handed_out(shared, out):
    planner, address, clock = out
    clock.run("DELETE FROM @work_item")
    shared[1].note_idle(idle=True)
    with worker(address) as one, PostgresStore.open(address, readonly=True) as store:
        assert one.is_all_done()
        hand_out(planner, a=1.0, b=1.0)
        assert not one.is_all_done()
        one.sources.lease(ALL)
        assert (store.fleet().sources, store.fleet().reading) == (1, 1)


def test_workers_of_an_older_version_get_the_table(out):
    _, address, clock = out
    clock.run("DROP TABLE @work_source")
    with PostgresStore.open(address, readonly=True) as store:
        assert store.fleet().sources == 0
    with worker(address) as one:
        assert one.sources.lease(ALL) is None


def test_two_projects_of_a_database_hand_out_apart(out):
    planner, _, _ = out
    hand_out(planner, a=1.0)
    other = postgres_store.fresh()
    PostgresStore.open(other, create=True).close()
    with closing(WorkQueue.open(other, 3.0)) as queue:
        queue.join("w", Owner.here(shared=True))
        assert queue.sources.lease(ALL) is None


# Reports on their way


def test_a_report_arrives_as_it_was_but_for_its_result():
    looked = ListingOutcome("a", 3, 2, 7, trouble="a.test: answered 503")
    report = report_on("a", looked)
    found = report_codec.unpack(report_codec.pack(report))
    assert found.result.row() == looked.row()
    assert found.result.words() == looked.words()
    assert found.result.words(trouble=False) == looked.words(trouble=False)
    for name in report_codec._PLAIN:
        assert getattr(found, name) == getattr(report, name)


@pytest.mark.parametrize("text", ["", "[]", '{"group": 3}', '{"x": 1, "group": []}'])
def test_what_is_no_report_is_the_trouble_of_its_source(text):
    with pytest.raises(StoreError, match="cannot be read"):
        report_codec.unpack(text)
    found = _report(EndedSource("a", text, 2))
    assert found.requests == 2
    assert found.failures == {"a": 1}


def config(text):
    return Config.parse(f'[[source]]\nname = "a"\n{text}\n').source[0]


LISTING = 'kind = "listing"\nurl = "http://a.test/list"\nkey = "id"'


def test_pages_stay_with_whoever_plans():
    assert is_handed_out([config(LISTING)])
    assert not is_handed_out([config('pages = ["http://a.test/"]')])


def test_a_source_is_worth_what_a_request_of_those_it_gets_buys():
    rows = np.array([0, 1, 2])
    offers = Offers(
        ("a", "b", "c"),
        np.array([0, 0, 1, 2]),
        np.array([2.0, 3.0, 4.0, 5.0]),
        np.array([10.0, 5.0, 2.0, 9.0]),
    )
    taken = TakenOffers(rows, 9.0, 17.0, 0.0)
    assert scheduler._values(offers, taken) == {"a": 3.0, "b": 0.5}


class Refusing:
    def hand_out(self, task):
        raise LeaseLost("another worker has become the planner")


def test_what_cannot_be_handed_out_is_no_fault_of_its_source():
    handout = SourceHandout(Refusing())
    work = handout.read(config(LISTING), WorkGrant(5, 5.0))
    with pytest.raises(StopIteration) as done:
        work.send(None)
    assert done.value.value == Report(("a",))
