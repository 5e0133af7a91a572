"""The measured behaviour of a form."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from halflife.queries.form_facts import FormFacts, FormFinding
from halflife.stores.notes import NoteKind, text, texts

_NAMES = {field.name for field in fields(FormFacts)}


def _read(row: Mapping[str, Any]) -> FormFacts:
    values = {name: value for name, value in row.items() if name in _NAMES}
    values["requests"], values["reached"] = int(row["requests"]), int(row["reached"])
    values["counts"] = text(row["counts"])
    values["ignored"] = texts(row["ignored"])
    values["findings"] = tuple(FormFinding(**finding) for finding in row["findings"])
    return FormFacts(**values)


FORM_FACTS = NoteKind("form_facts", 1, FormFacts.row, _read)
