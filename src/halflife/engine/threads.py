"""Calls from threads into the event loop, and from a loop's thread past that loop."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from typing import Any, Protocol, TypeVar, runtime_checkable

Result = TypeVar("Result")
_PATIENCE = 5.0  # seconds for work that was cancelled; requests in flight take 0.5 s


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


def call_apart(
    call: Callable[[], Result], cancel: Callable[[], object] | None = None
) -> Result:
    """Return the result of a call that runs event loops of its own.

    In the thread of a running loop, as that of a notebook, there can be no second one:
    there the call is made in another thread, and the loop waits for it.

    Args:
        call: It opens whatever must stay in one thread, such as a store.
        cancel: Ends the call early after a keyboard interrupt, which then waits for it.

    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return call()
    pool = ThreadPoolExecutor(1, "halflife")
    done = pool.submit(copy_context().run, call)
    try:
        return done.result()
    except KeyboardInterrupt:
        if cancel is not None:
            cancel()
            wait([done], _PATIENCE)
        raise
    finally:
        pool.shutdown(wait=False)


def complete(work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Return the result of a coroutine, also where a loop is running."""
    begun: Future[asyncio.Task[Result]] = Future()

    async def main() -> Result:
        begun.set_result(asyncio.ensure_future(work()))
        return await begun.result()

    def cancel() -> None:
        task = begun.result()
        with suppress(RuntimeError):  # it may have ended just now
            task.get_loop().call_soon_threadsafe(task.cancel)

    return call_apart(lambda: asyncio.run(main()), cancel)


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
