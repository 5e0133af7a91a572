"""Sources that workers read as a whole: listings, forms, searches, plug-in kinds.

The planner adds a row to a table for each source to read. A worker leases the row,
reads the source under the lease that the store has on each source, and leaves its
report in the row, from which the planner takes it. The lease of a row ends by the
database's clock unless it is renewed; then the row goes to another worker, which ends
the run of the one before: whatever that one still writes is refused.
"""

# ruff: noqa: S608  (statements are composed of constants)

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from halflife.core.errors import LeaseLost
from halflife.stores import leases
from halflife.stores.database import Database
from halflife.stores.postgres.connection import PostgresConnection
from halflife.stores.table_store import TableStore

DEATHS = 3  # workers that are lost over a source before it counts as failed

_NOW = "clock_timestamp()"
_AFTER = "clock_timestamp() + ?::float8 * interval '1 second'"
_FREE = f"(w.worker IS NULL OR w.expires <= {_NOW})"
_DEAD = f"(w.worker IS NOT NULL AND w.expires <= {_NOW})"
_LOST = f"w.deaths + {_DEAD}::int >= {DEATHS}"
_RULES = "SELECT 1 FROM planner WHERE epoch = ? FOR SHARE"
_HAND_OUT = """
INSERT INTO work_source (source, host, gain, requests, paid) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (source) DO NOTHING
"""
# Sources of one host go to one worker at a time: only that one may send it requests.
_LEASE = f"""
WITH chosen AS (
    SELECT w.source, {_DEAD} AS is_dead FROM work_source AS w
    WHERE w.report IS NULL AND {_FREE} AND NOT {_LOST} AND w.source = ANY (?)
        AND NOT EXISTS (SELECT 1 FROM work_source AS o WHERE o.host = w.host
            AND o.host <> '' AND o.report IS NULL AND o.worker <> ?
            AND o.expires > {_NOW})
    ORDER BY w.gain DESC, w.source LIMIT 1 FOR UPDATE OF w SKIP LOCKED)
UPDATE work_source AS w SET token = nextval('lease_token'), worker = ?,
    expires = {_AFTER}, deaths = w.deaths + chosen.is_dead::int
FROM chosen WHERE w.source = chosen.source RETURNING w.source, w.requests, w.token
"""
# An expired lease that no other worker took meanwhile is still held.
_RENEW = f"""
UPDATE work_source AS w SET expires = {_AFTER}
WHERE w.worker = ? AND w.token = ANY (?) AND w.report IS NULL RETURNING w.token
"""
# Leases that this worker does not know of: it never got the answer that granted them.
_UNKNOWN = """
UPDATE work_source SET worker = NULL, expires = NULL
WHERE worker = ? AND report IS NULL AND NOT token = ANY (?)
"""
_HAND_IN = """
UPDATE work_source SET report = ?, worker = NULL, expires = NULL
WHERE source = ? AND token = ? AND worker = ? AND report IS NULL RETURNING 1
"""
_GIVE_BACK = """
UPDATE work_source SET worker = NULL, expires = NULL, wasted = wasted + ?
WHERE source = ? AND token = ? AND worker = ? AND report IS NULL
"""
# Runs of workers only: a sync that a user started is not interrupted.
_RUNS = """
SELECT run.id, lease.expires FROM lease JOIN run ON run.id = lease.run
JOIN source ON source.id = lease.source
WHERE source.name = ? AND run.owner IN (SELECT owner FROM worker)
"""
_WASTED = """
UPDATE work_source SET wasted = wasted +
    (SELECT coalesce(sum(requests), 0) FROM ledger WHERE run = ?)
WHERE source = ? AND token = ?
"""
_ENDED = f"""
SELECT w.source, w.report, w.wasted FROM work_source AS w
WHERE w.report IS NOT NULL OR {_LOST} ORDER BY w.token
"""
_UNDER_WAY = "SELECT source, paid FROM work_source ORDER BY source"
_TAKE_OUT = f"""
DELETE FROM work_source AS w
WHERE w.source = ANY (?) AND (w.report IS NOT NULL OR {_LOST})
"""
_WITHDRAW = f"""
DELETE FROM work_source AS w WHERE w.source = ANY (?) AND w.report IS NULL AND {_FREE}
RETURNING w.source, w.wasted
"""


