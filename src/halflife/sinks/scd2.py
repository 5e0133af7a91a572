"""Tables with all versions of records, brought up to date by changes.

A column has the type of the first values that came. A later value of another type is
written as JSON into a second column, ``NAME__json``, and the first is empty then.
"""

import json
import logging
import math
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from halflife.core.change import Change
from halflife.sinks.event import moment
from halflife.sinks.protocol import DeliveryError, Outlet, Reader

_LONGEST = 48  # characters of a name; PostgreSQL cuts longer ones off at 63
_CHUNK = 500  # keys in one query; SQLite takes 32766, others fewer
_EXACT = 2**53  # up to here every whole number is a float
_BIGGEST = 2**63
_KEY = sa.Text().with_variant(sa.String(500), "mysql", "mariadb")  # which index no text
_FITS = {
    "boolean": {"boolean"},
    "integer": {"integer", "long", "whole"},
    "number": {"number", "whole", "integer"},
    "text": {"text"},
}  # which values a column of a type takes
_LOG = logging.getLogger("halflife")
_ODD = re.compile(r"[^a-z0-9_]+")
_TYPES: dict[str, Any] = {
    "boolean": sa.Boolean,
    "integer": sa.BigInteger,
    "number": sa.Double,
    "text": sa.Text,
    "json": sa.Text,
}
_OWN = ("_key", "_seq", "_changed_at", "_gone_at", "_seq_from", "_seq_to",
        "_valid_from", "_valid_to")  # fmt: skip


