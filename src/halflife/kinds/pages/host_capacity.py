"""How many requests can be sent to each host in one turn, given its delay."""

from collections.abc import Callable

from halflife.core.host import HostBook, HostState
from halflife.net.robots import rules

_PORTS = (("https", 443), ("http", 80))


class HostCapacity:
    """The requests that can be sent to a host in one turn.

    One for each delay that fits into the turn, and one at its start. The delay is
    ours or, if longer, that of the host's robots.txt, if it was read. Without a
    delay there is no limit. For ``halflife.belief.room``.

    Args:
        book: The stored states of hosts.
        delay: Least seconds between two requests to one host.
        turn: Seconds that a turn may last.

    """

    def __init__(self, book: HostBook, delay: float, turn: float) -> None:
        self.book = book
        self.delay = delay
        self.turn = turn
        self._read: dict[str, tuple[float, float]] = {}

    def __call__(self, host: str) -> float:
        """Return the most requests to a host, named as the groups of items are."""
        delays = [self._robots_delay(state) for state in _states(self.book.host, host)]
        delay = max([self.delay, *delays])
        return float("inf") if delay <= 0 else self.turn // delay + 1.0

    def _robots_delay(self, state: HostState) -> float:
        """Return the delay in a robots.txt; each file is read once."""
        cached = self._read.get(state.name)
        if cached is None or cached[0] != state.robots_at:
            cached = self._read[state.name] = (state.robots_at, rules(state).delay)
        return cached[1]


def _states(find: Callable[[str], HostState | None], host: str) -> list[HostState]:
    """Return the stored states of a host for HTTPS and HTTP."""
    bare = host.rpartition("]")[2] if host.startswith("[") else host
    named = ":" in bare
    names = [f"{s}://{host}" if named else f"{s}://{host}:{p}" for s, p in _PORTS]
    return [state for state in map(find, names) if state is not None]
