"""When a lost state file was replaced by a new one, and the message about it."""

from collections.abc import Sequence
from typing import Any

from halflife.stores.notes import NoteKind, finite, text


def _read(row: Sequence[Any]) -> tuple[float, str]:
    at, words = row
    return finite(at), text(words)


MADE_ANEW = NoteKind("made_anew", 1, list[float | str], _read)
