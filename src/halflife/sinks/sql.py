"""A sink that updates the tables of a database: current and former records.

Each source has a table of its current records, and a table of all their versions, each
with the time from which and until which it was held (a slowly changing dimension of
type 2). The changes and the cursor are written in one transaction of that database, so
that a batch which is delivered twice is in it once.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from halflife.config.sinks import SinkConfig
from halflife.config.values import FromEnv, Line, Secret, value_of
from halflife.core.change import Change
from halflife.sinks.extras import import_extra
from halflife.sinks.protocol import Batch, DeliveryError, Outlet

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from halflife.sinks.scd2 import VersionedTables

HELD = {"new", "changed", "returned", "gone", "moved"}  # kinds that affect records


class SqlConfig(SinkConfig):
    """A database by its SQLAlchemy URL, and how its tables are named.

    Attributes:
        kind: `sql`.
        url: The SQLAlchemy URL of the database. A URL with a password is a secret: `url
            = {env = "VARIABLE"}`.
        prefix: What the names of its tables begin with.
        deletes: `"hard"` removes rows of records that are gone, `"soft"` keeps them
            with the time in `_gone_at`.
        batch: The most changes that are delivered together.

    """

    requires: ClassVar[tuple[str, str]] = ("sqlalchemy", "sql")

    kind: Literal["sql"]
    url: Line | FromEnv = Field(repr=False)
    prefix: str = Field(default="", pattern=r"^[A-Za-z0-9_]{0,30}$")
    deletes: Literal["hard", "soft"] = "hard"
    batch: int = Field(default=1000, ge=1, le=100_000)

    def check_secrets(self) -> None:
        """Raise ``ConfigError`` if a variable that it needs is not set."""
        self.address()

    def address(self) -> Secret:
        """Return the URL of the database."""
        return value_of(self.url, f"sink {self.name}: url")


class SqlTables:
    """Applies changes to tables.

    Args:
        settings: The database.
        outlet: Resolves relative paths of SQLite.

    """

    Settings: ClassVar[type[SinkConfig]] = SqlConfig

    def __init__(self, settings: SqlConfig, outlet: Outlet) -> None:
        self._settings, self._outlet = settings, outlet
        self._engine: Engine | None = None
        self._tables: VersionedTables | None = None

    def open(self) -> None:
        """Connect, and create the sink's own tables; raise ``DeliveryError``."""
        import_extra(self._settings)
        from halflife.sinks import database, scd2  # noqa: PLC0415  (need SQLAlchemy)

        settings = self._settings
        with database.delivery_errors():
            self._engine = database.connect(settings.address().reveal(), self._outlet)
            self._tables = scd2.VersionedTables(
                settings.prefix, soft=settings.deletes == "soft"
            )
            with self._engine.begin() as db:
                self._tables.create(db, settings.name)

    def deliver(self, batch: Batch) -> None:
        """Apply the changes that are not in the database yet."""
        from halflife.sinks import database  # noqa: PLC0415

        assert self._engine is not None
        assert self._tables is not None
        with database.delivery_errors():
            try:
                with self._engine.begin() as db:
                    self._apply(db, self._tables, batch)
            except BaseException:
                self._tables.forget()  # new columns were rolled back
                raise

    def close(self) -> None:
        """Close the connection."""
        if self._engine is not None:
            self._engine.dispose()

    def cancel(self) -> None:
        """Do nothing: the transaction ends with the program."""

    def _apply(self, db: "Connection", tables: "VersionedTables", batch: Batch) -> None:
        done = tables.cursor(db, batch.sink)
        changes = _not_yet(batch, done)
        by_source: dict[str, list[Change]] = defaultdict(list)
        for change in changes:
            if change.kind in HELD and change.key:
                by_source[change.source].append(change)
        for source, source_changes in by_source.items():
            tables.apply(db, source, source_changes, batch.reader)
        if changes:
            tables.move(db, batch.sink, batch.last, _mark(changes[-1]))


def _not_yet(batch: Batch, done: "tuple[int, str] | None") -> Sequence[Change]:
    """Return the changes after the cursor of the database.

    Raise ``DeliveryError`` if the database is ahead of the log, as after a restored
    backup of the state file.
    """
    if done is None or done[0] < batch.first:
        return batch.changes
    cursor, mark = done
    if cursor == batch.last and mark == _mark(batch.changes[-1]):
        return ()
    raise DeliveryError(
        f"the database has changes up to {cursor}, which this log did not write; "
        "if a backup was restored, name other tables with prefix"
    )


def _mark(change: Change) -> str:
    """Return a text that differs for another change with the same number."""
    values: list[Any] = [change.seq, change.at, change.source, change.key, change.kind]
    return repr(values)[:500]
