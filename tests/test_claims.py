"""Hosts that several programs share, as the gate asks for them."""

import asyncio
from time import monotonic

import pytest

from halflife.core.errors import BudgetSpent, StoreError
from halflife.core.host import HostState
from halflife.engine.fleet import host_claims
from halflife.engine.fleet.batch_purse import BatchPurse
from halflife.engine.fleet.host_claims import LeasedHosts
from halflife.engine.loop import Allowance
from halflife.net.access import Access, GateSettings
from halflife.net.addresses import networks
from halflife.net.gate import Gate
from halflife.net.wire import Blameless
from halflife.stores.memory import MemoryStore
from halflife.stores.postgres.work_queue import HostLease

HOME = Access(allow=networks(["127.0.0.0/8"]), robots=False)


class Queue:
    """Hands out one host, as the database would."""

    lease = 30.0

    def __init__(self, free=True, ago=None):
        self.free, self.ago, self.given_back = free, ago, []

    def lease_host(self, host):
        return HostLease(host, 7, self.ago) if self.free else None

    def release(self, lease, rest):
        self.given_back.append((lease.host, rest))

    def beat(self, held, requests):
        return {host: not self.free for host, _ in held}


def asked(server, claims, delay=0.0, times=1, store=None):
    """Ask a page through a gate with claims; return when each answer came."""

    async def ask():
        settings = GateSettings(contact="a test", delay=delay)
        gate = Gate(settings, hosts=store or MemoryStore(), clock=lambda: 20000.0)
        async with gate:
            gate.claims, claims.rest = claims, gate.rest
            came = []
            for _ in range(times):
                url = f"http://127.0.0.1:{server.server_port}/a"
                await gate.get(url, Allowance(5), access=HOME)
                came.append(monotonic())
            return came

    return asyncio.run(ask())


def test_a_host_is_asked_once_it_is_held(server):
    server.pages = {"/a": ("text/html", b"x")}
    claims = LeasedHosts(Queue(), lambda _: (0.0, 0.0))
    asked(server, claims)
    assert server.asked == ["/a"]
    assert len(claims) == 1


def test_the_delay_counts_from_the_last_request_of_another_worker(server):
    server.pages = {"/a": ("text/html", b"x")}
    claims = LeasedHosts(Queue(ago=0.2), lambda _: (0.0, 0.0))
    began = monotonic()
    (came,) = asked(server, claims, delay=0.5)
    assert 0.3 <= came - began < 5.0


def test_what_is_known_of_a_host_is_read_anew_when_it_changes_hands(server):
    server.pages = {"/a": ("text/html", b"x")}
    store = MemoryStore()
    name = f"http://127.0.0.1:{server.server_port}"
    store.save_host(HostState(name, not_before=20001.0, failures=5))
    with pytest.raises(Blameless, match="left alone"):
        asked(server, LeasedHosts(Queue(), lambda _: (0.0, 0.0)), store=store)


def test_a_host_that_another_holds_is_given_up_for_now(server, monkeypatch):
    monkeypatch.setattr(host_claims, "PATIENCE", 0.0)
    monkeypatch.setattr(host_claims, "POLL", 0.001)
    with pytest.raises(Blameless, match="another worker holds it"):
        asked(server, LeasedHosts(Queue(free=False), lambda _: (0.0, 0.0)))
    assert server.asked == []


def test_nothing_is_sent_after_two_thirds_of_a_lease(server, monkeypatch):
    monkeypatch.setattr(host_claims, "USABLE", 0.0)
    queue = Queue()
    claims = LeasedHosts(queue, lambda _: (0.0, 0.0))
    claims.add(HostLease("127.0.0.1", 7), monotonic())
    with pytest.raises(Blameless, match="ran out"):
        claims.enter("127.0.0.1")


def test_a_database_that_is_away_is_no_fault_of_the_host(server):
    queue = Queue()

    def broken(host):
        raise StoreError("it is away")

    queue.lease_host = broken
    with pytest.raises(Blameless, match="it is away"):
        asked(server, LeasedHosts(queue, lambda _: (0.0, 0.0)))


def test_a_host_that_is_being_asked_is_given_back_later():
    queue = Queue()
    claims = LeasedHosts(queue, lambda _: (1.0, 2.0))
    lease = HostLease("h", 7)
    claims.add(lease, monotonic())
    claims.enter("h")
    claims.release(lease)
    assert queue.given_back == []
    claims.leave("h")
    claims.release(lease)
    assert queue.given_back == [("h", (1.0, 2.0))]
    assert claims.is_lost(lease)


def test_a_purse_draws_what_redirects_take_and_no_more():
    drawn = []

    def draw(requests):
        drawn.append(requests)
        return 4 if len(drawn) == 1 else 0

    purse = BatchPurse(1, draw)
    for _ in range(5):
        purse.pay()
    assert (purse.spent, purse.left, drawn) == (5, 0, [4])
    with pytest.raises(BudgetSpent):
        purse.pay()
    assert purse.is_stopped


def test_a_purse_that_was_stopped_keeps_what_is_left():
    purse = BatchPurse(3, lambda _: 9)
    purse.pay()
    purse.stop()
    with pytest.raises(BudgetSpent):
        purse.pay()
    assert (purse.spent, purse.left) == (1, 2)
