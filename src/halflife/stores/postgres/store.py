"""A store in a schema of a PostgreSQL database, which several machines may use.

What a method has done when it returns survives a crash, as far as the server keeps its
promises (``synchronous_commit``, which is on by default).
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any, Self

from halflife.core.errors import Damaged, StoreError
from halflife.core.store_address import PostgresAddress
from halflife.stores.audit import inconsistencies
from halflife.stores.database import Database
from halflife.stores.owner import Owner
from halflife.stores.postgres import schema, work_schema, work_statements
from halflife.stores.postgres.connection import PostgresConnection
from halflife.stores.postgres.texts import clean
from halflife.stores.schema import reference, refuse_newer, refuse_older
from halflife.stores.table_store import TableStore
from halflife.stores.work import FleetState, WorkerSign

CHUNK = 10_000  # rows read at a time
_COLUMNS = """
SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = ?
"""
_TRIGGERS = """
SELECT t.tgname FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = ? AND NOT t.tgisinternal AND t.tgenabled <> 'D'
"""
_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = ? AND c.relkind IN ('r', 'm')
"""


class PostgresStore(TableStore):
    """Keeps everything in one schema; see ``open``.

    Any number of processes on any number of machines may use it at once: one writes
    about a source, any number read. One object belongs to one thread.
    """

    def __init__(self, connection: PostgresConnection, owner: Owner) -> None:
        super().__init__(connection, owner)
        self._postgres = connection

    @classmethod
    def open(
        cls,
        address: str,
        *,
        create: bool = False,
        readonly: bool = False,
        owner: Owner | None = None,
    ) -> Self:
        """Open a store.

        Args:
            address: ``postgresql://user@host/database?schema=name``; missing parts come
                from libpq's variables and files, such as ``~/.pgpass``.
            create: Create the schema and its tables if there are none.
            readonly: Only read; a role with read access is enough.
            owner: The owner of leases; this process by default.

        Raises:
            TooNew: A newer halflife wrote it; nothing was changed.
            Damaged: The schema belongs to another program.
            StoreError: It cannot be reached or used.

        """
        create = create and not readonly
        where = PostgresAddress.parse(address)
        connection = _connected(where, create=create, readonly=readonly)
        if connection is None:
            raise StoreError(f"there is no store in {where.name}; check the address")
        return cls(connection, owner or Owner.here(shared=True))

    @classmethod
    def find(cls, address: str) -> Self | None:
        """Open a store to read it; None if there is none yet."""
        where = PostgresAddress.parse(address)
        connection = _connected(where, create=False, readonly=True)
        if connection is None:
            return None
        return cls(connection, Owner.here(shared=True))

    @staticmethod
    def is_there(address: str) -> bool:
        """Return whether there is a store, of any version."""
        where = PostgresAddress.parse(address)
        link = closing(PostgresConnection(where, readonly=True))
        with link as connection, connection.reading() as db:
            return schema.version(db, where.schema) is not None

    @property
    def name(self) -> str:
        """The address, without its password."""
        return self._postgres.address.name

    def close(self) -> None:
        """Close it; runs that were not finished count as interrupted."""
        self._end()
        self._postgres.close()

    def size(self) -> int:
        """Return the size of the tables and their indexes in bytes."""
        with self._connection.reading() as db:
            row = db.execute(_SIZE, (self._postgres.address.schema,)).fetchone()
        return int(row[0])

    def fleet(self) -> FleetState:
        """Return the workers that share the store, and their work in progress."""
        with self._connection.reading() as db:
            if not work_schema.is_there(db):
                return FleetState()
            rows = db.execute(work_statements.WORKERS).fetchall()
            waiting, unfiled = db.execute(work_statements.HANDED_OUT).fetchone()
            sources = reading = 0
            if work_schema.hands_out_sources(db):
                found = db.execute(work_statements.SOURCES_OUT).fetchone()
                sources, reading = found
            (planned,) = db.execute(work_statements.IS_PLANNED).fetchone()
        signs = tuple(WorkerSign(*row) for row in rows)
        return FleetState(
            signs, int(waiting), int(unfiled), sources, reading, bool(planned)
        )

    def skip_disk_syncs(self) -> None:
        """Do not wait for the disk: for replays, whose state is not needed later."""
        with self._postgres.store_errors():
            self._postgres.db.link.execute("SET synchronous_commit = off")

    def compact(self) -> None:
        """Make the space of removed rows available again."""
        with self._postgres.store_errors():
            for table in reference():
                self._postgres.db.execute(f"VACUUM (ANALYZE) {table}")

    def clearing(self) -> AbstractContextManager[None]:
        """Let rows be removed; there are no foreign keys to check."""
        return nullcontext()

    def rows_of(self, table: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table in blocks, within ``reading``."""
        names = ", ".join(reference()[table].columns)
        query = f"SELECT {names} FROM {table}"  # noqa: S608  (our own names)
        with self._postgres.db.link.cursor(name=f"rows_of_{table}") as cursor:
            cursor.itersize = CHUNK
            yield from cursor.execute(query.encode())

    def fill(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add many rows to a table, within ``together``."""
        names = ", ".join(reference()[table].columns)
        with (
            self._postgres.db.link.cursor() as cursor,
            cursor.copy(f"COPY {table} ({names}) FROM STDIN".encode()) as copy,
        ):
            for row in rows:
                copy.write_row([clean(value) for value in row])

    def last_numbers(self) -> dict[str, int]:
        """Return the last number used in tables that use no number twice."""
        with self._connection.reading() as db:
            query = "SELECT last_value, is_called FROM {}"
            found = {
                table: db.execute(query.format(name)).fetchone()
                for table, name in schema.sequences(db).items()
            }
            change = db.execute("SELECT change FROM store_state").fetchone()[0]
        used = {table: last for table, (last, called) in found.items() if called}
        return {**used, "change": change} if change else used

    def continue_numbers(self, last: dict[str, int]) -> None:
        """Let tables continue after these numbers, within ``together``."""
        db = self._postgres.db
        for table, name in schema.sequences(db).items():
            (key,) = reference()[table].key
            query = f"SELECT coalesce(max({key}), 0) FROM {table}"  # noqa: S608
            row = db.execute(query).fetchone()
            number = max(int(row[0]) if row else 0, last.get(table, 0))
            if number:
                db.execute("SELECT setval(?, ?)", (name, number))
        db.execute("UPDATE store_state SET change = ?", (last.get("change", 0),))

    def verify(self) -> list[str]:
        """Return the problems of the tables, in words; none if all is well."""
        try:
            with self._connection.reading() as db:
                missing = list(_missing(db, self._postgres.address.schema))
                return missing or [*_dangling(db), *inconsistencies(db)]
        except Damaged as error:
            return [str(error)]


def _connected(
    address: PostgresAddress, *, create: bool, readonly: bool
) -> PostgresConnection | None:
    """Return a connection to tables of the newest version; None if there are none."""
    connection = PostgresConnection(address, readonly=readonly)
    try:
        if not readonly:
            connection.check_clock()
        if _prepare(connection, create=create, readonly=readonly):
            return connection
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


def _prepare(connection: PostgresConnection, *, create: bool, readonly: bool) -> bool:
    """Create or upgrade the tables; False if there are none and none are to be made."""
    name, where = connection.address.schema, connection.address.name
    with connection.reading() as db:
        found = schema.version(db, name)
    refuse_newer(found, schema.newest(), where)
    if readonly:
        refuse_older(found, schema.newest(), where)
    if found is None and not create:
        return False
    if found == schema.newest() or readonly:
        return True
    with connection.changing_schema() as db:
        found = schema.version(db, name)  # another process may just have made them
        if found is None:
            # "IF NOT EXISTS" needs the right to create schemas even if it exists.
            there = db.execute("SELECT to_regnamespace(?)", (name,)).fetchone()
            if there is None or there[0] is None:
                db.execute(f'CREATE SCHEMA "{name}"')  # the name may be a word of SQL
            schema.create(db)
        else:
            schema.upgrade(db, found)
    return True


def _missing(db: Database, name: str) -> Iterator[str]:
    """Compare the tables and triggers with those of a new store."""
    there = {tuple(row) for row in db.execute(_COLUMNS, (name,))}
    for table, declared in reference().items():
        for column in declared.columns:
            if (table, column) not in there:
                yield f"the column {column} of {table} is not there"
    triggers = {trigger for (trigger,) in db.execute(_TRIGGERS, (name,))}
    for trigger in sorted(schema.trigger_names() - triggers):
        yield f"the trigger {trigger} is not as it was made"
    ours = {*schema.trigger_names(), work_schema.TRIGGER}
    for trigger in sorted(triggers - ours):
        yield f"the trigger {trigger} was made by no halflife"


def _dangling(db: Database) -> Iterator[str]:
    """Yield the references to missing rows, in words."""
    for link in schema.references():
        query = (
            f"SELECT count(*) FROM {link.table} AS a WHERE a.{link.column} IS NOT NULL"  # noqa: S608  (our own names)
            f" AND NOT EXISTS (SELECT 1 FROM {link.target} AS b"
            f" WHERE b.{link.target_column} = a.{link.column})"
        )
        (count,) = db.execute(query).fetchone()
        if count:
            yield f"{count} rows of {link.table} name no {link.target}"
