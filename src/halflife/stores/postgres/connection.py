"""A connection to PostgreSQL, and its transactions.

A writing transaction takes the lock of its schema first, so that one writes at a time
and changes are numbered in the order in which they become visible, as in a SQLite file.
Readers never wait. A lost connection is opened again at the next transaction; one that
breaks within a transaction rolls it back.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from time import time
from typing import Any

import psycopg
from psycopg import errors
from psycopg.adapt import Buffer, Dumper, Loader

from halflife.core.errors import Damaged, StoreError, UsageError
from halflife.core.store_address import PostgresAddress
from halflife.stores.postgres.bulk import FEWEST, bulk, columns
from halflife.stores.postgres.dialect import Values, translate
from halflife.stores.postgres.texts import clean, restored

PATIENCE = 10  # seconds to wait for an answer at the start
SILENT = 30  # seconds without an answer after which a connection counts as lost
SKEW = 30.0  # seconds that two clocks may differ; a tenth of a lease
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_LOCK = "BEGIN; SELECT pg_advisory_xact_lock({}, {})"
_QUICK = "-cjit=off"  # compiling a statement takes longer than running it
_UNSYNCED = "BEGIN; SET LOCAL synchronous_commit = off"
_SPACE = 0x484C  # marks our locks among all of the database: "HL"
_DONE = """
UPDATE store_state SET writes = writes + 1,
    change = greatest(change, (SELECT coalesce(max(seq), 0) FROM change)); COMMIT"""
_WRITES = "SELECT writes FROM store_state"
_REMEDY = {
    "28": "check the user, the password and pg_hba.conf; see docs/postgres.md",
    "3D": "there is no such database; make it with createdb",
    "42501": "grant it; see docs/postgres.md",
    "53": "the server lacks room, memory or connections; free some and try again",
    "57": "the server was stopped or the statement cut off; try again",
    "40": "another program wrote at the same time; try again",
    "55": "another program holds a lock; try again",
    "25": "this connection may only read; check the role and the server",
}


class _Fingerprint(Dumper):
    r"""Sends bytes as ``\x`` and digits: BYTEA decodes that, TEXT stores it."""

    oid = 0

    def dump(self, obj: bytes) -> Buffer:
        return b"\\x" + obj.hex().encode()


class _Flag(Dumper):
    """Sends booleans as numbers, as the columns have them."""

    oid = 0

    def dump(self, obj: bool) -> Buffer:  # noqa: FBT001  (psycopg calls it so)
        return b"1" if obj else b"0"


class _Number(Loader):
    """Reads a whole numeric as an integer, and any other as a float."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdigit() else float(text)


class _Text(Loader):
    """Reads a text and restores what ``clean`` replaced."""

    def load(self, data: Buffer) -> str:
        return restored(str(data, "utf-8"))


class PostgresDatabase:
    """Executes the statements of a store, like ``sqlite3.Connection``."""

    def __init__(self, link: psycopg.Connection) -> None:
        self.link = link
        adapters = link.adapters
        adapters.register_dumper(bytes, _Fingerprint)
        adapters.register_dumper(bool, _Flag)
        adapters.register_loader("numeric", _Number)
        adapters.register_loader("text", _Text)

    def execute(self, sql: str, parameters: Values = (), /) -> psycopg.Cursor:
        """Execute a statement."""
        text, prepare, binary = translate(sql)
        if isinstance(parameters, dict):
            values: Any = {n: clean(v) for n, v in parameters.items()}
        else:
            values = prepare([clean(value) for value in parameters])
        return self.link.execute(text.encode(), values, binary=binary)

    def executemany(
        self, sql: str, parameters: Iterable[Sequence[Any]], /
    ) -> psycopg.Cursor:
        """Execute a statement once for each row of values."""
        rows = list(parameters)
        statement = bulk(sql) if len(rows) >= FEWEST else None
        arrays = None if statement is None else columns(statement, rows)
        if statement is not None and arrays is not None:
            return self.link.execute(statement.sql.encode(), arrays)
        text, prepare, _ = translate(sql)
        cursor = self.link.cursor()
        if rows:
            cleaned = [prepare([clean(value) for value in row]) for row in rows]
            cursor.executemany(text.encode(), cleaned)
        return cursor


