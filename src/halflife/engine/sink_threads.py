"""A thread for each sink, so that a slow sink delays nothing else.

The threads are daemons. A sink that hangs cannot keep the program from ending; its
batch is delivered again the next time.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, cast

from halflife.config.sinks import SinkConfig, load_sink
from halflife.core.errors import HalflifeError
from halflife.core.observation import Content
from halflife.readers.containment import describe
from halflife.sinks.protocol import (
    Batch,
    DeliveryError,
    Outlet,
    Sink,
    SinkKind,
)
from halflife.stores import Store

CLOSING = 0.2  # seconds that the end of the program waits for a sink to close
_TICK = 0.005  # seconds between two checks whether it has


class LoopReader:
    """Lets the thread of a sink read the store, which belongs to the event loop."""

    def __init__(self, store: Store, loop: asyncio.AbstractEventLoop) -> None:
        self._store, self._loop = store, loop

    def content(self, key: str, text: str = "") -> Content | None:
        """Return the copy of a page whose text has this digest, or the current one."""

        async def read() -> Content | None:
            if not text:
                return self._store.content(key)
            versions = self._store.versions
            found = (v for v in versions.of(key) if v.digest == text)
            version = next(found, None)
            return None if version is None else versions.content(key, version)

        return asyncio.run_coroutine_threadsafe(read(), self._loop).result()

    def record(self, source: str, key: str) -> Mapping[str, Any] | None:
        """Return the fields of a record; None if there is none."""

        async def read() -> Mapping[str, Any] | None:
            row = self._store.holdings.record(source, key)
            found: Mapping[str, Any] | None = (
                None if row is None else json.loads(row.text)
            )
            return found

        return asyncio.run_coroutine_threadsafe(read(), self._loop).result()


class SinkThread:
    """Makes, uses and closes one sink, all in one thread.

    Args:
        settings: The settings of the sink.
        outlet: The folder, store path and contact that the sink receives.

    """

    def __init__(self, settings: SinkConfig, outlet: Outlet) -> None:
        self._settings, self._outlet = settings, outlet
        self._orders: SimpleQueue[tuple[Callable[[], None], Future[None]] | None]
        self._orders = SimpleQueue()
        self._sink: Sink | None = None
        self._thread: threading.Thread | None = None

    def deliver(self, batch: Batch) -> "asyncio.Future[None]":
        """Deliver a batch in the thread; the future raises ``DeliveryError``."""
        if self._thread is None:
            name = f"sink {self._settings.name}"
            self._thread = threading.Thread(target=self._work, name=name, daemon=True)
            self._thread.start()
        done: Future[None] = Future()
        self._orders.put((lambda: self._deliver(batch), done))
        return asyncio.wrap_future(done)

    async def close(self) -> None:
        """Cancel a delivery under way, and wait briefly for the sink to close."""
        thread, sink = self._thread, self._sink
        if thread is None:
            return
        self._orders.put(None)
        if sink is not None:
            with suppress(Exception, SystemExit):
                sink.cancel()
        for _ in range(round(CLOSING / _TICK)):
            if not thread.is_alive():
                break
            await asyncio.sleep(_TICK)
        self._thread = None

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            task, done = order
            if not done.set_running_or_notify_cancel():
                continue
            try:
                task()
            except BaseException as error:  # noqa: BLE001  (a sink may raise anything)
                self._close_sink()
                done.set_exception(_trouble(error))
            else:
                done.set_result(None)
        self._close_sink()

    def _deliver(self, batch: Batch) -> None:
        if self._sink is None:
            self._sink = make(self._settings, self._outlet)
            self._sink.open()
        self._sink.deliver(batch)

    def _close_sink(self) -> None:
        sink, self._sink = self._sink, None
        if sink is not None:
            with suppress(BaseException):  # it is not used any more
                sink.close()


def make(settings: SinkConfig, outlet: Outlet) -> Sink:
    """Return a sink; raise ``DeliveryError`` if the registered kind makes none."""
    kind = cast("SinkKind", load_sink(settings.kind))
    found = kind(settings, outlet)
    if not isinstance(found, Sink):
        raise DeliveryError(f"the kind of sink {settings.kind!r} makes no sink")
    return found


def _trouble(error: BaseException) -> DeliveryError:
    """Return an error as a ``DeliveryError`` of one line."""
    if isinstance(error, DeliveryError):
        return error
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename else ""
        return DeliveryError(f"{name}{error.strerror}")
    if isinstance(error, ImportError | HalflifeError):
        return DeliveryError(str(error))
    return DeliveryError(f"an error of the sink: {describe(error)}")
