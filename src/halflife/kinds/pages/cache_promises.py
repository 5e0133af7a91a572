"""Promises of pages not to change for some time, and which hosts keep them.

Each fetch notes the promise made by ``Cache-Control``, ``Expires`` or a feed's ``ttl``.
A page of a host that keeps its promises (``models.promise_trust``) is not fetched again
before its promise expires: the request buys more elsewhere. One promise in ten is
ignored, to check whether promises still hold.
"""

from collections import defaultdict
from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from math import floor, inf
from typing import cast

import numpy as np

from halflife.belief import Belief, PartialBelief
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.observation import Observation, Seen
from halflife.core.view import View
from halflife.models.promise_trust import PromiseRecord
from halflife.net.access import Answer
from halflife.net.addresses import host_of
from halflife.readers.freshness_lifetime import TTL, Lifetime, freshness_lifetime
from halflife.stores import Store
from halflife.stores.notes.cache_promises import (
    CACHE_PROMISES,
    PROMISE_TRUST,
    Promise,
    Promises,
)

SHORTEST = 1.0 / 144.0  # days: no page is fetched twice within ten minutes anyway
LONGEST = 7.0  # most days for which a promise is trusted
CHECKED = 0.1  # share of promises that are ignored, to check whether they hold
MOST = 20_000  # promises stored of a source
MOST_HOSTS = 1000  # of a source; the latest are kept
SAVED = 1.0 / 144.0  # least days between two saves
PARTS = 64  # notes of a source: a turn writes only the changed ones


class PromiseMemory:
    """Promises of the pages of a source, and which hosts kept them.

    Args:
        store: Where the promises are stored.
        source: The source.
        longest: Most days for which a promise is trusted.
        level: The chance of being fresh below which promises are ignored.

    """

    def __init__(
        self,
        store: Store,
        source: str,
        longest: float = LONGEST,
        level: float = 0.0,
    ) -> None:
        self._store, self._source = store, source
        self.longest, self.level = min(longest, LONGEST), level
        self._trust = PROMISE_TRUST.load(store, source) or {}
        self._promises: Promises = {}
        for part in store.note_numbers(source, CACHE_PROMISES.name):
            self._promises.update(CACHE_PROMISES.load(store, source, part) or {})
        self._checks: dict[
            str, tuple[str, bool]
        ] = {}  # host, and whether it is checked
        self._changed: set[int] = set()
        self._proved = False
        self._seen_at = self._saved_at = -inf
        self.version = 0

    def record(self, key: str, kind: str) -> PromiseRecord:
        """Return how well the host of a page kept its promises."""
        return self._trust.get((host_of(key), kind), PromiseRecord())

    def learn(self, held: Observation | None, new: Observation, answer: Answer) -> None:
        """Record a page's new promise, and whether it kept its last one."""
        before, self._seen_at = self._promises.get(new.key), new.at
        if before is not None and held is not None and new.seen is Seen.PRESENT:
            self._prove(before, held, new)
        lifetime = self._lifetime(before, new, answer)
        if lifetime is None or lifetime.days < SHORTEST or new.seen is not Seen.PRESENT:
            after = None
        else:
            after = Promise(new.at, new.at + lifetime.days, lifetime.kind)
        if after is None and before is None:
            return
        if after is None:
            del self._promises[new.key]
        elif before is not None or len(self._promises) < MOST:
            self._promises[new.key] = after
        self._checks.pop(new.key, None)
        self._changed.add(_part(new.key))
        self.version += 1

    def _prove(self, before: Promise, held: Observation, new: Observation) -> None:
        days, place = new.at - before.since, (host_of(new.key), before.kind)
        if days <= 0:
            return
        self._trust[place] = self._trust.get(place, PromiseRecord()).after(
            new.at,
            days,
            changed=new.digest != held.digest,
            within=new.at <= before.until,
        )
        self._proved = True

    def _lifetime(
        self, before: Promise | None, new: Observation, answer: Answer
    ) -> Lifetime | None:
        """Return the promise of an answer; an unmodified feed repeats its last one."""
        if before is not None and before.kind == TTL and answer.status == 304:
            return Lifetime(before.until - before.since, TTL)
        return freshness_lifetime(answer.headers, answer.body, new.at)

    def trusted(self, now: float) -> dict[str, float]:
        """Return until when pages need not be fetched, by their keys."""
        until_by_key: dict[str, float] = {}
        believed = {p for p, promise in self._trust.items() if promise.is_believed(now)}
        if not believed:
            return until_by_key
        for key, promise in self._promises.items():
            until = min(promise.until, promise.since + self.longest)
            if until > now and self._is_trusted(key, promise, believed):
                until_by_key[key] = until
        return until_by_key

    def _is_trusted(
        self, key: str, promise: Promise, believed: AbstractSet[tuple[str, str]]
    ) -> bool:
        """Return whether a promise is believed and not one of those to check."""
        if key not in self._checks:  # drawn once for each promise
            self._checks[key] = (
                host_of(key),
                _lot(key, promise.since) < CHECKED,
            )
        host, checked = self._checks[key]
        return not checked and (host, promise.kind) in believed

    def save(self, *, force: bool = False) -> None:
        """Store the promises after a round of requests.

        At most every ten minutes unless forced: a crash loses only what the next
        fetches show again.
        """
        if not force and 0.0 <= self._seen_at - self._saved_at < SAVED:
            return
        self._saved_at = self._seen_at
        if self._changed or self._proved:
            with self._store.together():
                self._write()

    def _write(self) -> None:
        if self._changed:
            parts: dict[int, Promises] = defaultdict(dict)
            for key, promise in self._promises.items():
                if (part := _part(key)) in self._changed:
                    parts[part][key] = promise
            for part in self._changed:
                CACHE_PROMISES.save(self._store, parts[part], self._source, part)
            self._changed = set()
        if self._proved:
            latest = sorted(self._trust.items(), key=lambda pair: -pair[1].at)
            self._trust = dict(latest[:MOST_HOSTS])
            PROMISE_TRUST.save(self._store, self._trust, self._source)
            self._proved = False


