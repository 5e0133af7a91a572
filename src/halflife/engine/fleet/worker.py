"""A worker: leases hosts, fetches their pages, and hands in the observations.

It reads whole sources beside that, in another thread (``source_reads``).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeVar

from halflife.core.errors import HalflifeError, LeaseLost, StoreError
from halflife.core.observation import Observation, Observations
from halflife.core.request import Fetch
from halflife.engine import bootstrap, control, logs, network
from halflife.engine.fleet.batch_purse import BatchPurse
from halflife.engine.fleet.host_claims import LeasedHosts
from halflife.engine.fleet.source_reads import AGAIN, SourceReads
from halflife.engine.fleet.source_thread import BEATS
from halflife.engine.health import ServiceStatus
from halflife.engine.offline import is_lost
from halflife.engine.reload import Settings
from halflife.engine.signals import Stop
from halflife.kinds.pages.remote import AnswerNotes, leased_sites
from halflife.stores.notes.control import Control
from halflife.stores.observation_codec import pack
from halflife.stores.owner import Owner
from halflife.stores.postgres.work_queue import (
    BudgetWindow,
    HostLease,
    LeasedPage,
    WorkQueue,
)
from halflife.stores.table_store import TableStore
from halflife.stores.work import SeenAnswer

Result = TypeVar("Result")

LEASE = 30.0  # seconds that a lease lasts unless it is renewed
TURN = 10.0  # seconds that the pages of one host may take before others get a say
MOST_PAGES = 50  # pages of a host that are leased at once
SOONEST, LATEST = 0.05, 0.25  # seconds between two tries to lease something
OFFLINE = 30.0  # seconds without a lease after our own network has failed
GRACE = 20.0  # seconds that requests in flight may take after a request to stop
DRAINED = 60.0  # seconds that leased work may take when drained
ENDED = GRACE + 5.0  # seconds after which it has ended in any case
TOGETHER = 0.2  # seconds for which observations wait to be handed in together
UNKNOWN = 5.0  # seconds that a host is left to workers that know its sources
# The parts of the status that only the planner knows.
PLANNED = ("sources", "alarms", "failing", "failures", "left", "due", "store_bytes")


@dataclass(slots=True)
class WorkerTerms:
    """The terms of a worker.

    Attributes:
        name: Its name.
        lease: Seconds that a lease lasts.
        once: Whether it ends when there is nothing to do.
        is_well: Says whether the planner of this process is alive.
        decides: Returns the status of the service while this process is the planner.
        seconds: After how long it ends; None: on request.
        check_clock: Seconds between two comparisons with the database's clock.

    """

    name: str
    lease: float = LEASE
    once: bool = False
    seconds: float | None = None
    check_clock: float = 60.0
    is_well: Callable[[], bool] = lambda: True
    decides: Callable[[], ServiceStatus | None] = lambda: None


@dataclass(slots=True)
class _Batch:
    """Pages of one host that are being fetched."""

    lease: HostLease
    purse: BatchPurse
    slots: int  # requests at once
    left: dict[str, LeasedPage] = field(default_factory=dict)
    seen: list[Observation] = field(default_factory=list)  # not yet handed in
    counted: int = 0  # requests that were handed in
    lost: bool = False  # whether our network failed
    is_whole: bool = True  # whether all of its sources are in our settings
    handed_in: float = field(default_factory=monotonic)


class FleetWorker:
    """Fetches the pages that are handed out, until a stop is requested.

    Args:
        settings: The settings, which may change.
        store: The store.
        queue: Hands out hosts and pages.
        stop: Whether a stop is requested.
        terms: Its terms.

    """

    def __init__(
        self,
        settings: Settings,
        store: TableStore,
        queue: WorkQueue,
        stop: Stop,
        terms: WorkerTerms,
    ) -> None:
        self._settings, self._store, self._queue = settings, store, queue
        self._stop, self._terms = stop, terms
        self._under: dict[str, tuple[_Batch, asyncio.Task[None]]] = {}
        self._reads = self._source_reads()
        self._control = Control()
        self._began = monotonic()
        self.status = ServiceStatus(began=bootstrap.clock())
        self._quiet_until = 0.0  # after our network has failed
        self._unknown: set[str] = set()  # sources that are not in our settings
        self.requests = self.pages = 0
        self._is_done = False  # whether all work is done
        self._is_new = False  # whether there are new settings
        self._down = False  # whether the database did not answer
        self.error: HalflifeError | None = None

    async def run(self) -> None:
        """Work until stopped, drained, or done; then give all hosts back."""
        terms = self._terms
        self._queue.join(terms.name, Owner.of(self._store))
        logs.event("working", fields={"worker": terms.name})
        self._obey(control.read(self._store))
        while not (self._stop.asked.is_set() or self._is_over()):
            self._is_new = False
            async with AsyncExitStack() as stack:
                await self._open(stack)
                beat = asyncio.create_task(self._beat())
                try:
                    await self._leases(beat)
                finally:
                    await self._finish()  # leases are renewed meanwhile
                    beat.cancel()
                    await asyncio.gather(beat, return_exceptions=True)
        self._try(self._queue.leave)
        fields = {"worker": terms.name, "pages": self.pages, "requests": self.requests}
        logs.event("stopped", fields=fields)
        if self.error is not None:
            raise self.error

    async def _open(self, stack: AsyncExitStack) -> None:
        """Open the gate and the clients by the present settings."""
        config = self._config = self._settings.config
        self._window = BudgetWindow(config.budget.requests, config.budget.days)
        gate = network.gate(config, self._store, bootstrap.clock)
        await stack.enter_async_context(gate)
        self._hosts = gate.claims = LeasedHosts(self._queue, gate.rest)
        opened = leased_sites(gate, self._store, self._settings.chosen)
        self._leased = await stack.enter_async_context(opened)
        self._reads = self._source_reads()
        stack.push_async_callback(self._reads.close)

    def _source_reads(self) -> SourceReads:
        terms, queue = self._terms, self._queue.sources
        return SourceReads(self._settings.config, queue, terms.name, terms.lease)

    # Leasing

    async def _leases(self, beat: "asyncio.Task[None]") -> None:
        """Lease and fetch until it is time to end."""
        pause = SOONEST
        while not (self._stop.asked.is_set() or self._is_new or self._is_over()):
            if beat.done():
                beat.result()
            if not self._terms.is_well():
                raise HalflifeError("the planner of this worker failed; see above")
            self._collect()
            got = self._take() if self._may_lease() else 0
            self._is_done = not got and not self._tasks and self._has_nothing()
            pause = SOONEST if got else min(2.0 * pause, LATEST)
            await self._rest(0.0 if self._is_done else pause)

    def _collect(self) -> None:
        """Collect batches that are done; one that failed ends the worker."""
        for host, (_, task) in list(self._under.items()):
            if task.done():
                del self._under[host]
                task.result()
        self._reads.collect()
        if self._reads.is_offline:
            self._go_quiet()
            self._reads.is_offline = False

    @property
    def _tasks(self) -> "set[asyncio.Task[None]]":
        return {task for _, task in self._under.values()} | self._reads.tasks

    def _go_quiet(self) -> None:
        """Lease nothing for a while: our own network has failed."""
        self._quiet_until = monotonic() + OFFLINE
        logs.event("offline", level=logging.WARNING, fields={})

    def _is_over(self) -> bool:
        seconds = self._terms.seconds
        over = seconds is not None and monotonic() - self._began >= seconds
        over = over or self._is_done or self._control.is_draining
        return over or self.error is not None

    def _has_nothing(self) -> bool:
        """Say whether a worker that works once has done all there is to do."""
        if not self._terms.once:
            return False
        return bool(self._try(self._queue.is_all_done))

    def _may_lease(self) -> bool:
        quiet = monotonic() < self._quiet_until
        return not quiet and not self._control.is_paused

    async def _rest(self, seconds: float) -> None:
        """Wait for so many seconds, a request to stop, or the end of a batch."""
        tasks = self._tasks
        stopped = asyncio.create_task(self._stop.asked.wait())
        await asyncio.wait(
            {stopped, *tasks}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        stopped.cancel()

    def _take(self) -> int:
        """Lease pages or a source and begin to fetch; return how many were leased."""
        got = self._take_pages() if self._free else 0
        return got + (self._try(self._reads.take) or 0)

    @property
    def _free(self) -> int:
        return self._config.fetch.concurrency - len(self._under)

    def _take_pages(self) -> int:
        delay = max(self._config.fetch.delay, 1e-9)
        most = int(min(max(TURN / delay, 1.0), MOST_PAGES))
        requested = monotonic()
        leases = self._try(
            lambda: self._queue.lease_pages(self._free, most, self._window)
        )
        hosts = len(self._under) + len(leases or ())
        for lease in leases or ():
            self._hosts.add(lease, requested)
            self._begin(lease, max(self._config.fetch.concurrency // hosts, 1))
        return sum(len(lease.pages) for lease in leases or ())

    def _begin(self, lease: HostLease, slots: int) -> None:
        run = lease.pages[0].run

        def draw(requests: int) -> int:
            got = self._try(lambda: self._queue.draw(run, requests, self._window))
            return 0 if got is None else got[0]

        purse = BatchPurse(len(lease.pages), draw)
        unknown = self._leased.unknown(page.source for page in lease.pages)
        self._log_unknown(unknown)
        pages = {p.key: p for p in lease.pages if p.source not in unknown}
        batch = _Batch(lease, purse, slots, pages, is_whole=not unknown)
        task = asyncio.create_task(self._work(batch))
        self._under[lease.host] = batch, task

    def _log_unknown(self, names: "set[str]") -> None:
        """Log once that the planner uses settings that this worker does not have."""
        for name in sorted(names - self._unknown):
            trouble = "not in the settings of this worker, so it leaves it to others"
            fields = {"source": name, "trouble": trouble}
            logs.event("unknown source", level=logging.WARNING, fields=fields)
        self._unknown |= names

    def _try(self, work: Callable[[], Result]) -> Result | None:
        """Return the answer of the database; None if it fails, which is logged once."""
        try:
            result = work()
        except StoreError as error:
            if not self._down:
                fields = {"trouble": str(error)}
                logs.event("database lost", level=logging.WARNING, fields=fields)
            self._down = True
            return None
        if self._down:
            logs.event("database is back", fields={})
        self._down = False
        return result

    # Fetching

    async def _work(self, batch: _Batch) -> None:
        """Fetch the pages of a host, hand in the observations, and give it back."""
        try:
            await self._fetch(batch)
        except LeaseLost as error:
            fields = {"trouble": str(error)}
            logs.event("lease lost", level=logging.WARNING, fields=fields)
        except StoreError as error:
            logs.event(
                "batch lost", level=logging.WARNING, fields={"trouble": str(error)}
            )
        finally:
            self._end(batch)

    async def _fetch(self, batch: _Batch) -> None:
        pages = list(batch.left.values())
        sources = {page.key: page.source for page in pages}
        client, notes = self._leased.client(sources, batch.slots), self._leased.notes
        held = self._store.held([page.key for page in pages])
        requests = [
            Fetch(page.key, None if page.whole else last)
            for page, last in zip(pages, held, strict=True)
        ]
        results = client.perform(requests, bootstrap.clock(), batch.purse)
        async with aclosing(results) as batches:
            async for observations in batches:
                await self._add(batch, observations, notes)
                if batch.lost:
                    return
        await self._hand_in(batch, notes, rest=not batch.purse.is_stopped)

    async def _add(
        self, batch: _Batch, observations: Observations, notes: AnswerNotes
    ) -> None:
        """Add observations to a batch, without those that our own network prevented."""
        seen = [o for o in observations if not is_lost(o.note)]
        batch.lost = len(seen) < len(observations)
        if batch.lost:
            self._go_quiet()
        batch.seen += seen
        if batch.lost or monotonic() - batch.handed_in > TOGETHER:
            await self._hand_in(batch, notes)

    async def _hand_in(
        self, batch: _Batch, notes: AnswerNotes, *, rest: bool = False
    ) -> None:
        """Acknowledge observed pages; the first row carries all observations.

        With the ``rest``, pages that were observed by redirects are acknowledged, too.
        """
        keys = batch.left if rest else [o.key for o in batch.seen]
        names = [key for key in dict.fromkeys(keys) if key in batch.left]
        batch.handed_in = monotonic()
        if not names:
            return
        packed = pack(notes.take(batch.seen)) if batch.seen else b""
        sent = batch.purse.spent - batch.counted
        rows = [
            SeenAnswer(batch.left[key].item, 0 if i else sent, b"" if i else packed)
            for i, key in enumerate(names)
        ]
        await self._acknowledge(batch.lease, rows)
        batch.counted, batch.seen = batch.counted + sent, []
        self.requests += sent
        self.pages += len(rows)
        for key in names:
            del batch.left[key]

    async def _acknowledge(self, lease: HostLease, rows: Sequence[SeenAnswer]) -> None:
        """Hand rows in; retry a database that does not answer until the lease ends."""
        while True:
            try:
                return self._queue.acknowledge(lease, rows)
            except StoreError:
                if self._hosts.is_lost(lease):
                    raise
                await asyncio.sleep(AGAIN)

    def _end(self, batch: _Batch) -> None:
        """Give back unspent requests, and the host."""
        lease, purse = batch.lease, batch.purse
        purse.stop()
        run, at = lease.pages[0].run, lease.at
        if purse.left:  # tried once: giving back twice would allow spending twice
            self._try(lambda: self._queue.give_back(run, purse.left, at))
        least = 0.0 if batch.is_whole else UNKNOWN
        self._try(lambda: self._hosts.release(lease, least))

    # Signs of life

    async def _beat(self) -> None:
        """Renew the leases, read the control state, and compare the clocks."""
        compared = monotonic()
        while True:
            await asyncio.sleep(self._terms.lease / BEATS)
            self._try(lambda: self._hosts.renew(self.requests))
            self._try(self._reads.renew)
            command = self._try(lambda: control.read(self._store))
            self._obey(command or self._control)
            self._is_new = self._settings.changed() and self._settings.reload()
            if not self._down:
                self._note()
            if monotonic() - compared >= self._terms.check_clock:
                compared = monotonic()
                self._compare_clocks()

    def _obey(self, command: Control) -> None:
        if command.state != self._control.state:
            logs.event(command.state, fields={})
            self._control = command
        if command.is_paused:
            self._ease()

    def _compare_clocks(self) -> None:
        """End the worker if its clock is wrong."""
        try:
            self._queue.check_clock()
        except StoreError as error:
            if "clock" in str(error):
                self.error = error

    def _ease(self) -> None:
        for batch, _ in self._under.values():
            batch.purse.stop()
        self._reads.ease()

    def _note(self) -> None:
        """Update the status of the worker."""
        status = self.status
        status.turned, status.turns = bootstrap.clock(), status.turns + 1
        status.requests = {"pages": self.requests, "sources": self._reads.requests}
        status.in_flight, status.control = len(self._tasks), self._control.state
        status.budget = self._window.requests
        status.offline = monotonic() < self._quiet_until
        status.settings = self._settings.trouble
        planned = self._terms.decides() or ServiceStatus(status.began)
        for name in PLANNED:
            setattr(status, name, getattr(planned, name))

    @property
    def is_drained(self) -> bool:
        """Whether it ends because the fleet is drained."""
        return self._control.is_draining

    async def _finish(self) -> None:
        """Begin nothing more; finish requests in flight, and give the rest back.

        When drained, finish all leased work.
        """
        grace = DRAINED
        if not self._control.is_draining or self._stop.asked.is_set():
            self._ease()
            grace = GRACE
        tasks = self._tasks
        if tasks:
            insisted = asyncio.create_task(self._stop.insisted.wait())
            whole: Awaitable[object] = asyncio.gather(*tasks, return_exceptions=True)
            done = asyncio.ensure_future(whole)
            await asyncio.wait(
                {done, insisted}, timeout=grace, return_when=asyncio.FIRST_COMPLETED
            )
            insisted.cancel()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._under.clear()
        self._try(self._hosts.release_all)
