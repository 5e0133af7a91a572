"""Trials of selection on recorded databases, with summaries of any age.

A trial takes place in one week. A database's summary shows it as it was so many
weeks before; which databases answer a query is counted in the week itself.
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
from halflife.selection.lexicon import Cori, LanguageModel, Scorer, bgloss
from halflife.selection.quality import ndcg, overlap, r_n
from halflife.selection.sample_scores import Crcs, Redde
from halflife.selection.samples import SampleIndex
from halflife.selection.table import FrequencyTable
from halflife.summary.weekly import Weekly

SAMPLE = 100  # documents of a database that selection by samples may know
FIRST = (1, 3, 5)
RAREST, RARE = 2, 0.01  # a rare word is in 2 documents at least, in 1% at most

METHODS: Mapping[str, Callable[[SampleIndex], Scorer]] = MappingProxyType(
    {
        "bgloss": lambda _: bgloss,
        "cori": lambda _: Cori(),
        "lm": lambda _: LanguageModel(),
        "lm-dirichlet": lambda _: LanguageModel(mu=2000.0),
        "redde": Redde,
        "crcs-linear": Crcs,
        "crcs-exponential": lambda index: Crcs(index, exponential=True),
    }
)


@dataclass(frozen=True, slots=True)
class TrialQuery:
    """Words of one document that somebody knows and looks for.

    Attributes:
        words: The words.
        home: The database that holds the document.

    """

    words: tuple[str, ...]
    home: int


@dataclass(frozen=True, slots=True)
class TrialKnowledge:
    """What a metasearcher knows: the summaries, and the sampled documents."""

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
    documents that are new or have changed in the last so many weeks are asked for.
    """
    there = _present(weekly, np.full(len(weekly.sites), week))
    length = np.diff(weekly.start)
    held = np.bincount(weekly.term[np.repeat(there, length)], None, weekly.words.size)
    rare = (held >= RAREST) & (held <= max(RARE * there.sum(), RAREST))
    if newest is not None:
        there &= weekly.week_from > week - newest
    found: list[TrialQuery] = []
    for home in range(len(weekly.sites)):
        first, last = weekly.first[home : home + 2].tolist()
        rows = first + np.flatnonzero(there[first:last])
        drawn = _draw(weekly, rng.permutation(rows), rare, rng)
        found += [TrialQuery(words, home) for words in islice(drawn, each)]
    return found


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
    """Return which documents were there, each database in its own week."""
    if week.shape != (len(weekly.sites),):
        raise UsageError(f"{week.size} weeks for {len(weekly.sites)} databases")
    if week.size and not weekly.since <= week.min() <= week.max() < weekly.weeks:
        raise UsageError(
            f"weeks {week.min()} to {week.max()} were asked for, "
            f"{weekly.since} to {weekly.weeks - 1} are recorded whole"
        )
    at = np.repeat(week, np.diff(weekly.first))
    return np.asarray((weekly.week_from <= at) & (at <= weekly.week_to))