def save_all(memories: Mapping[str, PromiseMemory]) -> None:
    """Store all promises at the end of a run."""
    for memory in memories.values():
        memory.save(force=True)


def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def _part(key: str) -> int:
    return _digest(key) % PARTS


def _lot(key: str, since: float) -> float:
    """Return a hash of the page's key and the time, between 0 and 1."""
    return _digest(f"{key} {since!r}") / 2.0**64


@dataclass(slots=True)
class PromiseBelief:
    """A belief in which pages with a trusted promise are not ready to be fetched.

    Attributes:
        belief: The belief about the items.
        memories: The promises of the pages of each source.
        is_on: Whether promises are used; not if all pages are to be fetched.

    """

    belief: Belief
    memories: Mapping[str, PromiseMemory]
    is_on: bool = True
    _cached_for: tuple[object, ...] = ()
    _until: Floats = field(default_factory=lambda: np.zeros(0))
    _level: Floats = field(default_factory=lambda: np.zeros(0))

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; fetches from ``since`` on belong to this turn."""
        view = self.belief(evidence, now, since)
        return self._without_promised(evidence, view, slice(None))

    def learn(self, evidence: Evidence, now: float) -> bool:
        """Learn from new evidence; return whether ``view_rows`` can view its rows."""
        return isinstance(self.belief, PartialBelief) and self.belief.learn(
            evidence, now
        )

    def view_rows(
        self, evidence: Evidence, rows: Ints, now: float, since: float
    ) -> View:
        """Return the view of the items at these rows, as learned last."""
        view = cast("PartialBelief", self.belief).view_rows(evidence, rows, now, since)
        return self._without_promised(evidence, view, rows)

    def _without_promised(
        self, evidence: Evidence, view: View, rows: Ints | slice
    ) -> View:
        if not self.is_on:
            return view
        self._update(evidence, view.now)
        early = self._until[rows] > view.now
        if not early.any():
            return view
        level = self._level[rows]
        if (early & (level > 0)).any():  # a target overrides promises
            early &= ~(view.survival.alive(view.exposure) < level)
        return replace(view, ready=view.ready & ~early)

    def _update(self, evidence: Evidence, now: float) -> None:
        versions = tuple(memory.version for memory in self.memories.values())
        hour = floor(now * 24.0)  # trust fades slowly
        cache_key = id(evidence), len(evidence), hour, versions
        if cache_key == self._cached_for:
            return
        self._cached_for = cache_key
        self._until = np.full(len(evidence), -inf)
        self._level = np.zeros(len(evidence))
        for memory in self.memories.values():
            for key, until in memory.trusted(now).items():
                row = evidence.row(key)
                if row is not None:
                    self._until[row], self._level[row] = until, memory.level
