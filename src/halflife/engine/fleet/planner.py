"""The planner of a fleet: the service, run by the worker that was elected.

Every worker stands for election. The lock that decides it belongs to a connection of
the winner: when that process dies, the database gives the lock to another. The new
planner takes over the leases of the old one, so that later writes of the old one are
refused.

The planner has its own thread: a decision about very many pages must not keep this
process from renewing the leases of its hosts.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflife.config import Config
from halflife.core.errors import HalflifeError, LeaseLost
from halflife.engine import bootstrap, heartbeat, logs, state_record
from halflife.engine.fleet.host_claims import LeasedHosts
from halflife.engine.fleet.source_handout import SourceHandout
from halflife.engine.reload import Settings
from halflife.engine.service import Service, ServiceEnvironment
from halflife.engine.signals import Stop
from halflife.engine.wallet import Wallet
from halflife.kinds.pages.client import PageClient
from halflife.kinds.pages.remote import RemotePages
from halflife.kinds.protocol import Report
from halflife.net.gate import Gate
from halflife.stores import Run
from halflife.stores.owner import Owner
from halflife.stores.postgres.store import PostgresStore
from halflife.stores.postgres.work_queue import WorkQueue

if TYPE_CHECKING:
    from halflife.engine.health import ServiceStatus

STAND = 1.0  # seconds between two elections
ENDED = 5.0  # seconds that it may take to end
DRAINED = 60.0  # seconds that it may take to store the last reports of workers
FAILED = 3.0  # seconds until a process that failed as the planner stands again


@dataclass(frozen=True, slots=True)
class PlannerTerms:
    """The terms of a planner.

    Attributes:
        config: The settings.
        names: The sources to work at; all, if there are none.
        name: The name of this worker.
        lease: Seconds that a lease lasts.
        on_report: Receives every report that has a result.

    """

    config: Config
    names: Sequence[str]
    name: str
    lease: float
    on_report: Callable[[Report], None]


class _Handout(SourceHandout):
    """Hands out work of the service, and leases hosts for requests of its own."""

    def __init__(
        self, queue: WorkQueue, store: PostgresStore, terms: PlannerTerms
    ) -> None:
        super().__init__(queue.sources)
        self._work, self._store, self._terms = queue, store, terms
        self.hosts: LeasedHosts | None = None
        self._is_busy: bool | None = None

    def note(self, busy: bool) -> None:  # noqa: FBT001  (the service calls it so)
        """Record whether there is work under way, for workers that wait for it."""
        if busy != self._is_busy:
            self._work.note_idle(idle=not busy)
            self._is_busy = busy

    def join(self, gate: Gate) -> Callable[[PageClient, Run], RemotePages]:
        """Let a gate lease its hosts; return the function that hands pages out."""
        if self.hosts is not None:
            self.hosts.release_all()
        self.hosts = gate.claims = LeasedHosts(self._work, gate.rest)

        def remote(pages: PageClient, run: Run) -> RemotePages:
            wallet = Wallet(self._store, self._terms.config.budget)
            return RemotePages(pages, self._work, run, wallet)

        return remote

    async def keep(self) -> None:
        """Renew leases, and end the service if another was elected."""
        while True:
            await asyncio.sleep(self._terms.lease / 6.0)
            if not self._work.is_elected():
                raise LeaseLost("the connection that made this process planner is gone")
            if self.hosts is not None:
                self.hosts.renew(0)


class FleetPlanner(threading.Thread):
    """Stands for election, and decides while it is elected; see ``end``."""

    def __init__(self, terms: PlannerTerms) -> None:
        super().__init__(name="planner", daemon=True)
        self._terms = terms
        self._events: asyncio.AbstractEventLoop | None = None
        self._asked: Stop | None = None
        self._ending = threading.Event()
        self.is_elected = self.is_drained = False
        self.status: ServiceStatus | None = None  # of the service, while it decides

    def run(self) -> None:
        """Stand for election until asked to end."""
        asyncio.run(self._main())

    def is_well(self) -> bool:
        """Say whether it is running, or has ended because the fleet was drained."""
        return self.is_alive() or self.is_drained

    def end(self) -> None:
        """Request its end; work under way is finished or given back."""
        self._ending.set()
        if self._events is not None and self._asked is not None:
            with suppress(RuntimeError):  # it may have ended just now
                self._events.call_soon_threadsafe(self._asked.asked.set)

    async def ended(self, *, drains: bool) -> None:
        """Wait until it has ended; a planner that drains ends by itself."""
        if not (drains and self.is_elected):
            self.end()
        await asyncio.to_thread(self.join, DRAINED if drains else ENDED)
        self.end()
        await asyncio.to_thread(self.join, ENDED)

    async def _main(self) -> None:
        self._events, self._asked = asyncio.get_running_loop(), Stop()
        logged = ""
        while not self._ending.is_set():
            trouble = await self._term()
            if trouble and trouble != logged:
                fields = {"trouble": trouble}
                logs.event("planner", level=logging.WARNING, fields=fields)
            logged = trouble
            if self._asked.asked.is_set():  # it was drained
                self.is_drained = True
                return
            await self._asked.sleep(FAILED if trouble else STAND)

    async def _term(self) -> str:
        """Stand for election and decide until the end; return the error text."""
        terms = self._terms
        try:
            queue = WorkQueue.open(str(terms.config.store_place), terms.lease)
        except HalflifeError as error:
            return str(error)
        try:
            if queue.stand_for_election():
                await self._rule(queue)
        except (HalflifeError, OSError) as error:
            if self._ending.is_set() or isinstance(error, LeaseLost):
                return ""
            return str(error)
        finally:
            self.is_elected, self.status = False, None
            with suppress(HalflifeError):  # a worker that is not known counts as gone
                queue.leave()
            queue.close()
        return ""

    async def _rule(self, queue: WorkQueue) -> None:
        """Decide, until a stop is requested or another planner is elected."""
        terms, stop = self._terms, self._asked
        assert stop is not None
        store, _ = state_record.open_store(terms.config)
        assert isinstance(store, PostgresStore)
        with store:
            queue.take_over(store, bootstrap.clock())
            queue.join(f"{terms.name} (planner)", Owner.of(store))
            self.is_elected = True
            logs.event("elected planner", fields={"worker": terms.name})
            handout = _Handout(queue, store, terms)
            environment = ServiceEnvironment(
                on_report=terms.on_report, audits=True, fleet=handout, busy=handout.note
            )
            service = Service(
                Settings(terms.config, terms.names), store, stop, environment
            )
            self.status = service.status
            async with heartbeat.beating(service.status, store, service.clock):
                await _until_first(service.run(), handout.keep(), handout.watch())
            if handout.hosts is not None:
                handout.hosts.release_all()
            queue.step_down()


async def _until_first(*work: Coroutine[Any, Any, None]) -> None:
    """Run coroutines until the first is done; an error of any ends them all."""
    tasks = [asyncio.create_task(coroutine) for coroutine in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
