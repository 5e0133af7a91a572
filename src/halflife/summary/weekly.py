"""Text databases week by week: every document and its words.

A document that changes is a new document from that week on. The summary of any database
in any week follows exactly from these.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.search import Document
from halflife.summary import Summary
from halflife.summary.tables import Summaries

STRATA = ("com", "org", "edu", "gov", "misc")
RECENT = 13  # weeks for which a news page or a forum shows a document


@dataclass(frozen=True, slots=True)
class WeeklySummaries:
    """The complete summaries of one database in every week.

    Attributes:
        week: The weeks, ascending.
        term: Its words, as places in the vocabulary, ascending.
        count: Documents with each word (weeks x words).
        size: Documents in each week.

    """

    week: Ints
    term: Ints
    count: NDArray[np.int32]
    size: Floats


@dataclass(frozen=True)
class Weekly:
    """Recorded databases, their documents and the weeks in which these existed.

    Attributes:
        sites: Names of the databases.
        stratum: The domain of each: one of ``STRATA``.
        begin: The time of week 0, in days, for each.
        words: The vocabulary.
        weeks: Weeks recorded; they count from 0.
        since: The first week with complete summaries.
        first: The first document of each database, and the end of the last.
        page: The name of each document.
        week_from: The first week of each document.
        week_to: The last week of each document.
        start: Where the terms of each document start, and the end of the last.
        term: Places in the vocabulary, ascending within a document.

    """

    sites: tuple[str, ...]
    stratum: tuple[str, ...]
    begin: Floats
    words: NDArray[np.object_]
    weeks: int
    since: int
    first: Ints
    page: NDArray[np.object_]
    week_from: Ints
    week_to: Ints
    start: Ints
    term: NDArray[np.int32]

    def recent(self, weeks: int = RECENT) -> "Weekly":
        """Return the view that shows only documents new in the last ``weeks``.

        A document is present in week k if its ``week_from > k - weeks``. The age of the
        documents of week 0 is unknown, so the view starts in week ``weeks``, the first
        that shows none of them.
        """
        if not 1 <= weeks < self.weeks:
            raise ValueError(f"recent weeks must be 1 to {self.weeks - 1}: {weeks}")
        last = np.minimum(self.week_to, self.week_from + (weeks - 1))
        return replace(self, week_to=last, since=max(self.since, weeks))

    def select(self, sites: tuple[str, ...]) -> "Weekly":
        """Return the recording of some databases only."""
        at = [self.place(site) for site in sites]
        rows = [np.arange(self.first[i], self.first[i + 1]) for i in at]
        lengths = [row.size for row in rows]
        row = np.concatenate([*rows, np.zeros(0, np.intp)]).astype(np.intp)
        size = np.diff(self.start)
        terms = [
            self.term[self.start[r[0]] : self.start[r[-1] + 1]] for r in rows if r.size
        ]
        return replace(
            self,
            sites=sites,
            stratum=tuple(self.stratum[i] for i in at),
            begin=self.begin[at],
            first=_starts(np.array(lengths, dtype=np.intp)),
            page=self.page[row],
            week_from=self.week_from[row],
            week_to=self.week_to[row],
            start=_starts(size[row]),
            term=np.concatenate([*terms, np.zeros(0, np.int32)]).astype(np.int32),
        )

    def until(self, weeks: int) -> "Weekly":
        """Return the same recording, ended after ``weeks`` weeks."""
        if not self.since < weeks <= self.weeks:
            raise ValueError(f"weeks must be {self.since + 1} to {self.weeks}: {weeks}")
        return replace(self, weeks=weeks)

    def place(self, site: str) -> int:
        """Return the index of the database with this name."""
        try:
            return self.sites.index(site)
        except ValueError:
            raise ValueError(f"no database {site!r} was recorded") from None

    def present(self, site: str, week: int) -> Ints:
        """Return the documents that a database had in a week."""
        if not self.since <= week < self.weeks:
            raise ValueError(
                f"week {week} was not recorded whole: {self.since} to {self.weeks - 1}"
            )
        low, high = self._rows(self.place(site))
        present = (self.week_from[low:high] <= week) & (week <= self.week_to[low:high])
        return low + np.flatnonzero(present)

    def documents(self, site: str, week: int) -> tuple[Document, ...]:
        """Return the documents that a database had in a week, with their words."""
        return tuple(
            Document(str(self.page[i]), tuple(sorted(self.words[self._terms(i)])))
            for i in self.present(site, week).tolist()
        )

    def summary(self, site: str, week: int) -> Summary:
        """Return the complete summary of a database in a week."""
        size, term, count = self._count(site, week)
        words = self.words[term].tolist()
        order = sorted(range(len(words)), key=words.__getitem__)
        sorted_words = tuple(words[k] for k in order)
        return Summary(sorted_words, count[order], float(size), size)

    def table(self, week: int) -> Summaries:
        """Return the complete summaries of all databases in a week."""
        counts = [self._count(site, week) for site in self.sites]
        none = np.zeros(0)
        size = np.array([n for n, _, _ in counts], dtype=np.float64)
        return Summaries(
            names=self.sites,
            words=self.words,
            start=_starts(np.array([t.size for _, t, _ in counts], dtype=np.intp)),
            word=np.concatenate([*(t for _, t, _ in counts), none]).astype(np.intp),
            count=np.concatenate([*(c for _, _, c in counts), none]),
            size=size,
            sampled=size.astype(np.intp),
            taken_at=self.begin + 7.0 * week,
        )

    def weekly_summaries(self, site: str) -> WeeklySummaries:
        """Return the summaries of a database in all weeks at once.

        A word's count rises by one where a document starts and falls by one after
        it ended, so the counts are running sums over weeks.
        """
        low, high = self._rows(self.place(site))
        terms = self.term[self.start[low] : self.start[high]]
        distinct, term = _ranked(terms, self.words.size)
        lengths = np.diff(self.start[low : high + 1])
        step = np.zeros((self.weeks + 1, distinct.size), dtype=np.int32)
        size = np.zeros(self.weeks + 1)
        for sign, edge in ((1, self.week_from), (-1, self.week_to + 1)):
            at = np.clip(edge[low:high], 0, self.weeks)
            cell = np.repeat(at * distinct.size, lengths) + term
            step += sign * np.bincount(cell, minlength=step.size).reshape(step.shape)
            size += sign * np.bincount(at, minlength=size.size)
        kept = slice(self.since, self.weeks)
        return WeeklySummaries(
            np.arange(self.since, self.weeks),
            distinct,
            np.cumsum(step, axis=0, dtype=np.int32)[kept],
            np.cumsum(size)[kept],
        )

    def terms(self, rows: Ints) -> Iterator[NDArray[np.int32]]:
        """Yield the terms of each of these documents, indices in the vocabulary."""
        return (self._terms(row) for row in rows.tolist())

    def _rows(self, place: int) -> tuple[int, int]:
        return int(self.first[place]), int(self.first[place + 1])

    def _terms(self, row: int) -> NDArray[np.int32]:
        return self.term[self.start[row] : self.start[row + 1]]

    def _count(self, site: str, week: int) -> tuple[int, Ints, Floats]:
        """Return size, terms and how many documents contain each, in a week."""
        rows = self.present(site, week)
        low, high = self._rows(self.place(site))
        present: Bools = np.zeros(high - low, dtype=np.bool_)
        present[rows - low] = True
        lengths = np.diff(self.start[low : high + 1])
        terms = self.term[self.start[low] : self.start[high]][
            np.repeat(present, lengths)
        ]
        count = np.bincount(terms, minlength=1)
        term = np.flatnonzero(count)
        return rows.size, term, count[term].astype(np.float64)


def _starts(lengths: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.intp)


def _ranked(terms: NDArray[np.int32], vocabulary: int) -> tuple[Ints, Ints]:
    """Return the distinct terms, ascending, and the index of each among them."""
    seen = np.zeros(vocabulary, dtype=np.bool_)
    seen[terms] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[terms]
