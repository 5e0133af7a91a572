"""The log of changes as rows: the SQL.

A change is written in the transaction of what it reports. SQLite lets one process write
at a time, so numbers rise in the order in which changes become visible: a reader that
has read up to a number never misses one below it. A number is never used twice.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias

from halflife.core.change import (
    CHANGE_KINDS,
    Change,
    ChangeKind,
    LoggedFields,
    NewFields,
)
from halflife.stores import attribute_text, change_search
from halflife.stores.change_search import ChangeFilter, ChangeSlice
from halflife.stores.database import Database, rewriting_schema
from halflife.stores.leases import source_id

if TYPE_CHECKING:
    from halflife.stores.connection import Tables

Row: TypeAlias = tuple[float, int, str, ChangeKind, str]
_KINDS = ", ".join(f"'{kind}'" for kind in CHANGE_KINDS)
STATEMENTS = (
    f"""
CREATE TABLE change (  -- what became of pages and records, append-only
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    source INTEGER NOT NULL REFERENCES source (id),
    key TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ({_KINDS})),
    fields TEXT NOT NULL  -- JSON: each field's old and new value
) STRICT""",
    "CREATE INDEX change_of_source ON change (source, seq)",
    "CREATE INDEX change_at ON change (at)",
    """
CREATE TRIGGER change_is_final BEFORE UPDATE OF seq, at, key, kind, fields ON change
BEGIN SELECT RAISE(ABORT, 'a change is never rewritten'); END""",
)
_REMOVED = """
CREATE TABLE change_removed (  -- one row: up to where changes were removed by age
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL
) STRICT"""
_RECENT = "SELECT min(seq) FROM change WHERE at >= ? AND at <= ?"
_END = 2**62
_ADD = "INSERT INTO change (at, source, key, kind, fields) VALUES (?, ?, ?, ?, ?)"
_TOGETHER = 100  # rows of one statement; more are no faster
_ADD_MANY = _ADD + ", (?, ?, ?, ?, ?)" * (_TOGETHER - 1)
_READ = """
SELECT change.at, source.name, change.key, change.kind, change.fields, change.seq
FROM change JOIN source ON source.id = change.source
WHERE change.seq > ?1
    AND (?2 = '[]' OR source.name IN (SELECT value FROM json_each(?2)))
ORDER BY change.seq LIMIT ?3
"""
LAST = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'change'"
_BEFORE = "SELECT min(seq) - 1 FROM change WHERE at >= ?"
_WRITE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_KIND_LISTED = f"CHECK (kind IN ({_KINDS}))"
_KIND_TESTED = "CHECK ({})".format(" OR ".join(f"kind = '{k}'" for k in CHANGE_KINDS))


def ease_check(db: Database) -> None:
    """Replace the check of a change's kind by a faster one with the same result.

    For ``IN`` SQLite builds a table of the kinds for each row: 40 % of the time of an
    insert. No row is changed; see ``views.name_columns``.
    """
    with rewriting_schema(db):
        db.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, ?, ?)"
            " WHERE type = 'table' AND name = 'change'",
            (_KIND_LISTED, _KIND_TESTED),
        )


def append(db: Database, changes: Iterable[Change]) -> None:
    """Write changes, in order."""
    ids: dict[str, int] = {}
    rows: list[Row] = []
    for change in changes:
        if change.source not in ids:
            ids[change.source] = source_id(db, change.source)
        source, fields = ids[change.source], fields_json(change.fields)
        rows.append((change.at, source, change.key, change.kind, fields))
    append_rows(db, rows)


def as_rows(source: int) -> Callable[..., Row]:
    """Return a function that makes rows of a source's changes."""
    return lambda at, key, kind, fields: (at, source, key, kind, fields_json(fields))


def append_rows(db: Database, rows: Iterable[Row]) -> None:
    """Write changes that are rows already, in order.

    One statement for many is more than twice as fast as one for each, because the
    number of the newest change is stored once for all of them.
    """
    rest = iter(rows)
    while len(block := list(islice(rest, _TOGETHER))) == _TOGETHER:
        db.execute(_ADD_MANY, list(chain.from_iterable(block)))
    db.executemany(_ADD, block)


def fields_json(fields: Mapping[str, Sequence[Any]]) -> str:
    """Return fields as they are stored."""
    if isinstance(fields, NewFields):
        return attribute_text.of_new_record(fields.attributes)
    if isinstance(fields, LoggedFields):
        return fields.text
    return _WRITE(fields)  # a pair is written as a list


def create_removed(db: Database) -> None:
    """Create the table with the number up to which changes were removed by age."""
    db.execute(_REMOVED)


def remove_before(db: Database, cutoff: float, now: float, most: int) -> int:
    """Remove changes before the first recent one, at most ``most``; return how many.

    A change with a future time, from a wrong clock, is not recent.
    """
    (recent,) = db.execute(_RECENT, (cutoff, now)).fetchone()
    query = "SELECT seq FROM change WHERE seq < ? ORDER BY seq LIMIT ?"
    rows = db.execute(query, (_END if recent is None else recent, most)).fetchall()
    if rows:
        db.execute("DELETE FROM change WHERE seq <= ?", rows[-1])
        db.execute("REPLACE INTO change_removed VALUES (1, ?)", rows[-1])
    return len(rows)


class ChangeRows:
    """The log of changes of a database."""

    def __init__(self, store: "Tables") -> None:
        self._store = store

    def append(self, changes: Iterable[Change]) -> None:
        """Append changes, in the current transaction if there is one."""
        with self._store.together() as db:
            append(db, changes)

    def read(
        self, after: int = 0, most: int = 1000, sources: Sequence[str] = ()
    ) -> list[Change]:
        """Return the changes after a number, oldest first; of all sources if none."""
        with self._store.reading() as db:
            rows = db.execute(_READ, (after, json.dumps(list(sources)), most))
            return [_change(*row) for row in rows]

    def older(self, wanted: ChangeFilter, before: int, most: int) -> ChangeSlice:
        """Return the newest matching changes before a number."""
        with self._store.reading() as db:
            return change_search.older(db, wanted, before, most)

    def newer(self, wanted: ChangeFilter, after: int, most: int) -> ChangeSlice:
        """Return the oldest matching changes after a number, newest first."""
        with self._store.reading() as db:
            return change_search.newer(db, wanted, after, most)

    def last(self) -> int:
        """Return the number of the newest change ever logged; 0 if there is none."""
        with self._store.reading() as db:
            return int(db.execute(LAST).fetchone()[0])

    def removed(self) -> int:
        """Return the number up to which changes were removed; 0 if none were."""
        with self._store.reading() as db:
            row = db.execute("SELECT seq FROM change_removed").fetchone()
        return int(row[0]) if row else 0

    def before(self, at: float) -> int:
        """Return the number after which all changes observed since then follow."""
        with self._store.reading() as db:
            found = db.execute(_BEFORE, (at,)).fetchone()[0]
        return self.last() if found is None else int(found)


def _change(
    at: float, source: str, key: str, kind: ChangeKind, text: str, seq: int
) -> Change:
    return Change(at, source, key, kind, LoggedFields(text), seq)
