"""The interface of the work queue, whatever stores it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class SeenAnswer(NamedTuple):
    """The result of a worker for a page: its number, requests sent, and the answer."""

    item: int
    requests: int
    answer: bytes


class WorkerSign(NamedTuple):
    """A worker at its last sign of life; times in days.

    Attributes:
        name: Its name for people.
        began: When it was started.
        seen: When it last renewed its entry.
        is_alive: Whether it is working, as far as its leases show.
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
    """Workers that share a store, and their work in progress.

    Attributes:
        workers: Those that are working, and those lost in the last minutes.
        waiting: Pages that wait for a worker, or are with one.
        unfiled: Pages that were fetched and are not in the log yet.
        sources: Listings and other sources read as a whole that wait for a worker.
        reading: Such sources that a worker is reading.
        is_planned: Whether one of the workers is the planner at this moment.

    """

    workers: tuple[WorkerSign, ...] = ()
    waiting: int = 0
    unfiled: int = 0
    sources: int = 0
    reading: int = 0
    is_planned: bool = False


class PageHandout(Protocol):
    """The queue through which the planner hands out pages and gets the results."""

    def hand_out(self, run: int, pages: Sequence[tuple[str, str, float, int]]) -> None:
        """Let workers fetch pages: key, host, gain, and 1 to fetch without validators.

        Raise ``LeaseLost`` if another worker has become the planner.
        """
        ...

    def answers(self, sources: Sequence[str], most: int) -> list[SeenAnswer]:
        """Return the results of workers for pages of sources, oldest first."""
        ...

    def file(self, items: Sequence[int]) -> None:
        """Remove pages whose answers are in the log."""
        ...

    def is_open(self, sources: Sequence[str]) -> bool:
        """Return whether pages of sources are unfinished."""
        ...

    def withdraw(self, sources: Sequence[str]) -> None:
        """Take back the pages of sources that no worker is fetching."""
        ...
