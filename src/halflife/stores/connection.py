"""Transactions on the tables of a store; those of a SQLite file."""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from halflife.stores import files
from halflife.stores.database import Database


class Tables(Protocol):
    """Read and write transactions on the tables of a store."""

    def reading(self) -> AbstractContextManager[Database]:
        """Run several queries on the tables as of one moment."""
        ...

    def together(self) -> AbstractContextManager[Database]:
        """Make several changes, all of them or none."""
        ...


class TableConnection(Tables, Protocol):
    """Transactions on the tables of a store, whatever the engine."""

    def writing(self) -> AbstractContextManager[Database]:
        """Make several changes, all of them or none."""
        ...

    def alone(self) -> AbstractContextManager[Database]:
        """Run one query outside a transaction."""
        ...

    def damage_errors(self) -> AbstractContextManager[None]:
        """Turn values that halflife did not write into ``Damaged``."""
        ...

    def data_version(self) -> int:
        """Return a number that changes when another connection has written."""
        ...


class Connection:
    """Transactions on one connection; a transaction begun within another joins it.

    Args:
        db: The connection, in autocommit mode.
        path: The file, for error messages.

    """

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self.db, self.path = db, path
        self.joined = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Run several queries on the file as of one moment."""
        with files.damage_errors(self.path), files.store_errors(self.path):
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
        """Make several changes, all of them or none."""
        with files.store_errors(self.path):
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
        """Make all changes inside the block, or none of them."""
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
        """Run one query outside a transaction."""
        with files.store_errors(self.path):
            yield self.db

    def damage_errors(self) -> AbstractContextManager[None]:
        """Turn values that halflife did not write into ``Damaged``."""
        return files.damage_errors(self.path)

    def data_version(self) -> int:
        """Return a number that changes when another connection has written."""
        return int(self.db.execute("PRAGMA data_version").fetchone()[0])

    def _undo(self) -> None:
        if self.db.in_transaction:
            with suppress(sqlite3.Error):  # a disk that fails now failed before
                self.db.execute("ROLLBACK")
