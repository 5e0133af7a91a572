"""Tables of items in PostgreSQL, read in ranges of their pages and in bounded memory.

All ranges, and every reading of one, see the table as of one moment: the process that
lists them holds a snapshot that the others join. Rows come in their physical order.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import numpy as np
from psycopg import sql

from halflife.core.arrays import Floats
from halflife.core.errors import UsageError
from halflife.core.store_address import PostgresAddress
from halflife.stores.postgres.connection import PostgresConnection, PostgresDatabase

TABLE = "items"  # unless the address names another
PAGES = 16_384  # of 8 KB in a range: 128 MB
READ = 1_024  # pages that the server aggregates for one answer: 8 MB of the table
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
# A partitioned table is what its partitions hold, at any depth.
_LEAVES = """
SELECT c.oid::regclass::text, c.relname, pg_relation_size(c.oid)
    / current_setting('block_size')::bigint, greatest(c.reltuples, 0)
FROM pg_class AS c WHERE c.relkind IN ('r', 'm') AND (c.oid = to_regclass(%(table)s)
    OR c.oid IN (SELECT relid FROM pg_partition_tree(to_regclass(%(table)s))))
ORDER BY c.relname
"""
_KIND = "SELECT relkind::text FROM pg_class WHERE oid = to_regclass(%s)"
_COLUMNS = """
SELECT attname, format_type(atttypid, NULL) FROM pg_attribute
WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped
"""
_RANGE = "SELECT {} FROM {} WHERE ctid >= {}::tid AND ctid < {}::tid"


class TableColumnType(NamedTuple):
    """A column of the table, and its type as PostgreSQL names it."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class TableRange:
    """A range of pages of a table.

    Attributes:
        address: The database; it may have a password.
        relation: The table or one of its partitions, as SQL names it.
        stem: The name of a file for its rows, without the ending.
        pages: The first of its pages, and the one after the last.
        snapshot: The snapshot in which it is read.
        name: Its name in messages.
        rows: An estimate of the number of rows.

    """

    address: PostgresAddress = field(repr=False)
    relation: str
    stem: str
    pages: tuple[int, int]
    snapshot: str
    name: str
    rows: int

    def numbers(self, names: Sequence[str], rows: int) -> Iterator[dict[str, Floats]]:
        """Yield columns of numbers, ``rows`` rows at a time.

        Raise ``UsageError`` if a row has no value, or a value is not a number.
        """
        found = {name: np.zeros(0) for name in names}
        with self._opened() as db:
            for first in range(*self.pages, READ):
                last = min(first + READ, self.pages[1])
                more = self._sent(db, names, (first, last))
                found = {n: np.concatenate([found[n], more[n]]) for n in names}
                while found[names[0]].size >= rows:
                    yield {n: column[:rows] for n, column in found.items()}
                    found = {n: column[rows:] for n, column in found.items()}
        if found[names[0]].size:
            yield found

    def _sent(
        self, db: PostgresDatabase, names: Sequence[str], pages: tuple[int, int]
    ) -> dict[str, Floats]:
        """Return the columns of some pages, each sent by the server as one value."""
        sums = [
            sql.SQL("string_agg(float8send({}::float8), '')").format(sql.Identifier(n))
            for n in names
        ]
        selected = sql.SQL(", ").join([sql.SQL("count(*)"), *sums])
        with db.link.cursor(binary=True) as cursor:
            row = cursor.execute(self._query(selected, pages)).fetchone() or (0,)
        count, values = int(row[0]), row[1:]
        found = {
            name: np.frombuffer(sent or b"", ">f8").astype(float)
            for name, sent in zip(names, values, strict=True)
        }
        for name, column in found.items():
            if column.size != count:
                raise UsageError(
                    f"{self.name}: column {name!r} has rows without a value"
                )
        return found

    def values(
        self, names: Sequence[str], rows: int, texts: Sequence[bool]
    ) -> Iterator[list[list[Any]]]:
        """Yield columns of any type, ``rows`` rows at a time; some of them as texts."""
        selected = sql.SQL(", ").join(
            sql.SQL("{}::text" if text else "{}").format(sql.Identifier(name))
            for name, text in zip(names, texts, strict=True)
        )
        with self._opened() as db, db.link.cursor("values") as cursor:
            cursor.execute(self._query(selected, self.pages))
            while block := cursor.fetchmany(rows):
                yield [list(column) for column in zip(*block, strict=True)]

    def _query(self, selected: sql.Composed, pages: tuple[int, int]) -> sql.Composed:
        first, last = (f"({page},0)" for page in pages)
        return sql.SQL(_RANGE).format(selected, sql.SQL(self.relation), first, last)

    @contextmanager
    def _opened(self) -> Iterator[PostgresDatabase]:
        with _reading(self.address) as db:
            join = sql.SQL("SET TRANSACTION SNAPSHOT {}").format(self.snapshot)
            db.link.execute(join)
            _in_order(db)
            yield db


