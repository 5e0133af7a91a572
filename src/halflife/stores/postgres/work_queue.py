"""The queue of work for workers: leased hosts, and pages of these hosts.

A worker leases hosts, best first, and with each some of its pages. A lease has a number
larger than any before (a fencing token), and an end by the database's clock. Only the
holder of a lease sends requests to its host; results that come after its end are
refused. The pages are charged to the ledger in the transaction that leases them.

None of this takes the lock of the writers of the store: workers wait for one another
only while the ledger is charged.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import psycopg

from halflife.core.errors import LeaseLost, StoreError
from halflife.core.store_address import PostgresAddress
from halflife.stores import leases, ledger
from halflife.stores.database import Database
from halflife.stores.owner import Owner
from halflife.stores.postgres import schema, work_schema, work_statements as sql
from halflife.stores.postgres.connection import PostgresConnection
from halflife.stores.postgres.ledger_window import BudgetWindow, LedgerWindow
from halflife.stores.postgres.store import PostgresStore
from halflife.stores.postgres.work_sources import SourceQueue
from halflife.stores.schema import refuse_newer
from halflife.stores.work import SeenAnswer

__all__ = ["BudgetWindow", "HostLease", "LeasedPage", "WorkQueue"]


class LeasedPage(NamedTuple):
    """A page that a worker is to fetch.

    Attributes:
        item: Its number.
        key: Its key.
        source: The source that it belongs to.
        run: The run that is charged.
        whole: Whether it is fetched in full, without validators.
        gain: The expected gain of fetching it.

    """

    item: int
    key: str
    source: str
    run: int
    whole: bool
    gain: float


@dataclass(frozen=True, slots=True)
class HostLease:
    """A host to which only one worker may send requests.

    Attributes:
        host: Its name, as in addresses.
        token: The number of the lease.
        ago: Seconds since another worker may have sent it a request; None if none did,
            or if this worker was the last.
        pages: The pages to fetch, best first.
        at: When the ledger was charged with them, in days.

    """

    host: str
    token: int
    ago: float | None = None
    pages: tuple[LeasedPage, ...] = ()
    at: float = 0.0


class WorkQueue:
    """Leases hosts and pages; one object belongs to one thread.

    Args:
        connection: A connection of its own.
        lease: Seconds that a lease lasts unless it is renewed.

    Attributes:
        sources: The queue of sources that are read as a whole.

    """

    def __init__(self, connection: PostgresConnection, lease: float) -> None:
        self._connection, self.lease = connection, lease
        self.sources = SourceQueue(connection, self)
        self.worker = 0
        self.epoch = 0  # of the election that it won last
        self._elected: psycopg.Connection | None = None
        self._ledger = LedgerWindow()

    @classmethod
    def open(cls, address: str, lease: float) -> Self:
        """Connect; raise ``StoreError`` if there are no tables, or a clock is wrong."""
        where = PostgresAddress.parse(address)
        connection = PostgresConnection(where, readonly=False)
        try:
            connection.check_clock()
            with connection.reading() as db:
                found = schema.version(db, where.schema)
            refuse_newer(found, schema.newest(), where.name)
            if found is not None:
                with connection.changing_schema() as db:
                    work_schema.add(db)
        except BaseException:
            connection.close()
            raise
        if found is None:
            connection.close()
            raise StoreError(f"there is no store in {where.name}")
        return cls(connection, lease)

    def close(self) -> None:
        """Close the connection; an election won over it ends."""
        self._connection.close()

    def check_clock(self) -> None:
        """Raise ``StoreError`` if this machine's clock is not that of the database."""
        self._connection.check_clock()

    @contextmanager
    def _changing(self) -> Iterator[Database]:
        with self._connection.apart() as db:
            yield db

    # Workers

    def join(self, name: str, owner: Owner) -> int:
        """Add a worker; return its number, larger than any before."""
        with self._changing() as db:
            db.execute(sql.FORGET_WORKERS)
            row = db.execute(sql.JOIN, (name, str(owner), 4.0 * self.lease)).fetchone()
        self.worker = int(row[0])
        return self.worker

    def beat(self, held: Sequence[tuple[str, int]], requests: int) -> dict[str, bool]:
        """Renew leases; return the hosts still held, and whether others want them."""
        hosts, tokens = [host for host, _ in held], [token for _, token in held]
        with self._changing() as db:
            db.execute(sql.BEAT, (4.0 * self.lease, requests, self.worker))
            parameters = hosts, tokens, self.worker, self.lease
            kept = db.execute(sql.RENEW, parameters).fetchall() if held else []
            db.execute(sql.UNKNOWN, (self.worker, hosts))
        return {host: bool(wanted) for host, wanted in kept}

    def lease_pages(
        self, hosts: int, pages: int, window: BudgetWindow
    ) -> list[HostLease]:
        """Lease the best hosts that are free, each with some of its pages.

        The least cost of the pages is charged at once. Pages that do not fit into the
        budget's window are not leased.
        """
        with self._connection.alone() as db:
            if db.execute(sql.ANY_HOST).fetchone() is None:
                return []  # a worker that waits for work does not lock the ledger
        with self._changing() as db:
            now, room = self._ledger.room(db, window)
            if room <= 0:
                return []
            parameters = hosts, self.worker, self.worker, self.lease
            hosts_rows = db.execute(sql.BEST_HOSTS, parameters)
            taken = [self._lease(row) for row in hosts_rows]
            names = [lease.host for lease in taken]
            rows = db.execute(sql.PAGES, (names, pages, room, now)) if taken else ()
            batches = _batches(taken, rows, now)
            for empty in (batch for batch in batches if not batch.pages):
                self._release(db, empty, (math.inf, 0.0))
        return [batch for batch in batches if batch.pages]

    def _lease(self, row: tuple[Any, ...]) -> HostLease:
        host, token, last, ago = row
        if last is None or last == self.worker:
            return HostLease(host, token)
        return HostLease(host, token, max(ago or 0.0, 0.0))

    def lease_host(self, host: str) -> HostLease | None:
        """Lease one host; None if another worker holds it, which must release it."""
        with self._changing() as db:
            db.execute(sql.KNOW_HOST, (host,))
            parameters = host, self.worker, self.worker, self.lease
            row = db.execute(sql.ONE_HOST, parameters).fetchone()
            if row is None:
                db.execute(sql.WANT, (host,))
        return None if row is None else self._lease(row)

    def acknowledge(self, batch: HostLease, answers: Sequence[SeenAnswer]) -> None:
        """Store results durably; raise ``LeaseLost`` if the lease has ended.

        Results that are stored already stay as they are, so this may be repeated.
        """
        items = [answer.item for answer in answers]
        seen = [psycopg.Binary(answer.answer) for answer in answers]
        sent = [answer.requests for answer in answers]
        lease = batch.host, batch.token, self.worker
        with self._connection.alone() as db:
            parameters = *lease, items, items, sent, seen
            held = db.execute(sql.ACKNOWLEDGE, parameters).fetchone()
        if held is None:
            raise LeaseLost(
                f"the lease of worker {self.worker} on {batch.host} has run out; "
                "what it brought is refused"
            )

    def release(self, batch: HostLease, rest: tuple[float, float]) -> None:
        """Give a host back, and its pages that were not fetched.

        ``rest`` has the seconds since its last request, and until the next is allowed.
        This does not wait for the disk: if the server loses it, the lease runs out.
        """
        with self._connection.apart(durable=False) as db:
            self._release(db, batch, rest)

    def _release(
        self, db: Database, batch: HostLease, rest: tuple[float, float]
    ) -> None:
        mine = batch.host, batch.token, self.worker
        if db.execute(sql.MINE, mine).fetchone() is None:
            return
        ago = None if rest[0] == math.inf else max(rest[0], 0.0)
        db.execute(sql.RELEASE, (ago, rest[1], batch.host, batch.host))

    def leave(self) -> None:
        """Remove a worker that holds nothing."""
        with self._changing() as db:
            db.execute(sql.LEAVE, (self.worker,))

    # The ledger

    def draw(self, run: int, requests: int, window: BudgetWindow) -> tuple[int, float]:
        """Charge requests as far as the window has room; return how many, and when."""
        with self._changing() as db:
            now, room = self._ledger.room(db, window)
            got = max(min(requests, room), 0)
            if got:
                ledger.charge(db, run, now, got)
        return got, now

    def give_back(self, run: int, requests: int, at: float) -> None:
        """Give back requests that were charged at ``at`` and not sent."""
        with self._changing() as db:
            ledger.charge(db, run, at, -requests)

    # The planner

    def stand_for_election(self) -> bool:
        """Try to become the planner, for as long as this connection lasts."""
        with self._connection.alone() as db:
            (won,) = db.execute(sql.STAND).fetchone() or (False,)
            self._elected = db.link if won else None
        return bool(won)

    def take_over(self, store: PostgresStore, now: float) -> None:
        """Become the planner, with the store of this process.

        What the planner before held is taken from it: it has lost the election, and
        whatever it writes from now on is refused.
        """
        with store.together() as db:
            before = db.execute(sql.PLANNER).fetchone()
            if before is not None:
                for run, expires in db.execute(sql.RUNS_OF, (before[1],)).fetchall():
                    leases.interrupt(db, run, min(now, expires))
            ((self.epoch,),) = db.execute(sql.CROWN, (str(store.owner),)).fetchall()

    def is_elected(self) -> bool:
        """Return whether the connection by which this planner was elected lasts."""
        link = self._elected
        return link is not None and link is self._connection.db.link and not link.closed

    def step_down(self) -> None:
        """Let another worker become the planner."""
        if self.is_elected():
            with self._connection.alone() as db:
                db.execute(sql.STEP_DOWN)
        self._elected = None

    def hand_out(self, run: int, pages: Sequence[tuple[str, str, float, int]]) -> None:
        """Let workers fetch pages: key, host, gain, and 1 to fetch without validators.

        Raise ``LeaseLost`` if another worker has become the planner.
        """
        if not pages:
            return
        keys, hosts, gains, whole = map(list, zip(*pages, strict=True))
        with self._changing() as db:
            self._check_elected(db)
            # In the order in which workers lock them: hosts, then pages.
            db.execute(sql.WAKE_HOSTS, (hosts, gains))
            db.execute(sql.HAND_OUT, (run, keys, hosts, gains, whole))

    def answers(self, sources: Sequence[str], most: int) -> list[SeenAnswer]:
        """Return the results of workers for pages of sources, oldest first."""
        with self._connection.alone() as db:
            rows = db.execute(sql.ANSWERS, (list(sources), most, most)).fetchall()
        return [SeenAnswer(*row) for row in rows]

    def file(self, items: Sequence[int]) -> None:
        """Remove pages whose answers are in the log."""
        with self._changing() as db:
            self._check_elected(db)
            db.execute(sql.FILED, (list(items),))

    def open_pages(self, sources: Sequence[str]) -> tuple[int, int]:
        """Return how many pages wait for a worker, and how many are unfinished."""
        with self._connection.alone() as db:
            waiting, total = db.execute(sql.OPEN, (list(sources),)).fetchone() or (0, 0)
        return int(waiting), int(total)

    def is_open(self, sources: Sequence[str]) -> bool:
        """Return whether pages of sources are unfinished."""
        with self._connection.alone() as db:
            (found,) = db.execute(sql.ANY_OPEN, (list(sources),)).fetchone() or (False,)
        return bool(found)

    def withdraw(self, sources: Sequence[str]) -> None:
        """Take back the pages of sources that no worker is fetching."""
        with self._changing() as db:
            self._check_elected(db)
            free = [host for (host,) in db.execute(sql.FREE_HOSTS).fetchall()]
            db.execute(sql.WITHDRAW, (list(sources), free))
            db.execute(sql.REWEIGH, (free,))

    def note_idle(self, *, idle: bool) -> None:
        """Record whether there is nothing to hand out at this moment."""
        with self._changing() as db:
            db.execute(sql.IDLE, (int(idle), self.epoch))

    def is_all_done(self) -> bool:
        """Return whether no work is left and the planner has nothing to add."""
        with self._connection.alone() as db:
            row = db.execute(sql.NOTHING_LEFT).fetchone()
        return bool(row and row[0])

    def _check_elected(self, db: Database) -> None:
        if db.execute(sql.RULES, (self.epoch,)).fetchone() is None:
            raise LeaseLost("another worker has become the planner")


def _batches(
    taken: Sequence[HostLease], rows: Iterable[tuple[Any, ...]], at: float
) -> list[HostLease]:
    """Return the leases with the pages of their hosts."""
    pages: dict[str, list[LeasedPage]] = {lease.host: [] for lease in taken}
    for item, host, run, whole, gain, key, source in rows:
        pages[host].append(LeasedPage(item, key, source, run, bool(whole), gain))
    return [replace(lease, pages=tuple(pages[lease.host]), at=at) for lease in taken]
