"""SQLite statements translated for PostgreSQL.

The modules of the store write one statement for both engines. Where PostgreSQL differs
it is translated here, once for each statement: values (``?``), ``REPLACE``, truncating
casts, JSON lists, infinity. The few statements that have no translation have a twin in
``TWINS``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from halflife.stores import change_log, ownership, schema

Values: TypeAlias = Sequence[Any] | Mapping[str, Any]

KEY = "key_hash(key)"  # an index cannot hold a key of any length
# Quoted text and comments stay as they are; the rest is matched word by word.
_TOKEN = re.compile(
    r"(?P<text>'(?:[^']|'')*')|(?P<comment>--[^\n]*)|(?P<cast>::)"
    r"|\?(?P<number>\d*)|(?<!:):(?P<name>[a-z_]+)|(?P<percent>%)"
)
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), word)
    for pattern, word in (
        (r"\bCAST\(((?:[^()]|\([^()]*\))*) AS INTEGER\)",
         r"CAST(trunc(CAST(\1 AS DOUBLE PRECISION)) AS BIGINT)"),
        (r"\bjson_each\(", "json_values("),
        (r"\binstr\(", "strpos("),
        (r"\bmin\(([^(),]+), ([^(),]+)\)", r"least(\1, \2)"),
        (r"\bLIMIT -1\b", "LIMIT ALL"),
        (r"\bCROSS JOIN (\w+) ON\b", r"JOIN \1 ON"),
        (r"\bIS NOT \(", "IS DISTINCT FROM ("),
        (r"\b9e999\b", "'Infinity'::float8"),
        (r"\bON CONFLICT \(key\)", f"ON CONFLICT ({KEY})"),
        (r"\bON CONFLICT \(source, key, spell\)",
         f"ON CONFLICT (source, {KEY}, spell)"),
    )
)  # fmt: skip
_REPLACE = re.compile(r"\s*REPLACE INTO (\w+)\s*(\([^)]*\))?")
_IGNORE = re.compile(r"\s*INSERT OR IGNORE INTO ")
_PACKED = "data FROM filed_column"
TWINS: dict[str, str] = {
    change_log.LAST: "SELECT change FROM store_state",
    ownership.FOREIGN: """
SELECT j.value::json ->> 0, source.name, j.value::json ->> 1
FROM json_values(?) AS j JOIN item ON item.key = j.value::json ->> 0
JOIN source ON source.id = item.source WHERE source.name <> j.value::json ->> 1
""",
}


class PostgresStatement(NamedTuple):
    """A statement for PostgreSQL, and how to pass its values.

    Attributes:
        sql: The statement.
        prepare: Puts its values in order.
        binary: Whether its answer comes as bytes, not as text: packed columns would
            be twice as long.

    """

    sql: str
    prepare: Callable[[Values], Values]
    binary: bool


@cache
def translate(sql: str) -> PostgresStatement:
    """Return a SQLite statement translated for PostgreSQL."""
    sql = TWINS.get(sql, sql)
    for pattern, word in _RULES:
        sql = pattern.sub(word, sql)
    if _IGNORE.match(sql):
        sql = f"{_IGNORE.sub('INSERT INTO ', sql)} ON CONFLICT DO NOTHING"
    found = _REPLACE.match(sql)
    if found:
        sql = _upsert(sql, found)
    numbered = bool(re.search(r"\?\d", sql))
    return PostgresStatement(
        _TOKEN.sub(_placeholder, sql),
        _by_number if numbered else _as_given,
        binary=_PACKED in sql,
    )


def _upsert(sql: str, found: re.Match[str]) -> str:
    """Return the upsert that replaces a row by its key."""
    table = schema.reference()[found[1]]
    listed = found[2] or f"({', '.join(table.columns)})"
    names = [name.strip() for name in listed[1:-1].split(",")]
    rest = [name for name in names if name not in table.key]
    new = ", ".join(f"{name} = excluded.{name}" for name in rest)
    done = f"UPDATE SET {new}" if rest else "NOTHING"
    head = f"INSERT INTO {found[1]} {listed}"
    return f"{head} {sql[found.end() :]} ON CONFLICT ({', '.join(table.key)}) DO {done}"


def _placeholder(token: re.Match[str]) -> str:
    if token["number"] is not None:
        return f"%(p{token['number']})s" if token["number"] else "%s"
    if token["name"]:
        return f"%({token['name']})s"
    return token[0].replace("%", "%%")


def _as_given(values: Values) -> Values:
    return values


def _by_number(values: Values) -> Values:
    return {f"p{i}": value for i, value in enumerate(values, 1)}