@dataclass(frozen=True, slots=True)
class ItemTable:
    """A table of items, in ranges that can be read independently.

    Attributes:
        name: The address and the table, without a password.
        columns: Its columns.
        ranges: Its rows, in the order of its partitions' names and of its pages.

    """

    name: str
    columns: tuple[TableColumnType, ...]
    ranges: tuple[TableRange, ...]


@contextmanager
def open_table(text: str) -> Iterator[ItemTable]:
    """Hold a table as it is now; raise ``UsageError`` if there is none."""
    address, table = _parsed(text)
    name, full = f"{address.name}&table={table}", f"{address.schema}.{table}"
    with _reading(address) as db:
        row = db.link.execute(_KIND, (full,)).fetchone()
        if row is None or row[0] not in {"r", "p", "m"}:
            raise UsageError(f"{name}: there is no such table; name one with &table=")
        # No row is moved to another page, or removed, while the lock is held.
        lock = sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(sql.SQL(full))
        db.link.execute(lock)
        db.link.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        columns = tuple(
            TableColumnType(*row) for row in db.link.execute(_COLUMNS, (full,))
        )
        ((snapshot,),) = db.link.execute("SELECT pg_export_snapshot()").fetchall()
        leaves = db.link.execute(_LEAVES, {"table": full}).fetchall()
        ranges = [r for leaf in leaves for r in _cut(address, leaf, snapshot, name)]
        yield ItemTable(name, columns, tuple(ranges))


@contextmanager
def _reading(address: PostgresAddress) -> Iterator[PostgresDatabase]:
    with (
        closing(PostgresConnection(address, readonly=True)) as connection,
        connection.reading() as db,
    ):
        yield db


def _cut(
    address: PostgresAddress, leaf: tuple[Any, ...], snapshot: str, name: str
) -> Iterator[TableRange]:
    """Yield a table, or one of its partitions, in ranges of pages."""
    relation, called, size, rows = leaf
    begins = range(0, max(int(size), 1), PAGES)
    for number, first in enumerate(begins):
        pages = first, min(first + PAGES, max(int(size), 1))
        stem = called if len(begins) == 1 else f"{called}-{number:05d}"
        many = int(rows * (pages[1] - pages[0]) / max(int(size), 1))
        yield TableRange(address, relation, stem, pages, snapshot, name, many)


def _in_order(db: PostgresDatabase) -> None:
    """Let rows come in their physical order, whatever other readers do."""
    db.link.execute("SET LOCAL synchronize_seqscans = off")
    db.link.execute("SET LOCAL max_parallel_workers_per_gather = 0")


def _parsed(text: str) -> tuple[PostgresAddress, str]:
    """Return the database and the table that an address names."""
    PostgresAddress.parse(text)  # refuses what cannot be read
    parts = urlsplit(text)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    table = dict(pairs).get("table", TABLE)
    if not _NAME.fullmatch(table):
        raise UsageError(
            f"{table!r} is no name for a table; use small letters, digits and _"
        )
    rest = urlencode([pair for pair in pairs if pair[0] != "table"], quote_via=quote)
    return PostgresAddress.parse(urlunsplit(parts._replace(query=rest))), table


def is_number(column: TableColumnType) -> bool:
    """Return whether a column's values are numbers."""
    return column.type in {
        "smallint", "integer", "bigint", "real", "double precision", "numeric",
    }  # fmt: skip
