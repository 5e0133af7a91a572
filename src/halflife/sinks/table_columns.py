"""The columns of the fields of records, and their types.

A column has the type of its first values. A later value of another type is written as
JSON into a second column, ``NAME__json``, and the first is then empty.
"""

import math
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

_LONGEST = 48  # characters of a name, without its suffix
_LIMIT = 63  # characters of a name with its suffix, for PostgreSQL
HISTORY = "_history"  # suffix of the table of all versions
_EXACT = 2**53  # up to here every whole number is a float
_BIGGEST = 2**63
_ODD = re.compile(r"[^a-z0-9_]+")
_OWN = ("_key", "_seq", "_changed_at", "_gone_at", "_seq_from", "_seq_to",
        "_valid_from", "_valid_to")  # fmt: skip
_SYSTEM = ("tableoid", "xmin", "cmin", "xmax", "cmax", "ctid")  # columns of PostgreSQL
FITS = {
    "boolean": {"boolean"},
    "integer": {"integer", "long", "whole"},
    "number": {"number", "whole", "integer"},
    "text": {"text"},
}  # the kinds of values that fit a column of a type


@dataclass(slots=True)
class TableColumns:
    """The columns of a source's tables.

    Attributes:
        table: The name of the table.
        names: The column of each field.
        second: The column of values of another type, by field.
        types: The type of each column.

    """

    table: str
    names: dict[str, str] = field(default_factory=dict)
    second: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, column: str, kind: str) -> None:
        """Add a column."""
        self.types[column] = kind
        (self.second if kind == "json" else self.names)[name] = column


def fit(
    columns: TableColumns, fields: Mapping[str, set[str]]
) -> list[tuple[str, str, str]]:
    """Add the columns that values need; return field, name and type of each."""
    added = []
    for name, kinds in fields.items():
        if name not in columns.names:
            added.append((name, column_name(name, columns.types), widest(kinds)))
            columns.add(*added[-1])
        column = columns.names[name]
        if name not in columns.second and kinds - FITS[columns.types[column]]:
            second = column_name(f"{column}__json", columns.types)
            added.append((name, second, "json"))
            columns.add(*added[-1])
    return added


def kind_of(value: object) -> str:
    """Return the kind of a value: boolean, integer, long, whole, number, text or other.

    A ``long`` has no exact float, and a ``whole`` is a float without a fraction.
    """
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        is_long = abs(value) > _EXACT
        return "other" if abs(value) >= _BIGGEST else "long" if is_long else "integer"
    if isinstance(value, float) and math.isfinite(value):
        return "whole" if value.is_integer() and abs(value) < _EXACT else "number"
    return "text" if isinstance(value, str) else "other"


def widest(kinds: set[str]) -> str:
    """Return the type of a new column for values of these kinds.

    >>> widest({"integer", "number"}), widest({"whole"}), widest({"text", "other"})
    ('number', 'number', 'text')
    """
    plain = kinds - {"other"}
    if plain and plain <= {"integer", "long"}:
        return "integer"
    for kind in ("number", "boolean"):
        if plain and plain <= FITS[kind]:
            return kind
    return "text"


def clean(value: Any) -> Any:  # noqa: ANN401  (of any type)
    """Return text that every database accepts, without NUL and lone surrogates."""
    if not isinstance(value, str):
        return value
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def column_name(name: str, taken: Mapping[str, str]) -> str:
    """Return the name of a new column: plain, short and unused."""
    plain = plain_name(name)
    if plain in _OWN:
        plain = f"field{plain}"
    if plain in _SYSTEM:
        plain = f"field_{plain}"
    return unused(plain, taken)


def table_name(source: str, prefix: str, taken: Container[str]) -> str:
    """Return an unused name for a source's table; that of its history is unused, too.

    >>> table_name("jobs", "", {"jobs", "jobs_history"})
    'jobs_2'
    >>> table_name("pg_class", "", set()), len(table_name("s" * 90, "p" * 30, set()))
    ('t_pg_class', 50)
    """
    plain = f"{prefix}{plain_name(source)}"
    if plain.startswith(("pg_", "sqlite_")):  # reserved by the databases
        plain = f"t_{plain}"
    plain = plain[: _LIMIT - len(HISTORY) - 5].rstrip("_")  # room for a number
    number, found = 1, plain
    while found in taken or f"{found}{HISTORY}" in taken:
        number += 1
        found = f"{plain}_{number}"
    return found


def unused(name: str, taken: Container[str]) -> str:
    """Return a name, with a number appended if it is taken."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


def plain_name(name: str) -> str:
    """Return a name that needs no quotes in any database.

    >>> plain_name("Größe (m²)"), plain_name("2nd"), plain_name("")
    ('gr_e_m', 'f_2nd', 'f')
    """
    plain = _ODD.sub("_", name.lower()).strip("_")[:_LONGEST]
    return plain if plain[:1].isalpha() else f"f_{plain}".rstrip("_")
