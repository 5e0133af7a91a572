"""How far a listing was read that is asked only for what is newer."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from halflife.stores.notes import NoteKind, text


class Progress(NamedTuple):
    """What the last pass came to.

    Attributes:
        asked: What the settings say of it, shortened; other settings begin anew.
        last: Up to where everything is known: a moment in days, or the greatest value
            of a field.
        at: When the last pass began that brought all that was newer, in days.
        full_at: When the last pass began that read everything, in days.
        cost: Requests that the last pass took which read only what was newer.

    """

    asked: str
    last: str | float
    at: float
    full_at: float
    cost: int = 1


def _write(known: Progress) -> Mapping[str, Any]:
    return known._asdict()


def _read(row: Mapping[str, Any]) -> Progress:
    last = row["last"]
    if isinstance(last, bool) or not isinstance(last, str | int | float):
        raise TypeError(f"{last!r} is no place in a listing")
    at, full_at, cost = float(row["at"]), float(row["full_at"]), int(row["cost"])
    return Progress(text(row["asked"]), last, at, full_at, max(cost, 1))


PROGRESS = NoteKind("progress", 1, _write, _read)
