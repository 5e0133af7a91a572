"""How the pages of a source are read, and the versions that were read differently."""

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass
from typing import Any

from halflife.stores.notes import NoteKind, finite, text


@dataclass(frozen=True, slots=True)
class ReadingNote:
    """How a source's pages are read.

    Attributes:
        name: The name of the reading: its mode and its rules.
        since: Since when they are read so, in days.

    """

    name: str
    since: float


@dataclass(frozen=True, slots=True)
class VersionNote:
    """A version of a page whose digest was made by a different reading.

    Attributes:
        digest: The stored digest.
        reading: The name of the current reading.
        now: The digest of the version by this reading.

    """

    digest: str
    reading: str
    now: str


def _read_reading(row: list[Any]) -> ReadingNote:
    name, since = row
    return ReadingNote(text(name), finite(since))


def _read_version(row: Mapping[str, Any]) -> VersionNote:
    return VersionNote(text(row["digest"]), text(row["reading"]), text(row["now"]))


READING = NoteKind("page_reading", 1, astuple, _read_reading)
VERSION = NoteKind("page_version", 1, asdict, _read_version)  # numbered by page
