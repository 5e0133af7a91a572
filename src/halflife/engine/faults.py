"""Faults: answers that our own code failed at, for those who look after a service.

A page that was mishandled has a failed observation that says so. A listing, a form or a
search has no observation of its own; what went wrong last is kept as a note until the
source goes well again.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from halflife.config import SourceConfig
from halflife.kinds.registry import kind_of
from halflife.readers.containment import is_mishandled
from halflife.stores import NoteBook, Store
from halflife.stores.notes.fault import FAULT, KIND_FAULT

MOST = 1000  # failing pages of a source whose notes are read


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
    if not kind_of(source).is_joint:
        said = FAULT.load(store, source.name)
        return Fault(source.name, 1, said) if said else None
    notes = list(_notes(store, source.name))
    return Fault(source.name, len(notes), notes[0]) if notes else None


def _notes(store: Store, source: str) -> Iterator[str]:
    """Return why pages were mishandled when they were last asked for."""
    evidence = store.evidence([source])
    failing = np.flatnonzero(evidence.failures > 0)[:MOST].tolist()
    tried = ((evidence.keys[row], float(evidence.tried_at[row])) for row in failing)
    yield from filter(is_mishandled, store.failure_notes(tried))
