"""What the modules of a store ask of a database: SQLite, or another that speaks so.

Statements are written as SQLite takes them, with ``?``, ``?1`` or ``:name`` for values;
another engine translates them (``postgres/dialect.py``).
"""

from collections.abc import Iterator
from typing import Any, Protocol


class Rows(Protocol):
    """What a statement returned; a ``sqlite3.Cursor`` is one."""

    @property
    def rowcount(self) -> int:
        """How many rows were written."""
        ...

    def __iter__(self) -> Iterator[Any]: ...

    def fetchone(self) -> Any:  # noqa: ANN401  (a row has values of any type)
        """Return the next row; None if there is none."""
        ...

    def fetchmany(self, size: int, /) -> list[Any]:
        """Return the next rows, at most so many."""
        ...

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""
        ...


class Database(Protocol):
    """Who carries statements out; a ``sqlite3.Connection`` is one."""

    def execute(self, sql: str, parameters: Any = ..., /) -> Rows:  # noqa: ANN401
        """Carry a statement out; its values are a sequence, or a mapping of names."""
        ...

    def executemany(self, sql: str, parameters: Any, /) -> Rows:  # noqa: ANN401
        """Carry a statement out once for each row of values."""
        ...