class SourceTask(NamedTuple):
    """A source to be read.

    Attributes:
        source: Its name.
        host: The host that it is read from; empty if unknown.
        gain: The expected gain of a request.
        requests: Its cost limit in requests.
        paid: How many of them come out of the income.

    """

    source: str
    host: str
    gain: float
    requests: int
    paid: float


class LeasedSource(NamedTuple):
    """A source leased to a worker: its name, its cost limit, and the lease."""

    source: str
    requests: int
    token: int


class EndedSource(NamedTuple):
    """A source that was read: its report, and the requests charged to lost workers.

    ``report`` is None if too many workers were lost over it.
    """

    source: str
    report: str | None
    wasted: int


class Member(Protocol):
    """A worker, or the planner, as the queue knows it."""

    lease: float  # seconds that a lease lasts
    worker: int  # its number
    epoch: int  # of the election that it won last


class SourceQueue:
    """Leases sources that are read as a whole; one object belongs to one thread.

    Args:
        connection: A connection of its own.
        member: The worker or planner that uses it.

    """

    def __init__(self, connection: PostgresConnection, member: Member) -> None:
        self._connection, self._me = connection, member

    # Workers

    def lease(self, known: Sequence[str]) -> LeasedSource | None:
        """Lease the best of the sources configured here; None if none waits."""
        me = self._me
        with self._connection.alone() as db:
            parameters = list(known), me.worker, me.worker, me.lease
            row = db.execute(_LEASE, parameters).fetchone()
        return None if row is None else LeasedSource(*row)

    def renew(self, tokens: Sequence[int]) -> set[int]:
        """Renew leases; return those that are still held."""
        me = self._me
        with self._connection.apart() as db:
            rows = db.execute(_RENEW, (me.lease, me.worker, list(tokens))).fetchall()
            db.execute(_UNKNOWN, (me.worker, list(tokens)))
        return {token for (token,) in rows}

    def take_over(self, store: TableStore, leased: LeasedSource, now: float) -> None:
        """End the run of the last holder of a source: what it writes is refused."""
        with store.reading() as db:
            if not db.execute(_RUNS, (leased.source,)).fetchall():
                return
        with store.together() as db:
            for run, expires in db.execute(_RUNS, (leased.source,)).fetchall():
                leases.interrupt(db, run, min(now, expires))
                db.execute(_WASTED, (run, leased.source, leased.token))

    def hand_in(self, leased: LeasedSource, report: str) -> None:
        """Leave a report for the planner; raise ``LeaseLost`` if the lease ended."""
        with self._connection.alone() as db:
            parameters = report, leased.source, leased.token, self._me.worker
            held = db.execute(_HAND_IN, parameters).fetchone()
        if held is None:
            raise LeaseLost(
                f"the lease of worker {self._me.worker} on the source "
                f"{leased.source!r} has run out; what it reports is refused"
            )

    def give_back(self, leased: LeasedSource, wasted: int) -> None:
        """Give a source back, and count the requests that were wasted on it."""
        with self._connection.alone() as db:
            parameters = wasted, leased.source, leased.token, self._me.worker
            db.execute(_GIVE_BACK, parameters)

    # The planner

    @contextmanager
    def _elected(self) -> Iterator[Database]:
        with self._connection.apart() as db:
            if db.execute(_RULES, (self._me.epoch,)).fetchone() is None:
                raise LeaseLost("another worker has become the planner")
            yield db

    def hand_out(self, task: SourceTask) -> None:
        """Let a worker read a source, unless it is in the queue already."""
        with self._elected() as db:
            db.execute(_HAND_OUT, task)

    def under_way(self) -> dict[str, float]:
        """Return the unfinished sources, and what was paid for each."""
        with self._connection.alone() as db:
            return dict(db.execute(_UNDER_WAY).fetchall())

    def ended(self) -> list[EndedSource]:
        """Return the sources that were read, or that cost too many workers."""
        with self._connection.alone() as db:
            return [EndedSource(*row) for row in db.execute(_ENDED).fetchall()]

    def take_out(self, sources: Sequence[str]) -> None:
        """Remove sources whose reports were processed."""
        with self._elected() as db:
            db.execute(_TAKE_OUT, (list(sources),))

    def withdraw(self, sources: Sequence[str]) -> dict[str, int]:
        """Take back sources that no worker is reading; return the wasted requests."""
        with self._elected() as db:
            return dict(db.execute(_WITHDRAW, (list(sources),)).fetchall())
