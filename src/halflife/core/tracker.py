"""Lifetimes from listings: what successive listings show of a set's objects.

An object that a complete listing lacks is missing. Once is not enough: pages shift and
servers fail, so a spell ends when a second complete listing, some time later, lacks the
object as well; the spell then ended by the first. An incomplete listing shows only the
objects in it and those it lists as absent. When nearly all objects of one group
(a company, a dealer) are missing at once while the others stay, the group was not
observed: its objects are neither present nor gone until it returns.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from halflife.core.errors import UsageError
from halflife.core.object_store import (
    NEVER,
    NOT_CREDIBLE,
    Attributes,
    Listing,
    Register,
    Snapshot,
    Spell,
    Version,
)

OUTAGE_SHARE = 0.9  # of a group's objects missing at once
_TIGHT = 1e-9  # 1 - 0.9 is a little less than a tenth
OUTAGE_LEAST = 10  # objects of the smallest group that can have an outage


@dataclass(frozen=True, slots=True)
class TrackedChange:
    """The changes by one listing, counted in objects.

    Attributes:
        arrived: Objects that are new, or returned after they had gone.
        updated: Objects that have a new version.
        missing: Objects that are missing for the first time.
        gone: Objects now known to have gone.
        flapped: Objects that were missing once and returned.
        unobserved: Groups that this listing did not show.

    """

    arrived: int = 0
    updated: int = 0
    missing: int = 0
    gone: int = 0
    flapped: int = 0
    unobserved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownObjects:
    """The objects that an answer shows, compared with the copy.

    Attributes:
        listed: All of them.
        known: Those of the copy.
        changed: Those of the copy that differ from it.
        former: Those that are as they were before: they had gone and are back, or
            have the attributes of an earlier version.

    """

    listed: int
    known: int
    changed: int
    former: int = 0


class Tracker:
    """Folds listings into lifetimes, one after the other.

    Args:
        register: The history so far.
        group: The attribute whose values are groups that may be missing as a whole;
            none if empty.
        confirm: The least days between the first listing that lacks an object and the
            one that confirms it has gone.

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
        history = register or Register()
        self.group = group
        self.confirm = confirm
        self.flaps = 0
        self._snapshots = list(history.snapshots)
        self._looks = [s.at for s in history.snapshots if s.valid and s.complete]
        self._spells = list(history.spells)
        self._versions = list(history.versions)
        self._unobserved = dict(history.unobserved)
        self._lives = Counter(spell.key for spell in self._spells)
        self._gone = {s.key: s.gone_by for s in self._spells if s.gone_by < NEVER}
        self._running = {s.key: s for s in self._spells if s.gone_by == NEVER}
        self._current = _current(self._spells, self._versions)
        self._saved = len(self._snapshots), len(self._versions)
        self._touched: dict[tuple[str, int], Spell] = {}

    @property
    def last(self) -> float:
        """The last valid listing, complete or not; ``-inf`` if there was none."""
        return next((s.at for s in reversed(self._snapshots) if s.valid), -NEVER)

    @property
    def took_shown(self) -> bool:
        """Whether ``take_shown`` added objects since the last complete listing."""
        for snapshot in reversed(self._snapshots):
            if snapshot.valid and snapshot.complete:
                return False
            if snapshot.note == NOT_CREDIBLE:
                return True
        return False

    @property
    def held(self) -> dict[str, Attributes]:
        """The objects believed to be present, as last seen."""
        return {
            key: self._current[key]
            for key, spell in self._running.items()
            if spell.missing_since == NEVER
        }

    def held_before(self, at: float) -> set[str]:
        """Return the objects believed to be present that were first seen before."""
        return {key for key in self.held if self._running[key].first_seen < at}

    def register(self) -> Register:
        """Return the whole history."""
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
        """Record a snapshot that is broken, and so not an observation."""
        self._snapshots.append(Snapshot(at, n, valid=False, complete=False, note=why))

    def take_shown(self, listing: Listing) -> TrackedChange:
        """Fold in the objects of a listing, and conclude nothing from what it lacks."""
        part = replace(listing, complete=False, absent=frozenset(), note=NOT_CREDIBLE)
        return self.take(part)

    def take_accepted(self, listing: Listing) -> TrackedChange:
        """Fold in a listing of which ``take_shown`` may have taken the objects."""
        last = next(
            (i for i, s in enumerate(self._snapshots) if s.at == listing.at), -1
        )
        if last >= 0 and listing.at == self.last:
            del self._snapshots[last]  # it was only a part of this one
            snapshots, versions = self._saved
            self._saved = min(snapshots, last), versions
        return self.take(listing)

    def take(self, listing: Listing) -> TrackedChange:
        """Fold in a listing; listings must be added in the order of their times."""
        at, records = listing.at, listing.records
        self._check_order(at)
        before = self.flaps, len(self._versions), len(self._spells)
        out = self.outages(listing)
        for key, attributes in records.items():
            self._mark_present(key, attributes, at)
        latest = self._looks[-1] if self._looks else -NEVER
        lacked, gone = self._mark_missing(listing, out)
        # The guard learns from losses of what a complete listing showed.
        every = not self.took_shown
        old = [s for s in lacked if every or s.first_seen <= latest]
        if listing.complete:
            unobserved = self._unobserved
            self._unobserved = {value: unobserved.get(value, latest) for value in out}
            self._looks.append(at)
        n, note = len(records), listing.note
        self._snapshots.append(
            Snapshot(at, n, len(old), complete=listing.complete, note=note)
        )
        return TrackedChange(
            arrived=len(self._spells) - before[2],
            updated=len(self._versions) - before[1],
            missing=len(lacked),
            gone=gone,
            flapped=self.flaps - before[0],
            unobserved=tuple(out),
        )

    def outages(self, listing: Listing) -> tuple[str, ...]:
        """Return the groups that a complete listing did not show.

        At least 90 % of a group's objects, and 10, are missing, no more than the rest
        of it are listed, and at least half of the other objects are present.
        """
        if not self.group or not listing.complete:
            return ()
        held = {key: self._group_of(record) for key, record in self.held.items()}
        size = Counter(held.values())
        present = Counter(
            value for key, value in held.items() if key in listing.records
        )
        listed = Counter(map(self._group_of, listing.records.values()))
        out = [
            value
            for value, n in size.items()
            if value
            and n >= OUTAGE_LEAST
            and max(present[value], listed[value]) <= (1.0 - OUTAGE_SHARE) * n + _TIGHT
        ]
        others = len(held) - sum(size[value] for value in out)
        stayed = present.total() - sum(present[value] for value in out)
        return tuple(out) if others and stayed >= others / 2 else ()

    def losses(self, listing: Listing, *, old: bool = False) -> tuple[int, int, float]:
        """Return how many objects are held, how many of them are missing, and the gap.

        Groups that it did not show are left out of the count, and so are objects about
        which an incomplete listing says nothing; the gap is the time since the last
        complete listing, in days. With ``old``, objects first seen since then are left
        out too.
        """
        out = set(self.outages(listing))
        held = [k for k, r in self.held.items() if self._group_of(r) not in out]
        if not listing.complete:
            covered = listing.absent | listing.records.keys()
            held = [key for key in held if key in covered]
        if old and self._looks:
            held = [k for k in held if self._running[k].first_seen <= self._looks[-1]]
        gone = sum(key not in listing.records for key in held)
        gap = listing.at - self._looks[-1] if self._looks else 0.0
        return len(held), gone, gap

    def shown(self, listing: Listing) -> ShownObjects:
        """Return how the objects of a listing compare with those of the copy."""
        records, known = listing.records, self._running.keys() & listing.records.keys()
        changed = {key for key in known if self._current[key] != records[key]}
        former = {key for key in records if key not in known and key in self._gone}
        past = [(spell.key, spell.attributes) for spell in self._spells]
        past += [(v.key, v.attributes or {}) for v in self._versions]
        former |= {k for k, old in past if k in changed and old == records[k]}
        return ShownObjects(len(records), len(known), len(changed), len(former))

    def accept(self, group: str) -> int:
        """Accept that an unobserved group has gone; return the number of its objects.

        They end with the next complete listing that lacks them.
        """
        if group not in self._unobserved:
            raise UsageError(f"the group {group!r} is not missing")
        place = bisect_right(self._looks, self._unobserved.pop(group))
        since, n_objects = self._looks[place], 0
        for spell in self._running.values():
            if self._group_of(self._current[spell.key]) == group:
                lacked = spell.last_seen < since and spell.missing_since == NEVER
                if lacked:
                    spell.missing_since = since
                    self._touch(spell)
                    n_objects += 1
        return n_objects

    def _check_order(self, at: float) -> None:
        if not at > self.last:
            raise UsageError(
                f"a listing of day {at:g} comes after one of day {self.last:g}; add"
                " listings in the order in which they were fetched"
            )

    def _group_of(self, record: Attributes) -> str:
        value = record.get(self.group)
        return "" if value is None else str(value)

    def _mark_present(self, key: str, attributes: Attributes, at: float) -> None:
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
        before = max(before, self._gone.get(key, before))  # a listing that lacked it
        spell = Spell(key, self._lives[key], before, at, at, attributes=attributes)
        self._spells.append(spell)
        self._lives[key] += 1
        self._running[key] = spell
        return spell

    def _mark_missing(
        self, listing: Listing, out: Iterable[str]
    ) -> tuple[list[Spell], int]:
        """Mark objects that a listing lacks; return those newly missing, and gone."""
        missing, gone, hidden = list[Spell](), 0, set(out)
        covered = self._running if listing.complete else listing.absent
        lacked = set(covered) - listing.records.keys()
        for key in [k for k in self._running if k in lacked]:
            spell = self._running[key]
            if self._group_of(self._current[key]) in hidden:
                continue
            if spell.missing_since == NEVER:
                spell.missing_since = listing.at
                missing.append(spell)
            elif listing.at - spell.missing_since >= self.confirm:
                spell.gone_by, spell.missing_since = spell.missing_since, NEVER
                self._gone[key] = spell.gone_by
                del self._running[key]
                gone += 1
            self._touch(spell)
        return missing, gone

    def _touch(self, spell: Spell) -> None:
        self._touched[spell.key, spell.spell] = spell


def _current(
    spells: Iterable[Spell], versions: Iterable[Version]
) -> dict[str, Attributes]:
    """Return each object's attributes as last seen."""
    attributes: dict[tuple[str, int], Attributes] = {}
    for spell in spells:
        attributes[spell.key, spell.spell] = spell.attributes
    for version in versions:
        if version.attributes is not None:
            attributes[version.key, version.spell] = version.attributes
    latest = sorted(attributes, key=lambda place: place[1])
    return {key: attributes[key, spell] for key, spell in latest}
