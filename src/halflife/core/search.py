"""Databases that can be read only through a search box."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Document:
    """A document in the results of a search.

    Attributes:
        key: Its name in the database, such as its URL.
        words: Its known distinct words, sorted.
        whole: Whether those are all its words, not only those of a snippet.

    """

    key: str
    words: tuple[str, ...]
    whole: bool = True


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answer of a database to a query.

    Attributes:
        total: The number of matches that the database reports; None if it reports none.
        documents: The best of them, best first.
        requests: The requests it cost.
        cut: Whether only the first page can be read although more documents match.

    """

    total: int | None
    documents: tuple[Document, ...]
    requests: int = 1
    cut: bool = False


class Searchable(Protocol):
    """A database that answers conjunctions of words."""

    def search(self, query: str, most: int, skip: int = 0) -> SearchAnswer:
        """Return the next ``most`` matches after the first ``skip``."""
        ...
