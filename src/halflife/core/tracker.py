"""Lives from looks: what listings, one after the other, say of a set's objects.

A listing that is complete says of every object it lacks that it is missing. Once
is not enough: pagers slip and servers stumble, so a life ends when a second
complete listing, some time later, lacks the object as well; it then ended by the
first. A listing that is not complete shows what is there and says nothing of the
rest, but for the objects that it says are absent. When nearly all objects of one
group (a company, a dealer) are missing at once while the others stay, the group was
not seen: its objects are neither there nor gone until it returns.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from halflife.core.errors import UsageError
from halflife.core.object_store import (
    NEVER,
    Attributes,
    Listing,
    Register,
    Snapshot,
    Spell,
    Version,
)

OUTAGE_SHARE = 0.9  # of a group's objects missing at once
_TIGHT = 1e-9  # 1 - 0.9 is a little less than a tenth
OUTAGE_LEAST = 10  # objects that a group must have for that to mean anything


@dataclass(frozen=True, slots=True)
class TrackedChange:
    """What a listing changed in what is known, counted in objects.

    Attributes:
        arrived: Objects that came, or came back after they had gone.
        updated: Objects that have a new version.
        missing: Objects that are missing for the first time.
        gone: Objects now known to have gone.
        flapped: Objects that were missing once and are back.
        unobserved: Groups that this listing did not see.

    """

    arrived: int = 0
    updated: int = 0
    missing: int = 0
    gone: int = 0
    flapped: int = 0
    unobserved: tuple[str, ...] = ()


class Tracker:
    """Folds listings into lives, one after the other.

    Args:
        register: What is known so far.
        group: The attribute whose values may be out as a whole; none if empty.
        confirm: Days that must lie between the first look that lacks an object
            and the one that confirms it has gone.

    >>> tracker = Tracker()
    >>> for at, keys in enumerate(["ab", "ab", "a", "a"]):
    ...     change = tracker.take(Listing(at, {key: {} for key in keys}))
    >>> change.gone, tracker.register().collection("x").lives.gone_by.tolist()
    (1, [inf, 2.0])

    """

    def __init__(
        self,
        register: Register | None = None,
        *,
        group: str = "",
        confirm: float = 0.0,
    ) -> None:
        known = register or Register()
        self.group = group
        self.confirm = confirm
        self.flaps = 0
        self._snapshots = list(known.snapshots)
        self._looks = [s.at for s in known.snapshots if s.valid and s.complete]
        self._spells = list(known.spells)
        self._versions = list(known.versions)
        self._unobserved = dict(known.unobserved)
        self._lives = Counter(spell.key for spell in self._spells)
        self._gone = {s.key: s.gone_by for s in self._spells if s.gone_by < NEVER}
        self._running = {s.key: s for s in self._spells if s.gone_by == NEVER}
        self._current = _current(self._spells, self._versions)
        self._saved = len(self._snapshots), len(self._versions)
        self._touched: dict[tuple[str, int], Spell] = {}

    @property
    def last(self) -> float:
        """The last look that counts, complete or not; ``-inf`` if there was none."""
        return next((s.at for s in reversed(self._snapshots) if s.valid), -NEVER)

    @property
    def held(self) -> dict[str, Attributes]:
        """The objects that are there as far as we know, as last seen."""
        return {
            key: self._current[key]
            for key, spell in self._running.items()
            if spell.missing_since == NEVER
        }

    def register(self) -> Register:
        """Return all that is known."""
        return Register(self._snapshots, self._spells, self._versions, self._unobserved)

    def news(self) -> Register:
        """Return what is new since the last call, or since the beginning."""
        snapshots, versions = self._saved
        new = Register(
            self._snapshots[snapshots:],
            list(self._touched.values()),
            self._versions[versions:],
            dict(self._unobserved),
        )
        self._saved = len(self._snapshots), len(self._versions)
        self._touched = {}
        return new

    def reject(self, at: float, why: str, n: int = 0) -> None:
        """Take note of a snapshot that is broken, and so not a look."""
        self._snapshots.append(Snapshot(at, n, valid=False, complete=False, note=why))

    def take(self, listing: Listing) -> TrackedChange:
        """Fold in a listing; they must come in the order in which they were made."""
        at, records = listing.at, listing.records
        self._in_order(at)
        before = self.flaps, len(self._versions), len(self._spells)
        out = self.outages(listing)
        for key, attributes in records.items():
            self._see(key, attributes, at)
        missing, gone = self._miss(listing, out)
        if listing.complete:
            latest = self._looks[-1] if self._looks else -NEVER
            known = self._unobserved
            self._unobserved = {value: known.get(value, latest) for value in out}
            self._looks.append(at)
        n, note = len(records), listing.note
        self._snapshots.append(
            Snapshot(at, n, missing, complete=listing.complete, note=note)
        )
        return TrackedChange(
            arrived=len(self._spells) - before[2],
            updated=len(self._versions) - before[1],
            missing=missing,
            gone=gone,
            flapped=self.flaps - before[0],
            unobserved=tuple(out),
        )

    def outages(self, listing: Listing) -> tuple[str, ...]:
        """Return the groups that a complete listing did not see.

        At least 90 % of a group's objects, and 10, are missing, no more than the
        rest of it are listed, and of the objects outside at least half are there.
        """
        if not self.group or not listing.complete:
            return ()
        held = {key: self._group_of(record) for key, record in self.held.items()}
        size = Counter(held.values())
        there = Counter(value for key, value in held.items() if key in listing.records)
        listed = Counter(map(self._group_of, listing.records.values()))
        out = [
            value
            for value, n in size.items()
            if value
            and n >= OUTAGE_LEAST
            and max(there[value], listed[value]) <= (1.0 - OUTAGE_SHARE) * n + _TIGHT
        ]
        others = len(held) - sum(size[value] for value in out)
        stayed = there.total() - sum(there[value] for value in out)
        return tuple(out) if others and stayed >= others / 2 else ()

    def losses(self, listing: Listing) -> tuple[int, int, float]:
        """Return how many objects are held, how many of them it lacks, and the gap.

        Groups that it did not see are left out of the count, and so are objects of
        which a listing that is not complete says nothing; the gap is the time since
        the last complete look, in days.
        """
        out = set(self.outages(listing))
        held = [k for k, r in self.held.items() if self._group_of(r) not in out]
        if not listing.complete:
            told = listing.absent | listing.records.keys()
            held = [key for key in held if key in told]
        gone = sum(key not in listing.records for key in held)
        gap = listing.at - self._looks[-1] if self._looks else 0.0
        return len(held), gone, gap

    def accept(self, group: str) -> int:
        """Believe that a group that is not seen has gone; return its objects.

        They end with the next complete listing that lacks them.
        """
        if group not in self._unobserved:
            raise UsageError(f"the group {group!r} is not missing")
        place = bisect_right(self._looks, self._unobserved.pop(group))
        since, found = self._looks[place], 0
        for spell in self._running.values():
            if self._group_of(self._current[spell.key]) == group:
                lacked = spell.last_seen < since and spell.missing_since == NEVER
                if lacked:
                    spell.missing_since = since
                    self._touch(spell)
                    found += 1
        return found

    def _in_order(self, at: float) -> None:
        if not at > self.last:
            raise UsageError(
                f"a look at day {at:g} comes after one at day {self.last:g}; looks must"
                " be taken in the order in which they were made"
            )

    def _group_of(self, record: Attributes) -> str:
        value = record.get(self.group)
        return "" if value is None else str(value)

    def _see(self, key: str, attributes: Attributes, at: float) -> None:
        spell = self._running.get(key)
        if spell is None:
            spell = self._begin(key, attributes, at)
        elif self._current[key] != attributes:
            self._versions.append(Version(key, spell.spell, at, attributes))
        if spell.missing_since != NEVER:
            spell.missing_since = NEVER
            self.flaps += 1
        spell.last_seen = at
        self._current[key] = attributes
        self._touch(spell)

    def _begin(self, key: str, attributes: Attributes, at: float) -> Spell:
        latest = self._looks[-1] if self._looks else -NEVER
        before = self._unobserved.get(self._group_of(attributes), latest)
        before = max(before, self._gone.get(key, before))  # a look that lacked it
        spell = Spell(key, self._lives[key], before, at, at, attributes=attributes)
        self._spells.append(spell)
        self._lives[key] += 1
        self._running[key] = spell
        return spell

    def _miss(self, listing: Listing, out: Iterable[str]) -> tuple[int, int]:
        """Strike what a listing says is absent; return first and second strikes."""
        first, second, hidden = 0, 0, set(out)
        told = self._running if listing.complete else listing.absent
        lacked = set(told) - listing.records.keys()
        for key in [k for k in self._running if k in lacked]:
            spell = self._running[key]
            if self._group_of(self._current[key]) in hidden:
                continue
            if spell.missing_since == NEVER:
                spell.missing_since = listing.at
                first += 1
            elif listing.at - spell.missing_since >= self.confirm:
                spell.gone_by, spell.missing_since = spell.missing_since, NEVER
                self._gone[key] = spell.gone_by
                del self._running[key]
                second += 1
            self._touch(spell)
        return first, second

    def _touch(self, spell: Spell) -> None:
        self._touched[spell.key, spell.spell] = spell


def _current(
    spells: Iterable[Spell], versions: Iterable[Version]
) -> dict[str, Attributes]:
    """Return each object's attributes as last seen."""
    found: dict[tuple[str, int], Attributes] = {}
    for spell in spells:
        found[spell.key, spell.spell] = spell.attributes
    for version in versions:
        if version.attributes is not None:
            found[version.key, version.spell] = version.attributes
    latest = sorted(found, key=lambda place: place[1])
    return {key: found[key, spell] for key, spell in latest}
