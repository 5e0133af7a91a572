"""Work that is handed out to workers: hosts on lease, and pages of these hosts.

A worker leases hosts, best first, and with each some of its pages. A lease has a number
that is larger than any before (a fencing token), and an end by the database's clock.
Whoever holds a host alone asks it; what a worker brings after its lease has ended is
refused. The pages are charged to the ledger in the transaction that leases them.

None of this takes the lock of those who write to the store: workers wait for one
another for as long as it takes to charge the ledger.
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
from halflife.stores.work import SeenAnswer

__all__ = ["BudgetWindow", "HostLease", "LeasedPage", "WorkQueue"]


class LeasedPage(NamedTuple):
    """A page that a worker is to fetch.

    Attributes:
        item: Its number.
        key: Its name.
        source: The source that it belongs to.
        run: The run that is charged.
        whole: Whether it is fetched whatever is held of it.
        gain: What that is expected to buy.

    """

    item: int
    key: str
    source: str
    run: int
    whole: bool
    gain: float


@dataclass(frozen=True, slots=True)
class HostLease:
    """A host that a worker alone may ask.

    Attributes:
        host: Its name, as in addresses.
        token: The number of the lease.
        ago: Seconds since another worker may have asked it; None if none did, or if
            this worker was the last.
        pages: What is to be fetched, best first.
        at: When the ledger was charged with them, in days.

    """

    host: str
    token: int
    ago: float | None = None
    pages: tuple[LeasedPage, ...] = ()
    at: float = 0.0


class WorkQueue:
    """Hands out hosts and pages; one object belongs to one thread.

    Args:
        connection: A connection of its own.
        lease: Seconds that a lease lasts unless it is renewed.

    Attributes:
        sources: Hands out sources that are read whole.

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
            with connection.looking() as db:
                found = schema.version(db, where.schema)
            schema.refuse_newer(found, where.name)
            if found is not None:
                with connection.making() as db:
                    work_schema.add(db)
        except BaseException:
            connection.close()
            raise
        if found is None:
            connection.close()
            raise StoreError(f"there is no store in {where.name}")
        return cls(connection, lease)

    def close(self) -> None:
        """Close the connection; whoever was elected by it is so no longer."""
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
        """Make a worker known; return its number, larger than any before."""
        with self._changing() as db:
            db.execute(sql.FORGET_WORKERS)
            row = db.execute(sql.JOIN, (name, str(owner), 4.0 * self.lease)).fetchone()
        self.worker = int(row[0])
        return self.worker

    def beat(self, held: Sequence[tuple[str, int]], requests: int) -> dict[str, bool]:
        """Renew leases; return the hosts that are held still, and if others wait."""
        hosts, tokens = [host for host, _ in held], [token for _, token in held]
        with self._changing() as db:
            db.execute(sql.BEAT, (4.0 * self.lease, requests, self.worker))
            given = hosts, tokens, self.worker, self.lease
            kept = db.execute(sql.RENEW, given).fetchall() if held else []
            db.execute(sql.UNKNOWN, (self.worker, hosts))
        return {host: bool(wanted) for host, wanted in kept}

    def lease_pages(
        self, hosts: int, pages: int, window: BudgetWindow
    ) -> list[HostLease]:
        """Lease the best hosts that are free, each with some of its pages.

        What the pages cost at least is charged at once. None are leased that the
        budget's window has no room for.
        """
        with self._connection.alone() as db:
            if db.execute(sql.ANY_HOST).fetchone() is None:
                return []  # whoever waits for work does not lock the ledger
        with self._changing() as db:
            now, room = self._room(db, window)
            if room <= 0:
                return []
            given = hosts, self.worker, self.worker, self.lease
            taken = [self._lease(row) for row in db.execute(sql.BEST_HOSTS, given)]
            names = [one.host for one in taken]
            rows = db.execute(sql.PAGES, (names, pages, room, now)) if taken else ()
            batches = _batches(taken, rows, now)
            for empty in (one for one in batches if not one.pages):
                self._release(db, empty, (math.inf, 0.0))
        return [batch for batch in batches if batch.pages]

    def _lease(self, row: tuple[Any, ...]) -> HostLease:
        host, token, last, ago = row
        if last is None or last == self.worker:
            return HostLease(host, token)
        return HostLease(host, token, max(ago or 0.0, 0.0))

    def lease_host(self, host: str) -> HostLease | None:
        """Lease one host; None if another holds it, which is asked to give it back."""
        with self._changing() as db:
            db.execute(sql.KNOW_HOST, (host,))
            given = host, self.worker, self.worker, self.lease
            row = db.execute(sql.ONE_HOST, given).fetchone()
            if row is None:
                db.execute(sql.WANT, (host,))
        return None if row is None else self._lease(row)

    def acknowledge(self, batch: HostLease, answers: Sequence[SeenAnswer]) -> None:
        """Keep what was seen, durably; raise ``LeaseLost`` if the lease has ended.

        What was kept already stays as it is, so this may be done again.
        """
        items = [one.item for one in answers]
        seen = [psycopg.Binary(one.answer) for one in answers]
        sent = [one.requests for one in answers]
        lease = batch.host, batch.token, self.worker
        with self._connection.alone() as db:
            given = *lease, items, items, sent, seen
            held = db.execute(sql.ACKNOWLEDGE, given).fetchone()
        if held is None:
            raise LeaseLost(
                f"the lease of worker {self.worker} on {batch.host} has run out; "
                "what it brought is refused"
            )

    def release(self, batch: HostLease, rest: tuple[float, float]) -> None:
        """Give a host back, and its pages that were not fetched.

        ``rest`` has the seconds since it was asked, and until it may be asked again.
        This does not wait for the disk: if the server forgets it, the lease runs out.
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
        """Let a worker that holds nothing be forgotten."""
        with self._changing() as db:
            db.execute(sql.LEAVE, (self.worker,))

    # The ledger

    def draw(self, run: int, requests: int, window: BudgetWindow) -> tuple[int, float]:
        """Charge requests as far as the window has room; return how many, and when."""
        with self._changing() as db:
            now, room = self._room(db, window)
            got = max(min(requests, room), 0)
            if got:
                ledger.charge(db, run, now, got)
        return got, now

    def give_back(self, run: int, requests: int, at: float) -> None:
        """Give back what was charged and not sent; ``at`` is when it was charged."""
        with self._changing() as db:
            ledger.charge(db, run, at, -requests)

    def _room(self, db: Database, window: BudgetWindow) -> tuple[float, int]:
        """Return the time, and what the window has left; nobody else charges now."""
        return self._ledger.room(db, window)

    # The planner

    def stand_for_election(self) -> bool:
        """Try to become the planner: as long as this connection lasts, no other is."""
        with self._connection.alone() as db:
            (won,) = db.execute(sql.STAND).fetchone() or (False,)
            self._elected = db.link if won else None
        return bool(won)

    def take_over(self, store: PostgresStore, now: float) -> None:
        """Rule as the planner, with the store of this process.

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
        """Say whether the connection by which this planner was elected still lasts."""
        link = self._elected
        return link is not None and link is self._connection.db.link and not link.closed

    def step_down(self) -> None:
        """Let another become the planner."""
        if self.is_elected():
            with self._connection.alone() as db:
                db.execute(sql.STEP_DOWN)
        self._elected = None

    def hand_out(self, run: int, pages: Sequence[tuple[str, str, float, int]]) -> None:
        """Let workers fetch pages: key, host, gain, and 1 if what is held is no use.

        Raise ``LeaseLost`` if another has become the planner.
        """
        if not pages:
            return
        keys, hosts, gains, whole = map(list, zip(*pages, strict=True))
        with self._changing() as db:
            self._ruled(db)
            # In the order in which workers lock them: hosts, then pages.
            db.execute(sql.WAKE_HOSTS, (hosts, gains))
            db.execute(sql.HAND_OUT, (run, keys, hosts, gains, whole))

    def answers(self, sources: Sequence[str], most: int) -> list[SeenAnswer]:
        """Return what workers have brought of pages of sources, oldest first."""
        with self._connection.alone() as db:
            rows = db.execute(sql.ANSWERS, (list(sources), most, most)).fetchall()
        return [SeenAnswer(*row) for row in rows]

    def file(self, items: Sequence[int]) -> None:
        """Forget pages whose answers are in the log."""
        with self._changing() as db:
            self._ruled(db)
            db.execute(sql.FILED, (list(items),))

    def open_pages(self, sources: Sequence[str]) -> tuple[int, int]:
        """Return how many pages wait for a worker, and how many are not done in all."""
        with self._connection.alone() as db:
            waiting, all_ = db.execute(sql.OPEN, (list(sources),)).fetchone() or (0, 0)
        return int(waiting), int(all_)

    def is_open(self, sources: Sequence[str]) -> bool:
        """Say whether pages of sources are not done."""
        with self._connection.alone() as db:
            (found,) = db.execute(sql.ANY_OPEN, (list(sources),)).fetchone() or (False,)
        return bool(found)

    def withdraw(self, sources: Sequence[str]) -> None:
        """Take back the pages of sources that no worker is at."""
        with self._changing() as db:
            self._ruled(db)
            free = [host for (host,) in db.execute(sql.FREE_HOSTS).fetchall()]
            db.execute(sql.WITHDRAW, (list(sources), free))
            db.execute(sql.REWEIGH, (free,))

    def note_idle(self, *, idle: bool) -> None:
        """Write down whether there is nothing to hand out at this moment."""
        with self._changing() as db:
            db.execute(sql.IDLE, (int(idle), self.epoch))

    def is_all_done(self) -> bool:
        """Say whether nothing is handed out, and the planner has nothing to add."""
        with self._connection.alone() as db:
            row = db.execute(sql.NOTHING_LEFT).fetchone()
        return bool(row and row[0])

    def _ruled(self, db: Database) -> None:
        if db.execute(sql.RULES, (self.epoch,)).fetchone() is None:
            raise LeaseLost("another worker has become the planner")


def _batches(
    taken: Sequence[HostLease], rows: Iterable[tuple[Any, ...]], at: float
) -> list[HostLease]:
    """Give pages to the leases of their hosts."""
    found: dict[str, list[LeasedPage]] = {one.host: [] for one in taken}
    for item, host, run, whole, gain, key, source in rows:
        found[host].append(LeasedPage(item, key, source, run, bool(whole), gain))
    return [replace(one, pages=tuple(found[one.host]), at=at) for one in taken]
