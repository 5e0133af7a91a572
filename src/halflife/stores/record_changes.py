"""The changes that a new listing of a set source makes to its records.

A record is held from the first listing that has it until its lifetime has ended. All
fields of a record that is new or has returned are reported, so that a reader of the
whole log needs nothing else.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, starmap
from operator import itemgetter
from typing import Any, Protocol, TypeAlias, TypeVar

from halflife.core.change import Change, ChangeKind, NewFields, plain
from halflife.core.object_store import NEVER, Attributes, Register, Spell
from halflife.stores.database import Database

WHOLE = ""  # the key of a change that concerns a source as a whole
T = TypeVar("T")
Fields: TypeAlias = Mapping[str, tuple[Any, Any]]
Found: TypeAlias = tuple[float, str, ChangeKind, Fields]  # when, key, kind, fields
Make: TypeAlias = Callable[[float, str, ChangeKind, Fields], T]
_NOTHING: Fields = {}

_LIFE = """
SELECT id, gone_by IS NOT NULL, attributes FROM life
WHERE source = ? AND key = ? AND spell = ?
"""
_MINE = """
SELECT id FROM source
WHERE name = ? AND EXISTS (SELECT 1 FROM life WHERE life.source = source.id)
"""
_VERSION = """
SELECT seen_from, attributes FROM version
WHERE life = ? AND attributes IS NOT NULL ORDER BY seen_from DESC LIMIT 1
"""
_SEEN = "SELECT 1 FROM version WHERE life = ? AND seen_from = ?"


class KnownLives(Protocol):
    """The lifetimes known before the news."""

    def has_ended(self, key: str, spell: int) -> bool | None:
        """Return whether a lifetime has ended; None if it is not known."""
        ...

    def has_version(self, key: str, spell: int, seen_from: float) -> bool:
        """Return whether a version of a lifetime is known."""
        ...

    def attributes(self, key: str, spell: int) -> Attributes | None:
        """Return the last attributes of a lifetime; None if it is not known."""
        ...


class LifeRows:
    """Lifetimes in a database."""

    def __init__(self, db: Database, source: str) -> None:
        self._db, self._life = db, ("", -1)
        self._found: Sequence[Any] | None = None
        found = db.execute(_MINE, (source,)).fetchone()
        self._source = None if found is None else found[0]  # None: no lifetimes yet

    def has_ended(self, key: str, spell: int) -> bool | None:
        """Return whether a lifetime has ended; None if it is not known."""
        row = self._row(key, spell)
        return None if row is None else bool(row[1])

    def has_version(self, key: str, spell: int, seen_from: float) -> bool:
        """Return whether a version of a lifetime is known."""
        row = self._row(key, spell)
        return row is not None and self._db.execute(
            _SEEN, (row[0], seen_from)
        ).fetchone() is not None  # fmt: skip

    def attributes(self, key: str, spell: int) -> Attributes | None:
        """Return the last attributes of a lifetime; None if it is not known."""
        row = self._row(key, spell)
        if row is None:
            return None
        latest = self._db.execute(_VERSION, (row[0],)).fetchone()
        found: Attributes = json.loads(latest[1] if latest else row[2])
        return found

    def _row(self, key: str, spell: int) -> Sequence[Any] | None:
        if self._source is None:
            return None
        if (key, spell) != self._life:  # a version needs the row twice
            parameters = (self._source, key, spell)
            self._life, self._found = (key, spell), None
            self._found = self._db.execute(_LIFE, parameters).fetchone()
        return self._found


class LivesInMemory:
    """Lifetimes and versions of a register, by key and spell."""

    def __init__(self, register: Register) -> None:
        self.spells = {(s.key, s.spell): s for s in register.spells}
        self.versions = {(v.key, v.spell, v.seen_from): v for v in register.versions}
        self._latest: dict[tuple[str, int], Attributes] | None = None

    def has_ended(self, key: str, spell: int) -> bool | None:
        """Return whether a lifetime has ended; None if it is not known."""
        found = self.spells.get((key, spell))
        return None if found is None else found.gone_by < NEVER

    def has_version(self, key: str, spell: int, seen_from: float) -> bool:
        """Return whether a version of a lifetime is known."""
        return (key, spell, seen_from) in self.versions

    def attributes(self, key: str, spell: int) -> Attributes | None:
        """Return the last attributes of a lifetime; None if it is not known."""
        if self._latest is None:  # the versions of a lifetime are in order
            stated = (v for v in self.versions.values() if v.attributes is not None)
            self._latest = {(v.key, v.spell): v.attributes or {} for v in stated}
        if (key, spell) in self._latest:
            return self._latest[key, spell]
        first = self.spells.get((key, spell))
        return None if first is None else first.attributes


def as_changes(source: str) -> Make[Change]:
    """Return a function that makes changes of a source."""
    return lambda at, key, kind, fields: Change(at, source, key, kind, fields)


def find(news: Register, before: KnownLives, make: Make[T]) -> Iterator[T]:
    """Yield the changes that news makes, in the order of observation.

    They are made one by one: a new listing has as many as it has records.
    """
    times = [s.at for s in news.snapshots if s.valid]
    found: Iterator[Found] = chain(
        _of_lives(news, before, times), _of_versions(news, before)
    )
    if len(times) > 1:  # the changes of a single observation are in order
        found = iter(sorted(found, key=itemgetter(0)))
    return starmap(make, found)


def _of_lives(
    news: Register, before: KnownLives, times: Sequence[float]
) -> Iterator[Found]:
    began = times[0] if times else -NEVER
    for spell in news.spells:
        # An unknown lifetime was first seen by one of these observations.
        if spell.first_seen < began and spell.gone_by == NEVER:
            continue
        had_ended = before.has_ended(spell.key, spell.spell)
        if had_ended is None:
            kind: ChangeKind = "returned" if spell.spell else "new"
            yield spell.first_seen, spell.key, kind, NewFields(spell.attributes)
        if spell.gone_by < NEVER and not had_ended:
            yield _confirmed(spell, times), spell.key, "gone", _NOTHING


def _confirmed(spell: Spell, times: Sequence[float]) -> float:
    """Return the time of the observation that confirmed the end of a lifetime."""
    later = bisect_right(times, spell.gone_by)
    return times[later] if later < len(times) else spell.gone_by


def _of_versions(news: Register, before: KnownLives) -> Iterator[Found]:
    if not news.versions:
        return
    now: dict[tuple[str, int], Attributes] = {}
    fresh: dict[tuple[str, int], Attributes] = {}
    for version in news.versions:
        life = version.key, version.spell
        if before.has_version(*life, version.seen_from):
            continue
        old = now.get(life)
        if old is None:
            old = before.attributes(*life)
        if old is None:  # its lifetime is new as well
            fresh = fresh or {(s.key, s.spell): s.attributes for s in news.spells}
            old = fresh.get(life, {})
        if version.attributes is None:  # only the time is known
            yield version.seen_from, version.key, "changed", _NOTHING
            continue
        now[life] = version.attributes
        fields = field_changes(old, version.attributes)
        if fields:
            yield version.seen_from, version.key, "changed", fields


def replacement_changes(
    source: str, old: Register, new: Register, at: float
) -> list[Change]:
    """Return the changes from the records held to a history that replaces them.

    Changes within that history are not reported: they are long past.
    """
    held, taken = current(old), current(new)
    known = {spell.key for spell in old.spells}
    found = [Change(at, source, key, "gone") for key in held if key not in taken]
    for key, attributes in taken.items():
        if key not in held:
            kind: ChangeKind = "returned" if key in known else "new"
            found.append(Change(at, source, key, kind, NewFields(attributes)))
        elif fields := field_changes(held[key], attributes):
            found.append(Change(at, source, key, "changed", fields))
    return found


def current(register: Register) -> dict[str, Attributes]:
    """Return the last attributes of the records whose lifetimes have not ended."""
    held = {
        (s.key, s.spell): s.attributes for s in register.spells if s.gone_by == NEVER
    }
    for version in register.versions:
        life = version.key, version.spell
        if version.attributes is not None and life in held:
            held[life] = version.attributes
    return {key: attributes for (key, _), attributes in held.items()}


def staging_change(source: str, at: float, why: str) -> Change:
    """Return the change by which an answer of a source waits for a decision."""
    return Change(at, source, WHOLE, "held", {"why": (None, why)})


def acceptance_changes(
    source: str, news: Register, waiting: float | None
) -> list[Change]:
    """Return the change that accepts the answer staged at a moment, if news has it."""
    accepted = waiting is not None and any(
        s.valid and s.at == waiting for s in news.snapshots
    )
    return [Change(waiting or 0.0, source, WHOLE, "accepted")] if accepted else []


def field_changes(old: Attributes, new: Attributes) -> dict[str, tuple[Any, Any]]:
    """Return the fields of a record that differ, with their old and new values."""
    names = [n for n in {**old, **new} if old.get(n) != new.get(n)]
    pairs = {name: (plain(old.get(name)), plain(new.get(name))) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
