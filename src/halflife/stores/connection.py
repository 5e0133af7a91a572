"""Transactions on the tables of a store; those of a SQLite file."""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from halflife.stores import files
from halflife.stores.database import Database


class Tables(Protocol):
    """Whoever lets queries see the tables, and lets them change."""

    def looking(self) -> AbstractContextManager[Database]:
        """Let several queries see the tables as they were at one moment."""
        ...

    def together(self) -> AbstractContextManager[Database]:
        """Let several changes happen all or not at all."""
        ...


class TableConnection(Tables, Protocol):
    """Transactions on the tables of a store, whatever the engine."""

    def writing(self) -> AbstractContextManager[Database]:
        """Let several changes happen all or not at all."""
        ...

    def alone(self) -> AbstractContextManager[Database]:
        """Let one query see one moment by itself."""
        ...

    def trusted(self) -> AbstractContextManager[None]:
        """Turn values that no halflife has written into ``Damaged``."""
        ...

    def data_version(self) -> int:
        """Return a number that changes when somebody else has written."""
        ...


class Connection:
    """Transactions on one connection; one begun within another joins it.

    Args:
        db: The connection, in autocommit mode.
        path: The file, for error messages.

    """

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self.db, self.path = db, path
        self.joined = False

    @contextmanager
    def looking(self) -> Iterator[sqlite3.Connection]:
        """Let several queries see the file as it was at one moment."""
        with files.trusted(self.path), files.translated(self.path):
            if self.joined:
                yield self.db
                return
            self.db.execute("BEGIN")
            try:
                yield self.db
            finally:
                self._undo()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Let several changes happen all or not at all."""
        with files.translated(self.path):
            if self.joined:
                yield self.db
                return
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield self.db
                self.db.execute("COMMIT")
            finally:
                self._undo()

    @contextmanager
    def together(self) -> Iterator[sqlite3.Connection]:
        """Let all that is written inside happen all or not at all."""
        if self.joined:
            yield self.db
            return
        with self.writing() as db:
            self.joined = True
            try:
                yield db
            finally:
                self.joined = False

    @contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """Let one query see one moment by itself."""
        with files.translated(self.path):
            yield self.db

    def trusted(self) -> AbstractContextManager[None]:
        """Turn values that no halflife has written into ``Damaged``."""
        return files.trusted(self.path)

    def data_version(self) -> int:
        """Return a number that changes when another connection has written."""
        return int(self.db.execute("PRAGMA data_version").fetchone()[0])

    def _undo(self) -> None:
        if self.db.in_transaction:
            with suppress(sqlite3.Error):  # a disk that fails now failed before
                self.db.execute("ROLLBACK")