@dataclass(frozen=True)
class Trial:
    """Queries in one week, and where their words are in all weeks.

    Attributes:
        weekly: The recorded databases.
        week: When the queries are asked.
        queries: What is asked.
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

    def known(
        self, age: Ints, sample: int = SAMPLE, *, complete: bool = True
    ) -> TrialKnowledge:
        """Return what is known when each database's summary is ``age`` weeks old.

        Summaries are complete, or else by the sampled documents only.
        """
        if (age < 0).any():
            raise UsageError(f"summaries cannot be {age.min()} weeks old")
        there = _present(self.weekly, self.week - age)
        index = self._index(there, sample)
        return TrialKnowledge(self._table(there) if complete else index.table(), index)

    def _table(self, there: Bools) -> FrequencyTable:
        home, databases = self.home, len(self.weekly.sites)
        seen = there[self.document]
        cell = self.word[seen] * databases + home[self.document[seen]]
        count = np.bincount(cell, minlength=len(self.code) * databases)
        word, database = np.divmod(np.arange(count.size), databases)
        entries = (word, database, count.astype(np.float64))
        size = np.bincount(home, there, databases).astype(np.float64)
        length = np.diff(self.weekly.start) * there
        words = np.bincount(home, length, databases).astype(np.float64)
        return FrequencyTable.of_entries(
            self.weekly.sites, self.code, entries, size, words
        )

    def _index(self, there: Bools, sample: int) -> SampleIndex:
        home, databases = self.home, len(self.weekly.sites)
        drawn = _drawn(self.weekly.page.tolist(), home, there, sample)
        row = np.full(home.size, -1, np.intp)
        row[drawn] = np.arange(drawn.size)
        seen = row[self.document] >= 0
        return SampleIndex.of_entries(
            self.weekly.sites,
            self.code,
            (self.word[seen], row[self.document[seen]]),
            home[drawn],
            size=np.bincount(home, there, databases).astype(np.float64),
            length=np.diff(self.weekly.start)[drawn].astype(np.float64),
        )

    def orders(self, known: TrialKnowledge, method: str) -> list[Ints]:
        """Return the databases that each query is sent to, best first."""
        scorer = METHODS[method](known.index)
        found = []
        for query in self.queries:
            words = known.table.known(query.words)
            if words:
                scores = scorer(known.table, words)
                best = order(known.table.names, scores)
                found.append(best[: int(scores.backed.sum())])
            else:
                found.append(np.zeros(0, np.intp))
        return found

    def relevant(self) -> list[Floats]:
        """Return how many documents with all the words each database really has."""
        there = _present(self.weekly, np.full(len(self.weekly.sites), self.week))
        seen = there[self.document]
        word, document = self.word[seen], self.document[seen]
        by_word = np.argsort(word, kind="stable")
        start = np.searchsorted(word[by_word], np.arange(len(self.code) + 1))
        found, home = [], self.home
        for query in self.queries:
            rows = [self.code[w] for w in query.words]
            hits = [document[by_word[start[j] : start[j + 1]]] for j in rows]
            both = reduce(np.intersect1d, hits) if hits else np.zeros(0, np.intp)
            count = np.bincount(home[both], minlength=len(self.weekly.sites))
            found.append(count.astype(np.float64))
        return found

    def measures(
        self, orders: Sequence[Ints], fresh: Sequence[Ints]
    ) -> Mapping[str, Floats]:
        """Return each measure of the orders, query by query; nan where it has none.

        ``sent``: whether anything speaks for any database, so that the query is sent
        at all. ``overlap_5``: the first five with those by fresh summaries.
        ``known_n``: whether the document's database is among the first n. ``r_n``:
        documents with all the words in the first n over those in the best n.
        ``ndcg_5``: the same, each discounted by its database's rank.
        """
        rows = zip(self.queries, orders, fresh, self.relevant(), strict=True)
        found = [_measure(q.home, one, new, held) for q, one, new, held in rows]
        return {name: np.array([each[name] for each in found]) for name in _NAMES}


_NAMES = (
    "sent",
    "overlap_5",
    *(f"{m}_{n}" for m in ("known", "r") for n in FIRST),
    "ndcg_5",
)


def _measure(home: int, one: Ints, fresh: Ints, relevant: Floats) -> dict[str, float]:
    found = {"sent": float(one.size > 0)}
    found |= {f"known_{n}": float(home in one[:n]) for n in FIRST}
    found |= {f"r_{n}": r_n(one, relevant, n) for n in FIRST}
    return found | {
        "overlap_5": overlap(one, fresh, 5),
        "ndcg_5": ndcg(one, relevant, 5),
    }


def _drawn(page: Sequence[str], home: Ints, there: Bools, most: int) -> Ints:
    """Return a sample of the documents of each database that are there.

    Those whose names have the smallest checksums: as good as random, and summaries
    of different ages sample the same pages, so that they differ by age, not by luck.
    Coordinated samples: Cohen and Kaplan, "Summarizing data using bottom-k
    sketches", PODC 2007.
    """
    rows = np.flatnonzero(there)
    luck = np.array([crc32(page[i].encode()) for i in rows.tolist()], np.intp)
    rows = rows[np.lexsort((luck, home[rows]))]
    mine = home[rows]
    place = np.arange(rows.size) - np.searchsorted(mine, mine)
    return rows[place < most]


def quality_at(
    weekly: Weekly,
    week: int,
    age_of_each: Ints,
    queries: Sequence[TrialQuery],
    method: str,
) -> Mapping[str, Floats]:
    """Return how well queries of a week are sent by summaries of these ages.

    ``age_of_each`` is in weeks, one for each database; see ``Trial.measures`` for
    what comes back, and ``METHODS`` for the methods.
    """
    if method not in METHODS:
        raise UsageError(f"no method {method!r}; there are {', '.join(METHODS)}")
    trial = Trial.of(weekly, week, queries)
    fresh = trial.orders(trial.known(np.zeros_like(age_of_each)), method)
    return trial.measures(trial.orders(trial.known(age_of_each), method), fresh)
