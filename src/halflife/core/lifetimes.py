"""Sets of objects that come, change and go: jobs, cars, outages.

A set source is looked at whole: one look lists every object that is there. So
what we know of an object's life is bounded by looks: it came between the last
look that lacked it and the first that had it, and went between the last that had
it and the first that lacked it.
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
    """The lives of objects, one row a spell; times in days.

    An object that goes and comes back has several spells under one key.

    Attributes:
        keys: The object each spell belongs to.
        absent_before: The last look known to lack it before it came; ``-inf`` if
            it was there at the first look of all (left-truncated).
        first_seen: The first look that had it.
        last_seen: The last look that had it.
        gone_by: The first later look that lacked it; ``inf`` if it was still
            there when last looked for (right-censored).
        attributes: Named columns, one value a spell, as first seen.

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
        """The number of the object that each spell belongs to, by first mention."""
        number: dict[str, int] = {}
        return np.array([number.setdefault(k, len(number)) for k in self.keys], np.intp)

    @property
    def truncated(self) -> Bools:
        """Whether the spell had begun before the first look of all."""
        return np.isneginf(self.absent_before)

    @property
    def ended(self) -> Bools:
        """Whether the spell is known to have ended."""
        return np.isfinite(self.gone_by)

    def present(self, at: float) -> Bools:
        """Return which spells were running at a look made at ``at``."""
        there: Bools = (self.first_seen <= at) & (at <= self.last_seen)
        return there

    def take(self, rows: Ints | Bools) -> Self:
        """Return some of the spells, in this order."""
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
        name: What the source is called.
        looks: The moments at which it was seen whole, ascending; broken or partial
            looks are not among them.
        lives: The lives of its objects.
        changed: The spell that each update belongs to.
        changed_at: The first look that showed the new version.

    """

    name: str
    looks: Floats
    lives: Lives
    changed: Ints
    changed_at: Floats

    def until(self, now: float) -> Self:
        """Return what was known right after the last look at or before ``now``.

        Nothing that was seen later shows: spells that began later are not there,
        and of those that had not been missed by then nobody knows the end.
        """
        looks = self.looks[: np.searchsorted(self.looks, now, side="right")]
        latest = looks[-1] if looks.size else -np.inf
        kept = np.flatnonzero(self.lives.first_seen <= latest)
        lives = self.lives.take(kept)
        row = np.full(len(self.lives), -1, dtype=np.intp)
        row[kept] = np.arange(kept.size)
        seen = (self.changed_at <= latest) & (row[self.changed] >= 0)
        return replace(
            self,
            looks=looks,
            lives=replace(
                lives,
                last_seen=np.minimum(lives.last_seen, latest),
                gone_by=np.where(lives.gone_by <= latest, lives.gone_by, np.inf),
            ),
            changed=row[self.changed[seen]],
            changed_at=self.changed_at[seen],
        )

    def select(self, wanted: Bools) -> Self:
        """Return the same source as if it held only some of the spells."""
        row = np.cumsum(wanted) - 1
        kept = wanted[self.changed]
        return replace(
            self,
            lives=self.lives.take(wanted),
            changed=row[self.changed[kept]],
            changed_at=self.changed_at[kept],
        )

    def held(self, at: float) -> Ints:
        """Return the objects that a look at ``at`` showed, by number, ascending."""
        return np.unique(self.lives.object[self.lives.present(at)])

    def in_copy(self) -> Ints:
        """Return the objects that the copy has, by number, ascending.

        Those of the last complete look, and those that were seen since, or ever if
        no look was complete, and are not gone.
        """
        last = self.looks[-1] if self.looks.size else -np.inf
        there = (self.lives.last_seen >= last) & ~self.lives.ended
        return np.unique(self.lives.object[there])

    def gone(self) -> Ints:
        """Return the objects that are known to have gone and not to have come back."""
        of, ended = self.lives.object, self.lives.ended
        return np.setdiff1d(of[ended], of[~ended])

    def quality(self, synced: float, later: float) -> tuple[float, float]:
        """Return precision and recall at ``later`` of a copy made at ``synced``.

        precision = |L & R| / |L| and recall = |L & R| / |R|, with L the objects
        there at ``synced`` and R those there at ``later``; both must be looks.
        Papers/000, s. 2.2. Of nothing, nothing is wrong or missing: 1.
        """
        local, remote = self.held(synced), self.held(later)
        both = np.intersect1d(local, remote, assume_unique=True).size
        precision = both / local.size if local.size else 1.0
        recall = both / remote.size if remote.size else 1.0
        return precision, recall
