"""The progress of a round for new records, as it is stored.

A round may take more requests than a turn has. Its state is stored between turns: the
sample, how far each query was read, and the memory of the rule.
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
    """A rule for new records that has state besides the records read."""

    def so_far(self) -> Queries:
        """Return lists of queries by name, to be stored."""
        ...

    def go_on(self, queries: Queries) -> None:
        """Restore the state from stored lists of queries."""
        ...


@dataclass(frozen=True)
class NewRound:
    """An interrupted round for new records.

    Attributes:
        began: When it began, in days.
        drawn: Its sample, as far as it was drawn.
        reads: How far each query was read; the records only where they are needed.
        queries: The state of the rule.

    """

    began: float
    drawn: DrawnSoFar = field(default_factory=DrawnSoFar)
    reads: Mapping[Query, QueryReading] = field(default_factory=dict)
    queries: Queries = field(default_factory=dict)


def open_reads(local: LocalRecords) -> dict[Query, QueryReading]:
    """Return how far queries were read, without records that are not needed again.

    Those of a query without a hit count are kept: they show what share of it was new.
    """
    return {
        query: QueryReading(
            reading.pages,
            set(reading.keys) if reading.total is None else set(),
            reading.gained,
            reading.total,
            reading.done,
            reading.barren,
        )
        for query, reading in local.reads.items()
    }


def write_terms(query: Query) -> list[tuple[str, str]]:
    """Return the terms of a query as JSON values."""
    return [(term.attribute, term.value) for term in query]


def read_terms(terms: Iterable[Sequence[str]]) -> Query:
    """Return the query with stored terms."""
    return Query.of(*(Term(attribute, value) for attribute, value in terms))


def write_round(new_round: NewRound) -> Row:
    """Return a round as JSON values."""
    return {
        "began": new_round.began,
        "drawn": asdict(new_round.drawn),
        "reads": [
            [
                write_terms(query), read.pages, sorted(read.keys), read.gained,
                read.total, read.done, read.barren,
            ]
            for query, read in new_round.reads.items()
        ],
        "queries": {
            name: [write_terms(query) for query in queries]
            for name, queries in new_round.queries.items()
        },
    }  # fmt: skip


def read_round(row: Row) -> NewRound:
    """Return the round stored in a row."""
    drawn = row["drawn"]
    reads = {
        read_terms(terms): QueryReading(
            int(pages), set(keys), int(gained),
            None if total is None else int(total), bool(done), int(barren),
        )
        for terms, pages, keys, gained, total, done, barren in row["reads"]
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
