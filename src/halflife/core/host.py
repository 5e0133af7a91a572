"""The state of hosts that politeness depends on."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class HostState:
    """The state of one host; times in days since the epoch, UTC.

    Attributes:
        name: Scheme, host and port, as in ``https://example.org:443``.
        not_before: The host asked for no requests before this time.
        failures: Consecutive failures; the back-off grows with them.
        robots: The text of its robots.txt as last fetched, decoded.
        robots_status: How that fetch ended: an HTTP status, 0 if unreachable.
        robots_at: When that was.

    """

    name: str
    not_before: float = 0.0
    failures: int = 0
    robots: str = ""
    robots_status: int = -1
    robots_at: float = float("-inf")


class HostBook(Protocol):
    """Persistent storage of the state of hosts."""

    def host(self, name: str) -> HostState | None:
        """Return the state of a host; None if it is unknown."""
        ...

    def save_host(self, state: HostState) -> None:
        """Save the state of a host."""
        ...
