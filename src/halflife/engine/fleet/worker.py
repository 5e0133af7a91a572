"""A worker: leases hosts, fetches pages of them, and hands in what it saw.

Sources that are read whole it reads beside that, in another thread (``source_reads``).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeVar

from halflife.core.errors import HalflifeError, LeaseLost, StoreError
from halflife.core.observation import Looks, Observation
from halflife.core.request import Fetch
from halflife.engine import bootstrap, control, logs, network
from halflife.engine.fleet.batch_purse import BatchPurse
from halflife.engine.fleet.host_claims import LeasedHosts
from halflife.engine.fleet.source_reads import SourceReads
from halflife.engine.health import ServiceStatus
from halflife.engine.offline import is_lost
from halflife.engine.reload import Settings
from halflife.engine.signals import Stop
from halflife.kinds.pages.remote import AnswerNotes, leased_sites
from halflife.stores.look_codec import pack
from halflife.stores.notes.control import Control
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
BEATS = 6.0  # beats in the time of a lease
TURN = 10.0  # seconds that the pages of one host may take before others get a say
MOST_PAGES = 50  # of a host that are leased at once
SOONEST, LATEST = 0.05, 0.25  # seconds between two tries to lease something
OFFLINE = 30.0  # seconds without a lease after our own network has failed
GRACE = 20.0  # seconds that requests in flight may take when asked to stop
DRAINED = 60.0  # seconds that all it has leased may take when drained
ENDED = GRACE + 5.0  # seconds after which it has ended, whatever it is at
TOGETHER = 0.2  # seconds for which what was seen waits to be handed in together
UNKNOWN = 5.0  # seconds that a host is left to workers that know its sources
AGAIN = 0.5  # seconds between two tries to hand something in
# What is known of sources to the worker that decides, and to no other.
PLANNED = ("sources", "alarms", "failing", "failures", "left", "due", "store_bytes")


@dataclass(slots=True)
class WorkerTerms:
    """How a worker works.

    Attributes:
        name: What people call it.
        lease: Seconds that a lease lasts.
        once: Whether it ends when there is nothing to do.
        is_well: Says whether the planner of this process is alive.
        decides: Returns how the service is, while this process is the planner.
        seconds: After how long it ends; None: when asked to.
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
    seen: list[Observation] = field(default_factory=list)  # and not handed in
    counted: int = 0  # requests that were handed in
    lost: bool = False  # whether our network failed
    is_whole: bool = True  # whether all of its sources are in our settings
    handed_in: float = field(default_factory=monotonic)


