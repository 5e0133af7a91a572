"""The protocols of a store, by use.

An item's key is its name in the whole store: a key named by two sources belongs to the
one that named it first. A run writes only about the items of its sources. A function
takes the smallest protocol that it needs; ``stores.Store`` is all of them.
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
from halflife.core.object_store import NOTHING, Listing, Register
from halflife.core.observation import Content, Observation, Observations

RESUME_WITHIN = 0.5  # days; the work of an older interrupted run is out of date


@dataclass(frozen=True, slots=True)
class Run:
    """The right to write about some sources for a while.

    Attributes:
        id: The run's number.
        token: The fencing token: larger than that of every earlier holder.
        sources: The sources it covers.
        began: When it began, in days; an interrupted run keeps its beginning.
        resumed: Whether it continues an interrupted run of the same sources that is no
            older than ``RESUME_WITHIN``.

    """

    id: int
    token: int
    sources: tuple[str, ...]
    began: float
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Staged:
    """An answer that waits for a decision whether to accept it.

    Attributes:
        run: The run that fetched it; its name in ``sync --accept``.
        source: The set source.
        listing: The answer.
        why: Why it was held, in words.

    """

    run: int
    source: str
    listing: Listing
    why: str


@dataclass(frozen=True, slots=True)
class Note:
    """Typed state in its stored form.

    Attributes:
        version: The version of its format.
        text: The value, as JSON.

    """

    version: int
    text: str


class Items(Protocol):
    """The known items, and the sources they belong to."""

    def add(self, items: Iterable[Item]) -> int:
        """Add items; return how many were new. Known items get the new weight."""
        ...

    def items(self, sources: Sequence[str] = ()) -> list[Item]:
        """Return the items of the named sources, or all."""
        ...

    def item_count(self, sources: Sequence[str] = ()) -> int:
        """Return the number of known items of the named sources.

        Without names it is an approximate total, which is very fast.
        """
        ...

    def rows_by_source(
        self, sources: Sequence[str], evidence: Evidence
    ) -> Mapping[str, Ints]:
        """Return the rows of each source's items in the evidence, ascending."""
        ...

    def source_of(self, key: str) -> str | None:
        """Return the name of the source that an item belongs to, if it is known."""
        ...

    def url_of(self, key: str) -> str:
        """Return the address to fetch for an item: a stored one, or else its key."""
        ...


class Log(Protocol):
    """Observations in the order in which they were made, and their evidence."""

    def append(self, run: Run, looks: Observations) -> None:
        """Add observations, durably, or none of them; raise ``LeaseLost``.

        Adding the same observation twice changes nothing. A hint of an unknown item
        makes it known.
        """
        ...

    def evidence(self, sources: Sequence[str] = ()) -> Evidence:
        """Return the evidence of all observations; ``append`` keeps it up to date."""
        ...

    def history(self, sources: Sequence[str] = ()) -> History:
        """Return every successful observation so far, as columns."""
        ...

    def held(self, keys: Sequence[str]) -> list[Observation | None]:
        """Return each item's last successful observation, for conditional requests."""
        ...

    def failure_notes(self, tried: Iterable[tuple[str, float]]) -> list[str]:
        """Return the notes of failed observations, by item and time."""
        ...

    def links(self, sources: Sequence[str] = ()) -> Links:
        """Return the links between the items of the sources, in their order.

        An observation that reads the links of a page replaces them; any other leaves
        them as they were.
        """
        ...

    def content(self, key: str) -> Content | None:
        """Return the copy we hold of an item."""
        ...


class Leases(Protocol):
    """Leases: the right to write about sources for a limited time."""

    def begin(self, sources: Sequence[str], now: float, *, lease: float) -> Run:
        """Take the lease on sources for ``lease`` days; raise ``AlreadyRunning``."""
        ...

    def renew(self, run: Run, now: float, *, lease: float) -> None:
        """Extend the lease; raise ``LeaseLost`` if another run took it."""
        ...

    def fence(self, run: Run) -> None:
        """Raise ``LeaseLost`` if the run no longer holds its lease."""
        ...

    def finish(self, run: Run, now: float, *, done: bool = True) -> None:
        """Give the lease back; the next run resumes one that is not done."""
        ...


class RequestLedger(Protocol):
    """The requests that were charged, with their times.

    Attributes:
        charged_here: Requests charged through this object, by the sources of the run.

    """

    charged_here: Counter[tuple[str, ...]]

    def charge(self, run: Run, requests: int, now: float) -> None:
        """Write down, durably, that requests are about to be sent.

        A negative number refunds requests that were charged and not sent.
        """
        ...

    def spent(self, since: float) -> int:
        """Return how many requests were charged at or after ``since``."""
        ...

    def spent_by(self, sources: Sequence[str], since: float) -> int:
        """Return how many of them were charged to runs of exactly these sources."""
        ...


class Objects(Protocol):
    """The stored history of set sources, and answers that wait for a decision."""

    def collections(self) -> list[str]:
        """Return the names of the set sources with stored history."""
        ...

    def collection(self, name: str) -> Collection:
        """Return the history of a set source; raise ``UsageError`` if there is none."""
        ...

    def register(self, name: str) -> Register:
        """Return the stored register of a set source; ``UsageError`` if none."""
        ...

    def save_collection(self, run: Run, collection: Collection) -> None:
        """Replace the stored history of the set source."""
        ...

    def save_register(
        self, run: Run, name: str, register: Register, *, anew: bool = False
    ) -> None:
        """Add to the register of a set source, or replace it; all or nothing.

        Any valid observation supersedes an answer that waits for a decision.
        """
        ...

    def stage(
        self, run: Run, name: str, listing: Listing, why: str, shown: Register = NOTHING
    ) -> None:
        """Store an answer until there is a decision.

        ``shown`` is what it shows that needs none: it is added to the register in the
        same transaction. Nothing else changes.
        """
        ...

    def staged(self) -> list[Staged]:
        """Return the answers that wait for a decision, oldest first."""
        ...

    def dismiss(self, run: int) -> int:
        """Remove the staged answer of a run; return how many there were."""
        ...


class NoteBook(Protocol):
    """Typed state that persists between runs; ``stores.notes`` has the types.

    A note is about a source, or about all of them if ``source`` is empty. Notes
    of one kind have different numbers.
    """

    def note(self, source: str, kind: str, number: int = 0) -> Note | None:
        """Return a note as it was stored; None if there is none."""
        ...

    def note_numbers(self, source: str, kind: str) -> list[int]:
        """Return the numbers of the notes of a kind about a source, ascending."""
        ...

    def save_note(self, source: str, kind: str, note: Note, number: int = 0) -> None:
        """Store a note durably, in place of the previous one."""
        ...

    def remove_note(self, source: str, kind: str, number: int = 0) -> None:
        """Remove a note, if there is one."""
        ...


class Transactions(Protocol):
    """Several changes in one transaction."""

    def together(self) -> AbstractContextManager[object]:
        """Run the methods called inside in one transaction.

        Nothing may be awaited inside: others cannot write in the meantime. State held
            only in memory is not rolled back.
        """
        ...
