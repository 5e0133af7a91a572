"""The total number of records that a form reports."""

from collections.abc import Mapping
from typing import Any

from halflife.queries.reported_total import ReportedTotal
from halflife.stores.notes import NoteKind, finite, text


def _read(row: Mapping[str, Any]) -> ReportedTotal:
    return ReportedTotal(
        at=finite(row["at"]),
        total=int(row["total"]),
        unfound=int(row["unfound"]),
        why=text(row["why"]),
        doubted=bool(row["doubted"]),
        explained=int(row.get("explained", 0)),
        rough=finite(row.get("rough", 0.0)),
    )


REPORTED_TOTAL = NoteKind("reported_total", 1, ReportedTotal.row, _read)
