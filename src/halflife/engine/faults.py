"""Faults: answers that our own code failed at, for those who look after a service.

Each kind of source says what of it could not be handled. A page has a failed
observation with the reason. A source that is read whole has no observation of its own:
what went wrong last is kept as a note until the source is read well again.
"""

from collections.abc import Iterable
from typing import NamedTuple

from halflife.config import SourceConfig
from halflife.kinds.registry import kind_of
from halflife.readers.containment import is_mishandled
from halflife.stores import NoteBook, Store
from halflife.stores.notes.fault import FAULT, KIND_FAULT


class Fault(NamedTuple):
    """What could not be handled of a source.

    Attributes:
        source: The source.
        items: How many of its items could not be handled when last asked for.
        said: The reason of one of them: the address and the exception.

    """

    source: str
    items: int
    said: str

    def words(self) -> str:
        """Return it in a line."""
        many = "1 item" if self.items == 1 else f"{self.items} items"
        return f"{self.source}: {many} could not be handled: {self.said}"


def note(store: NoteBook, source: str, trouble: str) -> None:
    """Keep the trouble of a source without pages, if our own code made it."""
    if not is_mishandled(trouble):
        FAULT.remove(store, source)
    elif trouble != FAULT.load(store, source):
        FAULT.save(store, trouble, source)


def blame(store: NoteBook, source: str, said: str) -> None:
    """Keep what the kind of a source fails at; nothing, if it does not."""
    if not said:
        KIND_FAULT.remove(store, source)
    elif said != KIND_FAULT.load(store, source):
        KIND_FAULT.save(store, said, source)


def found(store: Store, sources: Iterable[SourceConfig]) -> list[Fault]:
    """Return what could not be handled of sources, as far as that still stands."""
    return [fault for one in sources if (fault := _of(store, one)) is not None]


def _of(store: Store, source: SourceConfig) -> Fault | None:
    now = kind_of(source).fault(source.name)
    if unsound := now or KIND_FAULT.load(store, source.name):
        return Fault(source.name, 1, unsound)
    notes = kind_of(source).faults(store, source)
    return Fault(source.name, len(notes), notes[0]) if notes else None
