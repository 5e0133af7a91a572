"""How many records a form says there are."""

from collections.abc import Mapping
from typing import Any

from halflife.queries.reported_total import Reported
from halflife.stores.notes import NoteKind, finite, text


def _read(row: Mapping[str, Any]) -> Reported:
    return Reported(
        at=finite(row["at"]),
        total=int(row["total"]),
        unfound=int(row["unfound"]),
        why=text(row["why"]),
        doubted=bool(row["doubted"]),
    )


REPORTED_TOTAL = NoteKind("reported_total", 1, Reported.row, _read)
