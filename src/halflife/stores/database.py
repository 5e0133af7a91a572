"""The interface of a database that stores use: SQLite, or one adapted to it.

Statements are written for SQLite, with ``?``, ``?1`` or ``:name`` for values;
another engine translates them (``postgres/dialect.py``).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Rows(Protocol):
    """The result of a statement; a ``sqlite3.Cursor`` is one."""

    @property
    def rowcount(self) -> int:
        """How many rows were written."""
        ...

    def __iter__(self) -> Iterator[Any]: ...

    def fetchone(self) -> Any:  # noqa: ANN401  (a row has values of any type)
        """Return the next row; None if there is none."""
        ...

    def fetchmany(self, size: int, /) -> list[Any]:
        """Return the next rows, at most ``size``."""
        ...

    def fetchall(self) -> list[Any]:
        """Return all remaining rows."""
        ...


class Database(Protocol):
    """A database that executes statements; a ``sqlite3.Connection`` is one."""

    def execute(self, sql: str, parameters: Any = ..., /) -> Rows:  # noqa: ANN401
        """Execute a statement; its values are a sequence, or a mapping of names."""
        ...

    def executemany(self, sql: str, parameters: Any, /) -> Rows:  # noqa: ANN401
        """Execute a statement once for each row of values."""
        ...


@contextmanager
def rewriting_schema(db: Database) -> Iterator[None]:
    """Let the block rewrite declarations of tables in ways that change no row."""
    (version,) = db.execute("PRAGMA schema_version").fetchone()
    db.execute("PRAGMA writable_schema = ON")
    try:
        yield
        db.execute(f"PRAGMA schema_version = {version + 1}")
    finally:
        db.execute("PRAGMA writable_schema = OFF")


def execute_all(statements: Iterable[str], db: Database) -> None:
    """Execute statements without values, in order."""
    for statement in statements:
        db.execute(statement)
