"""What we know of the machines that answer us, so that we stay polite."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class HostState:
    """One host; times in days since the epoch, UTC.

    Attributes:
        name: Scheme, host and port, as in ``https://example.org:443``.
        not_before: The host asked us to stay away until then.
        failures: Failures in a row; the back-off grows with them.
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
    """Where the state of hosts outlives the program."""

    def host(self, name: str) -> HostState | None:
        """Return what is known of a host."""
        ...

    def save_host(self, state: HostState) -> None:
        """Remember what is known of a host."""
        ...
