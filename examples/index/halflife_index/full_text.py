"""A sink that keeps a full-text index in step (SQLite FTS5)."""

import sqlite3
from typing import ClassVar, Literal

from pydantic import Field

from halflife.config.sinks import SinkConfig
from halflife.sinks.protocol import Batch, DeliveryError, Outlet
from halflife_index.documents import documents

_TABLE = """
CREATE VIRTUAL TABLE IF NOT EXISTS document
USING fts5(source UNINDEXED, key UNINDEXED, text)
"""
_PLACES = """
CREATE TABLE IF NOT EXISTS place (
    source TEXT NOT NULL, key TEXT NOT NULL, document INTEGER NOT NULL,
    PRIMARY KEY (source, key)
) WITHOUT ROWID
"""


class FullTextConfig(SinkConfig):
    """The file of the index."""

    kind: Literal["fts5"]
    path: str = Field(min_length=1)


class FullTextIndex:
    """Writes documents into an index; those that have gone leave it."""

    Settings: ClassVar[type[SinkConfig]] = FullTextConfig

    def __init__(self, settings: FullTextConfig, outlet: Outlet) -> None:
        self._path = outlet.path(settings.path)
        self._db: sqlite3.Connection | None = None

    def open(self) -> None:
        """Open the index, made if need be."""
        try:
            self._db = sqlite3.connect(self._path)
            self._db.execute(_TABLE)
            self._db.execute(_PLACES)
        except sqlite3.Error as error:
            raise DeliveryError(f"{self._path}: {error}") from None

    def deliver(self, batch: Batch) -> None:
        """Write what is new and remove what has gone, all or nothing."""
        assert self._db is not None
        try:
            with self._db as db:
                for one in documents(batch):
                    _remove(db, one.source, one.key)
                    if one.text is not None:
                        _add(db, one.source, one.key, one.text)
        except sqlite3.Error as error:
            raise DeliveryError(f"{self._path}: {error}") from None

    def close(self) -> None:
        """Close the index."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def cancel(self) -> None:
        """Do nothing: a transaction that is not ended is undone."""


def _remove(db: sqlite3.Connection, source: str, key: str) -> None:
    where = "FROM place WHERE source = ? AND key = ?"
    db.execute(
        f"DELETE FROM document WHERE rowid IN (SELECT document {where})",  # noqa: S608
        (source, key),
    )
    db.execute(f"DELETE {where}", (source, key))


def _add(db: sqlite3.Connection, source: str, key: str, text: str) -> None:
    row = db.execute("INSERT INTO document VALUES (?, ?, ?)", (source, key, text))
    db.execute("INSERT INTO place VALUES (?, ?, ?)", (source, key, row.lastrowid))
