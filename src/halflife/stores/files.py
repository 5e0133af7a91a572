"""Opening, copying and mistrusting the state file."""

import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from halflife.errors import Damaged, StoreError, TooNew, UsageError
from halflife.stores import schema

BUSY = 10.0  # seconds to wait while another process writes
_MAGIC = b"SQLite format 3\0"
_WORDS = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and try again",
    sqlite3.SQLITE_READONLY: "it cannot be written; check its permissions and the disk",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check its folder and permissions",
    sqlite3.SQLITE_PERM: "it cannot be opened; check its permissions",
    sqlite3.SQLITE_BUSY: "another program is writing to it; try again",
    sqlite3.SQLITE_LOCKED: "another program is writing to it; try again",
    sqlite3.SQLITE_IOERR: "the disk failed or is full; check it and try again",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
    sqlite3.SQLITE_MISUSE: "it is closed",
}


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what goes wrong with the state file into our own errors."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise UsageError(f"{error.object!r} is not text: {error.reason}") from error
    except sqlite3.ProgrammingError as error:
        raise StoreError(f"{path}: {error}; open it again") from error
    except sqlite3.Error as error:
        words = _WORDS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
        if words is None:
            raise damaged(path, str(error)) from error
        raise StoreError(f"{path}: {error}: {words}") from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


@contextmanager
def trusted(path: Path) -> Iterator[None]:
    """Turn values that no halflife has written into ``Damaged``."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError, zlib.error) as error:
        raise damaged(path, f"unexpected value: {error}") from error


def damaged(path: Path, what: str) -> Damaged:
    """Return the error that names the file and says what to do."""
    backups = sorted(path.parent.glob(f"{path.name}.backup-v*"))
    remedy = f"restore {backups[-1].name}" if backups else "restore a backup"
    return Damaged(
        f"{path} is damaged ({what}); {remedy}, or move it away to start anew"
    )


def connect(path: Path, *, create: bool, readonly: bool) -> sqlite3.Connection:
    """Open the state file, made or brought up to date if need be."""
    with translated(path):
        if create and not readonly:
            _touch(path)
        _check_start(path, create=create and not readonly)
        db = _dial(path, readonly=readonly)
        try:
            _prepare(db, path, create=create, readonly=readonly)
        except BaseException:
            db.close()
            raise
    return db


def copy(db: sqlite3.Connection, target: Path) -> None:
    """Copy the whole file as it is now; the copy is there in full or not at all."""
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)
    try:
        _touch(part)
        other = sqlite3.connect(part, isolation_level=None)
        try:
            db.backup(other)
            other.execute("PRAGMA journal_mode = DELETE")
        finally:
            other.close()
        _sync(part)
        part.replace(target)
        _sync(target.parent)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def _touch(path: Path) -> None:
    """Make an empty file that only its owner may read, unless there is one."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check_start(path: Path, *, create: bool) -> None:
    with path.open("rb") as file:
        start = file.read(len(_MAGIC))
    if not start and not create:
        raise damaged(path, "it is empty")
    if start and start != _MAGIC:
        raise damaged(path, "it is not a SQLite file")


def _dial(path: Path, *, readonly: bool) -> sqlite3.Connection:
    mode = "ro" if readonly else "rw"
    if readonly and not os.access(path.parent, os.W_OK) and not _wal(path).exists():
        mode = "ro&immutable=1"  # nobody can be writing, and we cannot take turns
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY)


def _wal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _prepare(
    db: sqlite3.Connection, path: Path, *, create: bool, readonly: bool
) -> None:
    known = len(schema.STEPS)
    found = _identify(db, path, create=create and not readonly)
    if found > known:
        raise TooNew(
            f"{path} was written by a newer halflife (schema {found}, this one knows"
            f" {known}); upgrade halflife"
        )
    if readonly:
        if found < known:
            raise StoreError(
                f"{path} was written by an older halflife (schema {found}, now"
                f" {known}); run a sync to bring it up to date"
            )
    else:
        mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise StoreError(f"{path}: its disk cannot be shared; use a local disk")
        db.execute("PRAGMA synchronous = FULL")
        if 0 < found < known:
            copy(db, path.with_name(f"{path.name}.backup-v{found}"))
        schema.upgrade(db, schema.STEPS)
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA cell_size_check = ON")


def _identify(db: sqlite3.Connection, path: Path, *, create: bool) -> int:
    """Return the file's schema version; 0 if it is new."""
    mark = db.execute("PRAGMA application_id").fetchone()[0]
    if mark == schema.APPLICATION_ID:
        return schema.version(db)
    if mark or db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        raise Damaged(
            f"{path} belongs to another program; choose another path for the state"
        )
    if not create:
        raise damaged(path, "it is empty")
    return 0
