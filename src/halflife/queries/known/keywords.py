"""The queries that could refresh the copy: conjunctions of terms, and look-ups.

Yang, Wang, Lim, Wang, "Optimizing content freshness of relations extracted from the
web using keyword search", SIGMOD 2010: a query is a set of keywords of the local
relation (section 3.3), in their experiments of at most two (5.1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halflife.core.arrays import Bools, Ints
from halflife.core.forms import Interface, Query
from halflife.core.object_store import Attributes
from halflife.queries.incidence import Incidence
from halflife.queries.known.sets import NONE, Ragged, SetTable, common_sets, concatenate

TOGETHER = 2  # "all subsets up to size two is already sufficient" (5.1)
FEWEST = 2  # a set that fewer records share is no better than a look-up


@dataclass(frozen=True)
class Pool:
    """Candidate queries, and the local records that each would refresh.

    Attributes:
        local: The local records and their terms.
        parts: The terms of each query, ascending, padded with -1; a look-up of a
            record by its key has none.
        matches: The local records that answer each query, R_L(q).

    """

    local: Incidence
    parts: Ints
    matches: Ragged

    def __len__(self) -> int:
        return len(self.matches)

    @cached_property
    def lookup(self) -> Bools:
        """Which candidates are look-ups."""
        empty: Bools = self.parts[:, 0] == NONE
        return empty

    @cached_property
    def held(self) -> Ints:
        """How many local records answer each query, |R_L(q)|."""
        return self.matches.sizes

    @cached_property
    def reachable(self) -> Bools:
        """Which local records at least one candidate would refresh."""
        reachable: Bools = np.zeros(len(self.local), dtype=bool)
        reachable[self.matches.item] = True
        return reachable

    @cached_property
    def of_record(self) -> Ragged:
        """The candidates that each local record answers."""
        return self.matches.inverted(len(self.local))

    def query(self, number: int) -> Query | None:
        """Return a candidate as a query; None if it is a look-up."""
        parts = self.parts[number]
        if parts[0] == NONE:
            return None
        return Query(tuple(self.local.terms[i] for i in parts[parts >= 0].tolist()))

    @cached_property
    def _number(self) -> dict[tuple[int, ...], int]:
        sets = map(tuple, self.parts.tolist())
        return {parts: j for j, parts in enumerate(sets) if parts[0] != NONE}

    def find(self, query: Query) -> int | None:
        """Return the position of a query; None if it is no candidate."""
        number = self.local.number
        parts = [number.get(term, len(number)) for term in query]
        filled = parts + [NONE] * (self.parts.shape[1] - len(parts))
        return self._number.get(tuple(filled))

    def key(self, number: int) -> str:
        """Return the key of the first record that a candidate would refresh."""
        return self.local.keys[int(self.matches.of(number)[0])]

    def name(self, number: int) -> str:
        """Return a candidate in words."""
        query = self.query(number)
        return f"look-up of {self.key(number)}" if query is None else str(query)

    def only(self, keep: Bools) -> "Pool":
        """Return the pool with the candidates of a mask."""
        return Pool(self.local, self.parts[keep], self.matches.select(keep))


def pool_of(
    local: Incidence,
    *,
    together: int = TOGETHER,
    fewest: int = FEWEST,
    lookup: bool = False,
) -> Pool:
    """Return the candidates for a local relation.

    These are all single terms; the sets of up to ``together`` terms that at least
    ``fewest`` records share; for every record the set of its rarest terms; and with
    ``lookup`` every record by its key. So every record with a term can be reached, and
    with ``lookup`` all.
    """
    singles = np.arange(len(local.terms))[:, None]
    parts, matches = [singles], Ragged(local.begin, local.record)
    for sets, rows in common_sets(local, together, fewest):
        parts.append(sets)
        matches = concatenate(matches, rows)
    own, rows = _rarest(local, together, fewest)
    parts.append(own)
    matches = concatenate(matches, rows)
    if lookup:
        each = np.arange(len(local))
        parts.append(np.full((each.size, 1), NONE))
        matches = concatenate(matches, Ragged(np.arange(each.size + 1), each))
    return Pool(local, np.concatenate([_padded(p, together) for p in parts]), matches)


def pool_for(
    interface: Interface,
    records: Mapping[str, Attributes],
    *,
    together: int = TOGETHER,
    fewest: int = FEWEST,
) -> Pool:
    """Return the candidates that a form accepts for the records held."""
    return pool_of(
        Incidence.of(interface, records),
        together=min(together, interface.together),
        fewest=fewest,
        lookup=interface.lookup,
    )


def _padded(parts: Ints, together: int) -> Ints:
    """Return the sets padded to a common size."""
    padded = np.full((len(parts), together), NONE, dtype=np.intp)
    padded[:, : parts.shape[1]] = parts
    return padded


def _rarest(local: Incidence, together: int, fewest: int) -> tuple[Ints, Ragged]:
    """Return, for each record, the set of its rarest terms, unless it is common."""
    row = np.repeat(np.arange(len(local)), np.diff(local.start))
    order = np.lexsort((local.term, local.hits[local.term], row))
    place = np.arange(row.size) - local.start[row]
    keep = place < together
    parts = np.full((len(local), together), len(local.terms), dtype=np.intp)
    parts[row[keep], place[keep]] = local.term[order][keep]
    parts.sort(axis=1)
    parts[parts == len(local.terms)] = NONE
    parts = np.unique(parts, axis=0)
    matches = SetTable(parts).records(local)
    new = (np.count_nonzero(parts != NONE, axis=1) > 1) & (matches.sizes < fewest)
    return parts[new], matches.select(new)


def most_frequent(
    local: Incidence, open_: Bools, k: int, *, each: bool = True
) -> Bools:
    """Return which terms are the ``k`` most frequent among records still open.

    The keyword set of GreedyProbes (Algorithm 2, line 4; 5.3); with ``each``, ``k`` of
    every attribute. Equally frequent terms keep their order; a term that no open
    record has is never among them.
    """
    row = np.repeat(open_, np.diff(local.start))
    count = np.bincount(local.term[row], minlength=len(local.terms))
    group = attribute_of(local) if each else np.zeros(count.size, dtype=np.intp)
    order = np.lexsort((np.arange(count.size), -count, group))
    sizes = np.bincount(group)
    place = np.arange(count.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen: Bools = np.zeros(count.size, dtype=bool)
    chosen[order[place < k]] = True
    return chosen & (count > 0)


def attribute_of(local: Incidence) -> Ints:
    """Return the attribute of each term, numbered by name."""
    names = [term.attribute for term in local.terms]
    _, group = np.unique(names, return_inverse=True)
    found: Ints = group.astype(np.intp)
    return found
