"""Which record meets which condition: the two sides of a query-related graph."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.forms import Interface, Term
from halflife.core.object_store import Attributes


@dataclass(frozen=True)
class Incidence:
    """Records and the terms they meet, as ragged columns.

    Attributes:
        keys: The records.
        terms: The terms, sorted.
        start: Where each record's terms begin; one more than there are records.
        term: The terms of one record after the other, as positions in ``terms``.

    """

    keys: tuple[str, ...]
    terms: tuple[Term, ...]
    start: Ints
    term: Ints

    @classmethod
    def of(cls, interface: Interface, records: Mapping[str, Attributes]) -> Self:
        """Return which records meet which terms of an interface."""
        return cls.from_terms(
            records, [interface.terms(record) for record in records.values()]
        )

    @classmethod
    def from_terms(cls, keys: Iterable[str], terms: Iterable[tuple[Term, ...]]) -> Self:
        """Return the incidence of records, given the terms of each."""
        rows = [sorted(set(row)) for row in terms]
        known = sorted({term for row in rows for term in row})
        number = {term: i for i, term in enumerate(known)}
        sizes = np.array([len(row) for row in rows], dtype=np.intp)
        flat = [number[term] for row in rows for term in row]
        start = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(sizes)])
        return cls(tuple(keys), tuple(known), start, np.array(flat, dtype=np.intp))

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def number(self) -> dict[Term, int]:
        """The position of each term."""
        return {term: i for i, term in enumerate(self.terms)}

    @cached_property
    def hits(self) -> Ints:
        """How many records meet each term."""
        found: Ints = np.bincount(self.term, minlength=len(self.terms))
        return found

    @cached_property
    def record(self) -> Ints:
        """The records of one term after the other; see ``begin``."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.start))
        found: Ints = rows[np.argsort(self.term, kind="stable")]
        return found

    @cached_property
    def begin(self) -> Ints:
        """Where each term's records begin; one more than there are terms."""
        found: Ints = np.concatenate([np.zeros(1, np.intp), np.cumsum(self.hits)])
        return found

    def of_record(self, row: int) -> Ints:
        """Return the terms that a record meets."""
        return self.term[self.start[row] : self.start[row + 1]]

    def of_term(self, number: int) -> Ints:
        """Return the records that meet a term, ascending."""
        return self.record[self.begin[number] : self.begin[number + 1]]
