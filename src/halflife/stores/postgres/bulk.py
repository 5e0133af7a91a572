"""Many rows in one statement: like ``executemany``, without a message for each row.

A column of values is sent as one array. That works for plain inserts whose rows have
different keys; other statements run row by row.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from halflife.stores import page_changes, schema
from halflife.stores.postgres.dialect import translate
from halflife.stores.postgres.texts import clean

FEWEST = 8  # rows for which an array pays
_INSERT = re.compile(
    r"\s*(?P<verb>INSERT|REPLACE) INTO (?P<table>\w+)\s*(?P<names>\([^)]*\))?"
    r"\s*VALUES\s*\(\?(?:, \?)*\)\s*(?P<rest>ON CONFLICT\s*(?P<key>\([^)]*\))?.*)?",
    re.DOTALL,
)
_VALUES = re.compile(r"VALUES\s*\(\?(?:, \?)*\)")
_ARRAYS = {"INTEGER": "bigint[]", "REAL": "float8[]", "TEXT": "text[]", "ANY": "text[]"}
_CHANGES = """
INSERT INTO change (at, source, key, kind, fields)
SELECT v.at, item.source, item.key, v.kind, v.fields
FROM unnest(?::float8[], ?::text[], ?::text[], ?::bigint[]) WITH ORDINALITY
    AS v (at, kind, fields, id, n)
JOIN item ON item.id = v.id ORDER BY v.n
"""
_CHANGE_KINDS = ("REAL", "TEXT", "TEXT", "INTEGER")


class Bulk(NamedTuple):
    """A statement that takes columns of values.

    Attributes:
        sql: The statement, with an array for each column.
        kinds: The types of the columns.
        key: Places of the columns whose values must differ from row to row; empty if
            none must.

    """

    sql: str
    kinds: tuple[str, ...]
    key: tuple[int, ...]


@cache
def bulk(sql: str) -> Bulk | None:
    """Return an equivalent statement for many rows; None if there is none."""
    if sql == page_changes.ADD:
        return Bulk(translate(_CHANGES).sql, _CHANGE_KINDS, ())
    found = _INSERT.fullmatch(sql)
    if found is None:
        return None
    table = schema.reference()[found["table"]]
    names = _listed(found["names"]) if found["names"] else list(table.columns)
    kinds = tuple(table.columns[name] for name in names)
    if not _ARRAYS.keys() >= set(kinds):
        return None
    key_names: Sequence[str] = ()
    if found["verb"] == "REPLACE":
        key_names = table.key
    elif "DO UPDATE" in (found["rest"] or ""):
        key_names = _listed(found["key"])
    arrays = ", ".join(f"?::{_ARRAYS[kind]}" for kind in kinds)
    many = _VALUES.sub(f"SELECT * FROM unnest({arrays}) AS v ", sql, count=1)  # noqa: S608
    key = tuple(names.index(name) for name in key_names)
    return Bulk(translate(many).sql, kinds, key)


def columns(statement: Bulk, rows: Sequence[Sequence[Any]]) -> list[str] | None:
    """Return rows as columns; None if some of them have the same key."""
    if statement.key:
        keys = {tuple(row[place] for place in statement.key) for row in rows}
        if len(keys) < len(rows):
            return None
    turned = zip(*rows, strict=True)
    return [
        f"{{{','.join(map(_WRITE[kind], column))}}}"
        for kind, column in zip(statement.kinds, turned, strict=True)
    ]


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names[1:-1].split(",")]


def _text(value: str | bytes | None) -> str:
    r"""Return a text as PostgreSQL reads it in an array.

    >>> _text('a"b'), _text(b"\x01"), _text(None)
    ('"a\\"b"', '"\\\\x01"', 'NULL')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f'"\\\\x{value.hex()}"'
    text = clean(value)
    if "\\" in text or '"' in text:
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _number(value: float | None) -> str:
    return "NULL" if value is None else str(int(value))


def _float(value: float | None) -> str:
    return "NULL" if value is None else repr(float(value))


_WRITE: dict[str, Callable[[Any], str]] = {
    "INTEGER": _number,
    "REAL": _float,
    "TEXT": _text,
    "ANY": _text,
}
