"""What a look at a whole source took the last time."""

from halflife.config import SourceConfig
from halflife.stores import Store


def note(store: Store, source: str, requests: int) -> None:
    """Write down what a whole look took; one that sent nothing says nothing."""
    if requests > 0:
        store.save_memo(_name(source), str(requests))


def noted(store: Store, source: SourceConfig) -> int:
    """Return what it took; a request for each address if nobody has looked yet."""
    memo = store.memo(_name(source.name))
    return int(memo) if memo and memo.isdigit() else max(len(source.addresses), 1)


def expected(store: Store, source: SourceConfig) -> int:
    """Return what a look is expected to take now.

    Before the first one its pages cannot be counted, and its host is asked for its
    robots.txt too, if that is obeyed.
    """
    first = store.memo(_name(source.name)) is None
    return noted(store, source) + int(first and source.robots)


def _name(source: str) -> str:
    return f"requests of a look at {source}"
