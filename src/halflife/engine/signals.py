"""Stop on signals: the first signal requests an end, the second forces it.

A thread of its own (``Watchdog``) receives signals, so that the program reacts while
the event loop is busy. A program that has not stopped within a second of the request is
ended from there. That is as safe as a crash: the store loses nothing that was
acknowledged, and a dead process holds no lease.
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
LIMIT = 1.0  # seconds within which the program ends, even if it is busy
LAST = 0.3  # seconds to close the store when all else is done, if the second is over
WIND_UP = 1.0  # seconds more, on a slow machine, while the loop ends its work
STALLED = 2.0  # seconds more while the machine gives the program no time or no disk
IDLE = 0.25  # of a processor: a program that used less since the signal was waiting
INSIST = 0.5  # seconds that remain after a second signal
_TICK = 0.05  # seconds between two checks whether the program has ended
_BUSY = 0.3  # seconds without a sign of life after which the loop counts as busy


class Stop:
    """Whether, and by which signal, the program was asked to stop."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.insisted = asyncio.Event()
        self.signal = 0

    @property
    def code(self) -> int:
        """The exit code of the signal; 0 if there was none."""
        return 128 + self.signal if self.signal else 0

    @contextmanager
    def on_signals(
        self,
        phrase: Callable[[str], str] = "halflife: {}".format,
        limit: float = LIMIT,
    ) -> Iterator[None]:
        """Handle SIGINT and SIGTERM while the block runs.

        Args:
            phrase: Makes a line for stderr from a message.
            limit: Seconds after the first signal within which the program ends.

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
        """Take a signal as a request to stop."""
        if self.asked.is_set():
            self.insisted.set()
        self.signal = self.signal or number
        self.asked.set()

    async def sleep(self, seconds: float) -> None:
        """Sleep for so many seconds, or until a stop is requested."""
        waiting = asyncio.create_task(self.asked.wait())
        await asyncio.wait({waiting}, timeout=seconds)
        waiting.cancel()


class Watchdog:
    """Receives signals beside the event loop, and ends the program if that cannot.

    Python reports a signal by a byte on a socket, which the event loop reads when it
    gets to it. A thread reads the byte in its place and passes it on. From then on the
    program has ``LIMIT`` seconds to end, and after a second signal ``INSIST``; a loop
    that shows signs of life has ``WIND_UP`` more, and a program that computes nothing,
    because it waits for the disk or the processor, ``STALLED``. The watch ends when the
    loop is closed: until then a reader that computes in a thread could still keep the
    program from ending.

    Args:
        loop: The loop, whose handlers are in place.
        phrase: Makes a line for stderr from a message.
        limit: Seconds within which the program ends, unless it winds up.

    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        phrase: Callable[[str], str],
        limit: float = LIMIT,
    ) -> None:
        self._loop, self._phrase, self._limit = loop, phrase, limit
        self._reader, self._writer = socket.socketpair()
        self._writer.settimeout(0.0)
        self._loops = signal.set_wakeup_fd(self._writer.fileno())
        self._first = 0  # the signal that names the exit code
        # By the monotonic clock: when the first signal came and the second, when the
        # loop last showed a sign of life, and when the work was done.
        self._received = self._alive = 0.0
        self._computed = 0.0  # processor seconds used before the signal
        self._insisted = self._done = inf
        self._thread = threading.Thread(target=self._watch, name="signals", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let the loop receive signals by itself again."""
        self._done = time.monotonic()
        signal.set_wakeup_fd(self._loops)
        self._writer.close()  # the thread reads the end of it
        if not self._first:
            self._thread.join(_TICK)  # no longer: a signal may come at this moment

    def _watch(self) -> None:
        open_ = True
        with self._reader:
            while open_:
                open_ = self._listen()
                self._end_if_late()
        while self._first and not self._loop.is_closed():
            time.sleep(_TICK)
            self._end_if_late()

    def _listen(self) -> bool:
        """Receive signals; say whether there may be more."""
        self._reader.settimeout(_TICK if self._first else None)
        try:
            received = self._reader.recv(64)
        except TimeoutError:
            return True
        requests = [n for n in received if n in {signal.SIGINT, signal.SIGTERM}]
        now = time.monotonic()
        for number in requests:
            if self._first:
                self._insisted = min(self._insisted, now)
            else:
                self._first, self._received = number, now
                self._computed = time.process_time()
        # Passed on last: a loop that ends at once must find the request recorded.
        with suppress(OSError):  # the loop may be closed just now
            os.write(self._loops, received)
        return bool(received)

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
        """Return the moment at which the program is ended, as things stand."""
        end = self._received + self._limit
        if self._done < inf:
            end = max(end, self._done + LAST)
        elif now - self._alive < _BUSY:
            end += WIND_UP
        if time.process_time() - self._computed < IDLE * (now - self._received):
            end += STALLED
        return min(end, self._insisted + INSIST)


def _write(line: str) -> None:
    """Write a line to stderr, whatever else is being written."""
    with suppress(OSError):
        os.write(2, f"{line}\n".encode())


async def until_stopped(
    work: Coroutine[Any, Any, Result], stop: Stop, ease: Callable[[], None]
) -> Result | None:
    """Return what the work returns; None if it had to be cancelled.

    When a stop is requested, ``ease`` is called, which must keep new work from being
    started; the work then has half a second to finish, unless a second signal comes.
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
