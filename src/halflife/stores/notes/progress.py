"""The progress of an incremental listing, of which only newer records are fetched."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from halflife.stores.notes import NoteKind, text


class Progress(NamedTuple):
    """The result of the last pass.

    Attributes:
        asked: A digest of its settings; with other settings everything begins again.
        last: Up to where everything is known: a moment in days, or the greatest value
            of a field.
        at: When the last complete pass over newer records began, in days.
        full_at: When the last pass over all records began, in days.
        cost: Requests of the last pass over newer records only.

    """

    asked: str
    last: str | float
    at: float
    full_at: float
    cost: int = 1


def _read(row: Mapping[str, Any]) -> Progress:
    last = row["last"]
    if isinstance(last, bool) or not isinstance(last, str | int | float):
        raise TypeError(f"{last!r} is no place in a listing")
    at, full_at, cost = float(row["at"]), float(row["full_at"]), int(row["cost"])
    return Progress(text(row["asked"]), last, at, full_at, max(cost, 1))


PROGRESS = NoteKind[Progress]("progress", 1, Progress._asdict, _read)
