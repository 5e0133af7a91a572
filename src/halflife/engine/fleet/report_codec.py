"""Reports as text, on their way from the worker that read a source to the planner."""

import json
from dataclasses import dataclass, fields
from typing import Any

from halflife.core.errors import StoreError
from halflife.kinds.protocol import Report

_PLAIN = tuple(one.name for one in fields(Report) if one.name != "result")


@dataclass(frozen=True, slots=True)
class ReportedResult:
    """What another process saw, as far as people and programs are told of it.

    Attributes:
        told: What programs are told.
        line: The same in a line.
        brief: The line without what went wrong.

    """

    told: dict[str, object]
    line: str
    brief: str

    def row(self) -> dict[str, object]:
        """Return it for programs."""
        return self.told

    def words(self, *, trouble: bool = True) -> str:
        """Return it in a line; without ``trouble`` not what went wrong."""
        return self.line if trouble else self.brief


def pack(report: Report) -> str:
    """Return a report as text; of its result, what people and programs are told."""
    row: dict[str, Any] = {name: getattr(report, name) for name in _PLAIN}
    row |= {name: dict(row[name]) for name in ("mishandled", "failures", "troubles")}
    result = report.result
    if result is not None:
        row["result"] = result.row(), result.words(), result.words(trouble=False)
    return json.dumps(row, default=str)


def unpack(text: str) -> Report:
    """Return the report that ``pack`` wrote; ``StoreError`` if it did not."""
    try:
        row = json.loads(text)
        told = row.pop("result", None)
        result = None if told is None else ReportedResult(*told)
        return Report(**{**row, "group": tuple(row["group"]), "result": result})
    except (LookupError, TypeError, ValueError) as error:
        raise StoreError(f"what a worker reports cannot be read: {error}") from None
