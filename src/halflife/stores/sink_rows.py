"""The progress of sinks, and the changes they refused: the SQL.

The cursor of a sink moves only after its changes are durable at its end. The end of the
current batch is stored before the first try, so that a later try, also after a crash,
delivers the same batch again and not a longer one.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from halflife.core.change import Change
from halflife.core.errors import UsageError
from halflife.stores.database import Database
from halflife.stores.owner import Owner

if TYPE_CHECKING:
    from halflife.stores.connection import Tables

STATEMENTS = (
    """
CREATE TABLE sink (  -- how far each sink has come
    name TEXT PRIMARY KEY,
    cursor INTEGER NOT NULL,  -- the last change that was delivered or given up
    upto INTEGER NOT NULL,  -- the last change of the batch under way; 0 if none is
    alone INTEGER NOT NULL,  -- up to this change they are delivered one by one
    tries INTEGER NOT NULL,  -- that failed since the last delivery
    due REAL NOT NULL,  -- not to be tried before
    since REAL,  -- when the first of them failed
    trouble TEXT NOT NULL,  -- of the last try
    halted INTEGER NOT NULL CHECK (halted IN (0, 1)),  -- tried no more by itself
    delivered INTEGER NOT NULL,  -- changes in all
    delivered_at REAL,  -- when the last of them were
    missed INTEGER NOT NULL,  -- changes that the log lost before they were delivered
    skipped INTEGER NOT NULL,  -- changes that somebody gave up
    owner TEXT NOT NULL DEFAULT '',  -- who delivers to it
    claimed REAL NOT NULL DEFAULT 0  -- until when
) STRICT""",
    """
CREATE TABLE dead_letter (  -- a change that a sink refused, or later ones of its key
    sink TEXT NOT NULL REFERENCES sink (name),
    seq INTEGER NOT NULL,
    source TEXT NOT NULL,
    key TEXT NOT NULL,
    change TEXT NOT NULL,  -- JSON; the log may forget it
    at REAL NOT NULL,  -- when it was given up
    trouble TEXT NOT NULL,
    PRIMARY KEY (sink, seq)
) STRICT, WITHOUT ROWID""",
)


@dataclass(frozen=True, slots=True)
class SinkState:
    """The state of a sink; times are days.

    Attributes:
        name: The sink.
        cursor: The last change that was delivered or given up.
        upto: The last change of the current batch; 0 if there is none.
        alone: Up to this change they are delivered one by one.
        tries: Tries that failed since the last delivery.
        due: The earliest time of the next try.
        since: When the first of these tries failed; None if none did.
        trouble: What went wrong with the last try.
        halted: Whether it is no longer tried automatically.
        delivered: Changes delivered in all.
        delivered_at: When the last of them were; None if none was.
        missed: Changes that the log lost before they were delivered.
        skipped: Changes that the user gave up.

    """

    name: str
    cursor: int = 0
    upto: int = 0
    alone: int = 0
    tries: int = 0
    due: float = 0.0
    since: float | None = None
    trouble: str = ""
    halted: bool = False
    delivered: int = 0
    delivered_at: float | None = None
    missed: int = 0
    skipped: int = 0

    def reset_tries(self, now: float) -> "SinkState":
        """Return the state in which the sink is tried at once."""
        return replace(self, tries=0, due=now, since=None, halted=False)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A change that a sink refused.

    Attributes:
        change: The change.
        at: When it was given up, in days.
        trouble: The reason.

    """

    change: Change
    at: float
    trouble: str


_NAMES = tuple(f.name for f in fields(SinkState))
_COLUMNS = ", ".join(_NAMES)
_ADD = (
    f"INSERT OR IGNORE INTO sink ({_COLUMNS}) VALUES ({', '.join('?' * len(_NAMES))})"  # noqa: S608  (constants)
)
_OWN = "UPDATE sink SET owner = ?, claimed = ? WHERE name = ?"
_BURY = "REPLACE INTO dead_letter VALUES (?, ?, ?, ?, ?, ?, ?)"
_DEAD = """
SELECT change, at, trouble FROM dead_letter WHERE sink = ? ORDER BY seq LIMIT ?
"""


