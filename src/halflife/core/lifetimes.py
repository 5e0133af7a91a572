"""Sets of objects that appear, change and disappear: jobs, cars, outages.

A set source is fetched whole: one snapshot lists every object that is there. So an
object's lifetime is known only within snapshots: it appeared between the last snapshot
without it and the first with it, and disappeared between the last with it and the first
without it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Bools, Floats, Ints

Values: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Lives:
    """The lifetimes of objects, one row for each spell; times in days.

    An object that disappears and returns has several spells under one key.

    Attributes:
        keys: The object each spell belongs to.
        absent_before: The last snapshot without it before it appeared; ``-inf`` if it
            was in the very first snapshot (left-truncated).
        first_seen: The first snapshot with it.
        last_seen: The last snapshot with it.
        gone_by: The first later snapshot without it; ``inf`` if it was still in the
            last one (right-censored).
        attributes: Named columns, one value for each spell, as first seen.

    """

    keys: tuple[str, ...]
    absent_before: Floats
    first_seen: Floats
    last_seen: Floats
    gone_by: Floats
    attributes: Mapping[str, Values]

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def object(self) -> Ints:
        """The number of each spell's object, by first occurrence."""
        number: dict[str, int] = {}
        return np.array([number.setdefault(k, len(number)) for k in self.keys], np.intp)

    @property
    def truncated(self) -> Bools:
        """Whether the spell had begun before the very first snapshot."""
        return np.isneginf(self.absent_before)

    @property
    def ended(self) -> Bools:
        """Whether the spell is known to have ended."""
        return np.isfinite(self.gone_by)

    def present(self, at: float) -> Bools:
        """Return which spells were running in the snapshot at ``at``."""
        present: Bools = (self.first_seen <= at) & (at <= self.last_seen)
        return present

    def take(self, rows: Ints | Bools) -> Self:
        """Return the spells at these rows, in this order."""
        index = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return replace(
            self,
            keys=tuple(self.keys[i] for i in index.tolist()),
            absent_before=self.absent_before[index],
            first_seen=self.first_seen[index],
            last_seen=self.last_seen[index],
            gone_by=self.gone_by[index],
            attributes={n: v[index] for n, v in self.attributes.items()},
        )


@dataclass(frozen=True)
class Collection:
    """The history of one set source.

    Attributes:
        name: The name of the source.
        looks: The times of complete snapshots, ascending; broken or partial ones are
            not among them.
        lives: The lifetimes of its objects.
        changed: The spell that each update belongs to.
        changed_at: The first snapshot that showed the new version.

    """

    name: str
    looks: Floats
    lives: Lives
    changed: Ints
    changed_at: Floats

    def until(self, now: float) -> Self:
        """Return what was known after the last snapshot at or before ``now``.

        Later observations are left out: spells that began later are missing, and those
            that had not been missed by then have no end.
        """
        observed = self.looks[: np.searchsorted(self.looks, now, side="right")]
        latest = observed[-1] if observed.size else -np.inf
        kept = np.flatnonzero(self.lives.first_seen <= latest)
        lives = self.lives.take(kept)
        row = np.full(len(self.lives), -1, dtype=np.intp)
        row[kept] = np.arange(kept.size)
        seen = (self.changed_at <= latest) & (row[self.changed] >= 0)
        return replace(
            self,
            looks=observed,
            lives=replace(
                lives,
                last_seen=np.minimum(lives.last_seen, latest),
                gone_by=np.where(lives.gone_by <= latest, lives.gone_by, np.inf),
            ),
            changed=row[self.changed[seen]],
            changed_at=self.changed_at[seen],
        )

    def select(self, wanted: Bools) -> Self:
        """Return the same source as if it had only these spells."""
        row = np.cumsum(wanted) - 1
        kept = wanted[self.changed]
        return replace(
            self,
            lives=self.lives.take(wanted),
            changed=row[self.changed[kept]],
            changed_at=self.changed_at[kept],
        )

    def held(self, at: float) -> Ints:
        """Return the objects in the snapshot at ``at``, by number, ascending."""
        return np.unique(self.lives.object[self.lives.present(at)])

    def in_copy(self) -> Ints:
        """Return the objects in the copy, by number, ascending.

        Those of the last complete snapshot, and those seen since then, or ever if no
        snapshot was complete, that are not gone.
        """
        last = self.looks[-1] if self.looks.size else -np.inf
        present = (self.lives.last_seen >= last) & ~self.lives.ended
        return np.unique(self.lives.object[present])

    def gone(self) -> Ints:
        """Return the objects known to have disappeared and not to have returned."""
        of, ended = self.lives.object, self.lives.ended
        return np.setdiff1d(of[ended], of[~ended])

    def quality(self, synced: float, later: float) -> tuple[float, float]:
        """Return precision and recall at ``later`` of a copy made at ``synced``.

        precision = |L & R| / |L| and recall = |L & R| / |R|, with L the objects there
        at ``synced`` and R those there at ``later``; both must be snapshots.
        Papers/000, s. 2.2. Each is 1 for an empty set.
        """
        local, remote = self.held(synced), self.held(later)
        common = np.intersect1d(local, remote, assume_unique=True).size
        precision = common / local.size if local.size else 1.0
        recall = common / remote.size if remote.size else 1.0
        return precision, recall
