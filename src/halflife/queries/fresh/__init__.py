"""Policies that find the new records of a database that only answers queries."""

from dataclasses import dataclass
from math import nan
from typing import Protocol, runtime_checkable

from numpy.random import Generator

from halflife.core.forms import Query
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords


@dataclass(frozen=True, slots=True)
class Choice:
    """The next query for new records.

    Attributes:
        query: The query.
        page: The first page to read.
        pages: Pages to read at most; None for all.
        expected: New records expected on them; nan if unknown.
        why: The reason, in one line.
        newest: Whether to sort the results newest first.

    """

    query: Query
    page: int = 0
    pages: int | None = 1
    expected: float = nan
    why: str = ""
    newest: bool = False


class FreshPolicy(Protocol):
    """Chooses the next query from the copy and the answers so far.

    A policy sends nothing itself: it gets information only by choosing queries, so
    every probe is counted. It may keep state between two choices of one round.
    """

    @property
    def samples(self) -> bool:
        """Whether it needs a random sample of the database first."""
        ...

    def next(
        self, local: LocalRecords, ledger: Ledger, rng: Generator
    ) -> Choice | None:
        """Return the next query; None if none is worth a request."""
        ...


@runtime_checkable
class Ranks(Protocol):
    """A policy that can rank its next queries in advance."""

    def ranked(self, local: LocalRecords, most: int) -> list[Choice]:
        """Return the best queries now, best first."""
        ...
