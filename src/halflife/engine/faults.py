"""Faults: answers that our own code failed at, for operators.

Each kind of source names the items that could not be handled. A page has a failed
observation with the reason. A source that is read whole has no observation of its own:
its last error is kept as a note until the source is read well again.
"""

from collections.abc import Iterable
from typing import NamedTuple

from halflife.config import SourceConfig
from halflife.kinds.registry import kind_of
from halflife.readers.containment import is_mishandled
from halflife.stores import NoteBook, Store
from halflife.stores.notes.fault import FAULT, KIND_FAULT


class Fault(NamedTuple):
    """The items of a source that could not be handled.

    Attributes:
        source: The source.
        items: How many of its items could not be handled at their last fetch.
        trouble: The error of one of them: the address and the exception.

    """

    source: str
    items: int
    trouble: str

    def row(self) -> dict[str, object]:
        """Return it as a row for programs."""
        return {"source": self.source, "items": self.items, "said": self.trouble}

    def words(self) -> str:
        """Return it in a line."""
        many = "1 item" if self.items == 1 else f"{self.items} items"
        return f"{self.source}: {many} could not be handled: {self.trouble}"


def note(store: NoteBook, source: str, trouble: str) -> None:
    """Store the error of a source without pages, if our own code caused it."""
    if not is_mishandled(trouble):
        FAULT.remove(store, source)
    elif trouble != FAULT.load(store, source):
        FAULT.save(store, trouble, source)


def note_kind_fault(store: NoteBook, source: str, trouble: str) -> None:
    """Store the error of a source's kind; remove it if there is none."""
    if not trouble:
        KIND_FAULT.remove(store, source)
    elif trouble != KIND_FAULT.load(store, source):
        KIND_FAULT.save(store, trouble, source)


def found(store: Store, sources: Iterable[SourceConfig]) -> list[Fault]:
    """Return the faults of sources that still stand."""
    return [fault for one in sources if (fault := _of(store, one)) is not None]


def _of(store: Store, source: SourceConfig) -> Fault | None:
    now = kind_of(source).fault(source.name)
    if unsound := now or KIND_FAULT.load(store, source.name):
        return Fault(source.name, 1, unsound)
    notes = kind_of(source).faults(store, source)
    return Fault(source.name, len(notes), notes[0]) if notes else None
