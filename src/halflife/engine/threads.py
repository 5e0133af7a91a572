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
