"""The parts of a store in memory: changes, versions, forecasts and others."""

import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from halflife.core.change import Change
from halflife.core.errors import UsageError
from halflife.core.evidence import Evidence
from halflife.core.history import History
from halflife.core.host import HostState
from halflife.core.observation import Content, Observation, Observations, Seen
from halflife.stores import change_search, page_changes, page_versions
from halflife.stores.change_search import ChangeFilter, ChangeSlice
from halflife.stores.forecasts import Checks, ForecastCheck, IssuedForecast, columns
from halflife.stores.held_pages import (
    HELD,
    LARGEST,
    HeldFetch,
    HeldPage,
    is_accepted,
)
from halflife.stores.ownership import SourceHoldings
from halflife.stores.page_changes import PageChanges
from halflife.stores.page_versions import PageVersion
from halflife.stores.run_history import FailedFetch, PastRun
from halflife.stores.runs import RunAccount

if TYPE_CHECKING:
    from halflife.stores.memory import MemoryStore
    from halflife.stores.parts import Holder


class MemoryChanges:
    """The log of changes as a list."""

    def __init__(self) -> None:
        self._log: list[Change] = []
        self._pages: list[tuple[PageChanges, Callable[[str], str]]] = []
        self._size = 0

    def append(self, changes: Iterable[Change]) -> None:
        """Append changes."""
        given = list(changes)
        if given:
            self._all().extend(
                Change(c.at, c.source, c.key, c.kind, c.fields, n)
                for n, c in enumerate(given, self._size + 1)
            )
            self._size += len(given)

    def append_pages(
        self, changes: PageChanges, source_of: Callable[[str], str]
    ) -> None:
        """Store changes as columns until they are read; replays never read them."""
        self._pages.append((changes, source_of))
        self._size += len(changes)

    def _all(self) -> list[Change]:
        """Return all changes, one by one."""
        waiting, self._pages = self._pages, []
        for pages, source_of in waiting:
            for change in pages.changes(source_of):
                self._log.append(replace(change, seq=len(self._log) + 1))
        return self._log

    def read(
        self, after: int = 0, most: int = 1000, sources: Sequence[str] = ()
    ) -> list[Change]:
        """Return the changes after a number, oldest first; of all sources if none."""
        later = (
            c
            for c in self._all()[max(after, 0) :]
            if not sources or c.source in sources
        )
        return list(islice(later, most))

    def older(self, wanted: ChangeFilter, before: int, most: int) -> ChangeSlice:
        """Return the newest matching changes before a number."""
        log = self._all()[: max(before - 1, 0)]
        return change_search.search(reversed(log), wanted, most)

    def newer(self, wanted: ChangeFilter, after: int, most: int) -> ChangeSlice:
        """Return the oldest matching changes after a number, newest first."""
        log = self._all()[max(after, 0) :]
        return change_search.search(log, wanted, most, upwards=True)

    def last(self) -> int:
        """Return the number of the newest change ever logged; 0 if there is none."""
        return self._size

    def removed(self) -> int:
        """Return 0: nothing is ever removed."""
        return 0

    def before(self, at: float) -> int:
        """Return the number after which all changes observed since then follow."""
        found = (c.seq - 1 for c in self._all() if c.at >= at)
        return next(found, self.last())


class MemoryVersions:
    """The bodies of pages, newest first."""

    def __init__(self) -> None:
        self.most = page_versions.MOST
        self._kept: dict[str, list[tuple[PageVersion, Content]]] = {}
        self._last = 0

    def save(self, new: Observation) -> None:
        """Store the body of an observation as the current one, and those before it."""
        if new.content is None:
            return
        kept = self._kept.setdefault(new.key, [])
        at = new.at
        if kept and kept[0][0].digest == new.digest:
            at = kept.pop(0)[0].at  # the text has not changed
        elif kept:
            self._last += 1
            kept[0] = replace(kept[0][0], number=self._last), kept[0][1]
        kind = new.content.media_type
        kept.insert(0, (PageVersion(at, new.digest, kind), new.content))
        del kept[self.most :]

    def put_back(self, new: Observation) -> None:
        """Restore an earlier body as the current one, and drop the one it replaces."""
        if new.content is None:
            return
        kept = self._kept.setdefault(new.key, [])
        del kept[:1]
        at = new.at
        if kept and kept[0][0].digest == new.digest:
            at = kept.pop(0)[0].at
        version = PageVersion(at, new.digest, new.content.media_type)
        kept.insert(0, (version, new.content))

    def current(self, key: str) -> Content | None:
        """Return the copy held of a page."""
        kept = self._kept.get(key)
        return kept[0][1] if kept else None

    def of(self, key: str) -> list[PageVersion]:
        """Return the stored versions of a page, newest first."""
        return [version for version, _ in self._kept.get(key, ())]

    def content(self, key: str, version: PageVersion) -> Content | None:
        """Return the body of a version; None if it is not stored any more."""
        kept = self._kept.get(key, ())
        return next((c for v, c in kept if v.number == version.number), None)


