"""Work that is handed out to workers, whatever keeps it: the parts that others need."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class SeenAnswer(NamedTuple):
    """What a worker brings of a page: its number, requests sent, and what it saw."""

    item: int
    requests: int
    answer: bytes


class WorkerSign(NamedTuple):
    """A worker, as it last showed itself; moments in days.

    Attributes:
        name: What people call it.
        began: When it was started.
        seen: When it was last heard of.
        is_alive: Whether it is at work, as far as its leases tell.
        hosts: Hosts that it holds.
        requests: Requests that it has sent.

    """

    name: str
    began: float
    seen: float
    is_alive: bool
    hosts: int
    requests: int


class FleetState(NamedTuple):
    """Workers that share a store, and what is handed out to them.

    Attributes:
        workers: Those that are at work, and those lost in the last minutes.
        waiting: Pages that wait for a worker, or are with one.
        unfiled: Pages that were fetched and are not in the log yet.
        sources: Listings and other sources read whole that wait for a worker.
        reading: Such sources that a worker reads.
        is_planned: Whether one of them decides at this moment.

    """

    workers: tuple[WorkerSign, ...] = ()
    waiting: int = 0
    unfiled: int = 0
    sources: int = 0
    reading: int = 0
    is_planned: bool = False


class PageHandout(Protocol):
    """Where the planner hands pages out, and finds what workers bring."""

    def hand_out(self, run: int, pages: Sequence[tuple[str, str, float, int]]) -> None:
        """Let workers fetch pages: key, host, gain, and 1 if what is held is no use.

        Raise ``LeaseLost`` if another has become the planner.
        """
        ...

    def answers(self, sources: Sequence[str], most: int) -> list[SeenAnswer]:
        """Return what workers have brought of pages of sources, oldest first."""
        ...

    def file(self, items: Sequence[int]) -> None:
        """Forget pages whose answers are in the log."""
        ...

    def is_open(self, sources: Sequence[str]) -> bool:
        """Say whether pages of sources are not done."""
        ...

    def withdraw(self, sources: Sequence[str]) -> None:
        """Take back the pages of sources that no worker is at."""
        ...
