"""Tables with all versions of records, updated by changes."""

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from halflife.core.change import Change
from halflife.sinks.protocol import Reader
from halflife.sinks.record_versions import HeldVersion, VersionFold, keys_of
from halflife.sinks.table_columns import (
    FITS,
    HISTORY,
    TableColumns,
    clean,
    fit,
    kind_of,
    table_name,
)

_CHUNK = 500  # keys in one query; SQLite allows 32766, others fewer
_KEY = sa.Text().with_variant(sa.String(500), "mysql", "mariadb")  # cannot index texts
_LOG = logging.getLogger("halflife")
_TYPES: dict[str, Any] = {
    "boolean": sa.Boolean,
    "integer": sa.BigInteger,
    "number": sa.Double,
    "text": sa.Text,
    "json": sa.Text,
}


class VersionedTables:
    """The tables of all sources in one database.

    Args:
        prefix: The prefix of the names of tables.
        soft: Whether records that are gone stay in the table of current ones.

    """

    def __init__(self, prefix: str, *, soft: bool) -> None:
        self._prefix, self._soft = prefix, soft
        self._columns: dict[str, TableColumns] = {}
        meta = sa.MetaData()
        self._cursors = sa.Table(
            f"{prefix}halflife_cursor",
            meta,
            sa.Column("sink", sa.String(64), primary_key=True),
            sa.Column("seq", sa.BigInteger, nullable=False),
            sa.Column("mark", sa.String(500), nullable=False),
        )
        self._catalog = sa.Table(
            f"{prefix}halflife_column",
            meta,
            sa.Column("source", sa.String(200), primary_key=True),
            sa.Column("name", sa.String(63), primary_key=True),
            sa.Column("field", sa.Text, nullable=False),
            sa.Column("type", sa.String(10), nullable=False),
        )

    def create(self, db: sa.Connection, sink: str) -> None:
        """Create the tables of cursors and columns."""
        for table in (self._cursors, self._catalog):
            table.create(db, checkfirst=True)
        if self.cursor(db, sink) is None:
            # Before the first batch, so that a second writer of it waits for the first.
            db.execute(self._cursors.insert().values(sink=sink, seq=0, mark=""))

    def forget(self) -> None:
        """Drop the cached columns; they are read from the database again."""
        self._columns.clear()

    def cursor(self, db: sa.Connection, sink: str) -> tuple[int, str] | None:
        """Return the last change that was applied, and its mark; None if none was.

        The row is locked until the transaction ends. A server may still commit what a
        program sent before it was killed; the next program waits here, and sees it.
        """
        table = self._cursors
        query = sa.select(table.c.seq, table.c.mark).where(table.c.sink == sink)
        row = db.execute(query.with_for_update()).one_or_none()
        return None if row is None else (int(row[0]), str(row[1]))

    def move(self, db: sa.Connection, sink: str, seq: int, mark: str) -> None:
        """Move the cursor forward; it never goes back."""
        table, old = self._cursors, self.cursor(db, sink)
        if old is None:
            db.execute(table.insert().values(sink=sink, seq=seq, mark=mark))
        elif old[0] < seq:
            where = table.c.sink == sink
            db.execute(table.update().where(where).values(seq=seq, mark=mark))

    def apply(
        self,
        db: sa.Connection,
        source: str,
        changes: Sequence[Change],
        reader: Reader,
    ) -> None:
        """Update the tables of a source."""
        columns = self._columns_of(db, source)
        tables = _Tables(columns, soft=self._soft)
        tables.create(db)
        keys = {clean(key) for change in changes for key in keys_of(change)}
        fold = VersionFold(tables.read(db, sorted(keys)))
        for change in changes:
            fold.take(change, reader)
        if added := fit(columns, fold.fields()):
            tables.add(db, [name for _, name, _ in added])
            for name, column, kind in added:
                self._note(db, source, name, column, kind)
        tables.write(db, fold)

    def _columns_of(self, db: sa.Connection, source: str) -> TableColumns:
        """Return the columns of a source; a new source gets a table of its own."""
        if source in self._columns:
            return self._columns[source]
        table = self._catalog
        query = sa.select(table.c.field, table.c.name, table.c.type).where(
            table.c.source == source
        )
        rows = db.execute(query).all()
        found = TableColumns(
            next((name for _, name, kind in rows if kind == "table"), "")
        )
        for name, column, kind in rows:
            if kind != "table":
                found.add(name, column, kind)
        if not found.table:
            inspector = sa.inspect(db)
            names = (*inspector.get_table_names(), *inspector.get_view_names())
            taken = {name.lower() for name in names}
            found.table = table_name(source, self._prefix, taken)
            self._note(db, source, "", found.table, "table")
        self._columns[source] = found
        return found

    def _note(
        self, db: sa.Connection, source: str, name: str, column: str, kind: str
    ) -> None:
        if kind == "json":
            _LOG.warning(
                "values of field %s of %s have another type than before; "
                "they are written as JSON into the column %s", name, source, column,
            )  # fmt: skip
        row = {"source": source, "name": column, "field": clean(name), "type": kind}
        db.execute(self._catalog.insert().values(row))


