"""Opening, copying and checking the state file."""

import os
import re
import sqlite3
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from halflife.core.errors import Damaged, StoreError, UsageError
from halflife.stores import foreign, schema

BUSY = 10.0  # seconds to wait while another process writes
_OLDEST = (3, 38)  # STRICT tables, json_each built in
_SHARED = {"9p", "afs", "ceph", "cifs", "fuse.sshfs", "nfs", "nfs4", "smb3", "smbfs"}
_MAGIC = b"SQLite format 3\0"
_MOMENT = 0.02  # seconds
_PATIENCE = 50  # moments to wait for another process to fill an empty file
_WORDS = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and try again",
    sqlite3.SQLITE_READONLY: "it cannot be written; check its permissions and the disk",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check its folder and permissions",
    sqlite3.SQLITE_PERM: "it cannot be opened; check its permissions",
    sqlite3.SQLITE_BUSY: "another program is writing to it; try again",
    sqlite3.SQLITE_LOCKED: "another program is writing to it; try again",
    sqlite3.SQLITE_IOERR: "the disk failed or is full; check it and try again",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
    sqlite3.SQLITE_TOOBIG: "a value is too large",
}


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn errors of the state file into halflife's own."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise UsageError(f"{error.object!r} is not text: {error.reason}") from error
    except UnicodeDecodeError as error:
        raise damaged(path, "it holds text that is no text") from error
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
def damage_errors(path: Path) -> Iterator[None]:
    """Turn values that halflife did not write into ``Damaged``."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError, zlib.error) as error:
        raise damaged(path, f"unexpected value: {error}") from error


def damaged(path: Path, reason: str) -> Damaged:
    """Return the error that names the file and a remedy."""
    backups = sorted(path.parent.glob(f"{path.name}.backup-v*"))
    remedy = f"restore {backups[-1].name}" if backups else "restore a backup"
    return Damaged(
        f"{path} is damaged ({reason}); {remedy}, or move it away to start anew"
    )


def connect(path: Path, *, create: bool, readonly: bool) -> sqlite3.Connection:
    """Open the state file; create or upgrade it if needed."""
    with store_errors(path):
        _check_place(path, create=create, readonly=readonly)
        if create:
            _touch(path)
        _check_start(path, create=create)
        db = _open(path, readonly=readonly)
        try:
            found = _identify(db, path, create=create)
            _prepare(db, path, found, readonly=readonly)
        except BaseException:
            db.close()
            raise
    return db


def connect_as_is(path: Path) -> sqlite3.Connection:
    """Open a state file of any known version to read it; it is not upgraded."""
    with store_errors(path):
        _check_place(path, create=False, readonly=True)
        _check_start(path, create=False)
        db = _open(path, readonly=True)
        try:
            found = _identify(db, path, create=False)
            schema.refuse_newer(found, len(schema.STEPS), path)
            foreign.refuse(db, path)
        except BaseException:
            db.close()
            raise
    return db


def disk_kind(path: Path, mounts: str) -> str:
    r"""Return the kind of file system of a path; ``mounts`` is a mountinfo.

    >>> mounts = "22 1 0:2 / / rw - ext4 /dev/sda rw\n23 22 0:3 / /n rw - nfs4 s:/ rw"
    >>> disk_kind(Path("/n/state.db"), mounts), disk_kind(Path("/nn"), mounts)
    ('nfs4', 'ext4')
    """
    kinds = {}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        point = re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), before.split()[4])
        kinds[Path(point)] = after.split()[0]
    return next((kinds[p] for p in [path, *path.parents] if p in kinds), "")


def shared_disk(path: Path) -> str:
    """Return the kind of network disk that holds a path; empty if it is local."""
    mounts = Path("/proc/self/mountinfo")
    if not mounts.exists():
        return ""
    kind = disk_kind(path.resolve(), mounts.read_text(errors="replace"))
    return kind if kind in _SHARED else ""


def copy(db: sqlite3.Connection, target: Path) -> None:
    """Copy the whole file as it is now; the copy is complete or absent."""
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
        sync(part)
        part.replace(target)
        sync(target.parent)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def _touch(path: Path) -> None:
    """Create an empty file that only its owner may read, unless it exists."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        sync(path.parent)


