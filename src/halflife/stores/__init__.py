"""Where observations are kept.

An item's key is its name in the whole store: a key that two sources name belongs
to the one that named it first. A run writes about the items of its sources only.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from halflife.core.evidence import Evidence
from halflife.core.history import History
from halflife.core.host import HostState
from halflife.core.item import Item
from halflife.core.lazy_import import late
from halflife.core.lifetimes import Collection
from halflife.core.links import Links
from halflife.core.object_store import Listing, Register
from halflife.core.observation import Content, Looks, Observation

if TYPE_CHECKING:
    from halflife.stores.lifetimes import Staged
else:  # what searches take is much to import, and not all have any
    __getattr__ = late(__name__, "summaries")

RESUME_WITHIN = 0.5  # days; what an older interrupted run had done is old news


@dataclass(frozen=True, slots=True)
class Run:
    """The right to write about some sources for a while.

    Attributes:
        id: The run's number.
        token: The fencing token: larger than that of every earlier holder.
        sources: The sources it covers.
        began: When it began, in days; an interrupted run keeps its beginning.
        resumed: Whether it goes on with what a run of the same sources left undone
            when it was interrupted, not longer than ``RESUME_WITHIN`` ago.

    """

    id: int
    token: int
    sources: tuple[str, ...]
    began: float
    resumed: bool = False


class Store(Protocol):
    """An append-only log of observations; everything else is derived from it."""

    def add(self, items: Iterable[Item]) -> int:
        """Make items known; return how many were new. Known ones get the new weight."""
        ...

    def items(self, sources: Sequence[str] = ()) -> list[Item]:
        """Return the items of the named sources, or all."""
        ...

    def source_of(self, key: str) -> str | None:
        """Return the name of the source that an item belongs to, if it is known."""
        ...

    def url_of(self, key: str) -> str:
        """Return what is sent for an item: its key, unless it was found with more."""
        ...

    def evidence(self, sources: Sequence[str] = ()) -> Evidence:
        """Return what all looks add up to; ``append`` keeps it up to date."""
        ...

    def history(self, sources: Sequence[str] = ()) -> History:
        """Return every good look so far, as columns."""
        ...

    def held(self, keys: Sequence[str]) -> list[Observation | None]:
        """Return the last good look at each item, for conditional requests."""
        ...

    def begin(self, sources: Sequence[str], now: float, *, lease: float) -> Run:
        """Take the lease on sources for ``lease`` days; raise ``AlreadyRunning``."""
        ...

    def renew(self, run: Run, now: float, *, lease: float) -> None:
        """Keep the lease; raise ``LeaseLost`` if another took it."""
        ...

    def finish(self, run: Run, now: float, *, done: bool = True) -> None:
        """Give the lease back; the next run goes on from one that is not done."""
        ...

    def append(self, run: Run, looks: Looks) -> None:
        """Add observations, durably, or none of them; raise ``LeaseLost``.

        Adding the same look twice changes nothing. A hint of an unknown item
        makes it known.
        """
        ...

    def links(self, sources: Sequence[str] = ()) -> Links:
        """Return which items of the sources link to which, in their order.

        A look that reads where a page leads replaces its links; any other leaves
        them as they were.
        """
        ...

    def content(self, key: str) -> Content | None:
        """Return the copy we hold of an item."""
        ...

    def host(self, name: str) -> HostState | None:
        """Return what is known of a host."""
        ...

    def save_host(self, state: HostState) -> None:
        """Remember what is known of a host."""
        ...

    def memo(self, name: str) -> str | None:
        """Return a note saved under this name, such as a fitted model."""
        ...

    def save_memo(self, name: str, text: str) -> None:
        """Save a note under a name, in place of the one before."""
        ...

    def spent(self, since: float) -> int:
        """Return how many requests were charged at or after ``since``."""
        ...

    def charge(self, run: Run, requests: int, now: float) -> None:
        """Write down, durably, that requests are about to be sent.

        A negative number gives back what was charged and not sent.
        """
        ...

    def collections(self) -> list[str]:
        """Return the names of the set sources of which something is kept."""
        ...

    def collection(self, name: str) -> Collection:
        """Return the history of a set source; raise ``UsageError`` if there is none."""
        ...

    def register(self, name: str) -> Register:
        """Return all that is kept of a set source; ``UsageError`` if nothing is."""
        ...

    def save_collection(self, run: Run, collection: Collection) -> None:
        """Keep a history in place of all that was kept of the set source."""
        ...

    def save_register(
        self, run: Run, name: str, register: Register, *, anew: bool = False
    ) -> None:
        """Add to what is kept of a set source, or replace it; all or nothing.

        An answer that waited for a decision is overtaken by any look that counts.
        """
        ...

    def stage(self, run: Run, name: str, listing: Listing, why: str) -> None:
        """Put an answer aside until somebody decides; nothing else changes."""
        ...

    def staged(self) -> "list[Staged]":
        """Return the answers that wait for a decision, oldest first."""
        ...