class MemoryForecasts:
    """Forecasts and checks as lists."""

    def __init__(self, store: "MemoryStore") -> None:
        self._store = store
        self._made: dict[int, IssuedForecast] = {}
        self._checks: list[tuple[str, ForecastCheck]] = []
        self._last = 0

    def issue(self, forecasts: Iterable[IssuedForecast]) -> None:
        """Store forecasts."""
        self.record(
            replace(f, told=None, found=None, looks=None, draw=None) for f in forecasts
        )

    def waiting(self, source: str) -> list[IssuedForecast]:
        """Return the forecasts that have no outcome yet, oldest first."""
        return [f for f in self.made(source, -math.inf) if f.told is None]

    def settled(self, source: str, since: float = 0.0) -> list[IssuedForecast]:
        """Return the forecasts with an outcome, in the order of the outcomes."""
        mine = self.made(source, -math.inf)
        settled = [f for f in mine if f.told is not None and f.told >= since]
        return sorted(settled, key=lambda f: (f.told, f.made, f.ahead))

    def settled_sources(self, since: float) -> set[str]:
        """Return the sources with an outcome since then."""
        settled = (f for f in self._made.values() if f.told is not None)
        return {f.source for f in settled if (f.told or 0.0) >= since}

    def made(self, source: str, since: float) -> list[IssuedForecast]:
        """Return all forecasts made since then, oldest first."""
        mine = [f for f in self._made.values() if f.source == source]
        return sorted(
            (f for f in mine if f.made >= since), key=lambda f: (f.made, f.ahead)
        )

    def settle(self, forecasts: Iterable[IssuedForecast]) -> None:
        """Store outcomes; an outcome that is known stays as it is."""
        for f in forecasts:
            kept = self._made.get(f.id)
            if kept is not None and kept.told is None:
                self._made[f.id] = replace(
                    kept, told=f.told, found=f.found, looks=f.looks, draw=f.draw
                )

    def record(self, forecasts: Iterable[IssuedForecast]) -> None:
        """Store forecasts derived from others, with their outcomes."""
        for f in forecasts:
            self._last += 1
            self._made[self._last] = replace(f, id=self._last)

    def drop(self, forecasts: Iterable[IssuedForecast]) -> None:
        """Remove forecasts that have no outcome."""
        for f in forecasts:
            kept = self._made.get(f.id)
            if kept is not None and kept.told is None:
                del self._made[f.id]

    def note(self, source: str, checks: Iterable[ForecastCheck]) -> None:
        """Store checks of a source."""
        known = (c for c in checks if self._store.source_of(c.key) is not None)
        self._checks += [(source, check) for check in known]

    def checks(self, source: str, since: float = 0.0) -> Checks:
        """Return the checks of a source since then."""
        mine = [c for name, c in self._checks if name == source and c.at >= since]
        mine.sort(key=lambda c: c.at)
        group = {item.key: item.group for item in self._store.items()}
        code = {name: i for i, name in enumerate(dict.fromkeys(group.values()))}
        return columns(
            (c.at, c.chance, c.weight, c.believed, c.fresh, code[group[c.key]])
            for c in mine
        )

    def audited(self, since: float, most: int) -> tuple[list[str], int]:
        """Return sources with forecasts or checks, and how many forecasts wait."""
        names = {f.source for f in self._made.values() if f.made >= since}
        names |= {name for name, check in self._checks if check.at >= since}
        waiting = sum(f.told is None for f in self._made.values())
        return sorted(names)[:most], waiting

    def still(self, keys: Sequence[str], then: float) -> list[bool | None]:
        """Return whether each copy held then equals what was last seen of its item."""
        history = self._store.history()
        place = {key: row for row, key in enumerate(history.keys)}
        return [_still(history, place.get(key), then) for key in keys]


def _still(history: History, row: int | None, then: float) -> bool | None:
    """Return whether an item's last good observation by then equals its last of all."""
    if row is None:
        return None
    begin, end = history.start[row : row + 2].tolist()
    before = begin + int(np.searchsorted(history.at[begin:end], then, "right"))
    if before == begin:
        return None
    same = history.seen[before - 1] == history.seen[end - 1]
    return bool(same and history.digest[before - 1] == history.digest[end - 1])


