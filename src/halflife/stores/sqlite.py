"""A store in one SQLite file, which any SQLite tool can read.

What a method has done when it returns survives a crash and, if the disk keeps its
promises, a power cut: write-ahead log, ``synchronous = FULL``.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

from halflife.core.errors import Damaged, StoreError
from halflife.core.evidence import Evidence
from halflife.core.observation import Observations
from halflife.core.store import Run
from halflife.stores import columns, files
from halflife.stores.audit import problems
from halflife.stores.connection import Connection
from halflife.stores.database import Database
from halflife.stores.owner import Owner
from halflife.stores.prefetch import EvidencePrefetch
from halflife.stores.schema import reference
from halflife.stores.table_store import TableStore
from halflife.stores.tables import pack, unpack


class SqliteStore(TableStore):
    """Keeps everything in one file; see ``open``.

    Several processes may use the file at once: one writes about a source, any
    number read. One object belongs to one thread.
    """

    def __init__(self, db: sqlite3.Connection, path: Path, owner: Owner) -> None:
        super().__init__(Connection(db, path), owner)
        self.path = path
        self._db = db
        self._prefetch: EvidencePrefetch | None = None

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        create: bool = False,
        readonly: bool = False,
        owner: Owner | None = None,
    ) -> Self:
        """Open a state file.

        Args:
            path: The file. Two more, ``-wal`` and ``-shm``, lie beside it in use.
            create: Create the file if there is none, or if it is empty.
            readonly: Only read; works while another process writes.
            owner: The owner of leases; this process by default.

        Raises:
            TooNew: A newer halflife wrote it; nothing was changed.
            Damaged: It is not, or no longer, a halflife file.
            StoreError: It cannot be used: no folder, no permission, no space.

        """
        where = Path(path)
        create = create and not readonly
        db = files.connect(where, create=create, readonly=readonly)
        return cls(db, where, owner or Owner.here())

    @property
    def name(self) -> str:
        """The path of the file."""
        return str(self.path)

    def skip_disk_syncs(self) -> None:
        """Do not wait for the disk: for replays, whose file is not needed later."""
        files.skip_syncs(self._db)

    def close(self) -> None:
        """Close the file; runs that were not finished count as interrupted."""
        self._end()
        if self._prefetch is not None:
            self._prefetch.end()
        with files.store_errors(self.path):
            self._db.close()

    def read_ahead(self, sources: Sequence[str]) -> None:
        """Start reading the evidence of the latest run, if it is on these sources.

        Without columns it would save no time.
        """
        with self._connection.reading() as db:
            last = columns.latest(db)
            if last and set(last) <= set(sources):
                self._prefetch = EvidencePrefetch(self._db, self.path, last)

    def append(self, run: Run, batch: Observations) -> None:
        """Add observations, durably, or none of them; raise ``LeaseLost``."""
        self._prefetch = None  # the evidence was loaded by now
        super().append(run, batch)

    def _load(self, db: Database, sources: Sequence[str]) -> Evidence:
        prefetch, found = self._prefetch, None
        if prefetch is not None and prefetch.sources & set(sources):
            self._prefetch = None  # used, or read for sources that are now separate
            prefetch.end()
            if prefetch.sources == set(sources):
                found = prefetch.take(self._db)
        return found or super()._load(db, sources)

    def backup(self, path: str | Path) -> None:
        """Copy the file as it is now to a new one; the copy is complete or absent."""
        target = Path(path)
        if target.exists():
            raise StoreError(f"{target} exists already; choose another name")
        with files.store_errors(target):
            files.copy(self._db, target)

    def size(self) -> int:
        """Return the size of the file in bytes, its log included."""
        parts = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())

    def compact(self) -> None:
        """Return the space of removed rows to the disk."""
        with files.store_errors(self.path):
            self._db.execute("VACUUM")

    def clearing(self) -> AbstractContextManager[None]:
        """Let rows be removed without checking foreign keys."""
        return files.unreferenced(self._db)

    def rows_of(self, table: str) -> Iterator[tuple[Any, ...]]:
        """Return the rows of a table in blocks, within ``reading``."""
        names = ", ".join(reference()[table].columns)
        return self._db.execute(f"SELECT {names} FROM {table}")  # noqa: S608  (our own names)

    def fill(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add many rows to a table, within ``together``."""
        columns = reference()[table].columns
        kinds = list(columns.values())
        query = (
            f"INSERT INTO {table} ({', '.join(columns)})"  # noqa: S608
            f" VALUES ({', '.join('?' * len(kinds))})"
        )
        self._db.executemany(query, (_as_stored(row, kinds) for row in rows))

    def last_numbers(self) -> dict[str, int]:
        """Return the last number used in tables that use no number twice."""
        return dict(self._db.execute("SELECT name, seq FROM sqlite_sequence"))

    def continue_numbers(self, last: dict[str, int]) -> None:
        """Let tables continue after these numbers, within ``together``."""
        counted = "SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%'"
        names = {name for (name,) in self._db.execute(counted)}
        self._db.execute("DELETE FROM sqlite_sequence")
        rows = [(name, seq) for name, seq in last.items() if name in names]
        self._db.executemany("INSERT INTO sqlite_sequence VALUES (?, ?)", rows)

    def verify(self) -> list[str]:
        """Return the problems of the file, in words; none if all is well."""
        try:
            with self._connection.reading() as db:
                return problems(db)
        except Damaged as error:
            return [str(error)]


def _as_stored(row: tuple[Any, ...], kinds: Sequence[str]) -> tuple[Any, ...]:
    """Return a row with fingerprints as a SQLite file stores them."""
    return tuple(
        pack(unpack(value)) if kind == "ANY" and value is not None else value
        for value, kind in zip(row, kinds, strict=True)
    )
