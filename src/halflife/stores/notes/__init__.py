"""Notes: typed state between runs, one row per source and kind.

A kind of note has a name, the version of its format, and two functions: one that turns
a value into plain JSON values, and one that reads them back. Each kind has a module of
its own. A note that cannot be read (cut off, of another type or version) counts as
absent: its content is learned or measured again, and one warning is logged.
"""

import json
import logging
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from hashlib import blake2b
from math import isfinite
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from halflife.core.store import Note, NoteBook

Value = TypeVar("Value")

UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    zlib.error,
)
# For each open store, the notes that a warning was logged for: a service reads the same
# ones at every turn.
_warned: WeakKeyDictionary[NoteBook, set[str]] = WeakKeyDictionary()


@dataclass(frozen=True)
class NoteKind(Generic[Value]):
    """One kind of note.

    Attributes:
        name: Its name in the store.
        version: The version of its format.
        write: Turns a value into plain JSON values.
        read: Turns these back into a value; raises one of ``UNREADABLE`` if it cannot.
        remembered: How many parsed notes are cached: for large ones that are read
            often.

    """

    name: str
    version: int
    write: Callable[[Value], object]
    read: Callable[[Any], Value]
    remembered: int = 0
    _parse: Callable[[Note], Value] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        parse = lru_cache(self.remembered)(self._parsed)
        object.__setattr__(self, "_parse", parse if self.remembered else self._parsed)

    def load(self, book: NoteBook, source: str = "", number: int = 0) -> Value | None:
        """Return the note about a source; None if there is none that can be read.

        Notes about the whole store have no source. ``number`` tells several notes of
        one kind apart.
        """
        note = book.note(source, self.name, number)
        if note is None:
            return None
        try:
            return self._parse(note)
        except UNREADABLE as error:
            about = f"{self.name} {number}" if number else self.name
            about = f"{about} of {source or 'all sources'}"
            _warn(book, about, f"{type(error).__name__}: {error}")
            return None

    def save(
        self, book: NoteBook, value: Value, source: str = "", number: int = 0
    ) -> None:
        """Store a note about a source, replacing the one before."""
        text = json.dumps(self.write(value), separators=(",", ":"))
        book.save_note(source, self.name, Note(self.version, text), number)

    def exists(self, book: NoteBook, source: str = "", number: int = 0) -> bool:
        """Return whether there is such a note, even if it cannot be read."""
        return book.note(source, self.name, number) is not None

    def remove(self, book: NoteBook, source: str = "", number: int = 0) -> None:
        """Remove the note about a source, if there is one."""
        if self.exists(book, source, number):
            book.remove_note(source, self.name, number)

    def _parsed(self, note: Note) -> Value:
        if note.version != self.version:
            raise ValueError(f"version {note.version}, known is {self.version}")
        return self.read(json.loads(note.text))


def as_rows(records: Iterable[Any]) -> list[dict[str, Any]]:
    """Return dataclasses as JSON objects, by field name."""
    return [asdict(record) for record in records]


def finite(value: Any) -> float:  # noqa: ANN401  (any JSON value)
    """Return a finite number; raise ``ValueError`` if it is not one."""
    number = float(value)
    if not isfinite(number):
        raise ValueError(f"{number} is not finite")
    return number


def texts(value: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Return a list of texts; raise ``TypeError`` if it is not one."""
    if not isinstance(value, list):
        raise TypeError(f"{type(value).__name__} is no list")
    return tuple(map(text, value))


def text(value: Any) -> str:  # noqa: ANN401
    """Return a text; raise ``TypeError`` if it is not one."""
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is no text")
    return value


def moments(row: Mapping[str, Any]) -> dict[str, float]:
    """Return moments by name; raise ``ValueError`` or ``TypeError`` if some are not."""
    return {text(name): finite(at) for name, at in row.items()}


def number_of(key: str) -> int:
    """Return the number of the note about an item: a hash of 63 bits.

    >>> number_of("http://example.org/") == number_of("http://example.org/")
    True
    """
    name = blake2b(key.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(name, "big") >> 1


def _warn(book: NoteBook, about: str, why: str) -> None:
    """Log that a note cannot be read, once while its store is open."""
    warned = _warned.setdefault(book, set())
    if about not in warned:
        warned.add(about)
        message = "a note cannot be read and counts as absent: %s (%s)"
        logging.getLogger("halflife").warning(message, about, why[:200])
