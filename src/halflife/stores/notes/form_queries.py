"""The results of the latest queries to a form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halflife.stores.notes import NoteKind, as_rows, finite, text


@dataclass(frozen=True, slots=True)
class TriedQuery:
    """A query that was sent, and its result.

    Attributes:
        at: When the turn that sent it ended, in days.
        what: The query, or the key that was requested.
        requests: Its cost in requests.
        shown: How many records it returned.
        new: How many of them were new.
        told: How many hits the form reported; None if it did not.

    """

    at: float
    what: str
    requests: int
    shown: int
    new: int
    told: int | None = None


def _read(rows: Sequence[Mapping[str, Any]]) -> list[TriedQuery]:
    return [
        TriedQuery(
            finite(row["at"]), text(row["what"]), int(row["requests"]),
            int(row["shown"]), int(row["new"]),
            None if row["told"] is None else int(row["told"]),
        )
        for row in rows
    ]  # fmt: skip


FORM_QUERIES = NoteKind("form_queries", 1, as_rows, _read)
