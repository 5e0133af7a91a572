"""Protocols for learning from the answers of pages; observations grouped by page."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from halflife.core.item import Item
from halflife.core.observation import Observation, Seen
from halflife.net.access import Answer
from halflife.net.addresses import host_of
from halflife.readers.maps import MapEntry

_FUTURE = 1.0  # days; a later date is an error


class Admission(Protocol):
    """Chooses which pages listed by a map may become known."""

    def admit(
        self, key: str, kind: str, hints: Sequence[Observation]
    ) -> list[Observation]:
        """Return the admitted hints of a map."""
        ...


class PromiseLearner(Protocol):
    """Records how long pages promise not to change."""

    def learn(self, held: Observation | None, o: Observation, answer: Answer) -> None:
        """Record a page's new promise, and whether it kept its last one."""
        ...

    def save(self) -> None:
        """Store what was learned, after a round of requests."""
        ...


def by_page(
    observations: Iterable[Observation],
) -> Iterator[tuple[Observation, list[Observation]]]:
    """Return each observation with the hints that follow it."""
    page: Observation | None = None
    hints: list[Observation] = []
    for o in observations:
        if o.seen is Seen.HINT:
            hints.append(o)
            continue
        if page is not None:
            yield page, hints
        page, hints = o, []
    if page is not None:
        yield page, hints


def hint(
    entry: MapEntry, source: str, weight: float, at: float, kind: str = ""
) -> Observation:
    """Return a map entry as a hint; ``kind`` is the kind of the map."""
    modified = entry.modified
    if modified is not None and modified > at + _FUTURE:
        modified = None
    item = Item(entry.key, source, weight=weight, group=host_of(entry.key))
    return Observation(entry.key, at, Seen.HINT, kind, modified=modified, item=item)
