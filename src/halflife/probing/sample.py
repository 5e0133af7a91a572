"""Samples of databases: what was asked, what was read, and how it ended."""

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
    """A query and what came of it.

    Attributes:
        query: The query.
        total: Matches that the database told; None if it told none.
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
        asked: The queries, in order.
        requests: Requests that they took.
        ending: Why sampling ended.

    """

    documents: tuple[Document, ...]
    asked: tuple[SampleQuery, ...]
    requests: int
    ending: Ending

    @property
    def frequency(self) -> dict[str, int]:
        """How many of the documents contain each word, df_S(w)."""
        return frequency(self.documents)

    @property
    def totals(self) -> dict[str, int]:
        """What the database said of the matches of each query."""
        return {a.query: a.total for a in self.asked if a.total is not None}

    def summary(self, size: float | None = None) -> Summary:
        """Return the summary of the database: f(w) = size df_S(w) / |S|.

        Args:
            size: Documents in the database; those that were read if not known.

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


class Gathering:
    """A sample in the making: every query goes through here and is counted.

    Args:
        database: What is asked.
        most: Documents looked at a query.
        keep: New documents kept of a query.
        requests: Requests that may be spent; None for any number.
        snippets: Whether documents of which only a snippet is shown count.

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
        self.asked: list[SampleQuery] = []
        self.requests = 0
        self.refused = 0  # snippets that were shown and not taken
        self._check = QueryCheck(self._search)

    @property
    def spent(self) -> bool:
        """Whether no request is left."""
        return self.limit is not None and self.requests >= self.limit

    @property
    def ignored(self) -> bool:
        """Whether the database ignores what it is asked for."""
        return self._check.ignored

    def ask(self, query: str) -> list[Document]:
        """Send a query and return the documents that it brought."""
        answer = self._search(query)
        new = self._new(answer)
        self.documents.update((d.key, d) for d in new)
        self.asked[-1] = replace(self.asked[-1], new=len(new))
        self._check.hear(query, answer)
        return new

    def _search(self, query: str) -> SearchAnswer:
        answer = self.database.search(query, self.most)
        self.requests += answer.requests
        keys = tuple(document.key for document in answer.documents)
        self.asked.append(SampleQuery(query, answer.total, keys, 0))
        return answer

    def _new(self, answer: SearchAnswer) -> list[Document]:
        usable = [d for d in answer.documents if d.whole or self.snippets]
        self.refused += len(answer.documents) - len(usable)
        fresh = {d.key: d for d in usable if d.key not in self.documents}
        return list(fresh.values())[: self.keep]

    def ended(self, ending: Ending) -> Sample:
        """Return the sample, with why it ended.

        What a database shows whatever it is asked for is no sample of it.
        """
        if self.ignored:
            return Sample((), tuple(self.asked), self.requests, Ending.IGNORED)
        if not self.documents and self.refused:
            ending = Ending.SNIPPETS
        documents = tuple(self.documents.values())
        return Sample(documents, tuple(self.asked), self.requests, ending)
