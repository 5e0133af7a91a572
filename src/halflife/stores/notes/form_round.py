"""The progress of rounds of queries to a form that take several turns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from halflife.queries.fresh import progress as new
from halflife.queries.fresh.progress import NewRound
from halflife.queries.known import progress as known
from halflife.queries.known.progress import KnownRound
from halflife.stores.notes import NoteKind, text


@dataclass(frozen=True)
class FormRound:
    """The unfinished rounds of a form.

    Attributes:
        of: The policies and the form's capabilities, in words: with others, rounds
            begin again.
        new: The unfinished search for new records, if any.
        known: The unfinished refresh of known records, if any.

    """

    of: str
    new: NewRound | None = None
    known: KnownRound | None = None


def _write(rounds: FormRound) -> Mapping[str, Any]:
    return {
        "of": rounds.of,
        "new": None if rounds.new is None else new.write_round(rounds.new),
        "known": None if rounds.known is None else known.write_round(rounds.known),
    }


def _read(row: Mapping[str, Any]) -> FormRound:
    found, refreshed = row["new"], row["known"]
    return FormRound(
        text(row["of"]),
        None if found is None else new.read_round(found),
        None if refreshed is None else known.read_round(refreshed),
    )


FORM_ROUND = NoteKind("form_round", 1, _write, _read, remembered=8)
