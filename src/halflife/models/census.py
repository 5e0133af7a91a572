"""Counts over the snapshots of a set source: present, kept, new and gone objects."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.lifetimes import Collection

PRECISION, RECALL = 0, 1
METRICS = ("precision", "recall")
MOST = 12.0  # the largest loss distinguished: e^-12 of a copy is left


@dataclass(frozen=True)
class CopyOutcome:
    """The outcome of the copy made at each snapshot, some time later.

    Attributes:
        later: The snapshot that showed it; -1 where none did, or nothing was held.
        ahead: Days between the two; the requested number where there is no later one.
        quality: Precision and recall at that time, two rows.
        loss: -log of them; if nothing was kept, half an object counts as kept.
        new: Objects present then that the copy lacks.

    """

    later: Ints
    ahead: Floats
    quality: Floats
    loss: Floats
    new: Floats

    @property
    def known(self) -> Bools:
        """Whether a later snapshot shows the outcome."""
        return self.later >= 0


@dataclass(frozen=True)
class Census:
    """The spells of a set source, in indices of snapshots.

    Attributes:
        looks: The times of complete snapshots, in days, ascending.
        start: The first snapshot with each spell.
        stop: The last snapshot with it.
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
        """Return the census of a collection, without spells between two snapshots."""
        lives, observed = collection.lives, collection.looks
        start = np.searchsorted(observed, lives.first_seen, side="left")
        stop = np.searchsorted(observed, lives.last_seen, side="right") - 1
        seen = np.flatnonzero(stop >= start)
        start, stop = start[seen], stop[seen]
        spell, again = _returns(lives.object[seen], start)
        return cls(observed, start, stop, spell, again)

    @cached_property
    def size(self) -> Ints:
        """The number of objects at each snapshot."""
        return covered(self.looks.size, self.start, self.stop)

    @cached_property
    def step(self) -> float:
        """The median time between snapshots, in days; 1 if there are fewer than two."""
        return float(np.median(np.diff(self.looks))) if self.looks.size > 1 else 1.0

    def kept(self, later: Ints) -> Ints:
        """Return, for each snapshot i, how many of its objects are in ``later[i]``.

        ``later`` must not decrease, and later[i] >= i. A spell counts for the snapshots
        i >= start with later[i] <= stop, which is one range, so that all counts
        together need one pass over the spells. An object that went and returned counts
        as present.
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
        """Return the outcome of each snapshot's copy ``ahead`` days later.

        From the first snapshot at or after that moment, if it is late by at most 30 %
        of ``ahead`` and half a median step.
        """
        here = np.arange(self.looks.size)
        due = self.looks + ahead
        first = np.searchsorted(self.looks, due - 1e-6 * self.step, side="left")
        later = np.maximum(here, np.minimum(first, self.looks.size - 1))
        late = self.looks[later] - due
        is_known = (first < self.looks.size) & (late <= 0.3 * ahead + 0.5 * self.step)
        is_known &= (later > here) & (self.size > 0)
        kept, held = self.kept(later), np.stack([self.size, self.size[later]])
        at_least_1 = np.maximum(held, 1)
        quality = np.where(held > 0, kept / at_least_1, 1.0)
        loss = -np.log(np.minimum(1.0, np.maximum(kept, 0.5) / at_least_1))
        days = np.where(is_known, self.looks[later] - self.looks, ahead)
        new = (self.size[later] - kept).astype(np.float64)
        return CopyOutcome(np.where(is_known, later, -1), days, quality, loss, new)

    @cached_property
    def turnover(self) -> "GapTurnover":
        """The objects that came and went from each snapshot to the next."""
        here = np.arange(self.looks.size)
        after = np.minimum(here + 1, self.looks.size - 1)
        kept = self.kept(after)[:-1]
        before, present = self.size[:-1], self.size[1:]
        gap = np.diff(self.looks)
        return GapTurnover(
            gap=gap,
            gone=(before - kept).astype(np.float64),
            new=(present - kept).astype(np.float64),
            exposure=0.5 * (before + kept) * gap,
            quality=np.stack([_share(kept, before), _share(kept, present)]),
        )


@dataclass(frozen=True)
class GapTurnover:
    """The objects that came and went between snapshots, one entry for each gap.

    Attributes:
        gap: Its length in days.
        gone: Objects that the second snapshot lacks.
        new: Objects that the first snapshot lacks.
        exposure: Object-days lived by those of the first snapshot.
        quality: Precision and recall of the first snapshot's copy at the second.

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
    """Return part / whole; 1 if the whole is empty."""
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
    """Return how many of the ranges first .. last cover each position."""
    non_empty = last >= first
    begin = np.bincount(first[non_empty], minlength=size + 1)
    end = np.bincount(last[non_empty] + 1, minlength=size + 1)
    counts: Ints = np.cumsum(begin - end)[:size].astype(np.intp)
    return counts
