"""Find out whether records missing from an answer are gone, or only changed.

A query that was read whole and lacks a record of the copy shows that the record is
gone or has another value now. A second query, on other attributes, decides: a record
that still exists would need two changes at once to be missing from both.
"""

from collections.abc import Mapping
from typing import NamedTuple

from halflife.core.forms import Interface, Query, Term
from halflife.core.object_store import Attributes
from halflife.queries.incidence import Incidence
from halflife.queries.ledger import Ledger

NARROW = 3  # terms that are joined to find one record


class AbsenceCheck(NamedTuple):
    """A query that decides whether some records are gone.

    Attributes:
        query: The query.
        pages: Requests that it is expected to take.
        settles: The number of records that it decides.

    """

    query: Query
    pages: int
    settles: int


class AbsenceTracker:
    """Tracks records of the copy that are missing from answers.

    Args:
        interface: What the form can do.
        records: The copy, by key, as it was before the turn.

    """

    def __init__(self, interface: Interface, records: Mapping[str, Attributes]) -> None:
        self._interface = interface
        self._records = records
        self._pairs = Incidence.of(interface, records)
        self._missed: dict[str, list[frozenset[str]]] = {}
        self._heard: set[Query] = set()
        self._read: set[Query] = set()  # to their ends, whole or not
        self._gone: set[str] = set()

    def update(self, ledger: Ledger) -> None:
        """Note the queries that were read whole since the last call."""
        for query in ledger.asked:
            if query and query not in self._heard and ledger.whole(query):
                self._heard.add(query)
                which = frozenset(term.attribute for term in query)
                # Sorted, or the next query would depend on the order of a set.
                for key in sorted(self._matching(query) - ledger.seen.keys()):
                    self._missed.setdefault(key, []).append(which)
        self._gone |= ledger.looked_up - ledger.seen.keys()
        for key in self._missed.keys() & ledger.seen.keys():
            del self._missed[key]
        self._read |= ledger.finished

    def absent(self) -> frozenset[str]:
        """Return the records that no longer exist.

        These are missing from a look-up, from two queries that have no attribute in
        common, or from one query if they have only one attribute.
        """
        missing = {
            key for key, sets in self._missed.items() if self._settled(key, sets)
        }
        return frozenset((missing | self._gone) & self._records.keys())

    def suspects(self) -> list[str]:
        """Return the missing records that may still exist."""
        gone = self.absent()
        return [key for key in self._missed if key not in gone]

    def check(self) -> AbsenceCheck | None:
        """Return the query that decides most records for a request, if any is open."""
        suspects = self.suspects()
        if not suspects:
            return None
        best = next(filter(None, map(self._narrow, suspects)), None)
        for number, settles in self._shared(suspects).items():
            query = Query.of(self._pairs.terms[number])
            pages = self._interface.pages(int(self._pairs.hits[number]))
            # A query that was read and is cut off would be cut off again.
            if query in self._read:
                continue
            if best is None or settles * best.pages > best.settles * pages:
                best = AbsenceCheck(query, pages, settles)
        return best

    def _settled(self, key: str, sets: list[frozenset[str]]) -> bool:
        every = {term.attribute for term in self._terms(key)}
        if len(every) < 2:
            return True
        return any(a.isdisjoint(b) for i, a in enumerate(sets) for b in sets[:i])

    def _terms(self, key: str) -> tuple[Term, ...]:
        return self._interface.terms(self._records[key])

    def _open(self, key: str) -> list[Term]:
        """Return the terms of a record that would help to decide.

        Their attribute is missing from some query that lacked the record. If every
        such query has all of its attributes, all terms are returned.
        """
        missed, terms = self._missed[key], self._terms(key)
        deciding = [t for t in terms if any(t.attribute not in n for n in missed)]
        return deciding or list(terms)

    def _shared(self, suspects: list[str]) -> dict[int, int]:
        """Return the terms that would help, with the number of records they decide."""
        records: dict[int, int] = {}
        for key in suspects:
            for term in self._open(key):
                number = self._pairs.number[term]
                records[number] = records.get(number, 0) + 1
        return records

    def _narrow(self, key: str) -> AbsenceCheck | None:
        """Return a query for one record alone: its rarest terms together.

        Terms are preferred whose attribute no query that lacked the record has; else
        it is the rarest term that helps.
        """
        used = frozenset().union(*self._missed[key])
        open_ = self._open(key)
        unused = [term for term in open_ if term.attribute not in used]
        terms = sorted(unused or open_, key=lambda t: self._pairs.hits[self._number(t)])
        most = min(NARROW, self._interface.together) if unused else 1
        query = Query.of(*terms[:most])
        if not query or query in self._read:
            return None
        return AbsenceCheck(query, self._interface.pages(len(self._matching(query))), 1)

    def _number(self, term: Term) -> int:
        return self._pairs.number[term]

    def _matching(self, query: Query) -> set[str]:
        """Return the records of the copy before the turn that answer a query."""
        sets = [self._meeting(term) for term in query]
        return set.intersection(*sorted(sets, key=len))

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
