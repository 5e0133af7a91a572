"""A store in memory, for replays and tests."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.errors import AlreadyRunning, LeaseLost
from halflife.core.evidence import Evidence, Fold
from halflife.core.history import History
from halflife.core.host import HostState
from halflife.core.item import Item
from halflife.core.lifetimes import Collection
from halflife.core.links import Links
from halflife.core.object_store import NOTHING, Listing, Register
from halflife.core.observation import Content, Observation, Observations, Outgoing, Seen
from halflife.core.store import RESUME_WITHIN, Note, Run, Staged
from halflife.stores import lifetimes, links as graph, page_changes, record_changes
from halflife.stores.connection import Connection
from halflife.stores.database import execute_all
from halflife.stores.holdings import MemoryHoldings
from halflife.stores.memory_parts import (
    MemoryChanges,
    MemoryForecasts,
    MemoryHeldAnswers,
    MemoryReports,
    MemoryVersions,
)
from halflife.stores.run_history import PastRun
from halflife.stores.store_base import (
    EvidenceCache,
    new_items,
    of_known_items,
    rows_by_name,
    run_sources,
)
from halflife.stores.work import FleetState

if TYPE_CHECKING:
    from halflife.stores.outbox import Outbox
    from halflife.stores.sink_rows import SinkRows

_Row: TypeAlias = tuple[str, float, int, str]
_SEEN = tuple(Seen)  # indexing a tuple is faster than calling an enum


@dataclass(frozen=True, slots=True)
class _Lease:
    run: Run
    expires: float


class MemoryStore:
    """Keeps everything in memory, as columns; nothing outlives the program.

    It has the same contract as the store on disk, leases and ledger included.

    >>> store = MemoryStore()
    >>> store.add([Item("a", "site"), Item("b", "site")])
    2
    >>> run = store.begin(["site"], 0.0, lease=1.0)
    >>> store.append(run, Observations.of([Observation("a", 0.5, Seen.PRESENT, "1")]))
    >>> store.evidence(["site"]).looks.tolist()
    [1, 0]
    """

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._number: dict[str, int] = {}
        self._newest = np.zeros(0)
        self.log: list[Observations] = []
        self._logged: set[_Row] | None = None
        self._cache = EvidenceCache()
        self._details: dict[str, Observation] = {}
        self._links: dict[str, Outgoing] = {}
        self._leases: dict[str, _Lease] = {}
        self._interrupted: dict[tuple[str, ...], _Lease] = {}
        self._runs = 0
        self.charged: dict[float, int] = {}
        self.charged_here: Counter[tuple[str, ...]] = Counter()
        self._charged_to: dict[tuple[str, ...], dict[float, int]] = {}
        self.past_runs: dict[int, PastRun] = {}
        self.hosts: dict[str, HostState] = {}
        self._notes: dict[tuple[str, str, int], Note] = {}
        self._sets: dict[str, Register] = {}
        self._collections: dict[str, Collection] = {}
        self._staged: dict[str, Staged] = {}
        self.changes = MemoryChanges()
        self.versions = MemoryVersions()
        self.holdings = MemoryHoldings(self)
        self.forecasts = MemoryForecasts(self)
        self.held_answers = MemoryHeldAnswers(self)
        self.reports = MemoryReports(self)

    def add(self, items: Iterable[Item]) -> int:
        """Add items; return how many were new. Known ones get the new weight."""
        old, given = len(self._items), list(items)
        if not given:
            return 0
        for item in given:
            known = self._items.get(item.key, item)
            same = known.weight == item.weight
            kept = known if same else replace(known, weight=item.weight)
            self._items[item.key] = kept
            self._number.setdefault(item.key, len(self._number))
        new = len(self._items) - old
        self._newest = np.concatenate([self._newest, np.full(new, -np.inf)])
        self._cache.add([self._items[item.key] for item in given])
        self._cache.reweigh(given)
        return new

    def items(self, sources: Sequence[str] = ()) -> list[Item]:
        """Return the items of the named sources, or all."""
        everything = self._items.values()
        return [i for i in everything if not sources or i.source in sources]

    def item(self, key: str) -> Item | None:
        """Return an item by its key, if it is known."""
        return self._items.get(key)

    def item_count(self, sources: Sequence[str] = ()) -> int:
        """Return how many items of the named sources, or of all, are known."""
        return len(self.items(sources)) if sources else len(self._items)

    def rows_by_source(
        self, sources: Sequence[str], evidence: Evidence
    ) -> dict[str, Ints]:
        """Return the rows of each source's items in evidence on them, ascending."""
        return rows_by_name(self.items(sources), evidence)

    def source_of(self, key: str) -> str | None:
        """Return the name of the source that an item belongs to, if it is known."""
        item = self._items.get(key)
        return None if item is None else item.source

    def url_of(self, key: str) -> str:
        """Return the URL to fetch for an item: its key, unless it has another."""
        item = self._items.get(key)
        return item.url if item and item.url else key

    def evidence(self, sources: Sequence[str] = ()) -> Evidence:
        """Return the evidence on items; ``append`` keeps it up to date."""
        evidence = self._cache.get(sources)
        if evidence is None:
            evidence = Evidence.of(self.items(sources))
            for batch in self.log:
                evidence.take(evidence.weigh(of_known_items(evidence, batch)))
            self._cache.keep(sources, evidence)
        return evidence

    def history(self, sources: Sequence[str] = ()) -> History:
        """Return every good observation so far, as columns."""
        rows = {item.key: i for i, item in enumerate(self.items(sources))}
        codes: dict[str, int] = {}
        item, digest = [], []
        for batch in self.log:
            item += [rows.get(key, -1) for key in batch.keys]
            digest += [codes.setdefault(d, len(codes)) for d in batch.digest]
        row = np.array(item, dtype=np.intp)
        at = np.concatenate([np.zeros(0), *(batch.at for batch in self.log)])
        seen = np.concatenate([np.zeros(0), *(batch.seen for batch in self.log)])
        good = (row >= 0) & (seen <= Seen.ABSENT)
        code = np.array(digest, dtype=np.intp)
        columns = row[good], at[good], seen[good].astype(np.int8), code[good]
        return History.from_columns(tuple(rows), *columns)

    def held(self, keys: Sequence[str]) -> list[Observation | None]:
        """Return the last good observation of each item, for conditional requests."""
        found: dict[str, Observation] = {}
        for source in {i.source for i in map(self._items.get, keys) if i is not None}:
            found.update(_latest(self.evidence((source,)), keys))
        found.update((k, self._details[k]) for k in self._details.keys() & set(keys))
        return [found.get(key) for key in keys]

    def failure_notes(self, tried: Iterable[tuple[str, float]]) -> list[str]:
        """Return the notes of failed observations, given by item and time."""
        failed = (o for batch in self.log for o in batch.details)
        notes = {(o.key, o.at): o.note for o in failed if o.seen is Seen.FAILED}
        return [notes[key] for key in tried if key in notes]

    def begin(self, sources: Sequence[str], now: float, *, lease: float) -> Run:
        """Take the lease on sources for ``lease`` days; raise ``AlreadyRunning``."""
        names = run_sources(sources)
        for held in self._holders(names, now):
            self._interrupted[held.run.sources] = held
            self._end(held.run, min(now, held.expires), "interrupted")
            for source in held.run.sources:
                self._leases.pop(source, None)
        self._runs += 1
        run = Run(self._runs, self._runs, names, now)
        before = self._interrupted.pop(names, None)
        if before is not None and now - before.expires <= RESUME_WITHIN:
            run = replace(run, began=before.run.began, resumed=True)
        self._leases.update((s, _Lease(run, now + lease)) for s in names)
        self.past_runs[run.id] = PastRun(run.id, "running", run.began, None, names, 0)
        return run

    def _end(self, run: Run, at: float, state: str) -> None:
        self.past_runs[run.id] = replace(self.past_runs[run.id], state=state, ended=at)

    def _holders(self, names: Sequence[str], now: float) -> list[_Lease]:
        """Return the expired leases on sources; raise if others hold any."""
        held = [(s, self._leases[s]) for s in names if s in self._leases]
        for source, lease in held:
            if lease.expires > now:
                raise AlreadyRunning(
                    f"source {source!r} is being synced since day"
                    f" {lease.run.began:g}; finish that run first"
                )
        return [lease for _, lease in held]

    def renew(self, run: Run, now: float, *, lease: float) -> None:
        """Keep the lease; raise ``LeaseLost`` if another took it."""
        self.fence(run)
        self._leases.update((s, _Lease(run, now + lease)) for s in run.sources)

    def finish(self, run: Run, now: float, *, done: bool = True) -> None:
        """Give the lease back; the next run resumes one that is not done."""
        self.fence(run)
        for source in run.sources:
            del self._leases[source]
        self._end(run, now, "done" if done else "interrupted")
        if not done:
            self._interrupted[run.sources] = _Lease(run, now)

    def append(self, run: Run, batch: Observations) -> None:
        """Add observations, or none of them; raise ``LeaseLost``.

        Adding the same observation twice changes nothing. A hint of an unknown item
        adds it.
        """
        self.fence(run)
        evidence = self.evidence(run.sources)
        self.add(new_items(batch, evidence, run.sources, self._items.__contains__))
        fresh = of_known_items(evidence, self._fresh(batch))
        if len(fresh) == 0:
            return
        fold = evidence.weigh(fresh)
        self._report(fresh, evidence, fold)
        self.log.append(fresh)
        evidence.take(fold)
        self._cache.take(fresh, besides=evidence)
        self._remember(fresh)

    def _report(self, batch: Observations, evidence: Evidence, fold: Fold) -> None:
        """Log the changes of observations that are not folded in yet."""
        accepted = self.held_answers.clear_seen(batch)
        if accepted:
            self.changes.append(page_changes.acceptances(accepted, evidence))
        found = page_changes.find(evidence, batch, fold)
        if found is not None:
            self.changes.append_pages(found, self._source_name)
        if batch.details:
            moved = page_changes.moves(batch, self._held_one, self.source_of)
            self.changes.append(moved)

    def _source_name(self, key: str) -> str:
        return self._items[key].source

    def _held_one(self, key: str) -> Observation | None:
        return self.held([key])[0]

    def _fresh(self, batch: Observations) -> Observations:
        """Return the observations that are not in the log yet."""
        number = self._number
        rows = np.fromiter(map(number.__getitem__, batch.keys), np.intp, len(batch))
        again = batch.at <= self._newest[rows]
        if again.any() or len(set(batch.keys)) < len(batch):
            new = self._unlike_any(batch)
            batch, rows = batch.take(new), rows[new]
        elif self._logged is not None:
            self._logged.update(_each(batch))
        np.maximum.at(self._newest, rows, batch.at)
        return batch

    def _unlike_any(self, batch: Observations) -> list[int]:
        """Return which observations differ from all before, if time stood still."""
        if self._logged is None:
            self._logged = {row for batch in self.log for row in _each(batch)}
        new = []
        for i, row in enumerate(_each(batch)):
            if row not in self._logged:
                self._logged.add(row)
                new.append(i)
        return new

    def _remember(self, batch: Observations) -> None:
        """Keep the details of the latest observations that columns do not have."""
        if self._details and not batch.details:
            for key in self._details.keys() & set(batch.keys):
                del self._details[key]
        for o in batch.details:
            if o.seen <= Seen.ABSENT:
                self._details[o.key] = replace(o, content=None, item=None, links=None)
            self.versions.save(o)
        for o, out in graph.read_links(batch):
            self._links[o.key] = graph.to_known(out, self._items)

    def fence(self, run: Run) -> None:
        """Raise ``LeaseLost`` if the run no longer holds its lease."""
        for source in run.sources:
            held = self._leases.get(source)
            if held is None or held.run.id != run.id:
                raise LeaseLost(
                    f"run {run.id} no longer holds source {source!r}; begin a new one"
                )

    def links(self, sources: Sequence[str] = ()) -> Links:
        """Return which items of the sources link to which, in their order."""
        return graph.of_memory([i.key for i in self.items(sources)], self._links)

    def content(self, key: str) -> Content | None:
        """Return the copy held of an item."""
        return self.versions.current(key)

    def host(self, name: str) -> HostState | None:
        """Return the stored state of a host."""
        return self.hosts.get(name)

    def save_host(self, state: HostState) -> None:
        """Store the state of a host."""
        self.hosts[state.name] = state

    def note(self, source: str, kind: str, number: int = 0) -> Note | None:
        """Return a note as it was stored; None if there is none."""
        return self._notes.get((source, kind, number))

    def note_numbers(self, source: str, kind: str) -> list[int]:
        """Return the numbers of the notes of a kind about a source, ascending."""
        return sorted(n for s, k, n in self._notes if (s, k) == (source, kind))

    def save_note(self, source: str, kind: str, note: Note, number: int = 0) -> None:
        """Store a note, replacing the one before."""
        self._notes[source, kind, number] = note

    def remove_note(self, source: str, kind: str, number: int = 0) -> None:
        """Remove a note, if there is one."""
        self._notes.pop((source, kind, number), None)

    def spent(self, since: float) -> int:
        """Return how many requests were charged at or after ``since``."""
        return sum(n for at, n in self.charged.items() if at >= since)

    def charge(self, run: Run, requests: int, now: float) -> None:
        """Record that requests are about to be sent; negative gives them back."""
        self.fence(run)
        for charges in (self.charged, self._charged_to.setdefault(run.sources, {})):
            charges[now] = charges.get(now, 0) + requests
        self.charged_here[run.sources] += requests
        ran = self.past_runs[run.id]
        self.past_runs[run.id] = replace(ran, requests=ran.requests + requests)

    def spent_by(self, sources: Sequence[str], since: float) -> int:
        """Return the requests charged to runs of exactly these sources since then."""
        charges = self._charged_to.get(tuple(sorted(set(sources))), {})
        return sum(n for at, n in charges.items() if at >= since)

    def collections(self) -> list[str]:
        """Return the names of the set sources that have data."""
        return sorted(self._sets)

    def collection(self, name: str) -> Collection:
        """Return the history of a set source; raise ``UsageError`` if there is none."""
        if name not in self._collections:  # read often, changed by a fetch only
            self._collections[name] = self._kept(name).collection(name)
        return self._collections[name]

    def register(self, name: str) -> Register:
        """Return the register of a set source; ``UsageError`` if there is none."""
        kept = self._kept(name)
        return Register(
            list(kept.snapshots),
            [replace(spell) for spell in kept.spells],
            list(kept.versions),
            dict(kept.unobserved),
        )

    def _kept(self, name: str) -> Register:
        if name not in self._sets:
            raise lifetimes.unknown_source(name)
        return self._sets[name]

    def save_collection(self, run: Run, collection: Collection) -> None:
        """Store a history, replacing all data of the set source."""
        self.save_register(run, collection.name, Register.of(collection), anew=True)

    def save_register(
        self, run: Run, name: str, register: Register, *, anew: bool = False
    ) -> None:
        """Add to the register of a set source, or replace it."""
        lifetimes.check_covered(run, name)
        self.fence(run)
        if anew:
            held = self._sets.pop(name, Register())
            found = record_changes.replacement_changes(name, held, register, run.began)
        else:
            waiting = self._staged.get(name)
            at = None if waiting is None else waiting.listing.at
            found = record_changes.acceptance_changes(name, register, at)
        self.changes.append(found)
        self._add(name, register, logged=not anew)
        if anew or lifetimes.overtakes(register):
            self._staged.pop(name, None)

    def _add(self, name: str, register: Register, *, logged: bool = True) -> None:
        """Add to the register of a set source, and log the changes of its records."""
        old = self._sets.pop(name, Register())
        lives = record_changes.LivesInMemory(old)
        if logged:
            make = record_changes.as_changes(name)
            self.changes.append(record_changes.find(register, lives, make))
        new = lifetimes.merge(old, register, lives)
        self._collections.pop(name, None)
        if new.snapshots:
            self._sets[name] = new

    def stage(
        self, run: Run, name: str, listing: Listing, why: str, shown: Register = NOTHING
    ) -> None:
        """Put a listing aside until a decision, and add what it shows."""
        lifetimes.check_covered(run, name)
        self.fence(run)
        if name not in self._staged:
            self.changes.append([record_changes.staging_change(name, listing.at, why)])
        self._staged[name] = Staged(run.id, name, listing, why)
        if shown.snapshots:
            self._add(name, shown)

    def staged(self) -> list[Staged]:
        """Return the listings that wait for a decision, oldest first."""
        return sorted(self._staged.values(), key=lambda s: (s.run, s.source))

    def dismiss(self, run: int) -> int:
        """Drop the listings that a run put aside; return how many there were."""
        gone = [name for name, staged in self._staged.items() if staged.run == run]
        for name in gone:
            del self._staged[name]
        return len(gone)

    @cached_property
    def outbox(self) -> "Outbox":
        """Alerts, and messages that wait to be sent: tables in memory."""
        from halflife.stores.outbox import STATEMENTS, Outbox  # noqa: PLC0415  (rare)

        return Outbox(_tables(STATEMENTS))

    @cached_property
    def sinks(self) -> "SinkRows":
        """The progress of each sink: tables in memory."""
        from halflife.stores.sink_rows import STATEMENTS, SinkRows  # noqa: PLC0415  (rare)

        return SinkRows(_tables(STATEMENTS))

    def fleet(self) -> FleetState:
        """Return no workers: a store in memory is used by one process."""
        return FleetState()

    def size(self) -> int:
        """Return the size on disk: 0."""
        return 0

    @contextmanager
    def together(self) -> Iterator[None]:
        """Group several changes; a store in memory cannot undo them."""
        yield


def _tables(statements: Iterable[str]) -> Connection:
    """Return a database in memory with these tables."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    execute_all(statements, db)
    return Connection(db, Path(":memory:"))


def _each(batch: Observations) -> Iterator[_Row]:
    columns = (batch.keys, batch.at.tolist(), batch.seen.tolist(), batch.digest)
    return zip(*columns, strict=True)


def _latest(
    evidence: Evidence, keys: Sequence[str]
) -> Iterator[tuple[str, Observation]]:
    """Yield the last good observation of each of these items that is known."""
    rows = [(key, row) for key in keys if (row := evidence.row(key)) is not None]
    at = [row for _, row in rows]
    columns = (evidence.last_at[at], evidence.seen[at], evidence.digest[at])
    for (key, _), last, seen, digest in zip(
        rows, *(column.tolist() for column in columns), strict=True
    ):
        if seen >= 0:
            yield key, Observation(key, last, _SEEN[seen], digest)
