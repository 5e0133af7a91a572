"""Ways to find the new records of a database that only answers queries."""

from dataclasses import dataclass
from math import nan
from typing import Protocol, runtime_checkable

from numpy.random import Generator

from halflife.core.forms import Query
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords


@dataclass(frozen=True, slots=True)
class Choice:
    """What to ask next.

    Attributes:
        query: The query.
        page: The first page to read.
        pages: Pages to read at most; None for all there are.
        expected: New records expected of them; not a number if nobody says.
        why: One line for people.
        newest: Whether to ask for the newest first.

    """

    query: Query
    page: int = 0
    pages: int | None = 1
    expected: float = nan
    why: str = ""
    newest: bool = False


class FreshPolicy(Protocol):
    """Chooses the next query from what is held and what was heard.

    A policy sends nothing: what it wants to know it asks for by choosing, so every
    probe is charged. It may keep what it thinks between two choices of one round.
    """

    @property
    def samples(self) -> bool:
        """Whether it wants a random sample of the database first."""
        ...

    def next(
        self, local: LocalRecords, ledger: Ledger, rng: Generator
    ) -> Choice | None:
        """Return what to ask; None if nothing is worth a request."""
        ...


@runtime_checkable
class Ranks(Protocol):
    """A policy that says beforehand what it would ask."""

    def ranked(self, local: LocalRecords, most: int) -> list[Choice]:
        """Return what promises most now, best first."""
        ...