class FleetWorker:
    """Fetches what is handed out, until asked to stop.

    Args:
        settings: The settings, which may change.
        store: What is known.
        queue: Hands out hosts and pages.
        stop: Whether we were asked to stop.
        terms: How it works.

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
        self._is_done = self._is_new = False  # all there was; settings to be taken up
        self._down = False  # whether the database did not answer
        self.error: HalflifeError | None = None

    async def run(self) -> None:
        """Work until asked to stop, drained, or done; give all hosts back then."""
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
                    await self._finish()  # what takes long is held meanwhile
                    beat.cancel()
                    await asyncio.gather(beat, return_exceptions=True)
        self._tried(self._queue.leave)
        fields = {"worker": terms.name, "pages": self.pages, "requests": self.requests}
        logs.event("stopped", fields=fields)
        if self.error is not None:
            raise self.error

    async def _open(self, stack: AsyncExitStack) -> None:
        """Make the way out, as the settings say now."""
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
        """Look after batches that are done; one that broke ends the worker."""
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
        return bool(self._tried(self._queue.is_all_done))

    def _may_lease(self) -> bool:
        quiet = monotonic() < self._quiet_until
        return not quiet and not self._control.is_paused

    async def _rest(self, seconds: float) -> None:
        """Wait so long, until asked to stop, or until a batch is done."""
        tasks = self._tasks
        asked = asyncio.create_task(self._stop.asked.wait())
        await asyncio.wait(
            {asked, *tasks}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        asked.cancel()

    def _take(self) -> int:
        """Lease pages or a source and begin to fetch them; return how many."""
        got = self._take_pages() if self._free else 0
        return got + (self._tried(self._reads.take) or 0)

    @property
    def _free(self) -> int:
        return self._config.fetch.concurrency - len(self._under)

    def _take_pages(self) -> int:
        delay = max(self._config.fetch.delay, 1e-9)
        most = int(min(max(TURN / delay, 1.0), MOST_PAGES))
        asked = monotonic()
        found = self._tried(
            lambda: self._queue.lease_pages(self._free, most, self._window)
        )
        many = len(self._under) + len(found or ())
        for lease in found or ():
            self._hosts.add(lease, asked)
            self._begin(lease, max(self._config.fetch.concurrency // many, 1))
        return sum(len(lease.pages) for lease in found or ())

    def _begin(self, lease: HostLease, slots: int) -> None:
        run = lease.pages[0].run

        def draw(requests: int) -> int:
            got = self._tried(lambda: self._queue.draw(run, requests, self._window))
            return 0 if got is None else got[0]

        purse = BatchPurse(len(lease.pages), draw)
        unknown = self._leased.unknown(page.source for page in lease.pages)
        self._say_unknown(unknown)
        pages = {p.key: p for p in lease.pages if p.source not in unknown}
        batch = _Batch(lease, purse, slots, pages, is_whole=not unknown)
        task = asyncio.create_task(self._work(batch))
        self._under[lease.host] = batch, task

    def _say_unknown(self, names: "set[str]") -> None:
        """Say once that the planner goes by settings that this worker does not have."""
        for name in sorted(names - self._unknown):
            trouble = "not in the settings of this worker, so it leaves it to others"
            fields = {"source": name, "trouble": trouble}
            logs.event("unknown source", level=logging.WARNING, fields=fields)
        self._unknown |= names

    def _tried(self, work: Callable[[], Result]) -> Result | None:
        """Return what the database answers; None if it does not, which is said once."""
        try:
            found = work()
        except StoreError as error:
            if not self._down:
                fields = {"trouble": str(error)}
                logs.event("database lost", level=logging.WARNING, fields=fields)
            self._down = True
            return None
        if self._down:
            logs.event("database is back", fields={})
        self._down = False
        return found

    # Fetching

    async def _work(self, batch: _Batch) -> None:
        """Fetch the pages of a host, hand in what was seen, and give the host back."""
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
        mine = list(batch.left.values())
        sources = {page.key: page.source for page in mine}
        client, notes = self._leased.client(sources, batch.slots), self._leased.notes
        held = self._store.held([page.key for page in mine])
        requests = [
            Fetch(page.key, None if page.whole else look)
            for page, look in zip(mine, held, strict=True)
        ]
        looked = client.perform(requests, bootstrap.clock(), batch.purse)
        async with aclosing(looked) as batches:
            async for looks in batches:
                await self._take_in(batch, looks, notes)
                if batch.lost:
                    return
        await self._hand_in(batch, notes, rest=not batch.purse.is_stopped)

    async def _take_in(self, batch: _Batch, looks: Looks, notes: AnswerNotes) -> None:
        """Hand in what was seen; what our own network kept from being sent is not."""
        seen = [look for look in looks if not is_lost(look.note)]
        batch.lost = len(seen) < len(looks)
        if batch.lost:
            self._go_quiet()
        batch.seen += seen
        if batch.lost or monotonic() - batch.handed_in > TOGETHER:
            await self._hand_in(batch, notes)

    async def _hand_in(
        self, batch: _Batch, notes: AnswerNotes, *, rest: bool = False
    ) -> None:
        """Acknowledge pages that were seen; the first of them carries all of it.

        With the ``rest``, pages that redirects have shown are acknowledged, too.
        """
        keys = batch.left if rest else [look.key for look in batch.seen]
        names = [key for key in dict.fromkeys(keys) if key in batch.left]
        batch.handed_in = monotonic()
        if not names:
            return
        whole = pack(notes.take(batch.seen)) if batch.seen else b""
        sent = batch.purse.spent - batch.counted
        rows = [
            SeenAnswer(batch.left[key].item, 0 if i else sent, b"" if i else whole)
            for i, key in enumerate(names)
        ]
        await self._acknowledge(batch.lease, rows)
        batch.counted, batch.seen = batch.counted + sent, []
        self.requests += sent
        self.pages += len(rows)
        for key in names:
            del batch.left[key]

    async def _acknowledge(self, lease: HostLease, rows: Sequence[SeenAnswer]) -> None:
        """Hand rows in; a database that is away is tried until the lease is lost."""
        while True:
            try:
                return self._queue.acknowledge(lease, rows)
            except StoreError:
                if self._hosts.is_lost(lease):
                    raise
                await asyncio.sleep(AGAIN)

    def _end(self, batch: _Batch) -> None:
        """Give back what was not spent, and the host."""
        lease, purse = batch.lease, batch.purse
        purse.stop()
        run, at = lease.pages[0].run, lease.at
        if purse.left:  # tried once: what was given back twice would be spent twice
            self._tried(lambda: self._queue.give_back(run, purse.left, at))
        least = 0.0 if batch.is_whole else UNKNOWN
        self._tried(lambda: self._hosts.release(lease, least))

    # Signs of life

    async def _beat(self) -> None:
        """Renew the leases, hear what is to be done, and compare the clocks."""
        compared = monotonic()
        while True:
            await asyncio.sleep(self._terms.lease / BEATS)
            self._tried(lambda: self._hosts.renew(self.requests))
            self._tried(self._reads.renew)
            said = self._tried(lambda: control.read(self._store))
            self._obey(said or self._control)
            self._is_new = self._settings.changed() and self._settings.reload()
            if not self._down:
                self._note()
            if monotonic() - compared >= self._terms.check_clock:
                compared = monotonic()
                self._compare_clocks()

    def _obey(self, said: Control) -> None:
        if said.state != self._control.state:
            logs.event(said.state, fields={})
            self._control = said
        if said.is_paused:
            self._ease()

    def _compare_clocks(self) -> None:
        """Let a worker whose clock is wrong end."""
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
        """Write down how the worker is, for those who watch."""
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
        """Whether it ends because all work is to end."""
        return self._control.is_draining

    async def _finish(self) -> None:
        """Begin nothing more; finish what is in flight, and give the rest back.

        When drained, what is leased is finished.
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
        self._tried(self._hosts.release_all)
