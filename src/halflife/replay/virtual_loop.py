"""An event loop with a virtual clock: waiting takes no real time.

The program that runs on it is the same as in production. It sleeps, waits with time
limits, works in threads and sends requests as always; only the time that it sees is
virtual. The clock stands still while work is under way outside the loop (a request, a
thread) and jumps to the next timer when no task can run.

Results of outside work come back when all of it is done, in the order in which it was
begun. So the same program makes the same requests in the same order, whether answers
come over HTTP in any order or from a recording at once.
"""

import asyncio
import selectors
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextvars import Context
from heapq import heappush
from itertools import count
from typing import Any, TypeVar

from halflife.core.errors import HalflifeError

Result = TypeVar("Result")

# Timers that are due within so many seconds are due now: far above the rounding error
# of adding up seconds over years, far below any delay that a setting can name.
RESOLUTION = 1e-6
THREADS = 32  # synchronous planners that may wait for answers at the same time


class StandstillError(HalflifeError):
    """All tasks wait for something that cannot happen."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is in seconds since it was created."""

    _scheduled: list[asyncio.TimerHandle]  # the heap of the standard library

    def __init__(self) -> None:
        self._now = 0.0
        self._outside = 0  # requests and threads that are under way
        self._numbers = count()
        self._turns: list[tuple[int, asyncio.Future[None]]] = []
        self._settled: list[asyncio.Future[None]] = []
        self._local = threading.local()
        self._threads = ThreadPoolExecutor(THREADS, "halflife-replay")
        super().__init__(_Selector(self))
        self._clock_resolution = RESOLUTION

    def time(self) -> float:
        """Return the virtual time, in seconds."""
        return self._now

    def close(self) -> None:
        """Close the loop and its threads."""
        self._threads.shutdown(wait=True)
        super().close()

    def call_at(  # type: ignore[override]  # typeshed wants a variadic tuple
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,  # noqa: ANN401  (as in the standard library)
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call back at a time; callbacks of equal times keep the order of the calls."""
        timer = _Timer(when, callback, args, self, context)
        timer.number = next(self._numbers)
        heappush(self._scheduled, timer)
        timer._scheduled = True  # noqa: SLF001  (as the standard library does)
        return timer

    async def settle(self) -> None:
        """Wait until no other task has anything left to do at this moment."""
        mine = self.create_future()
        self._settled.append(mine)
        await mine

    async def outside(self, work: Awaitable[Result]) -> Result:
        """Wait for work outside the loop; no virtual time passes meanwhile."""
        number = next(self._numbers)
        self._outside += 1
        return await self._finished(work, number)

    def run_in_executor(  # type: ignore[override]  # typeshed wants a variadic tuple
        self,
        executor: Executor | None,
        func: Callable[..., Result],
        *args: Any,  # noqa: ANN401  (as in the standard library)
    ) -> "asyncio.Future[Result]":
        """Run a function in a thread; no virtual time passes meanwhile."""
        number = next(self._numbers)
        self._outside += 1

        def work() -> Result:
            self._local.number = number
            return func(*args)

        inner = super().run_in_executor(executor or self._threads, work)
        return self.create_task(self._finished(inner, number))

    async def _finished(self, inner: Awaitable[Result], number: int) -> Result:
        """Wait for outside work that has begun, and for its turn to come back."""
        try:
            return await inner
        finally:
            self._outside -= 1
            await self._turn(number)

    def lend(self, work: Coroutine[Any, Any, Result]) -> Coroutine[Any, Any, Result]:
        """Return a coroutine that a thread may submit to the loop and wait for.

        While the thread waits it does not hold up the clock. Call this in the thread.
        """
        return self._lent(work, self._local.number)

    async def _lent(self, work: Coroutine[Any, Any, Result], number: int) -> Result:
        self._outside -= 1
        try:
            await self._turn(number)
            return await work
        finally:
            self._outside += 1
            work.close()

    async def _turn(self, number: int) -> None:
        """Wait until nothing is under way outside, and for our place in the order."""
        mine = self.create_future()
        self._turns.append((number, mine))
        await mine

    def next_event(self, timeout: float | None) -> bool:
        """Advance without outside events; return whether to wait for some instead."""
        if self._outside:
            return True
        if self._turns:
            turns, self._turns = sorted(self._turns, key=lambda turn: turn[0]), []
            _wake(future for _, future in turns)
        elif self._settled:
            settled, self._settled = self._settled, []
            _wake(settled)
        elif timeout is None:
            raise StandstillError(
                "the replay cannot go on: nothing is left to wait for"
            )
        else:
            self._now = self._next_time(timeout)
        return False

    def _next_time(self, timeout: float) -> float:
        """Return the time of the next timer, or as far as one step may go.

        Adding up the waits instead would make the last digit of the time depend on
        timers in between, such as those of the HTTP client.
        """
        due = self._scheduled[0].when() if self._scheduled else self._now
        return due if due - self._now <= timeout + RESOLUTION else self._now + timeout


class _Timer(asyncio.TimerHandle):
    """A timer; plain ones would leave the order of equal times undefined."""

    number = 0
    _scheduled: bool  # whether it lies in the heap

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, _Timer):
            return NotImplemented
        return (self.when(), self.number) < (other.when(), other.number)


def _wake(waiting: "Iterable[asyncio.Future[None]]") -> None:
    for future in waiting:
        if not future.done():
            future.set_result(None)


class _Selector(selectors.DefaultSelector):
    """Waits for real events only while work is under way outside the loop."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if found or timeout == 0:
            return found
        if self._loop.next_event(timeout):
            return super().select(None)
        return []


def run(main: Callable[[VirtualLoop], Coroutine[Any, Any, Result]]) -> Result:
    """Run a program on a virtual loop; return its result.

    >>> async def nap(loop: VirtualLoop) -> float:
    ...     await asyncio.sleep(86400.0)
    ...     return loop.time()
    >>> run(nap)
    86400.0
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        return runner.run(main(loop))
