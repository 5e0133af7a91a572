"""The answers of a form while it is probed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from halflife.core.forms import Interface, Query, ResultPage, Term
from halflife.core.object_store import Attributes

SLACK = 1.06  # a count of two digits is off by less than this factor
RESULTS = (100, 200, 500, 1000, 2000, 5000, 10_000)
PAGES = (10, 20, 50, 100)  # where sites end results
LUCK = 1.25  # a slightly wrong count of n hits still rounds to n once in n / LUCK


class ResultEnd(NamedTuple):
    """Where the results of a query end.

    Attributes:
        last: The last page known to have records.
        shown: The number of records on it.
        beyond: The first page known to be empty; None if none was.

    """

    last: int
    shown: int
    beyond: int | None = None

    def reach(self, size: int) -> int:
        """Return the number of results known to be within reach."""
        return self.last * size + self.shown

    def usual(self, size: int) -> bool:
        """Return whether sites often end their results at such a place."""
        pages = usual_ends(size)
        top = self.beyond if self.beyond is not None else self.last + 1
        inside = self.sharp and self.shown < size
        at_page = not inside and any(self.last < page <= top for page in pages)
        return at_page or self.reach(size) in RESULTS

    @property
    def sharp(self) -> bool:
        """Whether nothing lies between the last page and the one beyond."""
        return self.beyond is not None and self.beyond - self.last == 1


def usual_ends(size: int) -> set[int]:
    """Return the numbers of pages after which sites often end their results."""
    return {-(-results // size) for results in RESULTS} | set(PAGES)


@dataclass
class ProbeNotes:
    """All answers that the judgements need.

    Attributes:
        claimed: The interface that the form claims.
        size: Records on a page, as far as it is known.
        pages: The answers, by query and page, as first given.
        again: First pages that were requested a second time.
        newest: The first page of a query, newest first.
        ends: Where the results of queries end.
        shared: Whether a second query ends where the first did; None if not tried.
        looked: Look-ups of keys that should exist, and their answers.
        absent: Whether a key that does not exist was found; None if not tried.
        failures: Requests without a readable answer.
        trouble: The last error.
        began: The first error.

    """

    claimed: Interface
    size: int
    pages: dict[tuple[Query, int], ResultPage] = field(default_factory=dict)
    repeated: dict[Query, ResultPage] = field(default_factory=dict)
    newest: dict[Query, ResultPage | None] = field(default_factory=dict)
    ends: dict[Query, ResultEnd] = field(default_factory=dict)
    shared: bool | None = None
    lookups: dict[str, ResultPage | None] = field(default_factory=dict)
    absent: bool | None = None
    everything: bool | None = None
    failures: int = 0
    trouble: str = ""
    first_trouble: str = ""

    def note_failure(self, why: str) -> None:
        """Note that a request had no readable answer."""
        self.failures += 1
        self.trouble, self.first_trouble = why, self.first_trouble or why

    def first_pages(self) -> Iterator[tuple[Query, ResultPage]]:
        """Return the first pages of all queries, in the order requested."""
        return ((query, f) for (query, page), f in self.pages.items() if not page)

    def first_page(self, query: Query) -> ResultPage | None:
        """Return the first page of a query, if it was requested."""
        return self.pages.get((query, 0))

    def total(self, query: Query) -> int | None:
        """Return the hit count that the form reports for a query."""
        found = self.first_page(query)
        return found.total if found else None

    def totals(self) -> dict[Query, int]:
        """Return all reported hit counts, by query."""
        return {q: f.total for q, f in self.first_pages() if f.total is not None}

    def keys(self, query: Query) -> set[str]:
        """Return the records that a query has shown."""
        mine = [f.records for (q, _), f in self.pages.items() if q == query]
        return {key for records in mine for key in records}

    def records(self) -> dict[str, Attributes]:
        """Return every record that was shown, as first shown."""
        found: dict[str, Attributes] = {}
        for page in self.pages.values():
            for key, record in page.records.items():
                found.setdefault(key, record)
        return found

    def one_page_answers(self) -> Iterator[tuple[Query, int, int]]:
        """Yield queries that one page answers, with the hits reported and shown.

        A page that is not full is the last one.
        """
        for query, found in self.first_pages():
            if query and found.total is not None and 0 < len(found.records) < self.size:
                yield query, found.total, len(found.records)

    def wrong_counts(self) -> list[tuple[Query, int, int]]:
        """Return the queries of ``one_page_answers`` whose reported count is wrong."""
        return [entry for entry in self.one_page_answers() if entry[1] != entry[2]]

    def counts_lie(self) -> bool:
        """Return whether counts of small queries are wrong, more than slightly once.

        An unreadable record may make one count one too high.
        """
        off = self.wrong_counts()
        far = any(abs(total - n) > max(1.0, 0.1 * n) for _, total, n in off)
        return far or len(off) > 1

    def luck(self) -> float:
        """Return the chance that slightly wrong counts agree where these do."""
        agreed = [true for _, total, true in self.one_page_answers() if total == true]
        return prod(min(LUCK / true, 1.0) for true in agreed)

    def biggest(self) -> Query | None:
        """Return the query with most results, as far as known."""
        best = max(self.first_pages(), key=lambda entry: _weight(*entry), default=None)
        return best[0] if best and best[1].records else None

    def repeats(self, query: Query, page: int) -> bool:
        """Return whether a page has the same records as an earlier one of the query."""
        keys = self.pages[query, page].records.keys()
        return any(
            found.records.keys() == keys
            for (other, number), found in self.pages.items()
            if other == query and number < page
        )

    def shares(self) -> dict[Term, float]:
        """Return the share of the records shown that meets each term."""
        records = self.records()
        meeting = Counter(
            term for record in records.values() for term in self.claimed.terms(record)
        )
        return {term: count / len(records) for term, count in meeting.items()}

    def meets_terms(self, query: Query, terms: Sequence[Term]) -> list[bool]:
        """Return, for each record that a query showed, whether it meets all terms.

        Records that do not show the attributes are left out.
        """
        records = [
            record
            for (other, _), found in self.pages.items()
            for record in (found.records.values() if other == query else ())
        ]
        return [
            self.claimed.meets(record, Query.of(*terms))
            for record in records
            if all(record.get(t.attribute) not in (None, "") for t in terms)
        ]


def _weight(query: Query, found: ResultPage) -> tuple[int, int, int]:
    return found.total or 0, len(found.records), -len(query)
