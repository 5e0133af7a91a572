"""Foreign objects: parts of a state file's schema that halflife did not create.

A trigger in a state file runs with every write. A foreign one could delete from the
ledger what was just charged, so a file with any is refused. What a file of some
version may hold is what its steps create in an empty database.
"""

import sqlite3
from functools import cache
from pathlib import Path
from typing import TypeAlias

from halflife.core.errors import Damaged
from halflife.stores import schema

Name: TypeAlias = tuple[str, str, str]  # its type, its name, and the table it is on

NAMED = 3  # objects that an error names
_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_schema"


def refuse(db: sqlite3.Connection, path: Path) -> None:
    """Raise ``Damaged`` if a file's schema holds objects its version does not have."""
    db.execute("BEGIN")  # one transaction: another process may upgrade it just now
    try:
        version, found = schema.version(db), _objects(db)
    finally:
        db.execute("ROLLBACK")
    known = _known(tuple(schema.STEPS[:version]))
    odd = [name for name, sql in found.items() if _is_odd(name, sql, known)]
    if odd:
        names = ", ".join(
            f"the {kind} {name} on {on}" for kind, name, on in odd[:NAMED]
        )
        more = f" and {len(odd) - NAMED} more" if len(odd) > NAMED else ""
        raise Damaged(
            f"{path} holds what no halflife has made: {names}{more}; nothing was read "
            "or written; restore a backup, or drop it with the sqlite3 program"
        )


def _objects(db: sqlite3.Connection) -> dict[Name, str]:
    rows = db.execute(_OBJECTS).fetchall()
    return {(str(kind), str(name), str(on)): sql or "" for kind, name, on, sql in rows}


def _is_odd(name: Name, sql: str, known: dict[Name, str]) -> bool:
    """Return whether an object is foreign; only SQLite can use names of its own.

    A trigger or a view must have the SQL of ours. Tables and indexes are compared by
    name, as earlier versions wrote them in other words.
    """
    kind, own, _ = name
    if own.startswith("sqlite_"):
        return False
    if name not in known:
        return True
    if kind in {"trigger", "view"}:
        return _plain(sql) != _plain(known[name])
    return kind == "table" and _plain(sql).upper().startswith("CREATE VIRTUAL")


def _plain(sql: str) -> str:
    return " ".join(sql.split())


@cache
def _known(steps: tuple[schema.Step, ...]) -> dict[Name, str]:
    """Return the objects of a file made by these steps."""
    with schema.new_database(steps) as db:
        return _objects(db)
