"""Databases that can be read only through a form."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from typing import Literal, Protocol, TypeAlias

from halflife.core.object_store import Attributes, Scalar

Kind: TypeAlias = Literal["select", "keyword", "range"]
Counts: TypeAlias = Literal["exact", "rounded", "capped", "none"]

_WORD = re.compile(r"\w\w+")
_STOP = (
    "a an and are as at be by for from has in is it its of on or that the this to was "
    "we were will with"
)
STOP = frozenset(_WORD.findall(_STOP)) | {"a"}  # words without meaning of their own
_BETWEEN = ".."


@lru_cache(maxsize=1 << 12)  # the same records are planned for many times
def words_in(text: str) -> tuple[str, ...]:
    """Return the distinct words of a text, sorted, without stop words.

    >>> words_in("Head of the Data & ML team, data")
    ('data', 'head', 'ml', 'team')
    """
    return tuple(sorted(set(_WORD.findall(text.lower())) - STOP))


@dataclass(frozen=True, slots=True, order=True)
class Term:
    """One condition: an attribute has a value, contains a word, or lies in a range.

    A range is written ``low..high``; it holds its lower end and not its upper one,
    and either may be left out.

    >>> str(Term("price", "100..200")), Term("price", "..200").bounds
    ('price=100..200', (-inf, 200.0))
    """

    attribute: str
    value: str

    def __str__(self) -> str:
        return f"{self.attribute}={self.value}"

    @property
    def bounds(self) -> tuple[float, float]:
        """The ends of a range; raise ``ValueError`` if the term is not a range."""
        low, between, high = self.value.partition(_BETWEEN)
        if not between:
            raise ValueError(f"{self} is no range; write it low..high")
        return float(low) if low else -inf, float(high) if high else inf


def within(attribute: str, low: float, high: float) -> Term:
    """Return the condition that an attribute lies in [low, high).

    >>> within("price", 100.0, float("inf"))
    Term(attribute='price', value='100..')
    """
    ends = [
        "" if abs(end) == inf else repr(float(end)).removesuffix(".0")
        for end in (low, high)
    ]
    return Term(attribute, _BETWEEN.join(ends))


@dataclass(frozen=True, slots=True, order=True)
class Query:
    """A conjunction of terms; the empty one matches everything.

    >>> print(Query.of(Term("title", "nurse"), Term("city", "Oslo")), Query())
    city=Oslo & title=nurse everything
    """

    terms: tuple[Term, ...] = ()

    @classmethod
    def of(cls, *terms: Term) -> "Query":
        """Return the query for all of these terms, given in any order."""
        return cls(tuple(sorted(set(terms))))

    def __and__(self, term: Term) -> "Query":
        return Query.of(*self.terms, term)

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def __str__(self) -> str:
        return " & ".join(map(str, self.terms)) or "everything"


@dataclass(frozen=True, slots=True)
class Attribute:
    """A field of a form.

    Attributes:
        name: Its name, as the records have it.
        kind: ``select``, one of a set of values; ``keyword``, words in a text;
            ``range``, numbers between two ends.
        values: The values that can be selected, as far as known.
        cuts: Where the numbers of a range are cut into small ranges, ascending.

    """

    name: str
    kind: Kind = "select"
    values: tuple[str, ...] = ()
    cuts: tuple[float, ...] = ()

    def terms(self, value: Scalar) -> tuple[Term, ...]:
        """Return the single conditions that a record with this value meets.

        So every attribute becomes a set of discrete values (papers/002, II.C): the
        value, each word of the text, or the small range around the number.

        >>> Attribute("price", "range", cuts=(10, 20)).terms(12)
        (Term(attribute='price', value='10..20'),)
        """
        if value is None or value == "":
            return ()
        if self.kind == "keyword":
            return tuple(Term(self.name, word) for word in words_in(str(value)))
        if self.kind == "select":
            return (Term(self.name, str(value)),)
        number = _number(value)
        if number is None:
            return ()
        low = max((cut for cut in self.cuts if cut <= number), default=-inf)
        high = min((cut for cut in self.cuts if cut > number), default=inf)
        return (within(self.name, low, high),)

    def meets(self, value: Scalar, term: Term) -> bool:
        """Return whether a record with this value meets a condition on it."""
        if self.kind != "range":
            return term in self.terms(value)
        number = _number(value)
        low, high = term.bounds
        return number is not None and low <= number < high


def _number(value: Scalar) -> float | None:
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return number if number is not None and abs(number) < inf else None


@dataclass(frozen=True, slots=True)
class Interface:
    """The capabilities of a form.

    Attributes:
        attributes: Its fields.
        page_size: Records on a page of results.
        cap: The number of results of one query that can be reached; None if all can.
        counts: How reliable the number of hits is that it reports.
        together: The number of terms one query can combine.
        everything: Whether it answers the empty query.
        newest: Whether results can be sorted newest first.
        lookup: Whether a record can be fetched by its key.
        walks: Whether a page can be reached only by links from the page before it.

    """

    attributes: tuple[Attribute, ...]
    page_size: int = 20
    cap: int | None = None
    counts: Counts = "exact"
    together: int = 8
    everything: bool = False
    newest: bool = False
    lookup: bool = False
    walks: bool = False

    def attribute(self, name: str) -> Attribute:
        """Return the attribute of a name; raise ``KeyError`` if there is none."""
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise KeyError(f"the form has no attribute {name!r}")

    def terms(self, record: Attributes) -> tuple[Term, ...]:
        """Return the single conditions that a record meets, each once."""
        return tuple(
            term
            for attribute in self.attributes
            for term in attribute.terms(record.get(attribute.name))
        )

    def meets(self, record: Attributes, query: Query) -> bool:
        """Return whether a record matches a query."""
        return all(
            self.attribute(term.attribute).meets(record.get(term.attribute), term)
            for term in query
        )

    def pages(self, hits: float) -> int:
        """Return the requests needed to read all reachable results of a query.

        max(1, ceil(min(hits, cap) / page_size)): even an empty result costs a request.
        """
        reachable = hits if self.cap is None else min(hits, self.cap)
        return max(1, -int(-reachable // self.page_size))


@dataclass(frozen=True, slots=True)
class ResultPage:
    """One page of results.

    Attributes:
        records: The records on it, by key, in the order shown.
        total: The number of matching records that the form reports; None if it reports
            none.
        more: Whether there may be another page.
        requests: The requests it cost.

    """

    records: Mapping[str, Attributes] = field(default_factory=dict)
    total: int | None = None
    more: bool = False
    requests: int = 1


class Form(Protocol):
    """A database behind a form.

    Each query is charged: ``BudgetSpent`` is raised when no more can be sent, and
    ``SourceError`` when no answer could be read.
    """

    @property
    def interface(self) -> Interface:
        """The capabilities of the form, as far as known."""
        ...

    def ask(self, query: Query, page: int = 0, *, newest: bool = False) -> ResultPage:
        """Return a page of results; the first is number 0."""
        ...

    def fetch(self, key: str) -> ResultPage:
        """Return the record of a key, or no record if there is none."""
        ...


def terms_of(interface: Interface, records: Iterable[Attributes]) -> set[Term]:
    """Return all single conditions that some record meets."""
    return {term for record in records for term in interface.terms(record)}
