"""Sets of terms that records have in common, found and counted on arrays.

A set is a row of term numbers, ascending, padded with -1. Sets are built and searched
one term at a time: an occurrence of a set is the place of its last term among the
terms of a record, and every later term of the record extends it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from halflife.core.arrays import Bools, Ints
from halflife.queries.incidence import Incidence

NONE = -1  # no further term in a set
UNKNOWN = -2  # a term that no record of the other relation has
CHUNK = 20_000  # records processed at a time, to limit the memory


@dataclass(frozen=True)
class Ragged:
    """Lists of numbers in one array; ``start`` is one longer than the lists."""

    start: Ints
    item: Ints

    @classmethod
    def from_groups(cls, group: Ints, item: Ints, n: int) -> "Ragged":
        """Return the items of each of ``n`` groups, in the order given."""
        start = np.zeros(n + 1, dtype=np.intp)
        np.cumsum(np.bincount(group, minlength=n), out=start[1:])
        return cls(start, item[np.argsort(group, kind="stable")])

    def __len__(self) -> int:
        return self.start.size - 1

    @property
    def sizes(self) -> Ints:
        """The length of each list."""
        sizes: Ints = np.diff(self.start)
        return sizes

    @property
    def group(self) -> Ints:
        """The list that each item is in."""
        group: Ints = np.repeat(np.arange(len(self)), self.sizes)
        return group

    def of(self, number: int) -> Ints:
        """Return one list."""
        return self.item[self.start[number] : self.start[number + 1]]

    def lists(self) -> list[list[int]]:
        """Return the lists as Python lists, which are faster in loops."""
        start, item = self.start.tolist(), self.item.tolist()
        return [item[begin:end] for begin, end in pairwise(start)]

    def select(self, keep: Bools) -> "Ragged":
        """Return the lists of a mask."""
        sizes = self.sizes
        start = np.zeros(np.count_nonzero(keep) + 1, dtype=np.intp)
        np.cumsum(sizes[keep], out=start[1:])
        return Ragged(start, self.item[np.repeat(keep, sizes)])

    def inverted(self, n: int) -> "Ragged":
        """Return the lists that each of ``n`` items is in."""
        return Ragged.from_groups(self.item, self.group, n)


def concatenate(first: Ragged, second: Ragged) -> Ragged:
    """Return the lists of two arrays, one after the other."""
    start = np.concatenate([first.start, first.start[-1] + second.start[1:]])
    return Ragged(start, np.concatenate([first.item, second.item]))


@dataclass(frozen=True)
class _Entries:
    """The terms of some records: each entry's record, term and the record's end."""

    row: Ints
    term: Ints
    end: Ints

    @classmethod
    def of(cls, incidence: Incidence, keep: Bools, begin: int, end: int) -> "_Entries":
        """Return the entries of records begin..end whose terms are kept."""
        part = slice(incidence.start[begin], incidence.start[end])
        sizes = np.diff(incidence.start[begin : end + 1])
        row, term = np.repeat(np.arange(begin, end), sizes), incidence.term[part]
        kept = keep[term]
        row, term = row[kept], term[kept]
        return cls(row, term, np.searchsorted(row, row, side="right"))

    def extended(self, at: Ints) -> tuple[Ints, Ints]:
        """Return the extensions of occurrences ending at ``at``: which, and where."""
        more = self.end[at] - 1 - at
        source = np.repeat(np.arange(at.size), more)
        step = np.arange(source.size) - np.repeat(np.cumsum(more) - more, more)
        return source, at[source] + 1 + step


def common_sets(
    local: Incidence, together: int, fewest: int
) -> Iterator[tuple[Ints, Ragged]]:
    """Yield the sets of 2, 3 ... ``together`` terms that enough records share.

    For each size: the sets, one a row, and the records of each. A set can only be
    shared by ``fewest`` records if the set without its last term is (apriori).
    """
    n_terms = len(local.terms)
    entries = _Entries.of(local, local.hits >= fewest, 0, len(local))
    at = np.arange(entries.term.size)
    which, parts = entries.term, np.arange(n_terms)[:, None]
    for _ in range(2, together + 1):
        source, where = entries.extended(at)
        code = which[source] * n_terms + entries.term[where]
        order = np.argsort(code, kind="stable")
        code, at = code[order], where[order]
        fresh = np.flatnonzero(np.r_[True, code[1:] != code[:-1]][: code.size])
        sizes = np.diff(np.r_[fresh, code.size])
        shared = sizes >= fewest
        at = at[np.repeat(shared, sizes)]
        first = code[fresh[shared]]
        parts = np.column_stack([parts[first // n_terms], first % n_terms])
        which = np.repeat(np.arange(first.size), sizes[shared])
        start = np.r_[0, np.cumsum(sizes[shared])]
        yield parts, Ragged(start, entries.row[at])


class SetTable:
    """A table of sets that finds the records of each.

    Args:
        parts: The sets, one a row, as term numbers of the relation to search.

    """

    def __init__(self, parts: Ints) -> None:
        self.parts = parts
        self._length = np.count_nonzero(parts != NONE, axis=1)
        self._length[(parts == UNKNOWN).any(axis=1)] = 0
        self._base = int(parts.max(initial=0)) + 1
        self._codes: list[Ints] = []
        self._place: list[Ints] = []  # the prefix that each set has at each size
        prefix = np.zeros(len(parts), dtype=np.intp)
        for size in range(1, parts.shape[1] + 1):
            long = self._length >= size
            code = prefix * self._base + parts[:, size - 1]
            known, place = np.unique(code[long], return_inverse=True)
            prefix = np.zeros(len(parts), dtype=np.intp)
            prefix[long] = place
            self._codes.append(known)
            self._place.append(prefix)

    def _walk(self, incidence: Incidence) -> Iterator[tuple[int, Ints, Ints]]:
        """Yield the prefixes found and their records, by size of the prefix."""
        used = np.zeros(max(len(incidence.terms), self._base), dtype=bool)
        used[self.parts[self.parts >= 0]] = True
        for begin in range(0, len(incidence), CHUNK):
            entries = _Entries.of(
                incidence, used, begin, min(begin + CHUNK, len(incidence))
            )
            at = np.arange(entries.term.size)
            which: Ints = np.zeros(at.size, dtype=np.intp)
            for size, codes in enumerate(self._codes):
                if size:
                    source, at = entries.extended(at)
                    which = which[source]
                if not codes.size:
                    break
                wanted = which * self._base + entries.term[at]
                which = np.minimum(np.searchsorted(codes, wanted), codes.size - 1)
                met = codes[which] == wanted
                at, which = at[met], which[met]
                yield size, which, entries.row[at]

    def counts(self, incidence: Incidence) -> Ints:
        """Return how many records have each set; an empty set is in none."""
        found = [np.zeros(codes.size, dtype=np.intp) for codes in self._codes]
        for size, prefix, _ in self._walk(incidence):
            found[size] += np.bincount(prefix, minlength=found[size].size)
        counts = np.zeros(len(self.parts), dtype=np.intp)
        for size, count in enumerate(found):
            whole = self._length == size + 1
            counts[whole] = count[self._place[size][whole]]
        return counts

    def records(self, incidence: Incidence) -> Ragged:
        """Return the records that have each set, ascending."""
        sets, rows = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
        for size, prefix, row in self._walk(incidence):
            whole = np.flatnonzero(self._length == size + 1)
            having = Ragged.from_groups(
                self._place[size][whole], whole, self._codes[size].size
            )
            sizes = having.sizes[prefix]
            source = np.repeat(np.arange(prefix.size), sizes)
            step = np.arange(source.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            sets.append(having.item[having.start[prefix[source]] + step])
            rows.append(row[source])
        return Ragged.from_groups(
            np.concatenate(sets), np.concatenate(rows), len(self.parts)
        )