class MemoryHeldAnswers:
    """Held answers, by page."""

    def __init__(self, store: "MemoryStore") -> None:
        self._store = store
        self._kept: dict[str, tuple[HeldPage, Observation]] = {}

    def rows(self, sources: Iterable[str] = ()) -> list[HeldPage]:
        """Return the pages of sources, or of all, with held answers, oldest first."""
        names = set(sources)
        pages = [page for page, _ in self._kept.values()]
        chosen = [page for page in pages if not names or page.source in names]
        return sorted(chosen, key=lambda page: page.since)

    def row(self, key: str) -> HeldPage | None:
        """Return a page whose answer is held back; None if there is none."""
        found = self._kept.get(key)
        return found and found[0]

    def save(self, run: int, answer: HeldFetch, *, room: bool = True) -> None:
        """Hold an answer back, replacing an earlier one of the same page."""
        new = answer.observation
        item = self._store.item(new.key)
        if item is None:  # an unknown page will be fetched again
            return
        decision = (answer.state, answer.why)
        page = HeldPage(
            new.key, item.source, item.group, run, *decision, new.at, 1, answer.was,
            answer.shape, new.digest,
        )  # fmt: skip
        old = self.row(new.key)
        if old is not None:
            page = replace(page, run=old.run, was=old.was)
            if old.shape == page.shape:
                page = replace(page, since=old.since, seen=old.seen + 1)
        self._kept[new.key] = page, _as_stored(new, room=room)
        if page.state == HELD and (old is None or old.state != HELD):
            self._store.changes.append(page_changes.holds([(page, new.at)]))

    def set_state(self, pages: Iterable[HeldPage], state: str, why: str = "") -> None:
        """Set the state of held answers, and the reason unless it is empty."""
        for key in [page.key for page in pages if page.key in self._kept]:
            page, held = self._kept[key]
            now = replace(page, state=state, why=why or page.why)
            self._kept[key] = now, held
            if state == HELD and page.state != HELD:
                self._store.changes.append(page_changes.holds([(now, held.at)]))

    def observation(self, page: HeldPage) -> Observation | None:
        """Return a held answer as an observation; None if it is gone."""
        found = self._kept.get(page.key)
        return found and found[1]

    def host(self, key: str) -> str:
        """Return the host of a page; empty if the page is not known."""
        item = self._store.item(key)
        return "" if item is None else item.group

    def put_back(self, observation: Observation) -> None:
        """Restore a body as the copy of its page; the log stays as it is."""
        self._store.versions.put_back(observation)
        source = self._store.source_of(observation.key)
        if source is not None:
            (held,) = self._store.held([observation.key])
            old = "" if held is None else held.digest
            self._store.changes.append(page_changes.put_back(observation, old, source))

    def well_since(self, source: str, host: str, at: float) -> int:
        """Return how many pages of a host had a good observation since a moment."""
        evidence, rows = self._of_host(source, host)
        return int(np.count_nonzero(evidence.last_at[rows] >= at))

    def others(self, source: str, host: str) -> int:
        """Return how many pages of a host have a copy and no held answer."""
        evidence, rows = self._of_host(source, host)
        seen, fetches = evidence.seen[rows], evidence.looks[rows]
        return int(np.count_nonzero((fetches > 0) & (seen == Seen.PRESENT)))

    def clear_seen(self, batch: Observations) -> list[tuple[HeldPage, float]]:
        """Delete the held answers of pages that have a good observation.

        Return those that waited for a decision and are accepted now, with the times of
        the observations that confirm them.
        """
        if not self._kept:
            return []
        columns = batch.keys, batch.at.tolist(), batch.seen.tolist(), batch.digest
        accepted = []
        for key, at, seen, digest in zip(*columns, strict=True):
            if seen <= Seen.ABSENT and key in self._kept:
                page, _ = self._kept.pop(key)
                if is_accepted(page, seen, digest):
                    accepted.append((page, at))
        return accepted

    def _of_host(self, source: str, host: str) -> tuple[Evidence, list[int]]:
        """Return evidence on a source, and the rows of a host's pages not held back."""
        evidence = self._store.evidence([source])
        items = (i for i in self._store.items([source]) if i.group == host)
        rows = (evidence.row(i.key) for i in items if i.key not in self._kept)
        return evidence, [row for row in rows if row is not None]


