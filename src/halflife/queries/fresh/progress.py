"""How far a round of looking for new records has come, to be written down.

A round may take more requests than a turn has. What it has learned so far, besides the
records, is kept between turns: the sample, how far each query was read, and what the
rule itself remembers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from halflife.core.forms import Query, Term
from halflife.queries.local import LocalRecords, QueryReading
from halflife.queries.sampling import DrawnSoFar

Row: TypeAlias = dict[str, Any]
Queries: TypeAlias = Mapping[str, Sequence[Query]]


@runtime_checkable
class RemembersNew(Protocol):
    """A rule for new records that remembers more than what was read."""

    def so_far(self) -> Queries:
        """Return lists of queries by name, to be written down."""
        ...

    def go_on(self, queries: Queries) -> None:
        """Begin with lists of queries that were written down."""
        ...


@dataclass(frozen=True)
class NewRound:
    """A round of looking for new records that was cut short.

    Attributes:
        began: When it began, in days.
        drawn: Its sample, as far as it was drawn.
        reads: How far each query was read; the records only where they are needed.
        queries: What the rule itself remembers.

    """

    began: float
    drawn: DrawnSoFar = field(default_factory=DrawnSoFar)
    reads: Mapping[Query, QueryReading] = field(default_factory=dict)
    queries: Queries = field(default_factory=dict)


def open_reads(local: LocalRecords) -> dict[Query, QueryReading]:
    """Return how far queries were read, without records that nobody asks for again.

    Those of a query without a number of hits tell what share of it was new.
    """
    return {
        query: QueryReading(
            reading.pages,
            set(reading.keys) if reading.told is None else set(),
            reading.gained,
            reading.told,
            reading.done,
            reading.barren,
        )
        for query, reading in local.reads.items()
    }


def write_terms(query: Query) -> list[tuple[str, str]]:
    """Return the terms of a query as JSON can hold them."""
    return [(term.attribute, term.value) for term in query]


def read_terms(terms: Iterable[Sequence[str]]) -> Query:
    """Return the query that was written down."""
    return Query.of(*(Term(attribute, value) for attribute, value in terms))


def write_round(one: NewRound) -> Row:
    """Return a round as JSON can hold it."""
    return {
        "began": one.began,
        "drawn": asdict(one.drawn),
        "reads": [
            [
                write_terms(query), read.pages, sorted(read.keys), read.gained,
                read.told, read.done, read.barren,
            ]
            for query, read in one.reads.items()
        ],
        "queries": {
            name: [write_terms(query) for query in queries]
            for name, queries in one.queries.items()
        },
    }  # fmt: skip


def read_round(row: Row) -> NewRound:
    """Return the round that was written down."""
    drawn = row["drawn"]
    reads = {
        read_terms(terms): QueryReading(
            int(pages), set(keys), int(gained),
            None if told is None else int(told), bool(done), int(barren),
        )
        for terms, pages, keys, gained, told, done, barren in row["reads"]
    }  # fmt: skip
    queries = {
        str(name): tuple(map(read_terms, rows)) for name, rows in row["queries"].items()
    }
    return NewRound(
        float(row["began"]),
        DrawnSoFar(
            tuple(map(str, drawn["keys"])), tuple(map(float, drawn["chances"])),
            float(drawn["sum"]), int(drawn["walks"]), int(drawn["idle"]),
            bool(drawn["complete"]),
        ),
        reads,
        queries,
    )  # fmt: skip