class SinkRows:
    """The progress of the sinks of a database."""

    def __init__(self, store: "Tables") -> None:
        self._store = store

    def states(self) -> list[SinkState]:
        """Return the states of all sinks that were ever delivered to, by name."""
        with self._store.reading() as db:
            return _states(db, "SELECT * FROM sink ORDER BY name", ())

    def state(self, name: str) -> SinkState | None:
        """Return the state of a sink; None if it is new."""
        with self._store.reading() as db:
            found = _states(db, "SELECT * FROM sink WHERE name = ?", (name,))
        return found[0] if found else None

    def begin(self, state: SinkState) -> None:
        """Add a sink; an existing one stays as it is."""
        with self._store.together() as db:
            db.execute(_ADD, astuple(state))

    def claim(
        self,
        before: SinkState,
        after: SinkState,
        owner: str,
        *,
        now: float,
        until: float,
    ) -> bool:
        """Claim the delivery to a sink for a while, and store what is delivered.

        Return False and store nothing if another process has it, or the cursor moved.
        """
        query = "SELECT owner, claimed FROM sink WHERE name = ? AND cursor = ?"
        with self._store.together() as db:
            row = db.execute(query, (before.name, before.cursor)).fetchone()
            if row is None or not _is_free(row[0], row[1], owner, now):
                return False
            _overwrite(db, after)
            db.execute(_OWN, (owner, until, before.name))
        return True

    def release(self, name: str, owner: str) -> None:
        """Give the claim back."""
        with self._store.together() as db:
            db.execute(
                "UPDATE sink SET owner = '', claimed = 0 WHERE name = ? AND owner = ?",
                (name, owner),
            )

    def save(
        self,
        before: SinkState,
        after: SinkState,
        owner: str,
        dead: Iterable[DeadLetter] = (),
    ) -> bool:
        """Store the state of a sink after a try, with its dead letters; release it.

        Return False and store nothing if the cursor or the owner has changed.
        """
        query = "SELECT 1 FROM sink WHERE name = ? AND cursor = ? AND owner = ?"
        with self._store.together() as db:
            key = before.name, before.cursor, owner
            if db.execute(query, key).fetchone() is None:
                return False
            _overwrite(db, after)
            db.execute(_OWN, ("", 0.0, before.name))
            db.executemany(_BURY, [_row(before.name, letter) for letter in dead])
        return True

    def dead(self, name: str, most: int = 1000) -> list[DeadLetter]:
        """Return the dead letters of a sink, oldest first."""
        with self._store.reading() as db:
            rows = db.execute(_DEAD, (name, most)).fetchall()
        return [DeadLetter(_change(text), at, why) for text, at, why in rows]

    def dead_count(self, name: str) -> int:
        """Return how many dead letters a sink has."""
        query = "SELECT count(*) FROM dead_letter WHERE sink = ?"
        with self._store.reading() as db:
            return int(db.execute(query, (name,)).fetchone()[0])

    def parked(self, name: str) -> set[tuple[str, str]]:
        """Return source and key of the dead letters of a sink.

        Later changes of the same key wait with them, so that their order is kept.
        """
        query = "SELECT DISTINCT source, key FROM dead_letter WHERE sink = ?"
        with self._store.reading() as db:
            return set(db.execute(query, (name,)).fetchall())

    def unbury(self, name: str, numbers: Sequence[int]) -> None:
        """Remove dead letters that were delivered or given up."""
        with self._store.together() as db:
            db.executemany(
                "DELETE FROM dead_letter WHERE sink = ? AND seq = ?",
                [(name, seq) for seq in numbers],
            )

    def retry(self, name: str, now: float) -> SinkState:
        """Let a sink be tried again at once; raise ``UsageError`` if it is unknown."""
        with self._store.together() as db:
            state = _existing(db, name).reset_tries(now)
            _overwrite(db, state)
        return state

    def skip(self, name: str, now: float) -> int:
        """Give up what a sink refuses; return how many changes that are.

        These are its dead letters, the current batch if its last try failed, and the
        changes it missed.
        """
        with self._store.together() as db:
            state = _existing(db, name)
            query = "DELETE FROM dead_letter WHERE sink = ?"
            gone = db.execute(query, (name,)).rowcount + state.missed
            state = replace(state, missed=0)
            if state.tries and state.upto > state.cursor:
                query = "SELECT count(*) FROM change WHERE seq > ? AND seq <= ?"
                gone += _count(db, query, (state.cursor, state.upto))
                state = replace(state, cursor=state.upto, upto=0)
            state = replace(state.reset_tries(now), trouble="")
            state = replace(state, skipped=state.skipped + gone)
            _overwrite(db, state)
        return gone


def _states(db: Database, query: str, given: Sequence[str]) -> list[SinkState]:
    rows = db.execute(query.replace("*", _COLUMNS, 1), given).fetchall()
    found = [SinkState(*row) for row in rows]
    return [replace(state, halted=bool(state.halted)) for state in found]


def _existing(db: Database, name: str) -> SinkState:
    found = _states(db, "SELECT * FROM sink WHERE name = ?", (name,))
    if not found:
        raise UsageError(f"nothing was delivered to a sink named {name!r} yet")
    return found[0]


def _overwrite(db: Database, state: SinkState) -> None:
    assigned = ", ".join(f"{name} = ?" for name in _NAMES[1:])
    query = f"UPDATE sink SET {assigned} WHERE name = ?"  # noqa: S608
    db.execute(query, (*astuple(state)[1:], state.name))


def _count(db: Database, query: str, given: Sequence[int]) -> int:
    try:
        return int(db.execute(query, given).fetchone()[0])
    except sqlite3.OperationalError:  # a store in memory has its changes elsewhere
        return given[1] - given[0]


def _is_free(holder: str, until: float, owner: str, now: float) -> bool:
    if holder in {"", owner} or until <= now:
        return True
    return Owner.parse(holder).is_gone(Owner.here())


def _row(sink: str, dead: DeadLetter) -> tuple[Any, ...]:
    change = dead.change
    pairs = {name: list(pair) for name, pair in change.fields.items()}
    fields = [change.at, change.source, change.key, change.kind, pairs, change.seq]
    text = json.dumps(fields, ensure_ascii=False)
    about = sink, change.seq, change.source, change.key
    return (*about, text, dead.at, dead.trouble[:500])


def _change(text: str) -> Change:
    at, source, key, kind, pairs, seq = json.loads(text)
    changed = {name: (old, new) for name, (old, new) in pairs.items()}
    return Change(at, source, key, kind, changed, seq)
