"""Threads that ask the event loop."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar, runtime_checkable

Result = TypeVar("Result")


@runtime_checkable
class Lender(Protocol):
    """A loop that keeps its clock from running while threads think."""

    def lend(self, work: Coroutine[Any, Any, Result]) -> Coroutine[Any, Any, Result]:
        """Return what the thread submits in place of the work."""
        ...


def submit(
    work: Coroutine[Any, Any, Result], loop: asyncio.AbstractEventLoop
) -> Future[Result]:
    """Let the loop do some work for the thread that calls; it waits for the result."""
    lent = loop.lend(work) if isinstance(loop, Lender) else work
    return asyncio.run_coroutine_threadsafe(lent, loop)


class LoopCaller:
    """Lets one thread call coroutines of the loop, and the loop break a call off.

    What is under way is known to the loop itself. A future that the thread keeps would
    come too late: the loop may be at work before the thread has it in hand.

    Args:
        loop: The loop.

    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._broken = False
        self._task: asyncio.Task[Any] | None = None

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Return what the work returns; ``CancelledError`` if it was broken off.

        Called in the thread.
        """
        return submit(self._tracked(work), self._loop).result()

    def break_off(self) -> None:
        """Break off what is under way and all that is called later; in the loop."""
        self._broken = True
        if self._task is not None:
            self._task.cancel()

    async def _tracked(self, work: Coroutine[Any, Any, Result]) -> Result:
        if self._broken:
            work.close()
            raise asyncio.CancelledError
        self._task = asyncio.current_task()
        try:
            return await work
        finally:
            self._task = None
