"""The local copy of a database behind a form, as policies for queries see it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from halflife.core.arrays import Bools, Ints
from halflife.core.forms import Interface, Query, Term
from halflife.core.object_store import Attributes
from halflife.queries.incidence import Incidence

NEVER = float("-inf")


class Origin(IntEnum):
    """The origin of a record of the copy."""

    HISTORY = 0
    SAMPLED = 1
    HARVESTED = 2


@dataclass(slots=True)
class QueryReading:
    """How far one query was read in this round.

    Attributes:
        pages: Pages read, counted from the first.
        keys: Records that they showed.
        gained: Records among them that were new.
        total: The hit count that the form reports; None if it reports none.
        done: Whether all reachable results were read.
        barren: Pages without a new record since the last one with any.
        shown: The records that it showed, in order.

    """

    pages: int = 0
    keys: set[str] = field(default_factory=set)
    gained: int = 0
    total: int | None = None
    done: bool = False
    barren: int = 0
    shown: list[str] = field(default_factory=list)


class Counter:
    """Counts by position in an array that grows.

    >>> numbers = Counter()
    >>> numbers.add([4, 4, 1]); numbers.size(6); numbers.values.tolist()
    [0, 1, 0, 0, 2, 0]
    """

    def __init__(self) -> None:
        self._held = np.zeros(16, dtype=np.intp)
        self._size = 0

    @property
    def values(self) -> Ints:
        """The counts by position."""
        return self._held[: self._size]

    def size(self, size: int) -> None:
        """Grow to at least so many positions."""
        self._size = max(self._size, size)
        if self._size > self._held.size:
            more = np.zeros(max(self._size, 2 * self._held.size), dtype=np.intp)
            more[: self._held.size] = self._held
            self._held = more

    def add(self, positions: Iterable[int], amount: int = 1) -> None:
        """Add an amount to each position, as often as it is listed."""
        for position in positions:
            if position >= self._size:
                self.size(position + 1)
            self._held[position] += amount


class LocalRecords:
    """Records, the terms they meet, and what a round of queries has shown of them.

    A round begins with the old copy; everything that the form shows from then on is
    noted. A new record of this round counts as seen in it.

    Args:
        interface: The form.
        records: The copy, by key.
        came: When each was first seen, in days, as far as that is known.

    Attributes:
        keys: The records in the order in which they came.
        terms: The terms in the order in which they came.
        held: Old records that meet each term, without those known to be gone.
        seen: Old records of each term that this round has shown.
        fresh: New records of each term that this round has shown.
        shown: All records that it has shown.
        sampled: The records of a random sample.
        gone: Old records that were missing from a complete answer.
        updated: Records that were shown with other values than the copy had.
        reads: How far each query was read.
        newest: How far the empty query was read, newest first.
        log: The queries of which a page was read, page by page.
        old: The number of old records.
        again: The number of old records that this round has shown.

    """

    def __init__(
        self,
        interface: Interface,
        records: Mapping[str, Attributes],
        came: Mapping[str, float] | None = None,
    ) -> None:
        self.interface = interface
        self.keys: list[str] = []
        self.terms: list[Term] = []
        self.held, self.seen, self.fresh = Counter(), Counter(), Counter()
        self.shown: set[str] = set()
        self.gone: set[str] = set()
        self.updated: set[str] = set()
        self.sampled: set[str] = set()
        self.reads: dict[Query, QueryReading] = {}
        self.newest = QueryReading()
        self.log: list[Query] = []
        self.again = 0
        self._records: dict[str, Attributes] = {}
        self._origin: dict[str, Origin] = {}
        self._of: dict[str, frozenset[int]] = {}
        self._number: dict[Term, int] = {}
        self._with: list[set[str]] = []
        self._came = dict(came or {})
        for key, record in records.items():
            self._enter(key, record, Origin.HISTORY)
        self.old = len(self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, key: str) -> bool:
        return key in self._records

    def __getitem__(self, key: str) -> Attributes:
        return self._records[key]

    def origin(self, key: str) -> Origin:
        """Return the origin of a record."""
        return self._origin[key]

    def number(self, term: Term) -> int | None:
        """Return the position of a term; None if no record meets it."""
        return self._number.get(term)

    def of(self, key: str) -> frozenset[int]:
        """Return the terms that a record meets, as positions."""
        return self._of[key]

    @property
    def count(self) -> Ints:
        """How many records meet each term, without those known to be gone."""
        return self.held.values + self.fresh.values

    def matching(self, query: Query) -> set[str]:
        """Return the records that answer a query, without those known to be gone."""
        if not query:
            return set(self._records) - self.gone
        sets = [self._meeting(term) for term in query]
        return set.intersection(*sorted(sets, key=len)) - self.gone

    def _meeting(self, term: Term) -> set[str]:
        number = self._number.get(term)
        if number is not None:
            return self._with[number]
        if self.interface.attribute(term.attribute).kind != "range":
            return set()
        meets = self.interface.meets
        return {k for k, r in self._records.items() if meets(r, Query.of(term))}

    def recent(self, since: float) -> Ints:
        """Return how many old records of each term came after ``since``."""
        found = Counter()
        found.size(len(self.terms))
        for key in self.keys:
            if self._came.get(key, NEVER) > since and not self._origin[key]:
                found.add(self._of[key])
        return found.values

    def note(self, key: str, record: Attributes, origin: Origin) -> bool:
        """Note that the form showed a record; return whether it is new."""
        first = key not in self._records
        if first:
            self._enter(key, record, origin)
            self.shown.add(key)
            return True
        if record != self._records[key]:
            self._change(key, record)
        if key not in self.shown:
            self.shown.add(key)
            if not self._origin[key]:
                if key in self.gone:
                    self.gone.discard(key)
                    self.held.add(self._of[key])
                self.seen.add(self._of[key])
                self.again += 1
        return False

    def note_missing(self, key: str) -> None:
        """Note that a record is missing from a complete answer."""
        if key not in self.shown and key not in self.gone:
            self.gone.add(key)
            self.held.add(self._of[key], -1)

    def _enter(self, key: str, record: Attributes, origin: Origin) -> None:
        self.keys.append(key)
        self._records[key] = record
        self._origin[key] = origin
        self._index(key, record)
        (self.fresh if origin else self.held).add(self._of[key])

    def _change(self, key: str, record: Attributes) -> None:
        """Replace the values of a record, and count it under its new terms."""
        self.updated.add(key)
        self._records[key] = record
        counters = [self.fresh if self._origin[key] else self.held]
        if key in self.gone:
            counters = []
        elif key in self.shown and not self._origin[key]:
            counters.append(self.seen)
        for counter in counters:
            counter.add(self._of[key], -1)
        for number in self._of[key]:
            self._with[number].discard(key)
        self._index(key, record)
        for counter in counters:
            counter.add(self._of[key])

    def _index(self, key: str, record: Attributes) -> None:
        numbers = []
        for term in self.interface.terms(record):
            number = self._number.setdefault(term, len(self.terms))
            if number == len(self.terms):
                self.terms.append(term)
                self._with.append(set())
            self._with[number].add(key)
            numbers.append(number)
        for counter in (self.held, self.seen, self.fresh):
            counter.size(len(self.terms))
        self._of[key] = frozenset(numbers)

    def reading(self, query: Query) -> QueryReading:
        """Return the reading of a query for an update, and log the query."""
        self.log.append(query)
        return self.reads.setdefault(query, QueryReading())

    def within(self, query: Query) -> tuple[Ints, Ints, Ints]:
        """Return ``held``, ``seen`` and ``fresh`` by term, among a query's records."""
        held, seen, fresh = Counter(), Counter(), Counter()
        for counter in (held, seen, fresh):
            counter.size(len(self.terms))
        for key in self.matching(query):
            if self._origin[key]:
                fresh.add(self._of[key])
                continue
            held.add(self._of[key])
            if key in self.shown:
                seen.add(self._of[key])
        return held.values, seen.values, fresh.values

    def incidence(self) -> Incidence:
        """Return which record meets which term, both in the order of ``keys``."""
        rows = [sorted(self._of[key]) for key in self.keys]
        start = np.cumsum([0, *map(len, rows)], dtype=np.intp)
        term = np.array([number for row in rows for number in row], dtype=np.intp)
        return Incidence(tuple(self.keys), tuple(self.terms), start, term)

    def are(self, *origins: Origin) -> Bools:
        """Return, for each record of ``keys``, whether it has one of these origins."""
        found: Bools = np.array([self._origin[k] in origins for k in self.keys], bool)
        return found
