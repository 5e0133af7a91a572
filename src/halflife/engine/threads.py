"""Calls from threads into the event loop."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar, runtime_checkable

Result = TypeVar("Result")


@runtime_checkable
class Lender(Protocol):
    """A loop that stops its clock while threads compute."""

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
    """Lets one thread call coroutines of the loop, and the loop cancel a call.

    The loop itself keeps track of the running call. A future kept by the thread would
    come too late: the loop may be at work before the thread has it.

    Args:
        loop: The loop.

    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._broken = False
        self._task: asyncio.Task[Any] | None = None

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Return the result of the work; raise ``CancelledError`` if it was cancelled.

        Called in the thread.
        """
        return submit(self._tracked(work), self._loop).result()

    def break_off(self) -> None:
        """Cancel the running call and all later ones; called in the loop."""
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
