"""The tables of the state file, and the upgrade of older files."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache, partial
from typing import Any, NamedTuple, TypeAlias

from halflife.core.errors import StoreError, TooNew
from halflife.stores import (
    answer_heads,
    change_log,
    columns,
    compaction,
    forecasts,
    held_pages,
    links,
    note_rows,
    outbox,
    page_versions,
    sink_rows,
    spellings,
    views,
)
from halflife.stores.database import execute_all
from halflife.stores.hints import CLAIMS, refold

Step: TypeAlias = Callable[[Any], None]  # given a connection to the database

APPLICATION_ID = 0x484C4946  # "HLIF"

_V1 = (
    """
CREATE TABLE source (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT""",
    """
CREATE TABLE item_group (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT""",
    """
CREATE TABLE item (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source,
    key TEXT NOT NULL UNIQUE,
    weight REAL NOT NULL,
    cost REAL NOT NULL,
    grp INTEGER NOT NULL REFERENCES item_group,
    added_at REAL  -- when a hint first named it; NULL if the user did
) STRICT""",
    """
CREATE TABLE run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- also the fencing token
    state TEXT NOT NULL CHECK (state IN ('running', 'done', 'interrupted')),
    sources TEXT NOT NULL,  -- their names, a JSON list in order
    owner TEXT NOT NULL,
    began REAL NOT NULL,  -- of a resumed run: when the interrupted one began
    ended REAL
) STRICT""",
    """
CREATE TABLE lease (
    source INTEGER PRIMARY KEY REFERENCES source,
    run INTEGER NOT NULL REFERENCES run,
    expires REAL NOT NULL
) STRICT""",
    """
CREATE TABLE observation (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run,
    item INTEGER NOT NULL REFERENCES item,
    at REAL NOT NULL,
    seen INTEGER NOT NULL CHECK (seen BETWEEN 0 AND 3),
    digest ANY NOT NULL,  -- 16 bytes; text where it is no 128-bit fingerprint
    raw ANY NOT NULL,
    etag TEXT NOT NULL,
    modified REAL,
    note TEXT NOT NULL
) STRICT""",
    "CREATE UNIQUE INDEX observation_once ON observation (item, at, seen, digest)",
    """
CREATE TRIGGER observation_is_final BEFORE UPDATE ON observation
BEGIN SELECT RAISE(ABORT, 'an observation is never changed'); END""",
    """
CREATE TABLE evidence (
    item INTEGER PRIMARY KEY REFERENCES item,
    last_at REAL NOT NULL,
    tried_at REAL NOT NULL,
    failures INTEGER NOT NULL,
    looks INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    quiet REAL NOT NULL,
    seen INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    digest ANY NOT NULL,
    held INTEGER REFERENCES observation  -- the last good look
) STRICT""",
    """
CREATE TABLE gap (
    item INTEGER NOT NULL REFERENCES item,
    class INTEGER NOT NULL,
    tally REAL NOT NULL,
    PRIMARY KEY (item, class)
) STRICT, WITHOUT ROWID""",
    """
CREATE TABLE content (
    item INTEGER PRIMARY KEY REFERENCES item,
    at REAL NOT NULL,
    raw ANY NOT NULL,
    media_type TEXT NOT NULL,
    body BLOB NOT NULL  -- zlib
) STRICT""",
    """
CREATE TABLE ledger (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run,
    at REAL NOT NULL,
    requests INTEGER NOT NULL
) STRICT""",
    "CREATE INDEX ledger_at ON ledger (at, requests)",
    """
CREATE TABLE host (
    name TEXT PRIMARY KEY,
    not_before REAL NOT NULL,
    failures INTEGER NOT NULL,
    robots TEXT NOT NULL,
    robots_status INTEGER NOT NULL,
    robots_at REAL NOT NULL
) STRICT""",
    """
CREATE TABLE memo (
    name TEXT PRIMARY KEY,
    text TEXT NOT NULL
) STRICT""",
)

_V2 = (
    """
CREATE TABLE snapshot (  -- one look at a set source
    source INTEGER NOT NULL REFERENCES source,
    at REAL NOT NULL,
    valid INTEGER NOT NULL CHECK (valid IN (0, 1)),
    complete INTEGER NOT NULL CHECK (complete IN (0, 1)),
    note TEXT NOT NULL,
    n INTEGER NOT NULL,  -- objects it listed
    missing INTEGER NOT NULL,  -- objects it lacked, of those there before
    PRIMARY KEY (source, at)
) STRICT, WITHOUT ROWID""",
    """
CREATE TABLE life (  -- of an object of a set source
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source,
    key TEXT NOT NULL,
    spell INTEGER NOT NULL,  -- its lives before
    absent_before REAL,  -- NULL if it was there at the first look of all
    first_seen REAL NOT NULL,
    last_seen REAL NOT NULL,
    gone_by REAL,  -- NULL until two looks lacked it
    missing_since REAL,  -- the look that lacked it, while only one did
    attributes TEXT NOT NULL,  -- as first seen, JSON
    UNIQUE (source, key, spell)
) STRICT""",
    """
CREATE TABLE version (
    life INTEGER NOT NULL REFERENCES life,
    seen_from REAL NOT NULL,
    attributes TEXT,  -- JSON; NULL if only the time is known
    PRIMARY KEY (life, seen_from)
) STRICT, WITHOUT ROWID""",
    """
CREATE TABLE unobserved (  -- a group of objects that is not seen for now
    source INTEGER NOT NULL REFERENCES source,
    grp TEXT NOT NULL,
    seen_until REAL NOT NULL,
    PRIMARY KEY (source, grp)
) STRICT, WITHOUT ROWID""",
    """
CREATE TABLE staged (  -- an answer that waits for a decision
    source INTEGER PRIMARY KEY REFERENCES source,
    run INTEGER NOT NULL REFERENCES run,
    at REAL NOT NULL,
    why TEXT NOT NULL,
    listing BLOB NOT NULL  -- zlib, JSON
) STRICT""",
)

_HINTS = (
    # hints of a change since the last good observation, and the latest claimed moment
    "ALTER TABLE evidence ADD COLUMN hints INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE evidence ADD COLUMN claimed REAL NOT NULL DEFAULT -9e999",
    """
CREATE TABLE hinted_gap (  -- a gap between good looks in which hints came
    item INTEGER NOT NULL REFERENCES item,
    class INTEGER NOT NULL,
    changed INTEGER NOT NULL CHECK (changed IN (0, 1)),
    hints INTEGER NOT NULL CHECK (hints > 0),
    tally REAL NOT NULL,
    PRIMARY KEY (item, class, changed, hints)
) STRICT, WITHOUT ROWID""",
)


def _first(db: sqlite3.Connection) -> None:
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    execute_all(_V1, db)


def _counted_hints(db: sqlite3.Connection) -> None:
    execute_all(_HINTS, db)
    refold(db)


def _readable(db: sqlite3.Connection) -> None:
    change_log.create_removed(db)
    execute_all(page_versions.STATEMENTS, db)
    views.create(db)


def _archivable(db: sqlite3.Connection) -> None:
    execute_all(answer_heads.STATEMENTS, db)
    change_log.ease_check(db)


def _kinds_of_hints(db: sqlite3.Connection) -> None:
    execute_all(CLAIMS, db)
    columns.forget(db)  # they lack the new fields


STEPS: tuple[Step, ...] = (
    _first,
    partial(execute_all, _V2),
    _counted_hints,
    partial(execute_all, links.STATEMENTS),
    partial(execute_all, outbox.STATEMENTS + compaction.STATEMENTS),
    partial(execute_all, columns.STATEMENTS),
    partial(execute_all, forecasts.STATEMENTS),
    spellings.create,
    held_pages.create,
    note_rows.create,
    partial(execute_all, change_log.STATEMENTS),
    _readable,
    partial(execute_all, sink_rows.STATEMENTS),
    _archivable,
    _kinds_of_hints,
)  # step n makes version n + 1 out of version n


def version(db: sqlite3.Connection) -> int:
    """Return the schema version of a file."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def is_new(db: sqlite3.Connection) -> bool:
    """Return whether a file has no tables yet."""
    used: int = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    return not used


def upgrade(db: sqlite3.Connection, steps: Sequence[Step]) -> None:
    """Run the steps that the file has not had, all of them or none.

    Several processes may try at once: one of them runs all steps. So no process sees a
    half-made file, takes it for one of an older version, and backs it up as such.
    """
    while version(db) < len(steps):
        db.execute("BEGIN IMMEDIATE")
        try:
            for step in steps[version(db) :]:
                step(db)
            db.execute(f"PRAGMA user_version = {len(steps)}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


@contextmanager
def new_database(
    steps: Sequence[Step] | None = None,
) -> Iterator[sqlite3.Connection]:
    """Yield an empty database in memory that has had these steps, or all."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        upgrade(db, STEPS if steps is None else steps)
        yield db


def refuse_newer(found: int | None, known: int, where: object) -> None:
    """Raise ``TooNew`` if a newer halflife made the tables."""
    if found is not None and found > known:
        raise TooNew(
            f"{where} was written by a newer halflife (schema {found}, this one knows"
            f" {known}); upgrade halflife"
        )


def refuse_older(found: int | None, known: int, where: object) -> None:
    """Raise ``StoreError`` if tables opened for reading only have to be upgraded."""
    if found is not None and found < known:
        raise StoreError(
            f"{where} was written by an older halflife (schema {found}, now {known});"
            " run a sync to bring it up to date"
        )


class Table(NamedTuple):
    """The columns of a table with their types, and its primary key."""

    columns: dict[str, str]
    key: tuple[str, ...]


@cache
def reference() -> dict[str, Table]:
    """Return the tables of the newest version, as in an empty SQLite file."""
    with new_database() as db:
        names = db.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table'"
            " AND name NOT LIKE 'sqlite%' ORDER BY rowid"
        ).fetchall()
        return {name: _table(db, name) for (name,) in names}


def _table(db: sqlite3.Connection, name: str) -> Table:
    rows = db.execute(f"SELECT name, type, pk FROM pragma_table_info('{name}')")  # noqa: S608  (our own names)
    found = rows.fetchall()
    key = sorted((place, column) for column, _, place in found if place)
    return Table({n: kind for n, kind, _ in found}, tuple(n for _, n in key))
