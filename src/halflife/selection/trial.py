"""Trials of selection on recorded databases, with summaries of any age.

A trial takes place in one week. A database's summary shows it as it was some weeks
before; which databases answer a query is counted in the week itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from types import MappingProxyType
from zlib import crc32

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.errors import UsageError
from halflife.selection.choice import order
from halflife.selection.lexicon import CoriScorer, LanguageModel, Scorer, bgloss
from halflife.selection.quality import ndcg, overlap, r_n
from halflife.selection.sample_scores import CrcsScorer, ReddeScorer
from halflife.selection.samples import SampleIndex
from halflife.selection.table import FrequencyTable
from halflife.summary.weekly import Weekly

SAMPLE = 100  # documents of a database in the sample for selection by samples
FIRST = (1, 3, 5)
RAREST, RARE = 2, 0.01  # a rare word is in at least 2 documents, and in at most 1%

METHODS: Mapping[str, Callable[[SampleIndex], Scorer]] = MappingProxyType(
    {
        "bgloss": lambda _: bgloss,
        "cori": lambda _: CoriScorer(),
        "lm": lambda _: LanguageModel(),
        "lm-dirichlet": lambda _: LanguageModel(mu=2000.0),
        "redde": ReddeScorer,
        "crcs-linear": CrcsScorer,
        "crcs-exponential": lambda index: CrcsScorer(index, exponential=True),
    }
)


@dataclass(frozen=True, slots=True)
class TrialQuery:
    """Words of one document that a user knows and searches for.

    Attributes:
        words: The words.
        home: The database that holds the document.

    """

    words: tuple[str, ...]
    home: int


@dataclass(frozen=True, slots=True)
class TrialKnowledge:
    """The knowledge of a metasearcher: the summaries, and the sampled documents."""

    table: FrequencyTable
    index: SampleIndex


def known_items(
    weekly: Weekly,
    week: int,
    each: int,
    rng: Generator,
    *,
    newest: int | None = None,
) -> list[TrialQuery]:
    """Return up to ``each`` queries for documents of each database in a week.

    A query is 2 or 3 rare words of one document, drawn at random: words in at least
    2 documents of all databases and in at most 1% of them. With ``newest``, only
    documents that are new or have changed in the last ``newest`` weeks are used.
    """
    present = _present(weekly, np.full(len(weekly.sites), week))
    length = np.diff(weekly.start)
    frequency = np.bincount(
        weekly.term[np.repeat(present, length)], None, weekly.words.size
    )
    rare = (frequency >= RAREST) & (frequency <= max(RARE * present.sum(), RAREST))
    if newest is not None:
        present &= weekly.week_from > week - newest
    queries: list[TrialQuery] = []
    for home in range(len(weekly.sites)):
        first, last = weekly.first[home : home + 2].tolist()
        rows = first + np.flatnonzero(present[first:last])
        drawn = _draw(weekly, rng.permutation(rows), rare, rng)
        queries += [TrialQuery(words, home) for words in islice(drawn, each)]
    return queries


def _draw(
    weekly: Weekly, rows: Ints, rare: Bools, rng: Generator
) -> Iterator[tuple[str, ...]]:
    """Yield rare words of each document that has enough of them."""
    for row in rows.tolist():
        terms = weekly.term[weekly.start[row] : weekly.start[row + 1]]
        terms = terms[rare[terms]]
        if terms.size >= 3:
            drawn = rng.choice(terms, rng.integers(2, 4), replace=False)
            yield tuple(weekly.words[drawn].tolist())


def _present(weekly: Weekly, week: Ints) -> Bools:
    """Return which documents were present, each database in its own week."""
    if week.shape != (len(weekly.sites),):
        raise UsageError(f"{week.size} weeks for {len(weekly.sites)} databases")
    if week.size and not weekly.since <= week.min() <= week.max() < weekly.weeks:
        raise UsageError(
            f"weeks {week.min()} to {week.max()} were requested, "
            f"{weekly.since} to {weekly.weeks - 1} are recorded whole"
        )
    at = np.repeat(week, np.diff(weekly.first))
    return np.asarray((weekly.week_from <= at) & (at <= weekly.week_to))


@dataclass(frozen=True)
class Trial:
    """Queries in one week, and where their words are in all weeks.

    Attributes:
        weekly: The recorded databases.
        week: The week of the queries.
        queries: The queries.
        code: The row of each word of the queries.
        word: The word of each entry.
        document: The document of each entry.

    """

    weekly: Weekly
    week: int
    queries: tuple[TrialQuery, ...]
    code: Mapping[str, int]
    word: Ints
    document: Ints

    @classmethod
    def of(cls, weekly: Weekly, week: int, queries: Sequence[TrialQuery]) -> "Trial":
        """Return the trial of these queries."""
        words = sorted({w for q in queries for w in q.words})
        code = {w: j for j, w in enumerate(words)}
        row = np.full(weekly.words.size, -1, np.intp)
        for j, word in enumerate(weekly.words.tolist()):
            row[j] = code.get(word, -1)
        word = row[weekly.term]
        at = np.flatnonzero(word >= 0)
        document = np.searchsorted(weekly.start, at, side="right") - 1
        return cls(weekly, week, tuple(queries), code, word[at], document)

    @property
    def home(self) -> Ints:
        """Return the database of each document."""
        databases = np.arange(len(self.weekly.sites))
        return np.repeat(databases, np.diff(self.weekly.first))

    def knowledge(
        self, age: Ints, sample: int = SAMPLE, *, complete: bool = True
    ) -> TrialKnowledge:
        """Return the knowledge when each database's summary is ``age`` weeks old.

        Summaries are complete, or else made from the sampled documents only.
        """
        if (age < 0).any():
            raise UsageError(f"summaries cannot be {age.min()} weeks old")
        present = _present(self.weekly, self.week - age)
        index = self._index(present, sample)
        return TrialKnowledge(
            self._table(present) if complete else index.table(), index
        )

    def _table(self, present: Bools) -> FrequencyTable:
        home, databases = self.home, len(self.weekly.sites)
        in_present = present[self.document]
        cell = self.word[in_present] * databases + home[self.document[in_present]]
        count = np.bincount(cell, minlength=len(self.code) * databases)
        word, database = np.divmod(np.arange(count.size), databases)
        entries = (word, database, count.astype(np.float64))
        size = np.bincount(home, present, databases).astype(np.float64)
        length = np.diff(self.weekly.start) * present
        words = np.bincount(home, length, databases).astype(np.float64)
        return FrequencyTable.of_entries(
            self.weekly.sites, self.code, entries, size, words
        )

    def _index(self, present: Bools, sample: int) -> SampleIndex:
        home, databases = self.home, len(self.weekly.sites)
        drawn = _sample(self.weekly.page.tolist(), home, present, sample)
        row = np.full(home.size, -1, np.intp)
        row[drawn] = np.arange(drawn.size)
        in_sample = row[self.document] >= 0
        return SampleIndex.of_entries(
            self.weekly.sites,
            self.code,
            (self.word[in_sample], row[self.document[in_sample]]),
            home[drawn],
            size=np.bincount(home, present, databases).astype(np.float64),
            length=np.diff(self.weekly.start)[drawn].astype(np.float64),
        )

    def orders(self, knowledge: TrialKnowledge, method: str) -> list[Ints]:
        """Return the databases to which each query is sent, best first."""
        scorer = METHODS[method](knowledge.index)
        orders = []
        for query in self.queries:
            words = knowledge.table.known(query.words)
            if words:
                scores = scorer(knowledge.table, words)
                best = order(knowledge.table.names, scores)
                orders.append(best[: int(scores.backed.sum())])
            else:
                orders.append(np.zeros(0, np.intp))
        return orders

    def relevant(self) -> list[Floats]:
        """Return how many documents with all the words each database really has."""
        present = _present(self.weekly, np.full(len(self.weekly.sites), self.week))
        in_present = present[self.document]
        word, document = self.word[in_present], self.document[in_present]
        by_word = np.argsort(word, kind="stable")
        start = np.searchsorted(word[by_word], np.arange(len(self.code) + 1))
        counts, home = [], self.home
        for query in self.queries:
            rows = [self.code[w] for w in query.words]
            hits = [document[by_word[start[j] : start[j + 1]]] for j in rows]
            matches = reduce(np.intersect1d, hits) if hits else np.zeros(0, np.intp)
            count = np.bincount(home[matches], minlength=len(self.weekly.sites))
            counts.append(count.astype(np.float64))
        return counts

    def measures(
        self, orders: Sequence[Ints], fresh: Sequence[Ints]
    ) -> Mapping[str, Floats]:
        """Return each measure of the orders by query; nan where it is undefined.

        ``sent``: whether there is evidence for any database, so that the query is sent
        at all. ``overlap_5``: the first five with those by fresh summaries.
        ``known_n``: whether the document's database is among the first n. ``r_n``:
        documents with all the words in the first n over those in the best n.
        ``ndcg_5``: the same, each discounted by its database's rank.
        """
        rows = zip(self.queries, orders, fresh, self.relevant(), strict=True)
        by_query = [
            _measure(q.home, ranked, new, held) for q, ranked, new, held in rows
        ]
        return {name: np.array([row[name] for row in by_query]) for name in _NAMES}


_NAMES = (
    "sent",
    "overlap_5",
    *(f"{m}_{n}" for m in ("known", "r") for n in FIRST),
    "ndcg_5",
)


def _measure(
    home: int, ranked: Ints, fresh: Ints, relevant: Floats
) -> dict[str, float]:
    values = {"sent": float(ranked.size > 0)}
    values |= {f"known_{n}": float(home in ranked[:n]) for n in FIRST}
    values |= {f"r_{n}": r_n(ranked, relevant, n) for n in FIRST}
    return values | {
        "overlap_5": overlap(ranked, fresh, 5),
        "ndcg_5": ndcg(ranked, relevant, 5),
    }


def _sample(page: Sequence[str], home: Ints, present: Bools, most: int) -> Ints:
    """Return a sample of the present documents of each database.

    It has those whose names have the smallest checksums: as good as random, and
    summaries of different ages sample the same pages, so that they differ by age, not
    by chance. Coordinated samples: Cohen and Kaplan, "Summarizing data using bottom-k
    sketches", PODC 2007.
    """
    rows = np.flatnonzero(present)
    checksum = np.array([crc32(page[i].encode()) for i in rows.tolist()], np.intp)
    rows = rows[np.lexsort((checksum, home[rows]))]
    homes = home[rows]
    place = np.arange(rows.size) - np.searchsorted(homes, homes)
    return rows[place < most]


def quality_at(
    weekly: Weekly,
    week: int,
    age_of_each: Ints,
    queries: Sequence[TrialQuery],
    method: str,
) -> Mapping[str, Floats]:
    """Return how well queries of a week are routed by summaries of these ages.

    ``age_of_each`` is in weeks, one for each database; see ``Trial.measures`` for
    the result, and ``METHODS`` for the methods.
    """
    if method not in METHODS:
        raise UsageError(f"no method {method!r}; there are {', '.join(METHODS)}")
    trial = Trial.of(weekly, week, queries)
    fresh = trial.orders(trial.knowledge(np.zeros_like(age_of_each)), method)
    return trial.measures(trial.orders(trial.knowledge(age_of_each), method), fresh)
