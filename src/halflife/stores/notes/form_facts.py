"""What a form was measured to do."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from halflife.queries.form_facts import FormFinding, Measured
from halflife.stores.notes import NoteKind, text, texts

_NAMES = {one.name for one in fields(Measured)}


def _read(row: Mapping[str, Any]) -> Measured:
    known = {name: value for name, value in row.items() if name in _NAMES}
    known["requests"], known["reached"] = int(row["requests"]), int(row["reached"])
    known["counts"] = text(row["counts"])
    known["ignored"] = texts(row["ignored"])
    known["findings"] = tuple(FormFinding(**finding) for finding in row["findings"])
    return Measured(**known)


FORM_FACTS = NoteKind("form_facts", 1, Measured.row, _read)
