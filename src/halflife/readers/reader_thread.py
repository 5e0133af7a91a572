"""Reading in a thread that can be stopped.

``asyncio.to_thread`` leaves its thread running when the caller is cancelled, and a
program cannot end before its threads. A slow reader calls ``checkpoint`` regularly, and
sets with ``stoppable`` how a wait is ended.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

from halflife.core.errors import SourceError

P = ParamSpec("P")
T = TypeVar("T")


class _Job:
    """One call in a thread, and whether it is still wanted."""

    __slots__ = ("_lock", "_stop", "cancelled")

    def __init__(self) -> None:
        self.cancelled = False
        self._stop: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def cancel(self) -> None:
        with self._lock:
            self.cancelled = True
            if self._stop is not None:
                self._stop()

    @contextmanager
    def stoppable(self, stop: Callable[[], None]) -> Iterator[None]:
        with self._lock:
            self._stop = stop
            if self.cancelled:
                stop()
        try:
            yield
        finally:
            with self._lock:
                self._stop = None


_JOB: ContextVar[_Job | None] = ContextVar("reader_thread", default=None)


async def in_thread(
    function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
) -> T:
    """Return the result of a function in a thread; cancelling stops it."""
    job = _Job()
    before = _JOB.set(job)
    try:
        return await asyncio.to_thread(function, *args, **kwargs)
    except asyncio.CancelledError:
        job.cancel()
        raise
    finally:
        _JOB.reset(before)


def checkpoint() -> None:
    """Raise ``SourceError`` if the caller was cancelled."""
    job = _JOB.get()
    if job is not None and job.cancelled:
        raise SourceError("reading was cancelled")


@contextmanager
def stoppable(stop: Callable[[], None]) -> Iterator[None]:
    """Call ``stop``, from another thread, if the caller is cancelled."""
    job = _JOB.get()
    if job is None:
        yield
        return
    with job.stoppable(stop):
        yield
