"""Pages that say for how long they stay as they are, as far as that proved true.

What ``Cache-Control``, ``Expires`` or a feed's ``ttl`` promise is noted at each fetch.
A page whose host keeps such promises (``models.promise_trust``) is not fetched again
before its own is over: the request buys more elsewhere. One promise in ten is not
heeded, which shows whether they still hold.
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

SHORTEST = 1.0 / 144.0  # days: within ten minutes nothing is fetched twice anyhow
LONGEST = 7.0  # days that a page is left alone for, whatever it promises
CHECKED = 0.1  # of promises that are not heeded, to see whether they hold
MOST = 20_000  # promises of a source that are remembered
MOST_HOSTS = 1000  # of a source; those seen last are kept
SAVED = 1.0 / 144.0  # days between two moments at which it is written down
PARTS = 64  # notes of a source: a turn writes those that it changed


class PromiseMemory:
    """What the pages of a source promised, and which hosts kept their word.

    Args:
        store: Where it is kept.
        source: The source.
        longest: Days that a page is left alone for, at most.
        level: The chance of being fresh below which no promise is heeded.

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
        self._known: Promises = {}
        for part in store.note_numbers(source, CACHE_PROMISES.name):
            self._known.update(CACHE_PROMISES.load(store, source, part) or {})
        self._drawn: dict[str, tuple[str, bool]] = {}  # host, and whether it is checked
        self._changed: set[int] = set()
        self._proved = False
        self._seen_at = self._saved_at = -inf
        self.version = 0

    def record(self, key: str, kind: str) -> PromiseRecord:
        """Return what was seen of a page's host."""
        return self._trust.get((host_of(key), kind), PromiseRecord())

    def learn(
        self, held: Observation | None, look: Observation, answer: Answer
    ) -> None:
        """Take in what a page promises now, and whether it kept its last promise."""
        before, self._seen_at = self._known.get(look.key), look.at
        if before is not None and held is not None and look.seen is Seen.PRESENT:
            self._prove(before, held, look)
        said = self._lifetime(before, look, answer)
        if said is None or said.days < SHORTEST or look.seen is not Seen.PRESENT:
            after = None
        else:
            after = Promise(look.at, look.at + said.days, said.kind)
        if after is None and before is None:
            return
        if after is None:
            del self._known[look.key]
        elif before is not None or len(self._known) < MOST:
            self._known[look.key] = after
        self._drawn.pop(look.key, None)
        self._changed.add(_part(look.key))
        self.version += 1

    def _prove(self, before: Promise, held: Observation, look: Observation) -> None:
        days, place = look.at - before.since, (host_of(look.key), before.kind)
        if days <= 0:
            return
        self._trust[place] = self._trust.get(place, PromiseRecord()).after(
            look.at,
            days,
            changed=look.digest != held.digest,
            within=look.at <= before.until,
        )
        self._proved = True

    def _lifetime(
        self, before: Promise | None, look: Observation, answer: Answer
    ) -> Lifetime | None:
        """Return what an answer says; a feed that did not come says what it did."""
        if before is not None and before.kind == TTL and answer.status == 304:
            return Lifetime(before.until - before.since, TTL)
        return freshness_lifetime(answer.headers, answer.body, look.at)

    def heeded(self, now: float) -> dict[str, float]:
        """Return until when pages are left alone."""
        found: dict[str, float] = {}
        believed = {p for p, one in self._trust.items() if one.is_believed(now)}
        if not believed:
            return found
        for key, one in self._known.items():
            until = min(one.until, one.since + self.longest)
            if until > now and self._is_heeded(key, one, believed):
                found[key] = until
        return found

    def _is_heeded(
        self, key: str, one: Promise, believed: AbstractSet[tuple[str, str]]
    ) -> bool:
        """Say whether a promise is believed, and not to be checked."""
        if key not in self._drawn:  # once for each promise: there are many
            self._drawn[key] = host_of(key), _lot(key, one.since) < CHECKED
        host, checked = self._drawn[key]
        return not checked and (host, one.kind) in believed

    def save(self, *, now_or_never: bool = False) -> None:
        """Write down what was learned; a round of requests is over.

        Not more often than every ten minutes: what a crash loses is learned anew.
        """
        if not now_or_never and 0.0 <= self._seen_at - self._saved_at < SAVED:
            return
        self._saved_at = self._seen_at
        if self._changed or self._proved:
            with self._store.together():
                self._write()

    def _write(self) -> None:
        if self._changed:
            parts: dict[int, Promises] = defaultdict(dict)
            for key, one in self._known.items():
                if (part := _part(key)) in self._changed:
                    parts[part][key] = one
            for part in self._changed:
                CACHE_PROMISES.save(self._store, parts[part], self._source, part)
            self._changed = set()
        if self._proved:
            latest = sorted(self._trust.items(), key=lambda one: -one[1].at)
            self._trust = dict(latest[:MOST_HOSTS])
            PROMISE_TRUST.save(self._store, self._trust, self._source)
            self._proved = False


def save_all(memories: Mapping[str, PromiseMemory]) -> None:
    """Write down all that was learned: no more will be fetched."""
    for memory in memories.values():
        memory.save(now_or_never=True)


def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def _part(key: str) -> int:
    return _digest(key) % PARTS


def _lot(key: str, since: float) -> float:
    """Return a number between 0 and 1, chosen by the page's name and the time."""
    return _digest(f"{key} {since!r}") / 2.0**64


@dataclass(slots=True)
class Promised:
    """A belief in which pages that promised to stay as they are need not be fetched.

    Attributes:
        belief: What is believed of the items.
        memories: What the pages of each source promised.
        is_on: Whether promises are heeded; not if all pages are wanted.

    """

    belief: Belief
    memories: Mapping[str, PromiseMemory]
    is_on: bool = True
    _known: tuple[object, ...] = ()
    _until: Floats = field(default_factory=lambda: np.zeros(0))
    _level: Floats = field(default_factory=lambda: np.zeros(0))

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        view = self.belief(evidence, now, since)
        return self._promised(evidence, view, slice(None))

    def learn(self, evidence: Evidence, now: float) -> bool:
        """Take in what is new; return whether ``view_rows`` can view this evidence."""
        return isinstance(self.belief, PartialBelief) and self.belief.learn(
            evidence, now
        )

    def view_rows(
        self, evidence: Evidence, rows: Ints, now: float, since: float
    ) -> View:
        """Return what we believe of the items at these rows, as learned last."""
        view = cast("PartialBelief", self.belief).view_rows(evidence, rows, now, since)
        return self._promised(evidence, view, rows)

    def _promised(self, evidence: Evidence, view: View, rows: Ints | slice) -> View:
        if not self.is_on:
            return view
        self._look_up(evidence, view.now)
        early = self._until[rows] > view.now
        if not early.any():
            return view
        level = self._level[rows]
        if (early & (level > 0)).any():  # no promise is worth more than a target
            early &= ~(view.survival.alive(view.exposure) < level)
        return replace(view, ready=view.ready & ~early)

    def _look_up(self, evidence: Evidence, now: float) -> None:
        versions = tuple(one.version for one in self.memories.values())
        hour = floor(now * 24.0)  # trust fades slowly
        known = id(evidence), len(evidence), hour, versions
        if known == self._known:
            return
        self._known = known
        self._until = np.full(len(evidence), -inf)
        self._level = np.zeros(len(evidence))
        for memory in self.memories.values():
            for key, until in memory.heeded(now).items():
                row = evidence.row(key)
                if row is not None:
                    self._until[row], self._level[row] = until, memory.level
