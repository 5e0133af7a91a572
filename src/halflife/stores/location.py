"""Opening a store by where it lies: a file, or an address of a database."""

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
    """Open a store to look at it; None if there is none yet."""
    if isinstance(place, str) and is_address(place):
        return _postgres().find(place)
    return open_store(place, readonly=True) if Path(place).exists() else None


def work_queue(place: Place, lease: float) -> "WorkQueue":
    """Connect to what hands work out to workers; ``lease`` is in seconds."""
    _postgres()
    from halflife.stores.postgres.work_queue import WorkQueue  # noqa: PLC0415

    return WorkQueue.open(str(place), lease)


def is_there(place: Place, *, least: int = 0) -> bool:
    """Say whether there is a store; as a file, one of so many bytes at least."""
    if isinstance(place, str) and is_address(place):
        return _postgres().is_there(place)
    path = Path(place)
    return path.exists() and path.stat().st_size >= least


def stamp(place: Place) -> tuple[int, ...]:
    """Return numbers that change when a store is written, its bytes last."""
    if isinstance(place, str) and is_address(place):
        found = find_store(place)
        if found is None:
            return 0, 0
        with found:
            return found.writes(), found.size()
    path = Path(place)
    times = [_stamp(one) for one in (path.with_name(f"{path.name}-wal"), path)]
    return tuple(number for pair in times for number in pair)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def spent_by_hour(place: Place, since: float) -> Charges:
    """Return what was charged since then; a file of any version stays as it is."""
    if isinstance(place, str) and is_address(place):
        with open_store(place, readonly=True) as store, store.looking() as db:
            return ledger.by_hour(db, since)
    path = Path(place)
    with closing(files.connect_as_is(path)) as db, files.translated(path):
        return ledger.by_hour(db, since)


def shown(place: Place) -> str:
    """Return where a store lies, for people: without a password."""
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
