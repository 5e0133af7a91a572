"""What the looks at a set source counted: how many were there, kept, new, gone."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.lifetimes import Collection

PRECISION, RECALL = 0, 1
METRICS = ("precision", "recall")
MOST = 12.0  # the largest loss that is told apart: e^-12 of a copy is left


@dataclass(frozen=True)
class CopyOutcome:
    """What became of the copy made at each look, some time later.

    Attributes:
        later: The look that showed it; -1 where none did, or nothing was held.
        ahead: Days from the one to the other; what was asked for where none was.
        quality: Precision and recall then, two rows.
        loss: -log of them; of nothing kept, half an object counts as kept.
        new: Objects there then that the copy lacks.

    """

    later: Ints
    ahead: Floats
    quality: Floats
    loss: Floats
    new: Floats

    @property
    def known(self) -> Bools:
        """Whether the looks tell what became of it."""
        return self.later >= 0


@dataclass(frozen=True)
class Census:
    """The spells of a set source, told in numbers of looks.

    Attributes:
        looks: When the source was seen whole, in days, ascending.
        start: The first look that had each spell.
        stop: The last look that had it.
        spell: Spells that were followed by another one of the same object ...
        again: ... and that later one; one entry for each such pair.

    """

    looks: Floats
    start: Ints
    stop: Ints
    spell: Ints
    again: Ints

    @classmethod
    def of(cls, collection: Collection) -> "Census":
        """Return the census of a collection; spells between two looks are left out."""
        lives, looks = collection.lives, collection.looks
        start = np.searchsorted(looks, lives.first_seen, side="left")
        stop = np.searchsorted(looks, lives.last_seen, side="right") - 1
        seen = np.flatnonzero(stop >= start)
        start, stop = start[seen], stop[seen]
        spell, again = _returns(lives.object[seen], start)
        return cls(looks, start, stop, spell, again)

    @cached_property
    def size(self) -> Ints:
        """The number of objects at each look."""
        return covered(self.looks.size, self.start, self.stop)

    @cached_property
    def step(self) -> float:
        """The usual time between two looks, in days; 1 if there are not two."""
        return float(np.median(np.diff(self.looks))) if self.looks.size > 1 else 1.0

    def kept(self, later: Ints) -> Ints:
        """Return, for each look i, how many of its objects look ``later[i]`` had.

        ``later`` must not decrease, and later[i] >= i. A spell counts for the looks
        i >= start with later[i] <= stop, which is one stretch of looks, so that all
        counts together take one pass over the spells. An object that went and came
        back is there again.
        """
        last = np.searchsorted(later, self.stop, side="right") - 1
        counts = covered(later.size, self.start, np.minimum(last, self.stop))
        if self.spell.size == 0:
            return counts
        a, b = self.spell, self.again
        first = np.maximum(
            self.start[a], np.searchsorted(later, self.start[b], side="left")
        )
        return counts + covered(later.size, first, np.minimum(self.stop[a], last[b]))

    def outcome(self, ahead: float) -> CopyOutcome:
        """Return what became of the copy of each look ``ahead`` days later.

        Told by the first look at or after that moment, if it comes no later than by
        30 % of ``ahead`` and half a usual step.
        """
        here = np.arange(self.looks.size)
        due = self.looks + ahead
        found = np.searchsorted(self.looks, due - 1e-6 * self.step, side="left")
        inside = np.maximum(here, np.minimum(found, self.looks.size - 1))
        late = self.looks[inside] - due
        good = (found < self.looks.size) & (late <= 0.3 * ahead + 0.5 * self.step)
        good &= (inside > here) & (self.size > 0)
        kept, held = self.kept(inside), np.stack([self.size, self.size[inside]])
        some = np.maximum(held, 1)
        quality = np.where(held > 0, kept / some, 1.0)
        loss = -np.log(np.minimum(1.0, np.maximum(kept, 0.5) / some))
        apart = np.where(good, self.looks[inside] - self.looks, ahead)
        new = (self.size[inside] - kept).astype(np.float64)
        return CopyOutcome(np.where(good, inside, -1), apart, quality, loss, new)

    @cached_property
    def turnover(self) -> "GapTurnover":
        """What came and went from each look to the next."""
        here = np.arange(self.looks.size)
        after = np.minimum(here + 1, self.looks.size - 1)
        kept = self.kept(after)[:-1]
        before, then = self.size[:-1], self.size[1:]
        gap = np.diff(self.looks)
        return GapTurnover(
            gap=gap,
            gone=(before - kept).astype(np.float64),
            new=(then - kept).astype(np.float64),
            exposure=0.5 * (before + kept) * gap,
            quality=np.stack([_share(kept, before), _share(kept, then)]),
        )


@dataclass(frozen=True)
class GapTurnover:
    """What came and went between looks, one entry a gap.

    Attributes:
        gap: Its length in days.
        gone: Objects that the second look lacked.
        new: Objects that the first look lacked.
        exposure: Object-days lived by those of the first look.
        quality: Precision and recall of the first look's copy at the second.

    """

    gap: Floats
    gone: Floats
    new: Floats
    exposure: Floats
    quality: Floats

    @property
    def loss(self) -> Floats:
        """-log of the quality, two rows."""
        return -np.log(np.maximum(self.quality, np.exp(-MOST)))


def _share(part: Ints, whole: Ints) -> Floats:
    """Return part / whole; of nothing, 1."""
    return np.where(whole > 0, part / np.maximum(whole, 1), 1.0)


def _returns(objects: Ints, start: Ints) -> tuple[Ints, Ints]:
    """Return the pairs (spell, later spell) of the same object."""
    order = np.lexsort((start, objects))
    earlier, later = [], []
    for shift in range(1, order.size):
        same = objects[order[shift:]] == objects[order[:-shift]]
        if not same.any():
            break
        earlier.append(order[:-shift][same])
        later.append(order[shift:][same])
    if not earlier:
        return np.empty(0, np.intp), np.empty(0, np.intp)
    return np.concatenate(earlier), np.concatenate(later)


def covered(size: int, first: Ints, last: Ints) -> Ints:
    """Return how many of the stretches first .. last cover each place."""
    real = last >= first
    begin = np.bincount(first[real], minlength=size + 1)
    end = np.bincount(last[real] + 1, minlength=size + 1)
    counts: Ints = np.cumsum(begin - end)[:size].astype(np.intp)
    return counts
