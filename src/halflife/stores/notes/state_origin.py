"""When the state file was made anew in place of one that is lost, and what was said."""

from collections.abc import Sequence
from typing import Any

from halflife.stores.notes import NoteKind, finite, text


def _read(row: Sequence[Any]) -> tuple[float, str]:
    at, words = row
    return finite(at), text(words)


MADE_ANEW = NoteKind("made_anew", 1, list[float | str], _read)
