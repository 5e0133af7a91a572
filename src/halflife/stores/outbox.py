"""Messages that wait to be sent, and the alerts that they report.

A message is written in the same transaction as the change of state that it reports
(``SqliteStore.together``), so that none is lost and none reports what did not happen.
Any process may send it later: at least once, with growing pauses between the tries,
until it is delivered or counts as dead.
"""

import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from halflife.alerts.machine import Alarm, AlarmTurn
from halflife.alerts.messages import Letter, merge_events
from halflife.stores.database import Database

if TYPE_CHECKING:
    from halflife.stores.connection import Tables

FIRST_PAUSE = 1.0 / 1440.0  # days between the first try and the second
LONGEST_PAUSE = 0.25
MOST_TRIES = 15  # about a day and a half, with these pauses

STATEMENTS = (
    """
CREATE TABLE alarm (  -- what is wrong, or was: one row a source and kind
    source TEXT NOT NULL,  -- '' is the whole machine
    kind TEXT NOT NULL,
    raised INTEGER NOT NULL CHECK (raised IN (0, 1)),
    since REAL NOT NULL,  -- when it was raised or ended last
    turning REAL,  -- since when all points to the other state
    seen REAL NOT NULL,  -- when it was last judged
    text TEXT NOT NULL,
    PRIMARY KEY (source, kind)
) STRICT, WITHOUT ROWID""",
    """
CREATE TABLE message (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    target TEXT NOT NULL,  -- the name of who is told; never an address
    kind TEXT NOT NULL,
    news TEXT NOT NULL CHECK (news IN ('raised', 'repeated', 'recovered', 'test')),
    made REAL NOT NULL,
    body TEXT NOT NULL,  -- JSON
    state TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'dead')),
    due REAL NOT NULL,  -- not to be tried before
    tries INTEGER NOT NULL,
    ended REAL,  -- when it was delivered or given up
    trouble TEXT NOT NULL  -- of the last try
) STRICT""",
    "CREATE INDEX message_waiting ON message (due) WHERE state = 'waiting'",
)
_COLUMNS = "id, target, kind, news, made, body, state, due, tries, ended, trouble"
_SAVE = "REPLACE INTO alarm VALUES (?, ?, ?, ?, ?, ?, ?)"
_POST = """
INSERT INTO message (target, kind, news, made, body, state, due, tries, trouble)
VALUES (?, ?, ?, ?, ?, 'waiting', ?, 0, '')
"""
_OPEN = """
SELECT id, body FROM message WHERE state = 'waiting' AND tries = 0 AND due > ?
    AND target = ? AND kind = ? AND news = ? ORDER BY id DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it is stored.

    Attributes:
        id: Its number; a receiver that has seen it may drop a second copy.
        target: The name of the receiver.
        kind: The kind of the alert.
        news: ``raised``, ``repeated``, ``recovered`` or ``test``.
        made: When it was written, in days.
        body: Its text, as JSON.
        state: ``waiting``, ``sent`` or ``dead``.
        due: The earliest time of the next try, in days.
        tries: Tries so far.
        ended: When it was delivered or given up; None while it waits.
        trouble: What went wrong with the last try.

    """

    id: int
    target: str
    kind: str
    news: str
    made: float
    body: str
    state: str
    due: float
    tries: int
    ended: float | None
    trouble: str


def pause(tries: int, number: int) -> float:
    """Return the days until a message is tried again after so many tries.

    They double, up to six hours; a share that depends on the message's number keeps
    many messages from being tried at the same moment.

    >>> round(pause(1, 0) * 1440, 3), round(pause(9, 0) * 24, 3), pause(40, 0)
    (1.0, 4.267, 0.25)
    """
    doubled = FIRST_PAUSE * 2.0 ** min(tries - 1, 30)
    return min(doubled, LONGEST_PAUSE) * (1.0 + (number * 7919 % 100) / 400.0)


