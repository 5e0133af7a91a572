"""Pages pushed as changed, until the next turn takes them in."""

from collections.abc import Mapping
from typing import Any

from halflife.stores.notes import NoteKind, finite, text


def _read(row: Mapping[str, Any]) -> dict[str, float]:
    return {text(key): finite(at) for key, at in row.items()}


PUSHED_HINTS = NoteKind("pushed_hints", 1, dict[str, float], _read)
HUB_HINTS = NoteKind("hub_hints", 1, dict[str, float], _read)
