"""A thread that reads whole sources.

A long listing takes seconds to compute. Meanwhile the worker must renew its leases, so
listings are read in another thread, which has its own store, gate and leases.
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
ENDED = 5.0  # seconds that the thread may take to end


class SourceThread:
    """Reads sources, any number at a time, until it is closed.

    Args:
        config: The settings.
        name: The name of the worker.
        lease: Seconds that a lease on a host lasts.

    """

    def __init__(self, config: Config, name: str, lease: float) -> None:
        self._config, self._name, self._lease = config, name, lease
        self.sources = {s.name: s for s in config.source if is_handed_out([s])}
        self._workers: dict[str, Worker] = {}
        self._requests = 0
        self._started: Future[None] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._main()), name="sources", daemon=True
        )
        self._thread.start()

    async def read(self, leased: LeasedSource) -> Report:
        """Read a leased source with its granted requests; called from any loop."""
        await asyncio.shield(asyncio.wrap_future(self._started))
        work = self._read(self.sources[leased.source], leased)
        return await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(work, self._events)
        )

    @property
    def is_broken(self) -> bool:
        """Whether the thread failed to start."""
        return self._started.done() and self._started.exception() is not None

    def ease(self) -> None:
        """Begin nothing more; eased workers are replaced by new ones."""
        self._call(self._ease)

    async def close(self) -> None:
        """End the thread: cancel reads under way, and give hosts back."""
        with suppress(Exception):  # ``read`` has raised it already
            await asyncio.shield(asyncio.wrap_future(self._started))
        self._call(self._end)
        await asyncio.to_thread(self._thread.join, ENDED)

    def _call(self, work: Callable[[], None]) -> None:
        if self._started.done() and not self.is_broken:
            with suppress(RuntimeError):  # it may have ended just now
                self._events.call_soon_threadsafe(work)

    # In the thread

    async def _main(self) -> None:
        self._events, self._ended = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with AsyncExitStack() as stack:
                await self._open(stack)
                self._started.set_result(None)
                await self._keep()
        except Exception as error:
            if self._started.done():
                raise
            self._started.set_exception(error)

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
        """Renew the leases on hosts until the end; then cancel reads under way."""
        while not self._ended.is_set():
            with suppress(StoreError):  # tried again; hosts that are lost are not asked
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