class Outbox:
    """The alerts and messages of a store."""

    def __init__(self, store: "Tables") -> None:
        self._store = store

    def alarms(self) -> list[Alarm]:
        """Return the state of every alert ever judged."""
        query = "SELECT * FROM alarm ORDER BY source, kind"
        with self._store.reading() as db:
            rows = db.execute(query).fetchall()
        return [Alarm(row[0], row[1], bool(row[2]), *row[3:]) for row in rows]

    def keep(self, turns: Iterable[AlarmTurn]) -> None:
        """Store the states of alerts that have changed."""
        rows = [astuple(turn.after) for turn in turns if _is_news(turn)]
        with self._store.together() as db:
            db.executemany(_SAVE, rows)

    def post(self, letters: Iterable[Letter]) -> None:
        """Store letters to be sent; new events join a letter that is still open."""
        with self._store.together() as db:
            for letter in letters:
                _post(db, letter)

    def due(self, now: float, most: int = 100) -> list[Message]:
        """Return the messages to try now, oldest first."""
        query = (
            f"SELECT {_COLUMNS} FROM message WHERE state = 'waiting' AND due <= ?"  # noqa: S608  (constants)
            " ORDER BY id LIMIT ?"
        )
        with self._store.reading() as db:
            return [Message(*row) for row in db.execute(query, (now, most))]

    def latest(self, state: str, most: int = 20) -> list[Message]:
        """Return the newest messages in a state, newest first."""
        query = (
            f"SELECT {_COLUMNS} FROM message WHERE state = ? ORDER BY id DESC LIMIT ?"  # noqa: S608
        )
        with self._store.reading() as db:
            return [Message(*row) for row in db.execute(query, (state, most))]

    def tally(self) -> dict[str, int]:
        """Return how many messages are in each state."""
        query = "SELECT state, count(*) FROM message GROUP BY state"
        with self._store.reading() as db:
            return {"waiting": 0, "sent": 0, "dead": 0, **dict(db.execute(query))}

    def claim(self, message: Message, until: float) -> bool:
        """Keep other processes from trying a message; False if one is trying it."""
        query = (
            "UPDATE message SET due = ? WHERE id = ? AND due = ? AND state = 'waiting'"
        )
        with self._store.together() as db:
            return db.execute(query, (until, message.id, message.due)).rowcount == 1

    def sent(self, message: Message, now: float) -> None:
        """Record that a message was delivered."""
        with self._store.together() as db:
            db.execute(
                "UPDATE message SET state = 'sent', tries = tries + 1, ended = ?,"
                " trouble = '' WHERE id = ? AND state = 'waiting'",
                (now, message.id),
            )

    def failed(
        self, message: Message, now: float, why: str, *, wait: float = 0.0
    ) -> None:
        """Record that a try failed; after too many the message is dead.

        ``wait`` is the pause in days that the receiver asked for.
        """
        tries = message.tries + 1
        dead = tries >= MOST_TRIES
        due = now + max(pause(tries, message.id), min(wait, 1.0))
        state, ended = ("dead", now) if dead else ("waiting", None)
        with self._store.together() as db:
            db.execute(
                "UPDATE message SET state = ?, tries = ?, due = ?, ended = ?,"
                " trouble = ? WHERE id = ? AND state = 'waiting'",
                (state, tries, due, ended, why[:500], message.id),
            )

    def bury(self, message: Message, now: float, why: str) -> None:
        """Give a message up."""
        with self._store.together() as db:
            db.execute(
                "UPDATE message SET state = 'dead', ended = ?, trouble = ?"
                " WHERE id = ? AND state = 'waiting'",
                (now, why, message.id),
            )

    def forget(self, besides: Iterable[str]) -> int:
        """Drop the alerts of sources that no longer exist; return how many."""
        query = (
            "DELETE FROM alarm WHERE source <> ''"
            " AND source NOT IN (SELECT value FROM json_each(?))"
        )
        with self._store.together() as db:
            return db.execute(query, (json.dumps(list(besides)),)).rowcount

    def revive(self, now: float) -> int:
        """Try dead messages again; return how many there were."""
        with self._store.together() as db:
            return db.execute(
                "UPDATE message SET state = 'waiting', tries = 0, due = ?, ended = NULL"
                " WHERE state = 'dead'",
                (now,),
            ).rowcount


def _is_news(turn: AlarmTurn) -> bool:
    """Return whether an alert has to be stored; most of them just stay quiet."""
    after, before = turn.after, turn.before
    if after.raised or after.turning is not None:
        return True
    return before is not None and (before.raised or before.turning is not None)


def _post(db: Database, letter: Letter) -> None:
    about = letter.target, letter.kind, letter.news
    row = db.execute(_OPEN, (letter.made, *about)).fetchone()
    if row is None:
        db.execute(_POST, (*about, letter.made, letter.body, letter.due))
    else:
        body = merge_events(row[1], letter.events)
        db.execute("UPDATE message SET body = ? WHERE id = ?", (body, row[0]))
