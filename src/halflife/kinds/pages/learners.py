"""Who hears of the answers of pages, besides the log; and looks page by page."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from halflife.core.item import Item
from halflife.core.observation import Observation, Seen
from halflife.net.access import Answer
from halflife.net.addresses import host_of
from halflife.readers.maps import MapEntry

_FUTURE = 1.0  # days; a date further ahead than that is a mistake


class Admission(Protocol):
    """Chooses which of the pages that a map names may become known."""

    def admit(
        self, key: str, kind: str, hints: Sequence[Observation]
    ) -> list[Observation]:
        """Return the hints of a map that may count."""
        ...


class PromiseLearner(Protocol):
    """Hears for how long pages say to stay as they are."""

    def learn(
        self, held: Observation | None, look: Observation, answer: Answer
    ) -> None:
        """Take in what a page promises now, and whether it kept its last promise."""
        ...

    def save(self) -> None:
        """Write down what was learned; a round of requests is over."""
        ...


def by_page(
    looks: Iterable[Observation],
) -> Iterator[tuple[Observation, list[Observation]]]:
    """Return each look with the hints that stand behind it."""
    page: Observation | None = None
    hints: list[Observation] = []
    for look in looks:
        if look.seen is Seen.HINT:
            hints.append(look)
            continue
        if page is not None:
            yield page, hints
        page, hints = look, []
    if page is not None:
        yield page, hints


def hint(
    entry: MapEntry, source: str, weight: float, at: float, kind: str = ""
) -> Observation:
    """Return what a map claims of a page; ``kind`` says which kind of map it is."""
    modified = entry.modified
    if modified is not None and modified > at + _FUTURE:
        modified = None
    item = Item(entry.key, source, weight=weight, group=host_of(entry.key))
    return Observation(entry.key, at, Seen.HINT, kind, modified=modified, item=item)
