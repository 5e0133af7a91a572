"""Whether records that were not where they should be are gone, or only changed.

A query that was read whole and lacks a record of the copy says that the record is gone,
or has another value now. A second query, for other attributes of it, tells: it would
take two changes at once to be missing from both.
"""

from collections.abc import Mapping
from typing import NamedTuple

from halflife.core.forms import Interface, Query, Term
from halflife.core.object_store import Attributes
from halflife.queries.incidence import Incidence
from halflife.queries.ledger import Ledger

NARROW = 3  # terms that are joined to look for one record


class DoubtCheck(NamedTuple):
    """A query that tells of some records whether they are gone.

    Attributes:
        query: The query.
        pages: Requests that it is expected to take.
        settles: Records of which it tells.

    """

    query: Query
    pages: int
    settles: int


class Doubts:
    """Keeps count of what queries lack.

    Args:
        interface: What the form can do.
        records: The copy, by key, as it was held before anything was asked.

    """

    def __init__(self, interface: Interface, records: Mapping[str, Attributes]) -> None:
        self._interface = interface
        self._records = records
        self._pairs = Incidence.of(interface, records)
        self._missed: dict[str, list[frozenset[str]]] = {}
        self._heard: set[Query] = set()
        self._read: set[Query] = set()  # to their ends, whole or not
        self._gone: set[str] = set()

    def hear(self, ledger: Ledger) -> None:
        """Take in the queries that were read whole since."""
        for query in ledger.asked:
            if query and query not in self._heard and ledger.whole(query):
                self._heard.add(query)
                which = frozenset(term.attribute for term in query)
                # In one order, or what is asked next would depend on chance.
                for key in sorted(self._matching(query) - ledger.seen.keys()):
                    self._missed.setdefault(key, []).append(which)
        self._gone |= ledger.sought - ledger.seen.keys()
        for key in self._missed.keys() & ledger.seen.keys():
            del self._missed[key]
        self._read |= ledger.finished

    def absent(self) -> frozenset[str]:
        """Return the records that are not there any more.

        Those that a look-up did not find, and those missing from two queries that
        have no attribute in common, or from one if they have only one attribute.
        """
        missing = {
            key for key, sets in self._missed.items() if self._settled(key, sets)
        }
        return frozenset((missing | self._gone) & self._records.keys())

    def suspects(self) -> list[str]:
        """Return the records that are missing from something, but not from enough."""
        gone = self.absent()
        return [key for key in self._missed if key not in gone]

    def check(self) -> DoubtCheck | None:
        """Return the query that settles most for a request; None if nothing is open."""
        suspects = self.suspects()
        if not suspects:
            return None
        best = next(filter(None, map(self._narrow, suspects)), None)
        for number, settles in self._shared(suspects).items():
            query = Query.of(self._pairs.terms[number])
            pages = self._interface.pages(int(self._pairs.hits[number]))
            # One that was read and shows less than there is would show that again.
            if query in self._read:
                continue
            if best is None or settles * best.pages > best.settles * pages:
                best = DoubtCheck(query, pages, settles)
        return best

    def _settled(self, key: str, sets: list[frozenset[str]]) -> bool:
        every = {term.attribute for term in self._terms(key)}
        if len(every) < 2:
            return True
        return any(a.isdisjoint(b) for i, a in enumerate(sets) for b in sets[:i])

    def _terms(self, key: str) -> tuple[Term, ...]:
        return self._interface.terms(self._records[key])

    def _open(self, key: str) -> list[Term]:
        """Return the terms of a record that would tell, each alone, or would help to.

        Those whose attribute is not in some query that it was missing from; if every
        such query has all of its attributes, each of them alone is a beginning.
        """
        missed, terms = self._missed[key], self._terms(key)
        tells = [t for t in terms if any(t.attribute not in one for one in missed)]
        return tells or list(terms)

    def _shared(self, suspects: list[str]) -> dict[int, int]:
        """Return the terms that would settle something, and how much."""
        found: dict[int, int] = {}
        for key in suspects:
            for term in self._open(key):
                number = self._pairs.number[term]
                found[number] = found.get(number, 0) + 1
        return found

    def _narrow(self, key: str) -> DoubtCheck | None:
        """Return a query for one record alone: its rarest terms together.

        Of terms that no query was missed by; else the rarest one that tells.
        """
        used = frozenset().union(*self._missed[key])
        open_ = self._open(key)
        unused = [term for term in open_ if term.attribute not in used]
        terms = sorted(unused or open_, key=lambda t: self._pairs.hits[self._number(t)])
        most = min(NARROW, self._interface.together) if unused else 1
        query = Query.of(*terms[:most])
        if not query or query in self._read:
            return None
        return DoubtCheck(query, self._interface.pages(len(self._matching(query))), 1)

    def _number(self, term: Term) -> int:
        return self._pairs.number[term]

    def _matching(self, query: Query) -> set[str]:
        """Return the records of the copy, as it was held, that answer a query."""
        found = [self._meeting(term) for term in query]
        return set.intersection(*sorted(found, key=len))

    def _meeting(self, term: Term) -> set[str]:
        number = self._pairs.number.get(term)
        if number is not None:
            return {self._pairs.keys[i] for i in self._pairs.of_term(number)}
        attribute = self._interface.attribute(term.attribute)
        return {
            key
            for key, record in self._records.items()
            if attribute.meets(record.get(term.attribute), term)
        }
