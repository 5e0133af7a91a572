"""Samples of databases: the queries, the documents read, and how it ended."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from halflife.core.errors import UsageError
from halflife.core.search import Document, Searchable, SearchAnswer
from halflife.probing.query_check import QueryCheck
from halflife.summary import Summary


class Ending(StrEnum):
    """Why sampling ended."""

    ENOUGH = "enough documents"
    STEADY = "further documents no longer change the summary"
    FRUITLESS = "too many queries in a row found nothing new"
    EXHAUSTED = "no word is left to ask for"
    DONE = "every probe was sent"
    SPENT = "no request is left"
    SILENT = "no word of the dictionary finds anything"
    IGNORED = (
        "it ignores what it is asked for: different words, and one that nobody has, "
        "find the same documents"
    )
    SNIPPETS = "the database shows only snippets; allow them, or fetch the documents"


@dataclass(frozen=True, slots=True)
class SampleQuery:
    """A query and its result.

    Attributes:
        query: The query.
        total: Matches that the database reported; None if it reported none.
        keys: The documents that it showed, best first.
        new: How many of them were read for the first time.

    """

    query: str
    total: int | None
    keys: tuple[str, ...]
    new: int


@dataclass(frozen=True, slots=True)
class Sample:
    """Documents of a database and how they were found.

    Attributes:
        documents: The documents that were read, in the order in which they came.
        queries: The queries, in order.
        requests: Their cost in requests.
        ending: Why sampling ended.

    """

    documents: tuple[Document, ...]
    queries: tuple[SampleQuery, ...]
    requests: int
    ending: Ending

    @property
    def frequency(self) -> dict[str, int]:
        """How many of the documents contain each word, df_S(w)."""
        return frequency(self.documents)

    @property
    def totals(self) -> dict[str, int]:
        """The number of matches of each query, as the database reported it."""
        return {q.query: q.total for q in self.queries if q.total is not None}

    def summary(self, size: float | None = None) -> Summary:
        """Return the summary of the database: f(w) = size df_S(w) / |S|.

        Args:
            size: Documents in the database; those that were read if unknown.

        Raises:
            UsageError: If no document was read.

        """
        read = len(self.documents)
        if not read:
            raise UsageError(f"there is nothing to summarise: {self.ending}")
        size = float(read) if size is None else size
        share = size / read
        counts = {w: share * n for w, n in self.frequency.items()}
        return Summary.of(counts, size, read)


def frequency(documents: Iterable[Document]) -> dict[str, int]:
    """Return how many of the documents contain each word."""
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(document.words)
    return counts


class SampleCollector:
    """Collects a sample: it sends every query and counts requests.

    Args:
        database: The database.
        most: Documents requested of a query.
        keep: New documents kept of a query.
        requests: Requests that may be spent; None for any number.
        snippets: Whether documents with only a snippet count.

    """

    def __init__(
        self,
        database: Searchable,
        most: int,
        keep: int,
        *,
        requests: int | None = None,
        snippets: bool = False,
    ) -> None:
        self.database = database
        self.most = most
        self.keep = keep
        self.limit = requests
        self.snippets = snippets
        self.documents: dict[str, Document] = {}
        self.queries: list[SampleQuery] = []
        self.requests = 0
        self.refused = 0  # snippets that were shown and not used
        self._check = QueryCheck(self._search, lambda: self.spent)

    @property
    def spent(self) -> bool:
        """Whether no request is left."""
        return self.limit is not None and self.requests >= self.limit

    @property
    def ignored(self) -> bool:
        """Whether the database ignores queries."""
        return self._check.ignored

    def ask(self, query: str) -> list[Document]:
        """Send a query and return the new documents in its answer."""
        answer = self._search(query)
        new = self._new(answer)
        self.documents.update((d.key, d) for d in new)
        self.queries[-1] = replace(self.queries[-1], new=len(new))
        self._check.add(query, answer)
        return new

    def _search(self, query: str) -> SearchAnswer:
        answer = self.database.search(query, self.most)
        self.requests += answer.requests
        keys = tuple(document.key for document in answer.documents)
        self.queries.append(SampleQuery(query, answer.total, keys, 0))
        return answer

    def _new(self, answer: SearchAnswer) -> list[Document]:
        usable = [d for d in answer.documents if d.whole or self.snippets]
        self.refused += len(answer.documents) - len(usable)
        fresh = {d.key: d for d in usable if d.key not in self.documents}
        return list(fresh.values())[: self.keep]

    def ended(self, ending: Ending) -> Sample:
        """Return the sample, with the reason of its end.

        Documents that a database shows for every query are not a sample of it.
        """
        if self.ignored:
            return Sample((), tuple(self.queries), self.requests, Ending.IGNORED)
        if not self.documents and self.refused:
            ending = Ending.SNIPPETS
        documents = tuple(self.documents.values())
        return Sample(documents, tuple(self.queries), self.requests, ending)
