"""A store in tables: what a SQLite file and a PostgreSQL schema have in common.

The statements are in modules named by their subjects; the differences of the two
engines are in ``sqlite.py`` and ``postgres/``.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any, Self

from halflife.core.arrays import Ints
from halflife.core.errors import HalflifeError, LeaseLost, StoreError
from halflife.core.evidence import Evidence
from halflife.core.history import History
from halflife.core.host import HostState
from halflife.core.item import Item
from halflife.core.lifetimes import Collection
from halflife.core.links import Links
from halflife.core.object_store import NOTHING, Listing, Register
from halflife.core.observation import Content, Observation, Observations
from halflife.core.store import Note, Run, Staged
from halflife.stores import (
    columns,
    compaction,
    evidence_rows,
    leases,
    ledger,
    lifetimes,
    links as graph,
    note_rows,
    observation_rows,
    page_versions,
    tables,
)
from halflife.stores.connection import TableConnection
from halflife.stores.database import Database
from halflife.stores.owner import Owner
from halflife.stores.row_memo import RowMemo
from halflife.stores.spellings import OldKeys, url_of
from halflife.stores.store_base import (
    EvidenceCache,
    new_items,
    of_known_items,
    run_sources,
)
from halflife.stores.table_parts import TableParts
from halflife.stores.work import FleetState


class TableStore(TableParts):
    """Keeps everything in tables.

    Several processes may use them at once: one writes about a source, any number read.
    One object belongs to one thread.

    Args:
        connection: Transactions on the tables.
        owner: The owner of its leases.

    Attributes:
        owner: The owner of its leases.
        charged_here: Requests charged through this object, by the sources of the run.
        page_versions: How many versions of each page are stored, by the settings.
        before_close: Called when it is closed.

    """

    def __init__(self, connection: TableConnection, owner: Owner) -> None:
        self.owner = owner
        self._connection = connection
        self._cache = EvidenceCache()
        self._row_memo = RowMemo()
        self._runs: dict[int, tuple[str, ...]] = {}
        self._version = -1
        self.charged_here: Counter[tuple[str, ...]] = Counter()
        self._old = OldKeys()
        self._waiting: dict[tuple[str, ...], tuple[float, float]] = {}
        self.page_versions = page_versions.MOST
        self.before_close: Callable[[TableStore], None] = _nothing

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name for people: a path, or an address without its password."""

    @abstractmethod
    def close(self) -> None:
        """Close it; runs that were not finished count as interrupted."""

    @abstractmethod
    def size(self) -> int:
        """Return its size in bytes."""

    def fleet(self) -> FleetState:
        """Return the workers that share it; a file is used by one machine alone."""
        return FleetState()

    def writes(self) -> int:
        """Return a number that changes with every write."""
        with self._connection.reading():
            return self._connection.data_version()

    @abstractmethod
    def skip_disk_syncs(self) -> None:
        """Do not wait for the disk: for replays, whose state is not needed later."""

    @abstractmethod
    def compact(self) -> None:
        """Return the space of removed rows to the disk."""

    @abstractmethod
    def clearing(self) -> AbstractContextManager[None]:
        """Let rows be removed without checking foreign keys."""

    @abstractmethod
    def rows_of(self, table: str) -> Iterator[tuple[Any, ...]]:
        """Return the rows of a table in blocks, within ``reading``."""

    @abstractmethod
    def fill(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add many rows to a table, within ``together``."""

    @abstractmethod
    def last_numbers(self) -> dict[str, int]:
        """Return the last number used in tables that use no number twice."""

    @abstractmethod
    def continue_numbers(self, last: dict[str, int]) -> None:
        """Let tables continue after these numbers, within ``together``."""

    @abstractmethod
    def verify(self) -> list[str]:
        """Return the problems of the state, in words; none if all is well."""

    def read_ahead(self, sources: Sequence[str]) -> None:
        """Start reading the evidence on these sources, if that saves time."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def add(self, items: Iterable[Item]) -> int:
        """Add items; return how many were new. Known ones get the new weight."""
        batch = list(items)
        with self._keeping_up(), self._connection.writing() as db:
            batch = self._old.stored_items(db, batch, used=any(self._cache))
            known = tables.item_ids(db, [item.key for item in batch])
            new = [item for item in batch if item.key not in known]
            tables.add_items(db, batch)
            self._cache.add(new)
            self._cache.reweigh(batch)
            self._number(db)
        return len({i.key for i in new})

    def items(self, sources: Sequence[str] = ()) -> list[Item]:
        """Return the items of the named sources, or all."""
        with self._connection.reading() as db:
            return tables.items(db, sources)

    def item_count(self, sources: Sequence[str] = ()) -> int:
        """Return how many items of the named sources are known; of all, about."""
        with self._connection.reading() as db:
            return tables.item_count(db, sources)

    def rows_by_source(
        self, sources: Sequence[str], evidence: Evidence
    ) -> dict[str, Ints]:
        """Return the rows of each source's items in evidence on them, ascending."""
        with self._connection.reading() as db:
            return self._row_memo.rows(
                db, sources, evidence, self._connection.data_version()
            )

    def source_of(self, key: str) -> str | None:
        """Return the name of the source that an item belongs to, if it is known."""
        with self._connection.alone() as db:
            return tables.source_of(db, key)

    def url_of(self, key: str) -> str:
        """Return the URL to fetch for an item: its key, unless it has another."""
        with self._connection.alone() as db:
            return url_of(db, key)

    def evidence(self, sources: Sequence[str] = ()) -> Evidence:
        """Return the evidence on items; ``append`` keeps it up to date."""
        with self._connection.reading() as db:
            self._drop_outdated()
            return self._evidence(db, sources)

    def history(self, sources: Sequence[str] = ()) -> History:
        """Return every good observation so far, as columns."""
        with self._connection.reading() as db:
            return tables.history(db, sources)

    def held(self, keys: Sequence[str]) -> list[Observation | None]:
        """Return the last good observation of each item, for conditional requests."""
        with self._connection.reading() as db:
            return [tables.held(db, key) for key in keys]

    def failure_notes(self, tried: Iterable[tuple[str, float]]) -> list[str]:
        """Return the notes of failed observations, given by item and time."""
        with self._connection.reading() as db:
            return tables.failure_notes(db, tried)

    def begin(self, sources: Sequence[str], now: float, *, lease: float) -> Run:
        """Take the lease on sources for ``lease`` days; raise ``AlreadyRunning``.

        A holder that is dead, or whose lease has run out, loses it at once.
        """
        names = run_sources(sources)
        with self._connection.damage_errors(), self._connection.writing() as db:
            run = leases.begin(db, names, now, lease, self.owner)
            held = leases.holders(db)
            self._runs = {i: s for i, s in self._runs.items() if i in held}
            self._drop_outdated()
        self._runs[run.id] = run.sources
        return run

    def renew(self, run: Run, now: float, *, lease: float) -> None:
        """Keep the lease; raise ``LeaseLost`` if another took it."""
        with self._writing_as(run) as db:
            leases.renew(db, run, now + lease)

    def fence(self, run: Run) -> None:
        """Raise ``LeaseLost`` if the run no longer holds its lease."""
        with self._writing_as(run):
            pass

    def finish(self, run: Run, now: float, *, done: bool = True) -> None:
        """Give the lease back; the next run resumes one that is not done."""
        with self._writing_as(run) as db:
            if done:
                leases.finish(db, run, now)
            else:
                leases.interrupt(db, run.id, now)
        self._runs.pop(run.id, None)

    def append(self, run: Run, batch: Observations) -> None:
        """Add observations, durably, or none of them; raise ``LeaseLost``.

        Adding the same observation twice changes nothing. A hint of an unknown item
        adds it.
        """
        with self._keeping_up():
            with self._writing_as(run) as db:
                evidence = self._evidence(db, run.sources)
                batch = self._old.stored_observations(db, batch, evidence)
                self._introduce(db, run, batch, evidence)
                fresh, fold = observation_rows.write(
                    db, run.id, batch, evidence, self.page_versions
                )
            evidence.take(fold)
            self._cache.take(of_known_items(evidence, fresh), besides=evidence)
        self._save_columns(run, evidence, len(fresh))

    def links(self, sources: Sequence[str] = ()) -> Links:
        """Return which items of the sources link to which, in their order."""
        with self._connection.reading() as db:
            return graph.read(db, sources)

    def content(self, key: str) -> Content | None:
        """Return the copy held of an item."""
        with self._connection.reading() as db:
            return tables.content(db, key)

    def host(self, name: str) -> HostState | None:
        """Return the stored state of a host."""
        with self._connection.alone() as db:
            return tables.host(db, name)

    def save_host(self, state: HostState) -> None:
        """Store the state of a host."""
        with self._connection.writing() as db:
            tables.save_host(db, state)

    def note(self, source: str, kind: str, number: int = 0) -> Note | None:
        """Return a note as it was stored; None if there is none."""
        with self._connection.reading() as db:
            return note_rows.read(db, source, kind, number)

    def note_numbers(self, source: str, kind: str) -> list[int]:
        """Return the numbers of the notes of a kind about a source, ascending."""
        with self._connection.reading() as db:
            return note_rows.numbers(db, source, kind)

    def save_note(self, source: str, kind: str, note: Note, number: int = 0) -> None:
        """Store a note, durably, replacing the one before."""
        with self._connection.writing() as db:
            note_rows.save(db, source, kind, number, note)

    def remove_note(self, source: str, kind: str, number: int = 0) -> None:
        """Remove a note, if there is one."""
        with self._connection.writing() as db:
            note_rows.remove(db, source, kind, number)

    def spent(self, since: float) -> int:
        """Return how many requests were charged at or after ``since``."""
        with self._connection.reading() as db:
            return compaction.spent(db, since)

    def spent_by(self, sources: Sequence[str], since: float) -> int:
        """Return the requests charged to runs of exactly these sources since then."""
        with self._connection.reading() as db:
            return ledger.spent_by(db, sources, since)

    def charge(self, run: Run, requests: int, now: float) -> None:
        """Record, durably, that requests are about to be sent.

        A negative number gives back what was charged and not sent.
        """
        with self._writing_as(run) as db:
            ledger.charge(db, run.id, now, requests)
        self.charged_here[run.sources] += requests

    def collections(self) -> list[str]:
        """Return the names of the set sources that have data."""
        with self._connection.reading() as db:
            return lifetimes.names(db)

    def collection(self, name: str) -> Collection:
        """Return the history of a set source; raise ``UsageError`` if there is none."""
        with self._connection.reading() as db:
            return lifetimes.collection(db, name)

    def register(self, name: str) -> Register:
        """Return the register of a set source; ``UsageError`` if there is none."""
        with self._connection.reading() as db:
            return lifetimes.read(db, name)

    def save_collection(self, run: Run, collection: Collection) -> None:
        """Store a history, replacing all data of the set source."""
        self.save_register(run, collection.name, Register.of(collection), anew=True)

    def save_register(
        self, run: Run, name: str, register: Register, *, anew: bool = False
    ) -> None:
        """Add to the register of a set source, or replace it; all or nothing.

        A listing that waits for a decision is dropped when a valid snapshot is saved.
        """
        lifetimes.check_covered(run, name)
        with self._writing_as(run) as db:
            lifetimes.log_changes(db, run, name, register, anew=anew)
            lifetimes.save(db, name, register, anew=anew)

    def stage(
        self, run: Run, name: str, listing: Listing, why: str, shown: Register = NOTHING
    ) -> None:
        """Put a listing aside until a decision, and add what it shows, together."""
        lifetimes.check_covered(run, name)
        with self._writing_as(run) as db:
            lifetimes.stage(db, run.id, name, listing, why)
            if shown.snapshots:
                lifetimes.log_shown(db, name, shown)
                lifetimes.save(db, name, shown, keeps_staged=True)

    def staged(self) -> list[Staged]:
        """Return the listings that wait for a decision, oldest first."""
        with self._connection.reading() as db:
            return lifetimes.staged(db)

    def dismiss(self, run: int) -> int:
        """Drop the listings that a run put aside; return how many there were."""
        with self._connection.writing() as db:
            return lifetimes.dismiss(db, run)

    def _evidence(self, db: Database, sources: Sequence[str]) -> Evidence:
        evidence = self._cache.get(sources)
        if evidence is None:
            with self._connection.damage_errors():
                evidence = self._load(db, sources)
            self._cache.keep(sources, evidence)
        return evidence

    def _load(self, db: Database, sources: Sequence[str]) -> Evidence:
        return columns.load(db, sources) or evidence_rows.evidence(db, sources)

    def _introduce(
        self, db: Database, run: Run, batch: Observations, evidence: Evidence
    ) -> None:
        """Add the items that hints introduce."""
        known = partial(tables.is_known, db)
        new = new_items(batch, evidence, run.sources, known)
        if new:
            tables.add_items(db, new, float(batch.at.min()))
            self._cache.add(new)
            self._number(db)

    def _number(self, db: Database) -> None:
        """Set the numbers of items that were added to the evidence."""
        for evidence in self._cache:
            tables.number(db, evidence)

    def _save_columns(self, run: Run, evidence: Evidence, many: int) -> None:
        """Store the evidence as columns, now and then, for a quick start."""
        if len(evidence) < columns.FEWEST:
            return
        whole, rest = (n + many for n in self._waiting.get(run.sources, (0.0, 0.0)))
        if run.sources not in self._waiting:
            with self._connection.reading() as db:
                whole, rest = columns.waiting(db, run.sources)
        # Observations are safe without it: an error here will recur where it matters.
        if whole >= max(columns.FEWEST, len(evidence) // 50):
            whole = rest = 0.0
            with suppress(StoreError), self._writing_as(run) as db:
                columns.save(db, run.sources, evidence)
        elif rest >= columns.LAYER:
            rest = 0.0
            with suppress(StoreError), self._writing_as(run) as db:
                columns.save_layer(db, run.sources)
        self._waiting[run.sources] = whole, rest

    def _drop_outdated(self) -> None:
        """Drop the evidence if another process has written since it was read.

        While we hold a lease, no other process writes about its sources.
        """
        version = self._connection.data_version()
        if version != self._version:
            leased = (name for names in self._runs.values() for name in names)
            self._cache.clear(besides=leased)
            self._version = version

    def _end(self) -> None:
        """Finish the work; an error is not worth reporting at the end."""
        with suppress(HalflifeError):
            self.before_close(self)
        with suppress(StoreError):  # a lease runs out by itself
            self._interrupt()
        self._cache.clear()

    def _interrupt(self) -> None:
        """Give back the leases of unfinished runs."""
        if self._runs:
            with self._connection.writing() as db:
                for run in self._runs:
                    leases.release(db, run)

    @contextmanager
    def _keeping_up(self) -> Iterator[None]:
        """Keep evidence in step with the tables; after an error, read it again."""
        try:
            yield
        except BaseException:
            self._cache.clear()
            raise

    def damage_errors(self) -> AbstractContextManager[None]:
        """Turn values that halflife did not write into ``Damaged``."""
        return self._connection.damage_errors()

    def reading(self) -> AbstractContextManager[Database]:
        """Run several queries on the tables as of one moment."""
        return self._connection.reading()

    @contextmanager
    def together(self) -> Iterator[Database]:
        """Make all changes inside the block, or none of them.

        Do not await inside: the tables are locked for other writers.
        """
        with self._keeping_up(), self._connection.together() as db:
            yield db

    def reread(self) -> None:
        """Read evidence again when it is next needed."""
        self._cache.clear()
        self._row_memo.clear()
        self._waiting.clear()

    @contextmanager
    def _writing_as(self, run: Run) -> Iterator[Database]:
        """Make several changes, all or none, if the run still holds its lease."""
        try:
            with self._connection.writing() as db:
                leases.fence(db, run)
                yield db
        except LeaseLost:
            self._runs.pop(run.id, None)
            raise


def _nothing(_: object) -> None:
    """Do nothing."""
