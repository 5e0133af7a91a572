"""A table of records that answers like a database behind a form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import floor, log10

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats, Ints
from halflife.core.forms import Interface, Query, ResultPage, Term
from halflife.core.object_store import Attributes
from halflife.queries.incidence import Incidence

ROUGH = 2  # digits that a rounded count keeps


@dataclass(frozen=True, slots=True)
class TableFaults:
    """Faults of a form.

    Attributes:
        lies: A reported count is wrong by up to this factor, up or down, always by the
            same for each query; 1 means correct counts.
        unstable: Whether results come in another order each time a page is requested.

    """

    lies: float = 1.0
    unstable: bool = False


def round_count(count: int) -> int:
    """Return a count to two digits, as sites print it.

    >>> [round_count(n) for n in (7, 96, 1234, 98765)]
    [7, 96, 1200, 99000]
    """
    if not count:
        return 0
    return int(round(count, ROUGH - 1 - floor(log10(count))))


class TableForm:
    """Records behind an interface, as ``halflife.core.forms.Form``.

    Args:
        interface: What the form can do.
        records: The records of the database, by key.
        dates: When each record came, for forms that show the newest first.
        places: The order of results by key; at random if None.
        faults: Its faults.
        rng: Decides the order of results, which does not depend on the records.

    """

    def __init__(
        self,
        interface: Interface,
        records: Mapping[str, Attributes],
        *,
        rng: Generator,
        dates: Mapping[str, float] | None = None,
        places: Mapping[str, float] | None = None,
        faults: TableFaults | None = None,
    ) -> None:
        self.interface = interface
        self.records = records
        self.faults = faults or TableFaults()
        self._rng = rng
        self._dates = dates or {}
        self._rank = rng.permutation(len(records))
        if places is not None:
            first = np.array([places[key] for key in records])
            self._rank[np.lexsort((self._rank, first))] = np.arange(len(records))
        self._lie = int(rng.integers(1 << 30))

    @cached_property
    def incidence(self) -> Incidence:
        """Which record meets which single condition."""
        return Incidence.of(self.interface, self.records)

    @cached_property
    def _newest(self) -> Ints:
        dates = [self._dates.get(key, 0.0) for key in self.incidence.keys]
        place = np.empty(len(dates), dtype=np.intp)
        place[np.lexsort((self._rank, -np.array(dates)))] = np.arange(len(dates))
        return place

    @cached_property
    def _numbers(self) -> Mapping[str, Floats]:
        """The numbers of the attributes that are queried by range."""
        return {
            attribute.name: np.array(
                [_number(row.get(attribute.name)) for row in self.records.values()]
            )
            for attribute in self.interface.attributes
            if attribute.kind == "range"
        }

    def matches(self, query: Query) -> Ints:
        """Return the rows of the records that answer a query, ascending."""
        rows: Ints = np.arange(len(self.incidence))
        for term in query:
            rows = np.intersect1d(rows, self._meeting(term), assume_unique=True)
        return rows

    def _meeting(self, term: Term) -> Ints:
        if term.attribute in self._numbers:
            low, high = term.bounds
            numbers = self._numbers[term.attribute]
            found: Ints = np.flatnonzero((numbers >= low) & (numbers < high))
            return found
        number = self.incidence.number.get(term)
        return (
            np.zeros(0, np.intp) if number is None else self.incidence.of_term(number)
        )

    def ask(self, query: Query, page: int = 0, *, newest: bool = False) -> ResultPage:
        """Return a page of results; the first is number 0."""
        self._check(query)
        rows = self.matches(query)
        if self.faults.unstable:
            shown = self._rng.permutation(rows)
        else:
            shown = rows[np.argsort((self._newest if newest else self._rank)[rows])]
        shown = shown[: self.interface.cap]
        begin = page * self.interface.page_size
        end = begin + self.interface.page_size
        keys = [self.incidence.keys[row] for row in shown[begin:end]]
        return ResultPage(
            {key: self.records[key] for key in keys},
            self._count(query, rows.size),
            more=end < shown.size,
        )

    def fetch(self, key: str) -> ResultPage:
        """Return the record of a key, or nothing if there is none."""
        record = self.records.get(key)
        return ResultPage() if record is None else ResultPage({key: record}, 1)

    def _check(self, query: Query) -> None:
        if not query and not self.interface.everything:
            raise ValueError("the form does not answer the empty query")
        if len(query) > self.interface.together:
            raise ValueError(
                f"the form joins {self.interface.together} terms, got {len(query)}"
            )

    def _count(self, query: Query, hits: int) -> int | None:
        """Return the hit count that the form reports."""
        counts: Mapping[str, Callable[[], int | None]] = {
            "exact": lambda: hits,
            "rounded": lambda: round_count(hits),
            "capped": lambda: min(hits, self.interface.cap or hits),
            "none": lambda: None,
        }
        total = counts[self.interface.counts]()
        if total is None or self.faults.lies == 1.0:
            return total
        salt = [self._lie, *str(query).encode()]
        lie = float(np.random.default_rng(salt).uniform(-1.0, 1.0))
        factor: float = self.faults.lies**lie
        return round(total * factor)


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, str | int | float) else np.nan
    except ValueError:
        return np.nan
