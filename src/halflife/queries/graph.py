"""The query-related graph: records are neighbours if one query returns both.

A term with h records has h (h - 1) / 2 edges, so edges are never stored: a step in
the graph goes from records to their terms and back (two sides, see
``halflife.queries.incidence``). Distances are symmetric, so a walk that starts at the
targets, 64 at a time in the bits of one word a record, finds the distance of every
record to each target (Liu, Xiao and Yang, "A Sample-Guided Approach to Incremental
Structured Web Database Crawling", section III).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Bools, Floats, Ints
from halflife.queries.incidence import Incidence

Words: TypeAlias = NDArray[np.uint64]
WORD = 64  # targets that walk together


@dataclass(frozen=True, slots=True)
class PathLengths:
    """The shortest paths from every record to the other records of a set.

    Attributes:
        total: Their lengths, summed over those that can be reached.
        reached: The number of other records of the set that can be reached.
        others: The number of other records of the set.

    """

    total: Ints
    reached: Ints
    others: Ints

    @property
    def average(self) -> Floats:
        """Mean length over those that can be reached; not a number if none can."""
        return _ratio(self.total, self.reached)

    @property
    def reach(self) -> Floats:
        """Share of the others that can be reached; not a number if there are none."""
        return _ratio(self.reached, self.others)


@dataclass(frozen=True, slots=True)
class SelScores:
    """The scores by which records are chosen for likely new neighbours (Eq. 4).

    Attributes:
        history: Paths to the records of the history.
        sample: Paths to the records of the sample.

    """

    history: PathLengths
    sample: PathLengths

    @property
    def sel(self) -> Floats:
        """Sel(v) = ShortestPath(v, G_h) / ShortestPath(v, G_S), as averages.

        Averages leave out v itself and unreachable records. Sel is 1 where none of one
        of the sets can be reached.
        """
        with np.errstate(invalid="ignore"):
            ratio = self.history.average / self.sample.average
        return np.where(np.isfinite(ratio), ratio, 1.0)


def selection(incidence: Incidence, history: Bools, sample: Bools) -> SelScores:
    """Return Eq. 4 for every record, on the graph of all records together.

    >>> from halflife.core.forms import Term
    >>> rows = [(Term("A", "1"),), (Term("A", "1"), Term("B", "2")), (Term("B", "2"),)]
    >>> table = Incidence.from_terms("xyz", rows)
    >>> selection(table, np.array([1, 1, 0]) > 0, np.array([0, 0, 1]) > 0).sel
    array([0.5, 1. , 1. ])
    """
    graph = QueryGraph.of(incidence)
    shared, past = graph.sums(history & sample), graph.sums(history & ~sample)
    drawn = graph.sums(sample & ~history)
    return SelScores(
        _paths(graph, history, shared + past), _paths(graph, sample, shared + drawn)
    )


def distances(incidence: Incidence, targets: Bools) -> PathLengths:
    """Return the shortest paths from every record to the targets."""
    graph = QueryGraph.of(incidence)
    return _paths(graph, targets, graph.sums(targets))


def _paths(graph: "QueryGraph", targets: Bools, total: Ints) -> PathLengths:
    reached = graph.reached(targets) - targets
    return PathLengths(
        total, reached, np.count_nonzero(targets) - targets.astype(np.intp)
    )


@dataclass(frozen=True)
class QueryGraph:
    """The two sides of the graph, as arrays for fast walks.

    Attributes:
        rows: The records, those with most terms first.
        columns: The k-th term of all records that have one, in that order.
        record: The records of one term after the other, as places in ``rows``.
        begin: Where each term's records begin.

    """

    rows: Ints
    columns: tuple[Ints, ...]
    record: Ints
    begin: Ints

    @classmethod
    def of(cls, incidence: Incidence) -> Self:
        """Return the graph of an incidence; terms of a single record have no edges."""
        joins = incidence.hits >= 2
        number = np.cumsum(joins) - 1
        row = np.repeat(np.arange(len(incidence)), np.diff(incidence.start))
        kept = joins[incidence.term]
        row, term = row[kept], number[incidence.term[kept]]
        degree = np.bincount(row, minlength=len(incidence))
        rows = np.argsort(-degree, kind="stable")
        place = np.empty_like(rows)
        place[rows] = np.arange(rows.size)
        start = np.cumsum(degree) - degree
        columns = tuple(
            term[start[rows[: np.count_nonzero(degree > k)]] + k]
            for k in range(int(degree.max(initial=0)))
        )
        order = np.argsort(term, kind="stable")
        hits = np.bincount(term, minlength=int(joins.sum()))
        return cls(rows, columns, place[row[order]], np.cumsum(hits) - hits)

    def __len__(self) -> int:
        return self.rows.size

    @cached_property
    def place(self) -> Ints:
        """Where each record is in ``rows``."""
        place = np.empty_like(self.rows)
        place[self.rows] = np.arange(len(self))
        return place

    @cached_property
    def component(self) -> Ints:
        """The connected component of each place, numbered from 0."""
        label = np.arange(len(self))
        while self.record.size:
            lowest = np.minimum.reduceat(label[self.record], self.begin)
            before = label.copy()
            for column in self.columns:
                head = label[: column.size]
                np.minimum(head, lowest[column], out=head)
            if np.array_equal(before, label):
                break
        found: Ints = np.unique(label, return_inverse=True)[1]
        return found

    def sums(self, targets: Bools) -> Ints:
        """Return the distances to all reachable targets, summed, for every record.

        A sum of distances is the sum over d = 0, 1, ... of the number of reachable
        targets farther than d, so a word ends when all that it can reach is reached,
        without a last step that finds nothing.
        """
        total = np.zeros(len(self), dtype=np.intp)
        room = np.empty(self.record.size, dtype=np.uint64)
        place = self.place[np.flatnonzero(targets)]
        # Targets of one component share words, so other components end at once.
        place = place[np.argsort(self.component[place], kind="stable")]
        for first in range(0, place.size, WORD):
            seen, reachable = self._word(place[first : first + WORD])
            while (left := np.bitwise_count(reachable ^ seen)).any():
                total += left
                self._spread(seen, room)
        found: Ints = total[self.place]
        return found

    def reached(self, targets: Bools) -> Ints:
        """Return how many targets can be reached from every record, itself too."""
        part = self.component[self.place]
        found: Ints = np.bincount(part[targets], minlength=len(self))[part]
        return found

    def _word(self, place: Ints) -> tuple[Words, Words]:
        """Return where up to 64 targets are, and where they can be reached from."""
        bits = np.uint64(1) << np.arange(place.size, dtype=np.uint64)
        seen = np.zeros(len(self), dtype=np.uint64)
        seen[place] = bits
        parts = np.zeros(len(self), dtype=np.uint64)  # at most one part a record
        np.bitwise_or.at(parts, self.component[place], bits)
        return seen, parts[self.component]

    def _spread(self, seen: Words, room: Words) -> None:
        """Spread the targets seen by each record to its neighbours."""
        np.take(seen, self.record, out=room, mode="clip")
        shared = np.bitwise_or.reduceat(room, self.begin)
        for column in self.columns:
            head = seen[: column.size]
            np.bitwise_or(head, shared[column], out=head)


def _ratio(above: Ints, below: Ints) -> Floats:
    found: Floats = np.full(above.shape, np.nan)
    np.divide(above, below, out=found, where=below > 0)
    return found
