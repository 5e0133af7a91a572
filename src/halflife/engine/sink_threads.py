"""A thread for each sink: whatever a sink waits for, nothing else waits.

The threads are daemons. A sink that does not come back cannot keep the program from
ending; what it was given is delivered again the next time.
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

CLOSING = 0.2  # seconds that the end of the program waits for a sink to let go
_TICK = 0.005  # seconds between two checks whether it did


class LoopReader:
    """Lets the thread of a sink read the store, which belongs to the event loop."""

    def __init__(self, store: Store, loop: asyncio.AbstractEventLoop) -> None:
        self._store, self._loop = store, loop

    def content(self, key: str, text: str = "") -> Content | None:
        """Return the copy of a page whose text has this fingerprint, or the present."""

        async def read() -> Content | None:
            if not text:
                return self._store.content(key)
            versions = self._store.versions
            found = (one for one in versions.of(key) if one.digest == text)
            one = next(found, None)
            return None if one is None else versions.content(key, one)

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
        settings: Of the sink.
        outlet: What it is given of the world.

    """

    def __init__(self, settings: SinkConfig, outlet: Outlet) -> None:
        self._settings, self._outlet = settings, outlet
        self._orders: SimpleQueue[tuple[Callable[[], None], Future[None]] | None]
        self._orders = SimpleQueue()
        self._sink: Sink | None = None
        self._thread: threading.Thread | None = None

    def deliver(self, batch: Batch) -> "asyncio.Future[None]":
        """Have a batch delivered; the future raises ``DeliveryError`` if it was not."""
        if self._thread is None:
            name = f"sink {self._settings.name}"
            self._thread = threading.Thread(target=self._work, name=name, daemon=True)
            self._thread.start()
        done: Future[None] = Future()
        self._orders.put((lambda: self._deliver(batch), done))
        return asyncio.wrap_future(done)

    async def close(self) -> None:
        """Break off what is under way, and wait a moment for the sink to let go."""
        thread, sink = self._thread, self._sink
        if thread is None:
            return
        self._orders.put(None)
        if sink is not None:
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
            except Exception as error:  # noqa: BLE001  (what a sink does is not ours)
                self._let_go()
                done.set_exception(_trouble(error))
            else:
                done.set_result(None)
        self._let_go()

    def _deliver(self, batch: Batch) -> None:
        if self._sink is None:
            self._sink = make(self._settings, self._outlet)
            self._sink.open()
        self._sink.deliver(batch)

    def _let_go(self) -> None:
        sink, self._sink = self._sink, None
        if sink is not None:
            with suppress(Exception):  # it is not used any more
                sink.close()


def make(settings: SinkConfig, outlet: Outlet) -> Sink:
    """Return a sink; raise ``DeliveryError`` if what is registered makes none."""
    kind = cast("SinkKind", load_sink(settings.kind))
    found = kind(settings, outlet)
    if not isinstance(found, Sink):
        raise DeliveryError(f"the kind of sink {settings.kind!r} makes no sink")
    return found


def _trouble(error: Exception) -> DeliveryError:
    """Return an error as one that names no more than a line."""
    if isinstance(error, DeliveryError):
        return error
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename else ""
        return DeliveryError(f"{name}{error.strerror}")
    if isinstance(error, ImportError | HalflifeError):
        return DeliveryError(str(error))
    return DeliveryError(f"an error of the sink: {describe(error)}")
