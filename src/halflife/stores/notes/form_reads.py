"""When the values of a form were last read, and how many records it counted."""

from collections.abc import Mapping
from typing import Any

from halflife.core.forms import Term
from halflife.queries.value_reads import FormReads
from halflife.stores.notes import NoteKind, finite


def _write(reads: FormReads) -> Mapping[str, Any]:
    rows: dict[str, dict[str, float]] = {}
    for term, at in reads.last.items():
        rows.setdefault(term.attribute, {})[term.value] = at
    return {"last": rows, "counted": reads.counted}


def _read(row: Mapping[str, Any]) -> FormReads:
    last = {
        Term(name, value): finite(at)
        for name, values in row["last"].items()
        for value, at in values.items()
    }
    if row["counted"] is None:
        return FormReads(last)
    at, total = map(finite, row["counted"])
    return FormReads(last, (at, total))


FORM_READS = NoteKind("form_reads", 1, _write, _read, remembered=8)
