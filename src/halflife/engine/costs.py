"""What a look at a whole source took the last time."""

from halflife.config import SourceConfig
from halflife.core.store import NoteBook
from halflife.stores.notes.sync_cost import SYNC_COST


def note(store: NoteBook, source: str, requests: int) -> None:
    """Write down what a whole look took; one that sent nothing says nothing."""
    if requests > 0:
        SYNC_COST.save(store, requests, source)


def noted(store: NoteBook, source: SourceConfig) -> int:
    """Return what it took; a request for each address if nobody has looked yet."""
    return SYNC_COST.load(store, source.name) or max(len(source.addresses), 1)


def expected(store: NoteBook, source: SourceConfig) -> int:
    """Return what a look is expected to take now.

    Before the first one its pages cannot be counted, and its host is asked for its
    robots.txt too, if that is obeyed.
    """
    first = SYNC_COST.load(store, source.name) is None
    return noted(store, source) + int(first and source.robots)
