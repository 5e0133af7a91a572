"""Stopping when asked: the first signal asks, the second one insists."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")

GRACE = 5.0  # seconds that requests in flight may take to finish


class Stop:
    """Whether, and by which signal, we were asked to stop."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.insisted = asyncio.Event()
        self.signal = 0

    @property
    def code(self) -> int:
        """The exit code that tells which signal it was; 0 if none."""
        return 128 + self.signal if self.signal else 0

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Listen for SIGINT and SIGTERM while the block runs."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.ask, number)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    def ask(self, number: int) -> None:
        """Take in a signal."""
        if self.asked.is_set():
            self.insisted.set()
        self.signal = self.signal or number
        self.asked.set()

    async def sleep(self, seconds: float) -> None:
        """Sleep so long, or until we are asked to stop."""
        await _either(self.asked, seconds)


async def until_stopped(
    work: Coroutine[Any, Any, Result], stop: Stop, ease: Callable[[], None]
) -> Result | None:
    """Return what the work returns; None if it had to be broken off.

    When asked to stop, ``ease`` is called, which must see to it that nothing new is
    begun; the work then has a few seconds to finish, unless somebody insists.
    """
    task = asyncio.create_task(work)
    asked = asyncio.create_task(stop.asked.wait())
    await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if not task.done():
        ease()
        insisted = asyncio.create_task(stop.insisted.wait())
        await asyncio.wait(
            {task, insisted}, timeout=GRACE, return_when=asyncio.FIRST_COMPLETED
        )
        insisted.cancel()
    if not task.done():
        task.cancel()
    try:
        return await task
    except asyncio.CancelledError:
        return None


async def _either(event: asyncio.Event, seconds: float) -> None:
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait({waiting}, timeout=seconds)
    waiting.cancel()
