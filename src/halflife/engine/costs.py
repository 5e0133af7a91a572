"""The cost of the last full fetch of a source."""

from halflife.config import SourceConfig
from halflife.core.store import NoteBook
from halflife.stores.notes.sync_cost import SYNC_COST


def note(store: NoteBook, source: str, requests: int) -> None:
    """Write down the cost of a full fetch, unless it sent nothing."""
    if requests > 0:
        SYNC_COST.save(store, requests, source)


def noted(store: NoteBook, source: SourceConfig) -> int:
    """Return the noted cost; without one, a request for each address."""
    return SYNC_COST.load(store, source.name) or max(len(source.addresses), 1)


def expected(store: NoteBook, source: SourceConfig) -> int:
    """Return the expected cost of a full fetch now.

    The first fetch may need its host's robots.txt too; how many pages there are is not
    known before it.
    """
    first = SYNC_COST.load(store, source.name) is None
    return noted(store, source) + int(first and source.robots)
