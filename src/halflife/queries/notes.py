"""What a form answered while it was measured."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from halflife.core.forms import Interface, Query, ResultPage, Term
from halflife.core.object_store import Attributes

SLACK = 1.06  # a number told to two digits is off by less than this factor
RESULTS = (100, 200, 500, 1000, 2000, 5000, 10_000)
PAGES = (10, 20, 50, 100)  # where sites end results
LUCK = 1.25  # a lie about n hits rounds to n once in n / LUCK, if it is a small one


class End(NamedTuple):
    """Where the results of a query end.

    Attributes:
        last: The last page that was seen to have records.
        shown: How many it had.
        beyond: The first page that was seen to have none; None if all had some.

    """

    last: int
    shown: int
    beyond: int | None = None

    def reach(self, size: int) -> int:
        """Return how many results are within reach, at least."""
        return self.last * size + self.shown

    def usual(self, size: int) -> bool:
        """Say whether sites often end their results there, as far as it is known."""
        pages = usual_ends(size)
        top = self.beyond if self.beyond is not None else self.last + 1
        cut = self.sharp and self.shown < size
        whole = not cut and any(self.last < page <= top for page in pages)
        return whole or self.reach(size) in RESULTS

    @property
    def sharp(self) -> bool:
        """Whether nothing lies between the last page and the one beyond."""
        return self.beyond is not None and self.beyond - self.last == 1


def usual_ends(size: int) -> set[int]:
    """Return the numbers of pages after which sites often end their results."""
    return {-(-results // size) for results in RESULTS} | set(PAGES)


@dataclass
class Notes:
    """All answers, as far as judgements need them.

    Attributes:
        claimed: What the form is said to do.
        size: Records on a page, as far as it is known.
        pages: The answers, by query and page, as first given.
        again: First pages that were asked for once more.
        newest: The first page of a query, newest first.
        ends: Where the results of queries end.
        shared: A second query that was seen to end where the first did, or not.
        looked: Keys looked up that should be there, and what was found.
        absent: Whether a key that nobody has was found; None if it was not tried.
        failures: Requests without an answer that could be read.
        trouble: What went wrong last.
        began: What went wrong first.

    """

    claimed: Interface
    size: int
    pages: dict[tuple[Query, int], ResultPage] = field(default_factory=dict)
    again: dict[Query, ResultPage] = field(default_factory=dict)
    newest: dict[Query, ResultPage | None] = field(default_factory=dict)
    ends: dict[Query, End] = field(default_factory=dict)
    shared: bool | None = None
    looked: dict[str, ResultPage | None] = field(default_factory=dict)
    absent: bool | None = None
    everything: bool | None = None
    failures: int = 0
    trouble: str = ""
    began: str = ""

    def fail(self, why: str) -> None:
        """Note that there was no answer that could be read."""
        self.failures += 1
        self.trouble, self.began = why, self.began or why

    def firsts(self) -> Iterator[tuple[Query, ResultPage]]:
        """Return the first pages, in the order asked for."""
        return ((query, f) for (query, page), f in self.pages.items() if not page)

    def first(self, query: Query) -> ResultPage | None:
        """Return the first page of a query, if it was asked for."""
        return self.pages.get((query, 0))

    def total(self, query: Query) -> int | None:
        """Return how many hits a query was told to have."""
        found = self.first(query)
        return found.total if found else None

    def totals(self) -> dict[Query, int]:
        """Return all numbers of hits that were told."""
        return {q: f.total for q, f in self.firsts() if f.total is not None}

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

    def whole(self) -> Iterator[tuple[Query, int, int]]:
        """Return queries that one page answers: with the hits told and shown.

        A page that is not full is the last one, if its size is known.
        """
        for query, found in self.firsts():
            if query and found.total is not None and 0 < len(found.records) < self.size:
                yield query, found.total, len(found.records)

    def off(self) -> list[tuple[Query, int, int]]:
        """Return those of them of which another number was told than shown."""
        return [one for one in self.whole() if one[1] != one[2]]

    def lied(self) -> bool:
        """Say whether the numbers of small queries are wrong, not just a little once.

        A record that could not be read may make one number one too high.
        """
        off = self.off()
        far = any(abs(told - n) > max(1.0, 0.1 * n) for _, told, n in off)
        return far or len(off) > 1

    def luck(self) -> float:
        """Return the chance that counts that lie a little agree where they do."""
        agreed = [true for _, told, true in self.whole() if told == true]
        return prod(min(LUCK / true, 1.0) for true in agreed)

    def biggest(self) -> Query | None:
        """Return the query with most results, as far as can be told."""
        best = max(self.firsts(), key=lambda one: _weight(*one), default=None)
        return best[0] if best and best[1].records else None

    def repeats(self, query: Query, page: int) -> bool:
        """Say whether a page shows just what an earlier page of the query did."""
        keys = self.pages[query, page].records.keys()
        return any(
            found.records.keys() == keys
            for (asked, number), found in self.pages.items()
            if asked == query and number < page
        )

    def shares(self) -> dict[Term, float]:
        """Return what part of the records shown meets each term."""
        records = self.records()
        meeting = Counter(
            term for record in records.values() for term in self.claimed.terms(record)
        )
        return {term: count / len(records) for term, count in meeting.items()}

    def met(self, query: Query, terms: Sequence[Term]) -> list[bool]:
        """Say of each record that a query showed whether it meets all of the terms.

        Records that do not show the attributes are left out.
        """
        records = [
            record
            for (asked, _), found in self.pages.items()
            for record in (found.records.values() if asked == query else ())
        ]
        return [
            self.claimed.meets(record, Query.of(*terms))
            for record in records
            if all(record.get(t.attribute) not in (None, "") for t in terms)
        ]


def _weight(query: Query, found: ResultPage) -> tuple[int, int, int]:
    return found.total or 0, len(found.records), -len(query)
