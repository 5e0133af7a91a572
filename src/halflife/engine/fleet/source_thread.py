"""Reads whole sources in a thread of its own.

A long listing takes seconds to compute. Meanwhile the worker must renew its leases, so
that is left to another thread, which has a store, a way out and leases of its own.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress

from halflife.config import Config, SourceConfig
from halflife.core.errors import StoreError
from halflife.engine import bootstrap, network, redirects
from halflife.engine.fleet.host_claims import LeasedHosts
from halflife.engine.workers import is_handed_out
from halflife.kinds.protocol import Desk, Report, Worker
from halflife.kinds.registry import kind_of
from halflife.stores import location
from halflife.stores.owner import Owner
from halflife.stores.postgres.work_queue import WorkQueue
from halflife.stores.postgres.work_sources import LeasedSource

BEATS = 6.0  # renewals in the time of a lease
ENDED = 5.0  # seconds that it may take to end


class SourceThread:
    """Reads sources, any number at a time, until it is closed.

    Args:
        config: The settings.
        name: What people call the worker.
        lease: Seconds that a lease on a host lasts.

    """

    def __init__(self, config: Config, name: str, lease: float) -> None:
        self._config, self._name, self._lease = config, name, lease
        self.sources = {one.name: one for one in config.source if is_handed_out([one])}
        self._workers: dict[str, Worker] = {}
        self._requests = 0
        self._begun: Future[None] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._main()), name="sources", daemon=True
        )
        self._thread.start()

    async def read(self, leased: LeasedSource) -> Report:
        """Read a source on lease, as far as it was granted requests; in any loop."""
        await asyncio.shield(asyncio.wrap_future(self._begun))
        work = self._read(self.sources[leased.source], leased)
        return await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(work, self._events)
        )

    @property
    def is_broken(self) -> bool:
        """Whether it could not begin."""
        return self._begun.done() and self._begun.exception() is not None

    def ease(self) -> None:
        """Begin nothing more; who was eased is not asked again, another is."""
        self._call(self._ease)

    async def close(self) -> None:
        """End it: what is being read is broken off, and hosts are given back."""
        with suppress(Exception):  # whoever waited for it was told
            await asyncio.shield(asyncio.wrap_future(self._begun))
        self._call(self._end)
        await asyncio.to_thread(self._thread.join, ENDED)

    def _call(self, work: Callable[[], None]) -> None:
        if self._begun.done() and not self.is_broken:
            with suppress(RuntimeError):  # it may have ended just now
                self._events.call_soon_threadsafe(work)

    # In the thread

    async def _main(self) -> None:
        self._events, self._ended = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with AsyncExitStack() as stack:
                await self._open(stack)
                self._begun.set_result(None)
                await self._keep()
        except Exception as error:
            if self._begun.done():
                raise
            self._begun.set_exception(error)

    async def _open(self, stack: AsyncExitStack) -> None:
        config = self._config
        store = location.open_store(config.store_place)
        self._store = stack.enter_context(store)
        self._queue = WorkQueue.open(str(config.store_place), self._lease)
        stack.callback(self._queue.close)
        self._queue.join(f"{self._name} (sources)", Owner.of(store))
        gate = network.gate(config, store, bootstrap.clock)
        self._gate = await stack.enter_async_context(gate)
        self._hosts = self._gate.claims = LeasedHosts(self._queue, self._gate.rest)
        stack.callback(self._leave)
        self._stack = await stack.enter_async_context(AsyncExitStack())
        self._desk = Desk(config, store, self._gate, bootstrap.clock, audits=True)

    def _end(self) -> None:
        self._ended.set()

    def _leave(self) -> None:
        with suppress(StoreError):  # leases run out by themselves
            self._hosts.release_all()
            self._queue.leave()

    async def _keep(self) -> None:
        """Renew the leases on hosts until the end; then break off what is read."""
        while not self._ended.is_set():
            with suppress(StoreError):  # it is tried again; what is lost is not asked
                self._hosts.renew(self._requests)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), self._lease / BEATS)
        me = asyncio.current_task()
        reads = [task for task in asyncio.all_tasks() if task is not me]
        for task in reads:
            task.cancel()
        await asyncio.gather(*reads, return_exceptions=True)

    async def _read(self, source: SourceConfig, leased: LeasedSource) -> Report:
        self._queue.sources.take_over(self._store, leased, bootstrap.clock())
        worker = self._workers.get(source.name)
        if worker is None:
            opened = kind_of(source).open(self._desk, (source,))
            worker = await self._stack.enter_async_context(opened)
            self._workers[source.name] = worker
        try:
            report = await worker.work(leased.requests)
        finally:
            redirects.note(self._store, self._gate, [source])
        self._requests += report.requests
        return report

    def _ease(self) -> None:
        for worker in self._workers.values():
            worker.ease()
        self._workers.clear()
