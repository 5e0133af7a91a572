"""The parts of a store: what may be asked of it, by use.

An item's key is its name in the whole store: a key that two sources name belongs
to the one that named it first. A run writes about the items of its sources only.
A function takes the smallest part that it needs; ``stores.Store`` is all of them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from halflife.core.arrays import Ints
from halflife.core.evidence import Evidence
from halflife.core.history import History
from halflife.core.item import Item
from halflife.core.lifetimes import Collection
from halflife.core.links import Links
from halflife.core.object_store import Listing, Register
from halflife.core.observation import Content, Looks, Observation

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


@dataclass(frozen=True, slots=True)
class Staged:
    """An answer that waits for somebody to decide whether to believe it.

    Attributes:
        run: The run that brought it; its name in ``sync --accept``.
        source: The set source.
        listing: The answer.
        why: Why it was not believed, in words.

    """

    run: int
    source: str
    listing: Listing
    why: str


@dataclass(frozen=True, slots=True)
class Note:
    """Typed state as it is written.

    Attributes:
        version: The version of its format.
        text: The value, as JSON.

    """

    version: int
    text: str


class Items(Protocol):
    """The items that are known, and whose they are."""

    def add(self, items: Iterable[Item]) -> int:
        """Make items known; return how many were new. Known ones get the new weight."""
        ...

    def items(self, sources: Sequence[str] = ()) -> list[Item]:
        """Return the items of the named sources, or all."""
        ...

    def item_count(self, sources: Sequence[str] = ()) -> int:
        """Return how many items of the named sources are known.

        Without names: about how many there are, which takes no time at all.
        """
        ...

    def rows_by_source(
        self, sources: Sequence[str], evidence: Evidence
    ) -> Mapping[str, Ints]:
        """Return the rows of each source's items in evidence on them, ascending."""
        ...

    def source_of(self, key: str) -> str | None:
        """Return the name of the source that an item belongs to, if it is known."""
        ...

    def url_of(self, key: str) -> str:
        """Return what is sent for an item: its key, unless it was found with more."""
        ...


class Log(Protocol):
    """Observations in the order in which they were made, and what they add up to."""

    def append(self, run: Run, looks: Looks) -> None:
        """Add observations, durably, or none of them; raise ``LeaseLost``.

        Adding the same observation twice changes nothing. A hint of an unknown item
        makes it known.
        """
        ...

    def evidence(self, sources: Sequence[str] = ()) -> Evidence:
        """Return what all observations add up to; ``append`` keeps it up to date."""
        ...

    def history(self, sources: Sequence[str] = ()) -> History:
        """Return every good observation so far, as columns."""
        ...

    def held(self, keys: Sequence[str]) -> list[Observation | None]:
        """Return the last good observation of each item, for conditional requests."""
        ...

    def failure_notes(self, tried: Iterable[tuple[str, float]]) -> list[str]:
        """Return the notes of failed observations, given by item and time."""
        ...

    def links(self, sources: Sequence[str] = ()) -> Links:
        """Return which items of the sources link to which, in their order.

        An observation that reads where a page leads replaces its links; any other
        leaves them as they were.
        """
        ...

    def content(self, key: str) -> Content | None:
        """Return the copy we hold of an item."""
        ...


class Leases(Protocol):
    """Who may write about which source, and for how long."""

    def begin(self, sources: Sequence[str], now: float, *, lease: float) -> Run:
        """Take the lease on sources for ``lease`` days; raise ``AlreadyRunning``."""
        ...

    def renew(self, run: Run, now: float, *, lease: float) -> None:
        """Keep the lease; raise ``LeaseLost`` if another took it."""
        ...

    def fence(self, run: Run) -> None:
        """Raise ``LeaseLost`` if the run no longer holds its lease."""
        ...

    def finish(self, run: Run, now: float, *, done: bool = True) -> None:
        """Give the lease back; the next run goes on from one that is not done."""
        ...


class RequestLedger(Protocol):
    """Requests that were charged, and when.

    Attributes:
        charged_here: Requests charged through this object, by the sources of the run.

    """

    charged_here: Counter[tuple[str, ...]]

    def charge(self, run: Run, requests: int, now: float) -> None:
        """Write down, durably, that requests are about to be sent.

        A negative number gives back what was charged and not sent.
        """
        ...

    def spent(self, since: float) -> int:
        """Return how many requests were charged at or after ``since``."""
        ...

    def spent_by(self, sources: Sequence[str], since: float) -> int:
        """Return how many of them were charged to runs of exactly these sources."""
        ...


class Objects(Protocol):
    """What is kept of set sources, and answers that wait for a decision."""

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

    def staged(self) -> list[Staged]:
        """Return the answers that wait for a decision, oldest first."""
        ...

    def dismiss(self, run: int) -> int:
        """Forget the answer that a run put aside; return how many there were."""
        ...


class NoteBook(Protocol):
    """Typed state that is kept between runs; ``stores.notes`` has the types.

    A note is about a source, or about all of them if ``source`` is empty. Notes
    of one kind have different numbers.
    """

    def note(self, source: str, kind: str, number: int = 0) -> Note | None:
        """Return a note as it was written; None if there is none."""
        ...

    def note_numbers(self, source: str, kind: str) -> list[int]:
        """Return the numbers of the notes of a kind about a source, ascending."""
        ...

    def save_note(self, source: str, kind: str, note: Note, number: int = 0) -> None:
        """Write a note, durably, in place of the one before."""
        ...

    def remove_note(self, source: str, kind: str, number: int = 0) -> None:
        """Remove a note, if there is one."""
        ...


class Transactions(Protocol):
    """Several changes as one."""

    def together(self) -> AbstractContextManager[object]:
        """Let all that methods do inside happen all or not at all.

        Nothing may be awaited inside: others cannot write meanwhile. What lives in
        memory only is not undone.
        """
        ...
