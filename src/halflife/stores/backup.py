"""Backups of the state file, checked when they are made, and their restoration."""

import hashlib
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from halflife.core.errors import AlreadyRunning, Damaged, StoreError
from halflife.stores import compaction, files
from halflife.stores.database import Database
from halflife.stores.owner import Owner
from halflife.stores.sqlite import SqliteStore

_BESIDE = ("-wal", "-shm")
WINDOW = 31.0  # days; the longest window of a budget
_RUN = """
INSERT INTO run (id, state, sources, owner, began, ended)
VALUES (?, 'done', '[]', ?, ?, ?) RETURNING id
"""
_SPENT = "INSERT INTO ledger (run, at, requests) VALUES (?, ?, ?)"


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The result of restoring a backup.

    Attributes:
        path: The state file.
        aside: Where the replaced file is now; None if there was none.
        carried: Requests charged after the backup was made; they still count.

    """

    path: Path
    aside: Path | None
    carried: int


def back_up(store: SqliteStore, target: Path) -> int:
    """Copy a state file as it is now, while others may write; return its size.

    The copy is read back and checked before it gets its name, and it never replaces a
    file. Beside it is its SHA-256, in the format of ``sha256sum -c``.
    """
    if target.exists():
        raise StoreError(f"{target} exists already; choose another name")
    if not target.absolute().parent.is_dir():
        raise StoreError(f"{target}: there is no such folder; make it first")
    with (
        files.store_errors(target),
        tempfile.TemporaryDirectory(prefix=".backup-", dir=target.parent) as folder,
    ):
        part = Path(folder) / "state.db"
        store.backup(part)
        check(part, readonly=True)
        seal = part.with_name("seal")
        seal.write_text(f"{digest(part)}  {target.name}\n", encoding="utf-8")
        files.sync(seal)
        _name(part, target)
        seal.replace(checksum_path(target))
        files.sync(target.absolute().parent)
    return target.stat().st_size


def checksum_path(path: Path) -> Path:
    """Return the path of the SHA-256 of a copy."""
    return path.with_name(f"{path.name}.sha256")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _name(part: Path, target: Path) -> None:
    """Give a file its name, unless another file has it by now."""
    try:
        os.link(part, target)
    except FileExistsError:
        raise StoreError(f"{target} exists already; choose another name") from None
    except OSError:  # a file system without links
        part.rename(target)


def check(path: Path, *, readonly: bool = False) -> None:
    """Raise ``Damaged`` if a state file is damaged.

    Unless it is ``readonly``, it is upgraded as well.
    """
    with SqliteStore.open(path, readonly=readonly) as store:
        wrong = store.verify()
    if wrong:
        raise Damaged(f"{path} is damaged: {wrong[0]}; use another copy")


def restore(source: Path, path: Path, now: float) -> RestoreResult:
    """Replace the state file by a copy; the old file is kept aside.

    The copy must be undamaged, and not of a newer halflife. At every moment there is a
    state file: the old one, or the copy. Requests charged after the copy was made still
    count against the budget, and a run that is still under way can write nothing more.
    """
    if not source.exists():
        raise StoreError(f"there is no file {source}; check the path")
    files.check_file(source)
    files.check_file(path)
    if path.exists() and source.samefile(path):
        raise StoreError(f"{source} is the state file itself; name a copy of it")
    if not path.parent.is_dir():
        raise StoreError(f"{path}: there is no such folder; make it first")
    with (
        files.store_errors(path),
        tempfile.TemporaryDirectory(prefix=".restore-", dir=path.parent) as folder,
    ):
        fresh = Path(folder) / "state.db"
        _copy(source, fresh)
        carried = _carry(path, fresh, now)
        files.sync(fresh)
        aside = _set_aside(path, now) if path.exists() else None
        fresh.replace(path)
        files.sync(path.parent)
    return RestoreResult(path, aside, carried)


def _copy(source: Path, fresh: Path) -> None:
    """Copy an undamaged state file, and upgrade the copy."""
    seal = checksum_path(source)
    if seal.exists():
        expected = seal.read_text(encoding="utf-8", errors="replace").split()[:1]
        if expected != [digest(source)]:
            raise Damaged(
                f"{source} is not as it was written: its SHA-256 differs from that in "
                f"{seal.name}; use another copy"
            )
    with closing(files.connect_as_is(source)) as db:
        files.copy(db, fresh)
    try:
        check(fresh)
    except Damaged as error:
        raise Damaged(str(error).replace(str(fresh), str(source))) from None


def _carry(path: Path, fresh: Path, now: float) -> int:
    """Charge the copy with the requests since it was made, in a run of their own."""
    if not path.exists():
        return 0
    try:
        with SqliteStore.open(path) as old:
            _refuse_runs(old, now)
            with old.reading() as db:
                last, spent = _highest_run(db), compaction.spent(db, now - WINDOW)
    except Damaged:  # it cannot be read
        return 0
    with SqliteStore.open(fresh) as new, new.together() as db:
        missing = max(spent - compaction.spent(db, now - WINDOW), 0)
        parameters = (max(last, _highest_run(db)) + 1, str(new.owner), now, now)
        ((run,),) = db.execute(_RUN, parameters).fetchall()
        if missing:
            db.execute(_SPENT, (run, now, missing))
    return missing


def _highest_run(db: Database) -> int:
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'run'").fetchone()
    return int(row[0]) if row else 0


def _refuse_runs(store: SqliteStore, now: float) -> None:
    """Raise if a live process holds a lease."""
    here = Owner.here()
    for held in store.reports.holders():
        if held.expires > now and not held.owner.is_gone(here):
            raise AlreadyRunning(
                f"process {held.owner.pid} on {held.owner.host} is syncing; stop it"
                " first"
            )


def _set_aside(path: Path, now: float) -> Path:
    """Give the present file a second name; its log, if it has one, is moved."""
    _settle(path)
    aside = path.with_name(f"{path.name}.before-restore-{round(now * 86400.0)}")
    if aside.exists():
        raise StoreError(f"{aside} exists already; move it away and try again")
    try:
        os.link(path, aside)
    except OSError:  # a file system without links
        shutil.copyfile(path, aside)
        files.sync(aside)
    for ending in _BESIDE:
        beside = path.with_name(path.name + ending)
        if beside.exists():
            beside.rename(aside.with_name(aside.name + ending))
    files.sync(path.parent)
    return aside


def _settle(path: Path) -> None:
    """Write the changes in the file's log into the file itself."""
    try:
        with closing(sqlite3.connect(path)) as db:
            busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except sqlite3.DatabaseError:  # too damaged for that: its log is moved as well
        return
    if busy:
        raise StoreError(f"{path}: another program is using it; end it and try again")