class _Tables:
    """The two tables of one source."""

    def __init__(self, columns: TableColumns, *, soft: bool) -> None:
        self._columns, self._soft = columns, soft
        self._build()

    def _build(self) -> None:
        meta, name = sa.MetaData(), self._columns.table
        self.current = sa.Table(
            name,
            meta,
            sa.Column("_key", _KEY, primary_key=True),
            sa.Column("_seq", sa.BigInteger, nullable=False),
            sa.Column("_changed_at", sa.DateTime, nullable=False),
            sa.Column("_gone_at", sa.DateTime),
            *self._data(),
        )
        self.history = sa.Table(
            f"{name}{HISTORY}",
            meta,
            sa.Column(
                "_seq_from", sa.BigInteger, primary_key=True, autoincrement=False
            ),
            sa.Column("_key", _KEY, nullable=False, index=True),
            sa.Column("_seq_to", sa.BigInteger),
            sa.Column("_valid_from", sa.DateTime, nullable=False),
            sa.Column("_valid_to", sa.DateTime),
            *self._data(),
        )

    def _data(self) -> list[sa.Column[Any]]:
        return [sa.Column(n, _TYPES[t]) for n, t in self._columns.types.items()]

    def create(self, db: sa.Connection) -> None:
        """Create the tables if they are missing."""
        for table in (self.current, self.history):
            table.create(db, checkfirst=True)

    def add(self, db: sa.Connection, names: Sequence[str]) -> None:
        """Add columns to both tables."""
        quote = db.dialect.identifier_preparer.quote
        for table in (self.current, self.history):
            there = {c["name"] for c in sa.inspect(db).get_columns(table.name)}
            for name in names:
                if name not in there:
                    kind = _TYPES[self._columns.types[name]]().compile(db.dialect)
                    db.exec_driver_sql(
                        f"ALTER TABLE {quote(table.name)} "
                        f"ADD COLUMN {quote(name)} {kind}"
                    )
        self._build()

    def read(self, db: sa.Connection, keys: Sequence[str]) -> dict[str, HeldVersion]:
        """Return the current versions of records."""
        table, found = self.history, dict[str, HeldVersion]()
        for start in range(0, len(keys), _CHUNK):
            chunk = keys[start : start + _CHUNK]
            query = table.select().where(table.c["_seq_to"].is_(None))
            for row in db.execute(query.where(table.c["_key"].in_(chunk))).mappings():
                at = row["_valid_from"].replace(tzinfo=UTC)
                version = HeldVersion(
                    row["_key"], self._values(row), row["_seq_from"], at
                )
                found[version.key] = version
        return found

    def write(self, db: sa.Connection, fold: VersionFold) -> None:
        """Write the new and the ended versions."""
        history, old = self.history, {v.seq_from for v in fold.before.values()}
        ended = [v for v in fold.ended if v.seq_from in old]
        fresh = [v for v in (*fold.ended, *fold.now.values()) if v.seq_from not in old]
        if ended:
            where = history.c["_seq_from"] == sa.bindparam("number")
            close = (
                history.update()
                .where(where)
                .values(_seq_to=sa.bindparam("seq_to"), _valid_to=sa.bindparam("until"))
            )
            rows = [
                {"number": v.seq_from, "seq_to": v.seq_to, "until": _naive(v.until)}
                for v in ended
            ]
            db.execute(close, rows)
        if fresh:
            db.execute(history.insert(), [self._past(v) for v in fresh])
        self._write_current(db, fold)

    def _write_current(self, db: sa.Connection, fold: VersionFold) -> None:
        last = {version.key: version for version in fold.ended}
        table = self.current
        before = fold.before
        fresh = [v for key, v in fold.now.items() if v is not before.get(key)]
        touched = sorted({*last, *(version.key for version in fresh)})
        for start in range(0, len(touched), _CHUNK):
            chunk = touched[start : start + _CHUNK]
            db.execute(table.delete().where(table.c["_key"].in_(chunk)))
        rows = [self._present(version) for version in fresh]
        if self._soft:
            gone = (v for key, v in last.items() if key not in fold.now)
            rows += [self._present(version) for version in gone]
        if rows:
            db.execute(table.insert(), rows)

    def _present(self, version: HeldVersion) -> dict[str, Any]:
        gone = version.seq_to is not None
        return {
            "_key": version.key,
            "_seq": version.seq_to if gone else version.seq_from,
            "_changed_at": _naive(version.until if gone else version.at),
            "_gone_at": _naive(version.until),
            **self._cells(version.values),
        }

    def _past(self, version: HeldVersion) -> dict[str, Any]:
        return {
            "_seq_from": version.seq_from,
            "_key": version.key,
            "_seq_to": version.seq_to,
            "_valid_from": _naive(version.at),
            "_valid_to": _naive(version.until),
            **self._cells(version.values),
        }

    def _cells(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values by column; those that do not fit go to the second column."""
        cells: dict[str, Any] = dict.fromkeys(self._columns.types)
        for name, value in values.items():
            column = self._columns.names[name]
            if kind_of(value) in FITS[self._columns.types[column]]:
                cells[column] = value
            else:
                cells[self._columns.second[name]] = json.dumps(value)
        return cells

    def _values(self, row: Mapping[Any, Any]) -> dict[str, Any]:
        """Return the fields of a row."""
        columns = self._columns
        values = {n: row[c] for n, c in columns.names.items() if row[c] is not None}
        for name, column in columns.second.items():
            if row[column] is not None:
                values[name] = json.loads(row[column])
        return values


def _naive(at: datetime | None) -> datetime | None:
    """Return a time in UTC without its zone, as all databases can store it."""
    return None if at is None else at.replace(tzinfo=None)