def _as_stored(held: Observation, *, room: bool) -> Observation:
    """Return a held answer as it is stored; see ``HeldPages.observation``."""
    content = held.content
    if content is None:
        return replace(held, item=None, links=None)
    if not room or len(zlib.compress(content.body, 1)) > LARGEST:
        plain = held.digest, "", "", None, held.note
        return Observation(held.key, held.at, Seen.PRESENT, *plain)
    kind = content.media_type or "application/octet-stream"
    content = replace(content, media_type=kind)
    return replace(held, content=content, item=None, links=None)


class MemoryReports:
    """Reports on a store in memory."""

    def __init__(self, store: "MemoryStore") -> None:
        self._store = store

    def recent_runs(self, source: str, most: int) -> list[PastRun]:
        """Return the latest runs that covered a source, latest first."""
        runs = [run for run in self._store.past_runs.values() if source in run.sources]
        return runs[::-1][:most]

    def account(self, run: int) -> RunAccount:
        """Return what a run did; raise ``UsageError`` if the run is unknown.

        What it observed is not stored per run.
        """
        past = self._store.past_runs.get(run)
        if past is None:
            raise UsageError(f"nothing is known of run {run}")
        held = tuple((s.source, s.why) for s in self._store.staged() if s.run == run)
        about = past.id, past.state, past.sources, past.began, past.ended, past.requests
        return RunAccount(*about, pages=(), listed=(), troubles=(), held=held)

    def observations(
        self, items: Sequence[int], since: float
    ) -> list[tuple[int, float, bool]]:
        """Return nothing: items have no numbers here."""
        del items, since
        return []

    def failures(self, items: Sequence[int], since: float) -> list[FailedFetch]:
        """Return nothing: items have no numbers here."""
        del items, since
        return []

    def rejected(self, source: str, since: float) -> list[tuple[float, str]]:
        """Return when a set source gave no usable answer, and why."""
        if source not in self._store.collections():
            return []
        snapshots = self._store.register(source).snapshots
        return [(s.at, s.note) for s in snapshots if not s.valid and s.at >= since]

    def owners(self) -> list[SourceHoldings]:
        """Return every source that has data, by name."""
        names = {item.source for item in self._store.items()}
        return [self._owner(n) for n in sorted(names | {*self._store.collections()})]

    def _owner(self, name: str) -> SourceHoldings:
        evidence, objects = self._store.evidence([name]), 0
        if name in self._store.collections():
            spells = self._store.register(name).spells
            objects = sum(spell.gone_by == math.inf for spell in spells)
        fetched = int(np.count_nonzero(evidence.looks > 0))
        gone = int(np.count_nonzero(evidence.seen == Seen.ABSENT))
        return SourceHoldings(name, len(evidence), fetched, gone, objects, history=True)

    def foreign(self, claims: Iterable[tuple[str, str]]) -> list[tuple[str, str, str]]:
        """Return (key, owner, claimant) of items that another source owns."""
        found = ((key, self._store.source_of(key), wants) for key, wants in claims)
        return [(k, owner, w) for k, owner, w in found if owner and owner != w]

    def ahead_of(self, moment: float) -> Mapping[str, int]:
        """Return how many observations and charges are dated later, by table."""
        late = sum(int(np.count_nonzero(b.at > moment)) for b in self._store.log)
        charges = sum(at > moment for at in self._store.charged)
        return {"observation": late, "ledger": charges}

    def last_finished(self) -> float | None:
        """Return when the last finished run ended; None if none has."""
        done = (r.ended for r in self._store.past_runs.values() if r.state == "done")
        return max((at for at in done if at is not None), default=None)

    def holders(self) -> "list[Holder]":
        """Return nothing: no other process can hold a lease."""
        return []

    def failing_hosts(self, failures: int, closed_at: float) -> list[HostState]:
        """Return hosts with so many failures in a row, or closed at a moment."""
        failing = (h for h in self._store.hosts.values() if h.failures >= failures)
        closed = (h for h in self._store.hosts.values() if h.not_before > closed_at)
        found = {host.name: host for host in (*failing, *closed)}
        return [found[name] for name in sorted(found)]

    def hosts_without_robots(self) -> list[str]:
        """Return the hosts whose robots.txt could not be read."""
        hosts = self._store.hosts.values()
        return [h.name for h in hosts if h.robots_status == 0 or h.robots_status >= 500]

    def old_observations(self, before: float) -> int:
        """Return how many observations in the log are older."""
        return sum(int(np.count_nonzero(b.at < before)) for b in self._store.log)
