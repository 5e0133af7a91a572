"""Prefetch of evidence, while the program that needs it is still starting."""

import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path

from halflife.core.evidence import Evidence
from halflife.stores import columns, files


class EvidencePrefetch:
    """Evidence on some sources, read in a thread over a connection of its own.

    Args:
        db: The connection that will use the evidence.
        path: The state file.
        sources: The sources.

    """

    def __init__(
        self, db: sqlite3.Connection, path: Path, sources: Sequence[str]
    ) -> None:
        self.sources = frozenset(sources)
        self._version = _version(db)
        executor = ThreadPoolExecutor(1)
        self._found = executor.submit(_read, path, sources)
        executor.shutdown(wait=False)

    def take(self, db: sqlite3.Connection) -> Evidence | None:
        """Return the evidence, if it equals what would be read now.

        That is, if no other connection has written since, and this one nothing about
        its items. If it could not be read, reading it again will show why.
        """
        if self._found.exception() is not None or self._version != _version(db):
            return None
        mark, evidence = self._found.result()
        return evidence if mark == columns.mark(db, sorted(self.sources)) else None

    def end(self) -> None:
        """Wait until the thread has finished."""
        wait([self._found])


def _read(
    path: Path, sources: Sequence[str]
) -> tuple[columns.Mark | None, Evidence | None]:
    with closing(files.connect(path, create=False, readonly=True)) as db:
        db.execute("BEGIN")
        return columns.mark(db, sources), columns.load(db, sources)


def _version(db: sqlite3.Connection) -> int:
    """Return a number that changes when another connection has written."""
    return int(db.execute("PRAGMA data_version").fetchone()[0])
