"""Pages that somebody said have changed, until the next turn takes that in."""

from collections.abc import Mapping
from typing import Any

from halflife.stores.notes import NoteKind, finite, text


def _read(row: Mapping[str, Any]) -> dict[str, float]:
    return {text(key): finite(at) for key, at in row.items()}


PUSHED_HINTS = NoteKind("pushed_hints", 1, dict[str, float], _read)
HUB_HINTS = NoteKind("hub_hints", 1, dict[str, float], _read)