def connect(url: str, outlet: Outlet) -> sa.Engine:
    """Return an engine; a relative path of SQLite begins at the settings file."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise DeliveryError(
            "url is not that of a database, such as sqlite:///changes.db"
        ) from None
    name = parsed.database
    if parsed.get_backend_name() == "sqlite" and name and name != ":memory:":
        parsed = parsed.set(database=str(outlet.path(name)))
    try:
        engine = sa.create_engine(parsed)
    except NoSuchModuleError:
        raise DeliveryError(
            f"SQLAlchemy knows no database {parsed.drivername!r}; install its dialect"
        ) from None
    except ImportError as error:
        raise DeliveryError(f"the driver of the database is missing: {error}") from None
    if parsed.get_backend_name() == "sqlite":
        sa.event.listen(engine, "connect", _manual)
        sa.event.listen(engine, "begin", _begin)
    return engine


def _manual(connection: Any, _: object) -> None:  # noqa: ANN401  (of any driver)
    connection.isolation_level = None  # or making tables would end the transaction


def _begin(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


@contextmanager
def translated() -> Iterator[None]:
    """Raise what goes wrong in the database as ``DeliveryError``, without secrets."""
    try:
        yield
    except DBAPIError as error:
        words = " ".join(str(error.orig).split())[:300]
        raise DeliveryError(f"the database says: {words}") from None
    except SQLAlchemyError as error:
        raise DeliveryError(f"SQLAlchemy fails: {type(error).__name__}") from None


@dataclass(frozen=True, slots=True)
class Version:
    """A record as it was held for a while.

    Attributes:
        key: The record.
        values: Its fields.
        seq_from: The change that brought it.
        at: When.
        seq_to: The change that ended it; None if none did.
        until: When.

    """

    key: str
    values: Mapping[str, Any]
    seq_from: int
    at: datetime
    seq_to: int | None = None
    until: datetime | None = None


@dataclass(slots=True)
class Columns:
    """The columns of a source's tables.

    Attributes:
        table: The name of the table.
        names: The column of each field.
        second: The column of values that do not fit, by field.
        types: The type of each column.

    """

    table: str
    names: dict[str, str] = field(default_factory=dict)
    second: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, column: str, kind: str) -> None:
        """Make a column known."""
        self.types[column] = kind
        (self.second if kind == "json" else self.names)[name] = column


class VersionedTables:
    """The tables of all sources in one database.

    Args:
        prefix: What the names of tables begin with.
        soft: Whether records that have gone stay in the table of present ones.

    """

    def __init__(self, prefix: str, *, soft: bool) -> None:
        self._prefix, self._soft = prefix, soft
        self._columns: dict[str, Columns] = {}
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

    def create(self, db: sa.Connection) -> None:
        """Make the tables that say how far we are, and which columns there are."""
        for table in (self._cursors, self._catalog):
            table.create(db, checkfirst=True)

    def forget(self) -> None:
        """Forget which columns there are; the database is asked again."""
        self._columns.clear()

    def cursor(self, db: sa.Connection, sink: str) -> tuple[int, str] | None:
        """Return the last change that was applied, and its mark; None if none was."""
        table = self._cursors
        query = sa.select(table.c.seq, table.c.mark).where(table.c.sink == sink)
        row = db.execute(query).one_or_none()
        return None if row is None else (int(row[0]), str(row[1]))

    def move(self, db: sa.Connection, sink: str, seq: int, mark: str) -> None:
        """Write down how far we are; never back."""
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
        """Bring the tables of a source up to date."""
        columns = self._known(db, source)
        tables = _Tables(columns, soft=self._soft)
        tables.create(db)
        keys = {_clean(key) for change in changes for key in _keys(change)}
        fold = Fold(tables.read(db, sorted(keys)))
        for change in changes:
            fold.take(change, reader)
        if added := _fit(columns, fold.fields()):
            tables.add(db, [name for _, name, _ in added])
            for name, column, kind in added:
                self._note(db, source, name, column, kind)
        tables.write(db, fold)

    def _known(self, db: sa.Connection, source: str) -> Columns:
        """Return the columns of a source; a new one gets a table of its own."""
        if source in self._columns:
            return self._columns[source]
        table = self._catalog
        query = sa.select(table.c.field, table.c.name, table.c.type).where(
            table.c.source == source
        )
        rows = db.execute(query).all()
        found = Columns(next((name for _, name, kind in rows if kind == "table"), ""))
        for name, column, kind in rows:
            if kind != "table":
                found.add(name, column, kind)
        if not found.table:
            taken = sa.select(table.c.name).where(table.c.type == "table")
            found.table = _unused(
                f"{self._prefix}{_plain(source)}", set(db.execute(taken).scalars())
            )
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
        row = {"source": source, "name": column, "field": _clean(name), "type": kind}
        db.execute(self._catalog.insert().values(row))


def _former(change: Change) -> str:
    """Return the key that a page had before it got another; empty if it did not."""
    renamed = change.kind == "moved" and "key" in change.fields
    return str(change.fields["key"][0]) if renamed else ""


def _keys(change: Change) -> set[str]:
    return {change.key, _former(change)} - {""}


def _fit(
    columns: Columns, fields: Mapping[str, set[str]]
) -> list[tuple[str, str, str]]:
    """Add the columns that values need; return field, name and type of each."""
    added = []
    for name, kinds in fields.items():
        if name not in columns.names:
            added.append((name, _column_name(name, columns.types), _widest(kinds)))
            columns.add(*added[-1])
        column = columns.names[name]
        if name not in columns.second and kinds - _FITS[columns.types[column]]:
            second = _column_name(f"{column}__json", columns.types)
            added.append((name, second, "json"))
            columns.add(*added[-1])
    return added


class Fold:
    """What changes make of the versions that are held.

    Args:
        held: The present version of each record.

    """

    def __init__(self, held: Mapping[str, Version]) -> None:
        self.before = held
        self.now: dict[str, Version] = dict(held)
        self.ended: list[Version] = []

    def take(self, change: Change, reader: Reader) -> None:
        """Apply a change."""
        key, at = _clean(change.key), moment(change.at)
        old = self.now.get(key)
        if change.kind == "gone":
            self._end(old, change, at)
            return
        if before := _former(change):
            old = self.now.get(_clean(before))
            if old is not None:
                self._end(old, change, at)
                self.now[key] = Version(key, old.values, change.seq, at)
            return
        news = {name: new for name, (_, new) in change.fields.items()}
        if change.kind in {"new", "returned"}:
            values = news
        elif old is not None:
            values = {**old.values, **news}
        else:  # its beginning was in the log once, and is no more
            values = {**(reader.record(change.source, change.key) or {}), **news}
        values = {_clean(n): _clean(v) for n, v in values.items() if v is not None}
        if old is not None and old.values == values:
            return
        self._end(old, change, at)
        self.now[key] = Version(key, values, change.seq, at)

    def _end(self, old: Version | None, change: Change, at: datetime) -> None:
        if old is not None:
            self.ended.append(replace(old, seq_to=change.seq, until=at))
            del self.now[old.key]

    def fields(self) -> dict[str, set[str]]:
        """Return the fields of all new versions, with the types of their values."""
        found: dict[str, set[str]] = {}
        for version in (*self.ended, *self.now.values()):
            for name, value in version.values.items():
                found.setdefault(name, set()).add(_kind(value))
        return found


class _Tables:
    """The two tables of one source."""

    def __init__(self, columns: Columns, *, soft: bool) -> None:
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
            f"{name}_history",
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
        """Make the tables if they are missing."""
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

    def read(self, db: sa.Connection, keys: Sequence[str]) -> dict[str, Version]:
        """Return the present versions of records."""
        table, found = self.history, dict[str, Version]()
        for start in range(0, len(keys), _CHUNK):
            some = keys[start : start + _CHUNK]
            query = table.select().where(table.c["_seq_to"].is_(None))
            for row in db.execute(query.where(table.c["_key"].in_(some))).mappings():
                at = row["_valid_from"].replace(tzinfo=UTC)
                version = Version(row["_key"], self._values(row), row["_seq_from"], at)
                found[version.key] = version
        return found

    def write(self, db: sa.Connection, fold: Fold) -> None:
        """Write what changes made of the versions."""
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

    def _write_current(self, db: sa.Connection, fold: Fold) -> None:
        last = {version.key: version for version in fold.ended}
        table = self.current
        before = fold.before
        fresh = [v for key, v in fold.now.items() if v is not before.get(key)]
        touched = sorted({*last, *(version.key for version in fresh)})
        for start in range(0, len(touched), _CHUNK):
            some = touched[start : start + _CHUNK]
            db.execute(table.delete().where(table.c["_key"].in_(some)))
        rows = [self._present(version) for version in fresh]
        if self._soft:
            gone = (v for key, v in last.items() if key not in fold.now)
            rows += [self._present(version) for version in gone]
        if rows:
            db.execute(table.insert(), rows)

    def _present(self, version: Version) -> dict[str, Any]:
        gone = version.seq_to is not None
        return {
            "_key": version.key,
            "_seq": version.seq_to if gone else version.seq_from,
            "_changed_at": _naive(version.until if gone else version.at),
            "_gone_at": _naive(version.until),
            **self._cells(version.values),
        }

    def _past(self, version: Version) -> dict[str, Any]:
        return {
            "_seq_from": version.seq_from,
            "_key": version.key,
            "_seq_to": version.seq_to,
            "_valid_from": _naive(version.at),
            "_valid_to": _naive(version.until),
            **self._cells(version.values),
        }

    def _cells(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values by column; what does not fit its column goes to the second."""
        cells: dict[str, Any] = dict.fromkeys(self._columns.types)
        for name, value in values.items():
            column = self._columns.names[name]
            if _kind(value) in _FITS[self._columns.types[column]]:
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


