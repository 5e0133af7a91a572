"""State in one SQLite file, which any SQLite tool can read.

Whatever a method has done when it returns survives a crash and, if the disk
keeps its promises, a power cut: write-ahead log, ``synchronous = FULL``.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Self

from halflife.core.arrays import Ints
from halflife.core.errors import Damaged, LeaseLost, StoreError
from halflife.core.evidence import Evidence
from halflife.core.history import History
from halflife.core.host import HostState
from halflife.core.item import Item
from halflife.core.lifetimes import Collection
from halflife.core.links import Links
from halflife.core.object_store import Listing, Register
from halflife.core.observation import Content, Looks, Observation
from halflife.core.store import Note, Run, Staged
from halflife.stores import (
    change_log,
    columns,
    compaction,
    evidence_rows,
    files,
    leases,
    ledger,
    lifetimes,
    links as graph,
    note_rows,
    observation_rows,
    page_versions,
    run_history,
    tables,
)
from halflife.stores.audit import problems
from halflife.stores.connection import Connection
from halflife.stores.owner import Owner
from halflife.stores.prefetch import Ahead
from halflife.stores.row_memo import RowMemo
from halflife.stores.spellings import OldKeys, url_of
from halflife.stores.sqlite_parts import SqliteParts
from halflife.stores.store_base import EvidenceShelf, about, introduced, named


class SqliteStore(SqliteParts):
    """Keeps everything in one file; see ``open``.

    Several processes may use the file at once: one writes about a source, any
    number read. One object belongs to one thread.
    """

    def __init__(self, db: sqlite3.Connection, path: Path, owner: Owner) -> None:
        self.path = path
        self.owner = owner
        self._db = db
        self._connection = Connection(db, path)
        self._shelf = EvidenceShelf()
        self._row_memo = RowMemo()
        self._runs: dict[int, tuple[str, ...]] = {}
        self._version = -1
        self.charged_here: Counter[tuple[str, ...]] = Counter()
        self._old = OldKeys()
        self._ahead: Ahead | None = None
        self._waiting: dict[tuple[str, ...], tuple[float, float]] = {}
        self.page_versions = page_versions.MOST  # kept of each page, by the settings

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        create: bool = False,
        readonly: bool = False,
        owner: Owner | None = None,
    ) -> Self:
        """Open a state file.

        Args:
            path: The file. Two more, ``-wal`` and ``-shm``, lie beside it in use.
            create: Make the file if there is none, or if it is empty.
            readonly: Look only; works while another process writes.
            owner: Who takes leases; this process, unless told otherwise.

        Raises:
            TooNew: A newer halflife wrote it; nothing was touched.
            Damaged: It is not, or no longer, a halflife file.
            StoreError: It cannot be used: no folder, no permission, no space.

        """
        where = Path(path)
        create = create and not readonly
        db = files.connect(where, create=create, readonly=readonly)
        return cls(db, where, owner or Owner.here())

    def skip_disk_syncs(self) -> None:
        """Do not wait for the disk: for replays, whose file nobody needs later."""
        files.skip_syncs(self._db)

    def close(self) -> None:
        """Close the file; runs that were not finished count as interrupted."""
        with suppress(sqlite3.Error, StoreError):  # a lease runs out by itself
            self._interrupt()
        self._shelf.clear()
        if self._ahead is not None:
            self._ahead.end()
        with files.translated(self.path):
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def add(self, items: Iterable[Item]) -> int:
        """Make items known; return how many were new. Known ones get the new weight."""
        given = list(items)
        with self._keeping_up(), self._connection.writing() as db:
            given = self._old.named(db, given, used=any(self._shelf))
            new = [i for i in given if tables.item_id(db, i.key) is None]
            tables.add_items(db, given)
            self._shelf.add(new)
            self._shelf.reweigh(given)
            self._number(db)
        return len({i.key for i in new})

    def items(self, sources: Sequence[str] = ()) -> list[Item]:
        """Return the items of the named sources, or all."""
        with self._connection.looking() as db:
            return tables.items(db, sources)

    def item_count(self, sources: Sequence[str] = ()) -> int:
        """Return how many items of the named sources are known; of all, about."""
        with self._connection.looking() as db:
            return tables.item_count(db, sources)

    def rows_by_source(
        self, sources: Sequence[str], evidence: Evidence
    ) -> dict[str, Ints]:
        """Return the rows of each source's items in evidence on them, ascending."""
        with self._connection.looking() as db:
            return self._row_memo.rows(db, sources, evidence)

    def source_of(self, key: str) -> str | None:
        """Return the name of the source that an item belongs to, if it is known."""
        with files.translated(self.path):  # one query sees one moment by itself
            return tables.source_of(self._db, key)

    def url_of(self, key: str) -> str:
        """Return what is sent for an item: its key, unless it was found with more."""
        with files.translated(self.path):  # one query sees one moment by itself
            return url_of(self._db, key)

    def evidence(self, sources: Sequence[str] = ()) -> Evidence:
        """Return what all looks add up to; ``append`` keeps it up to date."""
        with self._connection.looking() as db:
            self._notice(db)
            return self._evidence(db, sources)

    def read_ahead(self, sources: Sequence[str]) -> None:
        """Let a thread begin to read the evidence of the latest run, if of these.

        Where there are no columns there would be nothing to gain.
        """
        with self._connection.looking() as db:
            last = columns.latest(db)
            if last and set(last) <= set(sources):
                self._ahead = Ahead(db, self.path, last)

    def history(self, sources: Sequence[str] = ()) -> History:
        """Return every good look so far, as columns."""
        with self._connection.looking() as db:
            return tables.history(db, sources)

    def held(self, keys: Sequence[str]) -> list[Observation | None]:
        """Return the last good look at each item, for conditional requests."""
        with self._connection.looking() as db:
            return [tables.held(db, key) for key in keys]

    def failure_notes(self, tried: Iterable[tuple[str, float]]) -> list[str]:
        """Return the notes of failed observations, given by item and time."""
        with self._connection.looking() as db:
            return tables.failure_notes(db, tried)

    def begin(self, sources: Sequence[str], now: float, *, lease: float) -> Run:
        """Take the lease on sources for ``lease`` days; raise ``AlreadyRunning``.

        A holder that is dead, or whose lease has run out, loses it at once.
        """
        names = named(sources)
        with files.trusted(self.path), self._connection.writing() as db:
            run = leases.begin(db, names, now, lease, self.owner)
            held = leases.holders(db)
            self._runs = {i: s for i, s in self._runs.items() if i in held}
            self._notice(db)
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
        """Give the lease back; the next run goes on from one that is not done."""
        with self._writing_as(run) as db:
            if done:
                leases.finish(db, run, now)
            else:
                leases.interrupt(db, run.id, now)
        self._runs.pop(run.id, None)

    def append(self, run: Run, looks: Looks) -> None:
        """Add observations, durably, or none of them; raise ``LeaseLost``.

        Adding the same look twice changes nothing. A hint of an unknown item
        makes it known.
        """
        self._ahead = None  # who wants it has it
        with self._keeping_up():
            with self._writing_as(run) as db:
                evidence = self._evidence(db, run.sources)
                looks = self._old.filed(db, looks, evidence)
                self._introduce(db, run, looks, evidence)
                fresh, fold = observation_rows.write(
                    db, run.id, looks, evidence, self.page_versions
                )
            evidence.take(fold)
            self._shelf.take(about(evidence, fresh), besides=evidence)
        self._file(run, evidence, len(fresh))

    def links(self, sources: Sequence[str] = ()) -> Links:
        """Return which items of the sources link to which, in their order."""
        with self._connection.looking() as db:
            return graph.read(db, sources)

    def content(self, key: str) -> Content | None:
        """Return the copy we hold of an item."""
        with self._connection.looking() as db:
            return tables.content(db, key)

    def host(self, name: str) -> HostState | None:
        """Return what is known of a host."""
        with files.translated(self.path):  # one query sees one moment by itself
            return tables.host(self._db, name)

    def save_host(self, state: HostState) -> None:
        """Remember what is known of a host."""
        with self._connection.writing() as db:
            tables.save_host(db, state)

    def note(self, source: str, kind: str, number: int = 0) -> Note | None:
        """Return a note as it was written; None if there is none."""
        with self._connection.looking() as db:
            return note_rows.read(db, source, kind, number)

    def note_numbers(self, source: str, kind: str) -> list[int]:
        """Return the numbers of the notes of a kind about a source, ascending."""
        with self._connection.looking() as db:
            return note_rows.numbers(db, source, kind)

    def save_note(self, source: str, kind: str, note: Note, number: int = 0) -> None:
        """Write a note, durably, in place of the one before."""
        with self._connection.writing() as db:
            note_rows.save(db, source, kind, number, note)

    def remove_note(self, source: str, kind: str, number: int = 0) -> None:
        """Remove a note, if there is one."""
        with self._connection.writing() as db:
            note_rows.remove(db, source, kind, number)

    def spent(self, since: float) -> int:
        """Return how many requests were charged at or after ``since``."""
        with self._connection.looking() as db:
            return compaction.spent(db, since)

    def spent_by(self, sources: Sequence[str], since: float) -> int:
        """Return how many of them were charged to runs of exactly these sources."""
        with self._connection.looking() as db:
            return ledger.spent_by(db, sources, since)

    def charge(self, run: Run, requests: int, now: float) -> None:
        """Write down, durably, that requests are about to be sent.

        A negative number gives back what was charged and not sent.
        """
        with self._writing_as(run) as db:
            ledger.charge(db, run.id, now, requests)
        self.charged_here[run.sources] += requests

    def collections(self) -> list[str]:
        """Return the names of the set sources of which something is kept."""
        with self._connection.looking() as db:
            return lifetimes.names(db)

    def collection(self, name: str) -> Collection:
        """Return the history of a set source; raise ``UsageError`` if there is none."""
        with self._connection.looking() as db:
            return lifetimes.collection(db, name)

    def register(self, name: str) -> Register:
        """Return all that is kept of a set source; ``UsageError`` if nothing is."""
        with self._connection.looking() as db:
            return lifetimes.read(db, name)

    def save_collection(self, run: Run, collection: Collection) -> None:
        """Keep a history in place of all that was kept of the set source."""
        self.save_register(run, collection.name, Register.of(collection), anew=True)

    def save_register(
        self, run: Run, name: str, register: Register, *, anew: bool = False
    ) -> None:
        """Add to what is kept of a set source, or replace it; all or nothing.

        An answer that waited for a decision is overtaken by any look that counts.
        """
        lifetimes.covered(run, name)
        with self._writing_as(run) as db:
            change_log.append(db, lifetimes.changes(db, run, name, register, anew=anew))
            lifetimes.save(db, name, register, anew=anew)

    def stage(self, run: Run, name: str, listing: Listing, why: str) -> None:
        """Put an answer aside until somebody decides; nothing else changes."""
        lifetimes.covered(run, name)
        with self._writing_as(run) as db:
            lifetimes.stage(db, run.id, name, listing, why)

    def staged(self) -> list[Staged]:
        """Return the answers that wait for a decision, oldest first."""
        with self._connection.looking() as db:
            return lifetimes.staged(db)

    def dismiss(self, run: int) -> int:
        """Forget the answer that a run put aside; return how many there were."""
        with self._connection.writing() as db:
            return run_history.dismiss(db, run)

    def backup(self, path: str | Path) -> None:
        """Copy the file as it is now to a new one, whole or not at all."""
        target = Path(path)
        if target.exists():
            raise StoreError(f"{target} exists already; choose another name")
        with files.translated(target):
            files.copy(self._db, target)

    def compact(self) -> None:
        """Give the room of what was removed back to the disk."""
        with files.translated(self.path):
            self._db.execute("VACUUM")

    def clearing(self) -> AbstractContextManager[None]:
        """Let rows be removed without a search for those that refer to them."""
        return files.unreferenced(self._db)

    def verify(self) -> list[str]:
        """Return what is wrong with the file, in words; nothing, if all is well."""
        try:
            with self._connection.looking() as db:
                return problems(db)
        except Damaged as error:
            return [str(error)]

    def _evidence(self, db: sqlite3.Connection, sources: Sequence[str]) -> Evidence:
        evidence = self._shelf.get(sources)
        if evidence is None:
            with files.trusted(self.path):
                evidence = self._load(db, sources)
            self._shelf.keep(sources, evidence)
        return evidence

    def _load(self, db: sqlite3.Connection, sources: Sequence[str]) -> Evidence:
        ahead, found = self._ahead, None
        if ahead is not None and ahead.sources & set(sources):
            self._ahead = None  # used, or read for sources that are kept apart now
            ahead.end()
            found = ahead.take(db) if ahead.sources == set(sources) else None
        return found or columns.load(db, sources) or evidence_rows.evidence(db, sources)

    def _introduce(
        self, db: sqlite3.Connection, run: Run, looks: Looks, evidence: Evidence
    ) -> None:
        """Make known the items that hints name."""
        known = partial(tables.is_known, db)
        new = introduced(looks, evidence, run.sources, known)
        if new:
            tables.add_items(db, new, float(looks.at.min()))
            self._shelf.add(new)
            self._number(db)

    def _number(self, db: sqlite3.Connection) -> None:
        """Give items that the evidence came to know their numbers in the file."""
        for evidence in self._shelf:
            tables.number(db, evidence)

    def _file(self, run: Run, evidence: Evidence, looks: int) -> None:
        """Write the evidence down as columns, now and then, for a quick start."""
        if len(evidence) < columns.FEWEST:
            return
        whole, rest = (n + looks for n in self._waiting.get(run.sources, (0.0, 0.0)))
        if run.sources not in self._waiting:
            with self._connection.looking() as db:
                whole, rest = columns.waiting(db, run.sources)
        # The looks are safe without it: what fails here fails where it matters, too.
        if whole >= max(columns.FEWEST, len(evidence) // 50):
            whole = rest = 0.0
            with suppress(StoreError), self._writing_as(run) as db:
                columns.save(db, run.sources, evidence)
        elif rest >= columns.LAYER:
            rest = 0.0
            with suppress(StoreError), self._writing_as(run) as db:
                columns.save_layer(db, run.sources)
        self._waiting[run.sources] = whole, rest

    def _notice(self, db: sqlite3.Connection) -> None:
        """Forget the evidence if another process has written since it was read.

        While we hold a lease, nobody else writes about its sources.
        """
        version = db.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            leased = (name for names in self._runs.values() for name in names)
            self._shelf.clear(besides=leased)
            self._version = version

    def _interrupt(self) -> None:
        """Give back the leases of runs that were not finished."""
        if self._runs:
            with self._connection.writing() as db:
                for run in self._runs:
                    leases.release(db, run)

    @contextmanager
    def _keeping_up(self) -> Iterator[None]:
        """Let evidence follow the file; if anything goes wrong, read it again."""
        try:
            yield
        except BaseException:
            self._shelf.clear()
            raise

    def looking(self) -> AbstractContextManager[sqlite3.Connection]:
        """Let several queries see the file as it was at one moment."""
        return self._connection.looking()

    @contextmanager
    def together(self) -> Iterator[sqlite3.Connection]:
        """Let all that methods do inside happen all or not at all.

        Nothing may be awaited inside: the file is locked for other writers.
        """
        with self._keeping_up(), self._connection.together() as db:
            yield db

    def reread(self) -> None:
        """Read evidence anew when it is next asked for."""
        self._shelf.clear()
        self._row_memo.clear()
        self._waiting.clear()

    @contextmanager
    def _writing_as(self, run: Run) -> Iterator[sqlite3.Connection]:
        """Let changes happen all or not at all, if the run still holds its lease."""
        try:
            with self._connection.writing() as db:
                leases.fence(db, run)
                yield db
        except LeaseLost:
            self._runs.pop(run.id, None)
            raise
