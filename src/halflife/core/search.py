"""Databases that are seen only through a search box."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Document:
    """A document as a search shows it.

    Attributes:
        key: Its name at the database, such as its URL.
        words: The distinct words that were seen of it, sorted.
        whole: Whether those are all its words, not only a snippet's.

    """

    key: str
    words: tuple[str, ...]
    whole: bool = True


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What a database answered to a query.

    Attributes:
        total: Documents that match, as the database says; None if it does not say.
        documents: The best of them, best first.
        requests: Requests that it took.
        cut: Whether only a first page can be had, and more documents match.

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
