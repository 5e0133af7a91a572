"""Opening a store by its location: a file, or the address of a database."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from halflife.core.errors import StoreError
from halflife.core.store_address import PostgresAddress, is_address
from halflife.stores import files, ledger
from halflife.stores.ledger import Charges
from halflife.stores.table_store import TableStore

if TYPE_CHECKING:
    from halflife.stores.postgres.store import PostgresStore
    from halflife.stores.postgres.work_queue import WorkQueue

Place: TypeAlias = Path | str  # a file, or the address of a database


def open_store(
    place: Place, *, create: bool = False, readonly: bool = False
) -> TableStore:
    """Open a store; raise ``StoreError`` if it cannot be used."""
    if isinstance(place, str) and is_address(place):
        return _postgres().open(place, create=create, readonly=readonly)
    from halflife.stores.sqlite import SqliteStore  # noqa: PLC0415  (one is enough)

    return SqliteStore.open(place, create=create, readonly=readonly)


def find_store(place: Place) -> TableStore | None:
    """Open a store to read it; None if there is none yet."""
    if isinstance(place, str) and is_address(place):
        return _postgres().find(place)
    return open_store(place, readonly=True) if Path(place).exists() else None


def work_queue(place: Place, lease: float) -> "WorkQueue":
    """Connect to the work queue of the workers; ``lease`` is in seconds."""
    _postgres()
    from halflife.stores.postgres.work_queue import WorkQueue  # noqa: PLC0415

    return WorkQueue.open(str(place), lease)


def is_there(place: Place, *, least: int = 0) -> bool:
    """Return whether a store exists; a file must have ``least`` bytes."""
    if isinstance(place, str) and is_address(place):
        return _postgres().is_there(place)
    path = Path(place)
    return path.exists() and path.stat().st_size >= least


def stamp(place: Place) -> tuple[int, ...]:
    """Return numbers that change when a store is written, its size last."""
    if isinstance(place, str) and is_address(place):
        found = find_store(place)
        if found is None:
            return 0, 0
        with found:
            return found.writes(), found.size()
    path = Path(place)
    times = [_stamp(file) for file in (path.with_name(f"{path.name}-wal"), path)]
    return tuple(number for pair in times for number in pair)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def spent_by_hour(place: Place, since: float) -> Charges:
    """Return the charges since then by the hour; a file of any version is read."""
    if isinstance(place, str) and is_address(place):
        with open_store(place, readonly=True) as store, store.reading() as db:
            return ledger.by_hour(db, since)
    path = Path(place)
    with closing(files.connect_as_is(path)) as db, files.store_errors(path):
        return ledger.by_hour(db, since)


def display_name(place: Place) -> str:
    """Return the location of a store for display, without a password."""
    text = str(place)
    return PostgresAddress.parse(text).name if is_address(text) else text


def _postgres() -> "type[PostgresStore]":
    try:
        from halflife.stores.postgres.store import PostgresStore  # noqa: PLC0415
    except ModuleNotFoundError:
        raise StoreError(
            "a store in PostgreSQL needs psycopg, which is not installed; run"
            ' pip install "halflife[postgres]"'
        ) from None
    return PostgresStore
