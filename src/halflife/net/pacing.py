"""When the next request may be sent to a host."""

import asyncio
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from halflife.core.host import HostState
from halflife.net.dates import SECONDS, from_http

LONGEST_CLOSURE = 1.0  # days; after that a host is tried again in any case
FIRST_CLOSURE = 60.0 / SECONDS  # after the first 429 or 503 that names no time
PATIENT_FAILURES = 2  # other failures in a row before the host is closed
LONGEST_CRAWL_DELAY = 60.0  # seconds; the longest delay of a robots.txt that is kept


@dataclass(slots=True)
class Lane:
    """The queue of requests to one host.

    The delay is kept between the *answer* to one request and the sending of the next:
    the server then cannot receive them closer together, however the network delays the
    first.
    """

    last: float = float("-inf")  # when it last answered, in the loop's time
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def wait(self, delay: float) -> float:
        """Return the seconds until the next request may be sent."""
        return max(0.0, self.last + delay - asyncio.get_running_loop().time())

    def mark(self) -> None:
        """Record that a request was sent, or its answer began, now."""
        self.last = asyncio.get_running_loop().time()

    def mark_ago(self, ago: float) -> None:
        """Record that another process sent a request ``ago`` seconds ago."""
        self.last = max(self.last, asyncio.get_running_loop().time() - ago)

    def ago(self) -> float:
        """Return the seconds since the last request or answer."""
        return asyncio.get_running_loop().time() - self.last

    async def enter(self, delay: float) -> bool:
        """Wait for a turn; return whether ``leave`` must be called.

        Without a delay any number of requests may be sent at once.
        """
        if delay <= 0:
            return False
        await self._turn.acquire()
        try:
            await asyncio.sleep(self.wait(delay))
        except asyncio.CancelledError:
            self._turn.release()
            raise
        return True

    def leave(self) -> None:
        """Let the next request be sent."""
        self._turn.release()


def retry_after(text: str, now: float) -> float | None:
    """Return the days of a Retry-After header; None if it is invalid.

    >>> retry_after("86400", 0.0), retry_after("Fri, 02 Jan 1970 00:00:00 GMT", 0.5)
    (1.0, 0.5)
    >>> retry_after("999999999", 0.0), retry_after("later", 0.0)
    (1.0, None)
    """
    text = text.strip()
    if text.isascii() and text.isdigit():
        return min(int(text[:12]) / SECONDS, LONGEST_CLOSURE)
    moment = from_http(text)
    if moment is None:
        return None
    return min(max(moment - now, 0.0), LONGEST_CLOSURE)


def back_off(name: str, failures: int) -> float:
    """Return the days to close a host after this many failures in a row.

    The time doubles with each failure, up to a day; up to a quarter is added,
    differently for each host, so that hosts that failed together are not tried again
    together.

    >>> [round(back_off("https://example.org:443", n) * 86400) for n in (1, 2, 30)]
    [71, 142, 86400]
    """
    spread = blake2b(name.encode(), digest_size=1).digest()[0] / 256 / 4
    grown = FIRST_CLOSURE * 2.0 ** min(failures - 1, 20)
    return min(grown * (1 + spread), LONGEST_CLOSURE)


def after_answer(state: HostState, status: int, pause: str, now: float) -> HostState:
    """Return the state of a host after it answered with a status.

    429 and 503 close the host for its ``pause`` (the Retry-After header), or else for a
    time that doubles; other server errors do so only when they come in a row.
    """
    if status == 429 or status >= 500:
        failures = state.failures + 1
        busy = status in {429, 503}
        wait = retry_after(pause, now) if busy and pause else None
        if wait is not None:
            return replace(state, failures=failures, not_before=now + wait)
        return _closed(state, failures if busy else failures - PATIENT_FAILURES, now)
    if state.failures or state.not_before:
        return replace(state, failures=0, not_before=0.0)
    return state


def after_silence(state: HostState, now: float) -> HostState:
    """Return the state of a host after it gave no complete answer."""
    return _closed(state, state.failures + 1 - PATIENT_FAILURES, now)


def _closed(state: HostState, steps: int, now: float) -> HostState:
    state = replace(state, failures=state.failures + 1)
    if steps < 1:
        return state
    return replace(state, not_before=now + back_off(state.name, steps))


def closed_for(state: HostState, now: float) -> float:
    """Return the days for which the host is still closed.

    A time beyond the longest closure was written by a wrong clock, and is cut.
    """
    return min(max(state.not_before - now, 0.0), LONGEST_CLOSURE)
