"""How many requests each host takes in one turn, at the pace it asks for."""

from collections.abc import Callable

from halflife.core.host import HostBook, HostState
from halflife.net.robots import rules

_PORTS = (("https", 443), ("http", 80))


class Rooms:
    """Requests that a host takes in a turn of so many seconds.

    One for each delay that fits into the turn, and one at its beginning. The delay is
    ours, or the longer one of the host's robots.txt as far as it was read. A host
    that keeps no delay takes as many as it is sent. For ``halflife.belief.room``.

    Args:
        book: What is known of hosts.
        delay: Seconds between two requests to one host, at least.
        turn: How many seconds a turn may last.

    """

    def __init__(self, book: HostBook, delay: float, turn: float) -> None:
        self.book = book
        self.delay = delay
        self.turn = turn
        self._read: dict[str, tuple[float, float]] = {}

    def __call__(self, host: str) -> float:
        """Return the requests that a host, named as items' groups are, will take."""
        asked = [self._asked(state) for state in _states(self.book.host, host)]
        delay = max([self.delay, *asked])
        return float("inf") if delay <= 0 else self.turn // delay + 1.0

    def _asked(self, state: HostState) -> float:
        """Return the delay that a robots.txt asks for; each is read once."""
        known = self._read.get(state.name)
        if known is None or known[0] != state.robots_at:
            known = self._read[state.name] = (state.robots_at, rules(state).delay)
        return known[1]


def _states(find: Callable[[str], HostState | None], host: str) -> list[HostState]:
    """Return what is known of a host under the schemes by which it may be asked."""
    bare = host.rpartition("]")[2] if host.startswith("[") else host
    named = ":" in bare
    names = [f"{s}://{host}" if named else f"{s}://{host}:{p}" for s, p in _PORTS]
    return [state for state in map(find, names) if state is not None]