def sync(path: Path) -> None:
    """Wait until what was written to a file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check_place(path: Path, *, create: bool, readonly: bool) -> None:
    if sqlite3.sqlite_version_info < _OLDEST:
        have = sqlite3.sqlite_version
        raise StoreError(f"SQLite {have} is too old for {path}; use 3.38 or newer")
    if not path.parent.is_dir():
        raise StoreError(f"{path}: there is no such folder; make it first")
    if not create and not path.exists():
        raise StoreError(f"there is no state file {path}; check the path")
    check_file(path)
    kind = "" if readonly else shared_disk(path)
    if kind:
        raise StoreError(
            f"{path} lies on a network disk ({kind}), where two machines could"
            " write to it at once; keep the state on a local disk"
        )


def check_file(path: Path) -> None:
    """Raise if a path exists and is no regular file, such as a pipe."""
    if path.exists() and not path.is_file():
        kind = describe_mode(path.stat().st_mode)
        raise StoreError(f"{path} is {kind}; name a file")


def describe_mode(mode: int) -> str:
    """Return the words for a path that is no regular file, by its mode."""
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((words for is_it, words in kinds if is_it(mode)), "no file")


def _check_start(path: Path, *, create: bool) -> None:
    start = _start(path)
    patience = 0 if create else _PATIENCE
    while not start and patience:  # another process may be creating it
        time.sleep(_MOMENT)
        start, patience = _start(path), patience - 1
    if not start and not create:
        raise damaged(path, "it is empty")
    # With a journal beside it, its creation was cut off: SQLite rolls that back first.
    if start and start != _MAGIC and not _beside(path, "-journal").exists():
        raise damaged(path, "it is not a SQLite file")


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(_MAGIC))


def _open(path: Path, *, readonly: bool) -> sqlite3.Connection:
    mode = "ro" if readonly else "rw"
    unused = not _beside(path, "-wal").exists()
    if readonly and unused and not os.access(path.parent, os.W_OK):
        mode = "ro&immutable=1"  # nobody can be writing, and we cannot lock
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _prepare(
    db: sqlite3.Connection, path: Path, found: int | None, *, readonly: bool
) -> None:
    """Set the connection up, and upgrade a file of version ``found``."""
    known = len(schema.STEPS)
    schema.refuse_newer(found, known, path)
    if found is not None:
        foreign.refuse(db, path)
    if readonly:
        schema.refuse_older(found, known, path)
    else:
        if _journal(db) != "wal":
            raise StoreError(f"{path}: its disk cannot be shared; use a local disk")
        db.execute("PRAGMA synchronous = FULL")
        if found is not None and found < known:
            _back_up(db, path, found)
        schema.upgrade(db, schema.STEPS)
    for pragma in ("foreign_keys = ON", "trusted_schema = OFF", "cell_size_check = ON"):
        db.execute(f"PRAGMA {pragma}")


def _journal(db: sqlite3.Connection) -> str:
    """Set the journal to WAL and return its mode.

    SQLite waits for readers, but not for a process that has begun to write: two
    processes that create a file at once would wait for each other. So the one that is
    refused lets go and tries again.
    """
    end = time.monotonic() + BUSY
    while True:
        try:
            return str(db.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > end:
                raise
        time.sleep(_MOMENT)


def _back_up(db: sqlite3.Connection, path: Path, found: int) -> None:
    """Copy a file of version ``found``, unless another process has just upgraded it.

    The transaction keeps other writers out, so the copy is of that version, and only
    one process makes it.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        if schema.version(db) == found:
            with closing(_open(path, readonly=True)) as reader:
                copy(reader, path.with_name(f"{path.name}.backup-v{found}"))
    finally:
        db.execute("ROLLBACK")


def _identify(db: sqlite3.Connection, path: Path, *, create: bool) -> int | None:
    """Return the file's schema version; None if there is nothing in it yet."""
    mark, used, version = _marks(db)
    patience = 0 if create else _PATIENCE
    while not (mark or used) and patience:  # another process may be creating it
        time.sleep(_MOMENT)
        (mark, used, version), patience = _marks(db), patience - 1
    if mark == schema.APPLICATION_ID and used:
        return version
    if mark or used:
        raise Damaged(f"{path} belongs to another program; use another path")
    if not create:
        raise damaged(path, "it is empty")
    return None


def _marks(db: sqlite3.Connection) -> tuple[int, bool, int]:
    """Return the application id, whether the file has data, and its schema version."""
    db.execute("BEGIN")  # one transaction: it may change at any moment
    mark = int(db.execute("PRAGMA application_id").fetchone()[0])
    used, version = not schema.is_new(db), schema.version(db)
    db.execute("ROLLBACK")
    return mark, used, version


@contextmanager
def unreferenced(db: sqlite3.Connection) -> Iterator[None]:
    """Let rows be removed without a search for those that refer to them.

    The caller must leave no such reference: the search would scan whole tables.
    """
    db.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        db.execute("PRAGMA foreign_keys = ON")


def skip_syncs(db: sqlite3.Connection) -> None:
    """Do not wait for the disk: a power cut may lose all later writes."""
    db.execute("PRAGMA synchronous = OFF")
