"""Stopping when asked: the first signal asks, the second one insists.

Signals are taken in by a thread of their own (``Watchdog``), so that the program is not
deaf while the event loop is busy with something that does not let go. What was asked to
stop and has not stopped within a second is ended from there. That is as safe as a
crash: the store loses nothing that was acknowledged, and a dead process holds no lease.
"""

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from math import inf
from typing import Any, TypeVar

Result = TypeVar("Result")

GRACE = 0.5  # seconds that requests in flight may take to finish
LIMIT = 1.0  # seconds in which the program has ended, also if it is busy
LAST = 0.3  # seconds to close the store when all else is done, if the second is over
WIND_UP = 1.0  # seconds more, on a slow machine, while the loop lets go of its work
STALLED = 2.0  # seconds more while the machine gives the program no time or no disk
IDLE = 0.25  # of a processor: who had less of it since the signal did not compute
INSIST = 0.5  # seconds that remain after a second signal
_TICK = 0.05  # seconds between two checks whether the program has ended
_BUSY = 0.3  # seconds without a sign of life after which the loop is busy


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
    def heard(
        self,
        phrase: Callable[[str], str] = "halflife: {}".format,
        limit: float = LIMIT,
    ) -> Iterator[None]:
        """Listen for SIGINT and SIGTERM while the block runs.

        Args:
            phrase: Makes a line for stderr of what is to be said.
            limit: Seconds in which the program has ended after the first.

        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.ask, number)
        watchdog = Watchdog(loop, phrase, limit)
        try:
            yield
        finally:
            watchdog.close()
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


class Watchdog:
    """Hears signals beside the event loop, and ends the program if that cannot.

    Python tells of a signal by a byte on a socket, which the event loop reads when it
    gets to it. A thread reads it in its place and passes it on. From then on the
    program has ``LIMIT`` seconds to end, and after a second signal ``INSIST``; a loop
    that shows signs of life has ``WIND_UP`` more, and a program that computes nothing,
    because it waits for the disk or for others to leave the processor, ``STALLED``. The
    watch ends when the loop is closed: until then a reader that computes in a thread
    could still keep the program from ending.

    Args:
        loop: The loop, whose handlers are in place.
        phrase: Makes a line for stderr of what is to be said.
        limit: Seconds in which the program has ended, unless it winds up.

    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        phrase: Callable[[str], str],
        limit: float = LIMIT,
    ) -> None:
        self._loop, self._phrase, self._limit = loop, phrase, limit
        self._ears, self._mouth = socket.socketpair()
        self._mouth.settimeout(0.0)
        self._loops = signal.set_wakeup_fd(self._mouth.fileno())
        self._first = 0  # the signal that names the exit code
        # By the clock that nobody can set: when the first signal was heard and the
        # second, when the loop last showed a sign of life, and when the work was done.
        self._heard = self._alive = 0.0
        self._computed = 0.0  # seconds of processors that were used before the signal
        self._insisted = self._done = inf
        self._thread = threading.Thread(target=self._watch, name="signals", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let the loop hear signals by itself again."""
        self._done = time.monotonic()
        signal.set_wakeup_fd(self._loops)
        self._mouth.close()  # the thread reads the end of it
        if not self._first:
            self._thread.join(_TICK)  # no longer: a signal may come at this moment

    def _watch(self) -> None:
        open_ = True
        with self._ears:
            while open_:
                open_ = self._listen()
                self._end_if_late()
        while self._first and not self._loop.is_closed():
            time.sleep(_TICK)
            self._end_if_late()

    def _listen(self) -> bool:
        """Take in what is heard; say whether there may be more."""
        self._ears.settimeout(_TICK if self._first else None)
        try:
            heard = self._ears.recv(64)
        except TimeoutError:
            return True
        asked = [n for n in heard if n in {signal.SIGINT, signal.SIGTERM}]
        now = time.monotonic()
        for number in asked:
            if self._first:
                self._insisted = min(self._insisted, now)
            else:
                self._first, self._heard = number, now
                self._computed = time.process_time()
        # Passed on last: a loop that ends at once finds out here that it was asked to.
        with suppress(OSError):  # the loop may be closed just now
            os.write(self._loops, heard)
        return bool(heard)

    def _show_life(self) -> None:
        self._alive = time.monotonic()

    def _end_if_late(self) -> None:
        if not self._first:
            return
        with suppress(RuntimeError):  # the loop may be closed just now
            self._loop.call_soon_threadsafe(self._show_life)
        now = time.monotonic()
        if now >= self._end(now) and not self._loop.is_closed():
            _write(self._phrase("still busy after it was asked to stop; ended"))
            os._exit(128 + self._first)

    def _end(self, now: float) -> float:
        """Return when the program is ended, as things stand."""
        end = self._heard + self._limit
        if self._done < inf:
            end = max(end, self._done + LAST)
        elif now - self._alive < _BUSY:
            end += WIND_UP
        if time.process_time() - self._computed < IDLE * (now - self._heard):
            end += STALLED
        return min(end, self._insisted + INSIST)


def _write(line: str) -> None:
    """Write a line to stderr, whatever else is being written."""
    with suppress(OSError):
        os.write(2, f"{line}\n".encode())


async def until_stopped(
    work: Coroutine[Any, Any, Result], stop: Stop, ease: Callable[[], None]
) -> Result | None:
    """Return what the work returns; None if it had to be broken off.

    When asked to stop, ``ease`` is called, which must see to it that nothing new is
    begun; the work then has half a second to finish, unless somebody insists.
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