def _kind(value: object) -> str:
    """Return what a value is: boolean, integer, long, whole, number, text or other.

    A ``long`` is no float, and a ``whole`` is a float without a fraction.
    """
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        big = abs(value) > _EXACT
        return "other" if abs(value) >= _BIGGEST else "long" if big else "integer"
    if isinstance(value, float) and math.isfinite(value):
        return "whole" if value.is_integer() and abs(value) < _EXACT else "number"
    return "text" if isinstance(value, str) else "other"


def _widest(kinds: set[str]) -> str:
    """Return the type of a new column for values of these kinds.

    >>> _widest({"integer", "number"}), _widest({"whole"}), _widest({"text", "other"})
    ('number', 'number', 'text')
    """
    plain = kinds - {"other"}
    if plain and plain <= {"integer", "long"}:
        return "integer"
    for kind in ("number", "boolean"):
        if plain and plain <= _FITS[kind]:
            return kind
    return "text"


def _clean(value: Any) -> Any:  # noqa: ANN401  (of any type)
    """Return text that every database takes: no NUL, no half of a character."""
    if not isinstance(value, str):
        return value
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _column_name(name: str, taken: Mapping[str, str]) -> str:
    """Return the name of a column: plain, short, and of no other field."""
    plain = _plain(name)
    if plain in _OWN:
        plain = f"field{plain}"
    return _unused(plain, taken)


def _unused(name: str, taken: Container[str]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


def _plain(name: str) -> str:
    """Return a name that needs no quotes anywhere.

    >>> _plain("Größe (m²)"), _plain("2nd"), _plain("")
    ('gr_e_m', 'f_2nd', 'f')
    """
    plain = _ODD.sub("_", name.lower()).strip("_")[:_LONGEST]
    return plain if plain[:1].isalpha() else f"f_{plain}".rstrip("_")


def _naive(at: datetime | None) -> datetime | None:
    """Return a time in UTC without saying so, as all databases can keep it."""
    return None if at is None else at.replace(tzinfo=None)
