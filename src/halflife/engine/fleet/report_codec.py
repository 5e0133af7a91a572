"""Reports as text, on their way from the worker that read a source to the planner."""

import json
from dataclasses import dataclass, fields
from typing import Any

from halflife.core.errors import StoreError
from halflife.kinds.protocol import Report

_PLAIN = tuple(field.name for field in fields(Report) if field.name != "result")


@dataclass(frozen=True, slots=True)
class ReportedResult:
    """The result of another process, as it is printed.

    Attributes:
        values: The result as a JSON object.
        line: The result in a line.
        brief: The line without errors.

    """

    values: dict[str, object]
    line: str
    brief: str

    def row(self) -> dict[str, object]:
        """Return the result as a JSON object."""
        return self.values

    def words(self, *, trouble: bool = True) -> str:
        """Return the result in a line, with or without errors (``trouble``)."""
        return self.line if trouble else self.brief


def pack(report: Report) -> str:
    """Return a report as text; of its result, only the printed forms."""
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
        printed = row.pop("result", None)
        result = None if printed is None else ReportedResult(*printed)
        return Report(**{**row, "group": tuple(row["group"]), "result": result})
    except (LookupError, TypeError, ValueError) as error:
        raise StoreError(f"what a worker reports cannot be read: {error}") from None
