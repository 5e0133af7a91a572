"""State in one SQLite file, which any SQLite tool can read.

Whatever a method has done when it returns survives a crash and, if the disk
keeps its promises, a power cut: write-ahead log, ``synchronous = FULL``.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

from halflife.core.errors import Damaged, StoreError
from halflife.core.evidence import Evidence
from halflife.core.observation import Looks
from halflife.core.store import Run
from halflife.stores import columns, files
from halflife.stores.audit import problems
from halflife.stores.connection import Connection
from halflife.stores.database import Database
from halflife.stores.owner import Owner
from halflife.stores.prefetch import Ahead
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
        self._ahead: Ahead | None = None

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
            create: Make the file if there is none, or if it is empty.
            readonly: Look only; works while another process writes.
            owner: Who takes leases; this process, unless told otherwise.

        Raises:
            TooNew: A newer halflife wrote it; nothing was touched.
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
        """Do not wait for the disk: for replays, whose file nobody needs later."""
        files.skip_syncs(self._db)

    def close(self) -> None:
        """Close the file; runs that were not finished count as interrupted."""
        self._end()
        if self._ahead is not None:
            self._ahead.end()
        with files.translated(self.path):
            self._db.close()

    def read_ahead(self, sources: Sequence[str]) -> None:
        """Let a thread begin to read the evidence of the latest run, if of these.

        Where there are no columns there would be nothing to gain.
        """
        with self._connection.looking() as db:
            last = columns.latest(db)
            if last and set(last) <= set(sources):
                self._ahead = Ahead(self._db, self.path, last)

    def append(self, run: Run, looks: Looks) -> None:
        """Add observations, durably, or none of them; raise ``LeaseLost``."""
        self._ahead = None  # who wants it has it
        super().append(run, looks)

    def _load(self, db: Database, sources: Sequence[str]) -> Evidence:
        ahead, found = self._ahead, None
        if ahead is not None and ahead.sources & set(sources):
            self._ahead = None  # used, or read for sources that are kept apart now
            ahead.end()
            found = ahead.take(self._db) if ahead.sources == set(sources) else None
        return found or super()._load(db, sources)

    def backup(self, path: str | Path) -> None:
        """Copy the file as it is now to a new one, whole or not at all."""
        target = Path(path)
        if target.exists():
            raise StoreError(f"{target} exists already; choose another name")
        with files.translated(target):
            files.copy(self._db, target)

    def size(self) -> int:
        """Return the bytes that the file takes, its log included."""
        parts = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())

    def compact(self) -> None:
        """Give the room of what was removed back to the disk."""
        with files.translated(self.path):
            self._db.execute("VACUUM")

    def clearing(self) -> AbstractContextManager[None]:
        """Let rows be removed without a search for those that refer to them."""
        return files.unreferenced(self._db)

    def rows_of(self, table: str) -> Iterator[tuple[Any, ...]]:
        """Return the rows of a table, some at a time, within ``looking``."""
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
        self._db.executemany(query, (_as_kept(row, kinds) for row in rows))

    def last_numbers(self) -> dict[str, int]:
        """Return the last number that was given out in tables that use none twice."""
        return dict(self._db.execute("SELECT name, seq FROM sqlite_sequence"))

    def go_on_from(self, last: dict[str, int]) -> None:
        """Let tables give out numbers after these, within ``together``."""
        counted = "SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%'"
        names = {name for (name,) in self._db.execute(counted)}
        self._db.execute("DELETE FROM sqlite_sequence")
        rows = [(name, seq) for name, seq in last.items() if name in names]
        self._db.executemany("INSERT INTO sqlite_sequence VALUES (?, ?)", rows)

    def verify(self) -> list[str]:
        """Return what is wrong with the file, in words; nothing, if all is well."""
        try:
            with self._connection.looking() as db:
                return problems(db)
        except Damaged as error:
            return [str(error)]


def _as_kept(row: tuple[Any, ...], kinds: Sequence[str]) -> tuple[Any, ...]:
    """Return a row with fingerprints as a file has them."""
    return tuple(
        pack(unpack(value)) if kind == "ANY" and value is not None else value
        for value, kind in zip(row, kinds, strict=True)
    )
