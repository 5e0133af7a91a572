"""Copying a whole store to another place: a file, or a schema of a database."""

from collections.abc import Callable

from halflife.core.errors import AlreadyRunning, StoreError
from halflife.stores import location, schema
from halflife.stores.database import Database
from halflife.stores.location import Place
from halflife.stores.owner import Owner
from halflife.stores.table_store import TableStore

# Evidence as columns is computed again from the rows; see ``columns``.
DERIVED = frozenset({"filed", "filed_column", "touched"})


def copy_store(source: Place, target: Place, now: float) -> dict[str, int]:
    """Copy a store to an empty place; return the number of rows of each table.

    Both sides are checked: an inconsistent store is not copied, and an inconsistent
    copy is an error. All rows are of one moment without a sync. If a sync has begun
    since, there is no copy. The copy is complete or absent.
    """

    def check_source_again() -> None:
        with location.open_store(source, readonly=True) as again:
            _refuse_runs(again, now)

    with location.open_store(source, readonly=True) as old:
        _refuse_runs(old, now)
        _check(old)
        with location.open_store(target, create=True) as new:
            rows = _fill(old, new, now, check_source_again)
            _check(new)
    return rows


def _fill(
    old: TableStore, new: TableStore, now: float, check_source: Callable[[], None]
) -> dict[str, int]:
    rows: dict[str, int] = {}
    last = old.last_numbers()
    with old.reading(), new.clearing(), new.together() as db:
        tables = [table for table in schema.reference() if table not in DERIVED]
        if any(_count(db, table) for table in tables):
            raise StoreError(f"{new.name} is in use already; choose another place")
        for table in tables:
            new.fill(table, old.rows_of(table))
            rows[table] = _count(db, table)
        new.continue_numbers(last)
        _refuse_runs(new, now)  # at the moment of the copied rows
        check_source()
    new.reread()
    return rows


def _count(db: Database, table: str) -> int:
    query = f"SELECT count(*) FROM {table}"  # noqa: S608  (our own names)
    return int(db.execute(query).fetchone()[0])


def _check(store: TableStore) -> None:
    wrong = store.verify()
    if wrong:
        raise StoreError(f"{store.name} does not add up: {wrong[0]}; see `doctor`")


def _refuse_runs(store: TableStore, now: float) -> None:
    here = Owner.of(store)
    for held in store.reports.holders():
        if held.expires > now and not held.owner.is_gone(here):
            raise AlreadyRunning(
                f"process {held.owner.pid} on {held.owner.host} is syncing; stop it"
                " first: what it writes now would not be copied"
            )
    if store.fleet().unfiled:
        raise StoreError(
            f"{store.name} holds what workers have fetched and nobody has filed; run"
            " `halflife worker --once` first"
        )
