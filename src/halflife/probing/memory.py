"""A database in memory that answers queries like remote ones, well or badly."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from enum import StrEnum
from typing import Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Ints
from halflife.core.search import Document, SearchAnswer


class Totals(StrEnum):
    """How a database reports the number of matches."""

    EXACT = "exact"
    ROUNDED = "rounded"  # to two significant digits
    CAPPED = "capped"  # never more than a limit
    ABSENT = "absent"
    LYING = "lying"  # off by up to five times, each query by its own factor


class MatchRanking(StrEnum):
    """Which matches a database shows first."""

    QUERY = "query"  # every query has an order of its own
    STATIC = "static"  # one order for all queries
    SHORT = "short"  # documents with few words first


class InMemoryDatabase:
    """An inverted index over documents.

    A query is a conjunction of its words. Answers are always the same for the same
    documents, settings and query.

    >>> shelf = InMemoryDatabase(
    ...     [Document("a", ("cat", "dog")), Document("b", ("cat",))]
    ... )
    >>> shelf.search("cat dog", 10).documents[0].key, shelf.search("cat", 1).total
    ('a', 2)

    Args:
        documents: Its documents.
        totals: How it reports the number of matches.
        limit: The largest total, if totals are capped.
        ranking: Which matches come first.
        cap: Documents of one query that can be reached at all.
        page: Documents on a page, which costs one request.
        snippet: Words shown of a document, those of the query first; 0 for all.

    """

    def __init__(  # noqa: PLR0913  (the ways in which databases differ)
        self,
        documents: Iterable[Document],
        *,
        totals: Totals = Totals.EXACT,
        limit: int = 100,
        ranking: MatchRanking = MatchRanking.QUERY,
        cap: int = 1000,
        page: int = 10,
        snippet: int = 0,
    ) -> None:
        self.documents = tuple(documents)
        self.totals = totals
        self.limit = limit
        self.ranking = ranking
        self.cap = cap
        self.page = page
        self.snippet = snippet
        self._rows = _rows(self.documents)
        self._holders: dict[str, Ints] = {}  # of the words queried so far
        self._length = np.array([len(d.words) for d in self.documents], np.intp)
        self._code = np.array(
            [crc32(d.key.encode()) for d in self.documents], np.uint64
        )

    def search(self, query: str, most: int, skip: int = 0) -> SearchAnswer:
        """Return the next ``most`` matches after the first ``skip``."""
        words = tuple(dict.fromkeys(query.split()))
        matches = self._matches(words)
        end = min(skip + most, self.cap)
        shown = matches[self._order(matches, query)][skip:end].tolist()
        documents = tuple(self._shown(self.documents[i], words) for i in shown)
        requests = max(1, -(-len(documents) // self.page))
        return SearchAnswer(self._total(matches.size, query), documents, requests)

    def answering(self, totals: Totals, ranking: MatchRanking) -> Self:
        """Return the same database with other behaviour; they share the index."""
        other = copy(self)
        other.totals, other.ranking = totals, ranking
        return other

    def _matches(self, words: tuple[str, ...]) -> Ints:
        """Return the documents with all of the words."""
        holders = sorted((self._held(w) for w in words), key=len)
        matches = holders[0] if holders else np.zeros(0, np.intp)
        for others in holders[1:]:
            matches = np.intersect1d(matches, others, assume_unique=True)
        return matches

    def _held(self, word: str) -> Ints:
        """Return the documents with a word."""
        if word not in self._holders:
            self._holders[word] = np.unique(np.array(self._rows.get(word, []), np.intp))
        return self._holders[word]

    def _order(self, found: Ints, query: str) -> Ints:
        salt = crc32(query.encode()) if self.ranking is MatchRanking.QUERY else 0
        chance = _scrambled(self._code[found] ^ np.uint64(salt << 32))
        if self.ranking is MatchRanking.SHORT:
            return np.lexsort((chance, self._length[found]))
        return np.argsort(chance, kind="stable")

    def _shown(self, document: Document, words: tuple[str, ...]) -> Document:
        """Return a document as it is shown."""
        if not 0 < self.snippet < len(document.words):
            return document
        salt = crc32(" ".join(words).encode())
        rest = sorted(
            set(document.words).difference(words),
            key=lambda w: crc32(w.encode(), salt),
        )
        seen = (*words, *rest)[: max(self.snippet, len(words))]
        return Document(document.key, tuple(sorted(seen)), whole=False)

    def _total(self, found: int, query: str) -> int | None:
        """Return the number of matches as the database reports it."""
        if self.totals is Totals.ABSENT:
            return None
        if self.totals is Totals.ROUNDED:
            return int(float(f"{found:.1e}"))
        if self.totals is Totals.CAPPED:
            return min(found, self.limit)
        if self.totals is Totals.LYING and found:
            share = crc32(query.encode()) / 2**32
            return max(1, round(found * float(5.0 ** (2.0 * share - 1.0))))
        return found


def _rows(documents: tuple[Document, ...]) -> Mapping[str, Sequence[int]]:
    """Return the rows of the documents with each word."""
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for row, document in enumerate(documents):
        for word in document.words:
            rows[word].append(row)
    return rows


def _scrambled(code: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return well-mixed numbers: the finaliser of SplitMix64."""
    code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return code ^ (code >> np.uint64(31))
