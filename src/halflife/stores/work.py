"""Work that is handed out to workers, whatever keeps it: the parts that others need."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class SeenAnswer(NamedTuple):
    """What a worker brings of a page: its number, requests sent, and what it saw."""

    item: int
    requests: int
    answer: bytes


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

    def open_pages(self, sources: Sequence[str]) -> tuple[int, int]:
        """Return how many pages wait for a worker, and how many are not done in all."""
        ...

    def withdraw(self, sources: Sequence[str]) -> None:
        """Take back the pages of sources that no worker is at."""
        ...