class PostgresConnection:
    """Transactions on one connection; a transaction begun within another joins it.

    Args:
        address: The database and the schema.
        readonly: Whether all writes are refused.

    """

    def __init__(self, address: PostgresAddress, *, readonly: bool) -> None:
        self.address, self._readonly = address, readonly
        self.joined = False
        self._own_writes = 0
        self._key = zlib.crc32(address.schema.encode()) - (1 << 31)
        self.db = self._connect()

    def _connect(self) -> PostgresDatabase:
        with self.store_errors():
            link = psycopg.connect(
                self.address.url,
                autocommit=True,
                connect_timeout=PATIENCE,
                keepalives_idle=SILENT,
                tcp_user_timeout=SILENT * 1000,
                application_name="halflife",
                options=f"-csearch_path={self.address.schema},pg_catalog {_QUICK}",
            )
        return PostgresDatabase(link)

    def check_clock(self) -> None:
        """Raise if this machine's clock differs from that of the database.

        Leases and the budget's window depend on the clocks of all machines.
        """
        query = "SELECT extract(epoch FROM clock_timestamp())::float8"
        with self.store_errors():
            if self.db.link.closed:
                self._renew()
            before = time()
            there = float(self.db.execute(query).fetchone()[0])  # type: ignore[index]
            ahead = (before + time()) / 2.0 - there
        if abs(ahead) > SKEW:
            way = "ahead of" if ahead > 0 else "behind"
            raise StoreError(
                f"this machine's clock is {abs(ahead):.0f} s {way} that of"
                f" {self.address.name}; set it (NTP) and try again"
            )

    @contextmanager
    def reading(self) -> Iterator[PostgresDatabase]:
        """Run several queries on the tables as of one moment."""
        with self.damage_errors(), self.store_errors():
            if self.joined:
                yield self.db
                return
            self._begin(_READ)
            try:
                yield self.db
            finally:
                self._undo()

    @contextmanager
    def writing(self) -> Iterator[PostgresDatabase]:
        """Make several changes, all of them or none, one writer at a time."""
        with self.store_errors():
            if self.joined:
                yield self.db
                return
            if self._readonly:
                raise StoreError(f"{self.address.name} was opened to be read only")
            self._begin(_LOCK.format(_SPACE, self._key))
            try:
                yield self.db
                self.db.link.execute(_DONE)
                self._own_writes += 1
            finally:
                self._undo()

    @contextmanager
    def together(self) -> Iterator[PostgresDatabase]:
        """Make all changes inside the block, or none of them."""
        if self.joined:
            yield self.db
            return
        with self.writing() as db:
            self.joined = True
            try:
                yield db
            finally:
                self.joined = False

    def changing_schema(self) -> AbstractContextManager[PostgresDatabase]:
        """Create or change tables while no other process writes."""
        return self._transaction(_LOCK.format(_SPACE, self._key))

    def apart(
        self, *, durable: bool = True
    ) -> AbstractContextManager[PostgresDatabase]:
        """Make changes, all of them or none, beside the writer of the store.

        For tables that no store reads: leases of hosts, and pages handed out to
        workers. Without ``durable`` the commit does not wait for the disk.
        """
        return self._transaction("BEGIN" if durable else _UNSYNCED)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[PostgresDatabase]:
        with self.store_errors():
            self._begin(begin)
            try:
                yield self.db
                self.db.link.execute("COMMIT")
            finally:
                self._undo()

    @contextmanager
    def alone(self) -> Iterator[PostgresDatabase]:
        """Run one query outside a transaction."""
        with self.store_errors():
            if self.db.link.closed and not self.joined:
                self._renew()
            yield self.db

    def data_version(self) -> int:
        """Return a number that changes when another connection has written."""
        row = self.db.execute(_WRITES).fetchone()
        return (int(row[0]) if row else 0) - self._own_writes

    @contextmanager
    def damage_errors(self) -> Iterator[None]:
        """Turn values that halflife did not write into ``Damaged``."""
        try:
            yield
        except (ArithmeticError, LookupError, TypeError, ValueError, zlib.error) as why:
            raise Damaged(
                f"{self.address.name} is damaged (unexpected value: {why}); restore a"
                " backup of the database"
            ) from why

    @contextmanager
    def store_errors(self) -> Iterator[None]:
        """Turn errors of the database into halflife's own."""
        try:
            yield
        except UnicodeEncodeError as error:
            raise UsageError(f"{error.object!r} is not text: {error.reason}") from error
        except psycopg.Error as error:
            raise self._error(error) from None

    def _error(self, error: psycopg.Error) -> StoreError:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        message, state = lines[0], error.sqlstate or ""
        remedy = _REMEDY.get(state) or _REMEDY.get(state[:2])
        if remedy is None and isinstance(error, psycopg.OperationalError):
            remedy = "check that the server runs and can be reached"
            if any(
                word in message for word in ("authentication", "password", 'role "')
            ):
                remedy = _REMEDY["28"]
        if remedy is None:
            message = f"{message} ({state})"
            remedy = "its tables are not as halflife made them, or this is a bug"
        return StoreError(f"{self.address.name}: {message}: {remedy}")

    def _begin(self, statement: str) -> None:
        """Begin a transaction, over a new connection if the last one was lost."""
        if self.db.link.closed:
            self._renew()
        try:
            self.db.link.execute(statement)
        except (errors.OperationalError, psycopg.OperationalError):
            if not self.db.link.closed:
                raise
            self._renew()  # nothing was sent over it yet, so nothing is done twice
            self.db.link.execute(statement)

    def _renew(self) -> None:
        self.db = self._connect()
        self._own_writes = 0  # so that a comparison of versions shows a difference

    def _undo(self) -> None:
        status = self.db.link.info.transaction_status
        if status not in {
            psycopg.pq.TransactionStatus.IDLE,
            psycopg.pq.TransactionStatus.UNKNOWN,
        }:
            with suppress(psycopg.Error):  # a broken connection rolls itself back
                self.db.link.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection."""
        with suppress(psycopg.Error):
            self.db.link.close()
