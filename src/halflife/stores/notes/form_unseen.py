"""How many records a form may have that no answer has shown."""

from collections.abc import Mapping
from typing import Any

from halflife.queries.unseen import UnseenRecords
from halflife.stores.notes import NoteKind, finite


def _read(row: Mapping[str, Any]) -> UnseenRecords:
    return UnseenRecords(
        finite(row["likely"]), finite(row["most"]), int(row["queries"])
    )


FORM_UNSEEN = NoteKind("form_unseen", 1, UnseenRecords.row, _read)
