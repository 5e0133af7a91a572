"""A sink that keeps a vector index in step (sqlite-vec)."""

import math
import re
import sqlite3
import struct
from importlib import import_module
from typing import Any, ClassVar, Literal
from zlib import crc32

from pydantic import Field

from halflife.config.sinks import SinkConfig
from halflife.sinks.extras import import_extra
from halflife.sinks.protocol import Batch, DeliveryError, Outlet
from halflife_index.documents import documents

_WORD = re.compile(r"\w+")
_DOCUMENTS = """
CREATE TABLE IF NOT EXISTS document (
    id INTEGER PRIMARY KEY, source TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL,
    UNIQUE (source, key)
)
"""


class VectorConfig(SinkConfig):
    """The file of the index."""

    requires: ClassVar[tuple[str, str]] = ("sqlite_vec", "vectors")

    kind: Literal["sqlite-vec"]
    path: str = Field(min_length=1)


class VectorIndex:
    """Writes the vector of each document; those that have gone leave the index."""

    Settings: ClassVar[type[SinkConfig]] = VectorConfig
    size: ClassVar[int] = 256

    def __init__(self, settings: VectorConfig, outlet: Outlet) -> None:
        self._settings, self._path = settings, outlet.path(settings.path)
        self._db: Any = None

    def embed(self, text: str) -> list[float]:
        """Return the vector of a text: its words, counted by their hashes."""
        vector = [0.0] * self.size
        for word in _WORD.findall(text.lower()):
            vector[crc32(word.encode()) % self.size] += 1.0
        length = math.hypot(*vector) or 1.0
        return [value / length for value in vector]

    def search(self, text: str, most: int = 5) -> list[tuple[str, str]]:
        """Return source and key of the nearest documents."""
        rows = self._db.execute(
            "SELECT source, key FROM vector JOIN document ON document.id = vector.rowid"
            " WHERE embedding MATCH ? AND k = ? ORDER BY distance",
            (_pack(self.embed(text)), most),
        )
        return [(source, key) for source, key in rows]

    def open(self) -> None:
        """Open the index, made if need be; raise if sqlite-vec is missing."""
        vec = import_extra(self._settings)
        try:
            self._db = _driver().connect(str(self._path))
            self._db.enable_load_extension(True)  # noqa: FBT003  (its signature)
            vec.load(self._db)
            self._db.execute(_DOCUMENTS)
            self._db.execute(
                "CREATE VIRTUAL TABLE IF NOT EXISTS vector"
                f" USING vec0(embedding float[{self.size}])"
            )
        except _driver().Error as error:
            raise DeliveryError(f"{self._path}: {error}") from None

    def deliver(self, batch: Batch) -> None:
        """Write what is new and remove what has gone, all or nothing."""
        try:
            with self._db as db:
                for one in documents(batch):
                    _remove(db, one.source, one.key)
                    if one.text is not None:
                        self._add(db, one.source, one.key, one.text)
        except _driver().Error as error:
            raise DeliveryError(f"{self._path}: {error}") from None

    def close(self) -> None:
        """Close the index."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def cancel(self) -> None:
        """Do nothing: a transaction that is not ended is undone."""

    def _add(self, db: Any, source: str, key: str, text: str) -> None:  # noqa: ANN401
        row = db.execute(
            "INSERT INTO document (source, key, text) VALUES (?, ?, ?)",
            (source, key, text),
        )
        db.execute(
            "INSERT INTO vector (rowid, embedding) VALUES (?, ?)",
            (row.lastrowid, _pack(self.embed(text))),
        )


def _driver() -> Any:  # noqa: ANN401  (a module)
    """Return a driver of SQLite that can load extensions.

    Not every Python was built with them; ``pysqlite3-binary`` always has them.
    """
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3
    try:
        return import_module("pysqlite3")
    except ImportError:
        raise DeliveryError(
            "this Python cannot load extensions of SQLite; install pysqlite3-binary"
        ) from None


def _remove(db: Any, source: str, key: str) -> None:  # noqa: ANN401
    query = "SELECT id FROM document WHERE source = ? AND key = ?"
    for (number,) in db.execute(query, (source, key)).fetchall():
        db.execute("DELETE FROM vector WHERE rowid = ?", (number,))
        db.execute("DELETE FROM document WHERE id = ?", (number,))


def _pack(vector: list[float]) -> bytes:
    return struct.pack(f"{len(vector)}f", *vector)
