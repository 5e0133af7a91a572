"""A source that answers from a recording instead of the network."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halflife.arrays import Bytes, Floats, Ints
from halflife.budget import Purse
from halflife.item import Item
from halflife.observation import Looks, Seen
from halflife.request import Request

NAME = "recording"  # the name of the source that a recording stands for


@dataclass(frozen=True)
class Recording:
    """Everything that happened to a set of items: the whole truth, as columns.

    Item ``i`` took a new content at each of ``at[start[i]:start[i + 1]]``, which
    ascend; it exists from ``born[i]`` until ``died[i]``. Times are in days.

    Attributes:
        keys: The items' names.
        start: Where each item's changes begin in ``at``; one more than items.
        at: The moments of change.
        weight: How much each item matters.
        born: When each item came into being; ``-inf`` if before the recording.
        died: When it went away; ``inf`` if it did not.
        group: The group of each item, such as its site; empty if all are in one.

    """

    keys: tuple[str, ...]
    start: Ints
    at: Floats
    weight: Floats
    born: Floats
    died: Floats
    group: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def row(self) -> dict[str, int]:
        """The row of each key."""
        return {key: i for i, key in enumerate(self.keys)}

    @cached_property
    def moments(self) -> tuple[Ints, Floats]:
        """Every moment at which an item's state changes, as ragged columns.

        Birth and death are changes of state too; changes outside an item's life
        do not show.
        """
        item = np.repeat(np.arange(len(self)), np.diff(self.start))
        inside = (self.at > self.born[item]) & (self.at < self.died[item])
        every = np.arange(len(self))
        born, died = np.isfinite(self.born), np.isfinite(self.died)
        item = np.concatenate([item[inside], every[born], every[died]])
        at = np.concatenate([self.at[inside], self.born[born], self.died[died]])
        order = np.lexsort((at, item))
        start = np.zeros(len(self) + 1, dtype=np.intp)
        np.cumsum(np.bincount(item, minlength=len(self)), out=start[1:])
        return start, at[order]

    @cached_property
    def _shelf(self) -> tuple[Floats, float]:
        """All moments on one ascending axis, each item on a stretch of its own."""
        start, at = self.moments
        low = float(at.min(initial=0.0))
        stretch = float(at.max(initial=0.0)) - low + 1.0
        item = np.repeat(np.arange(len(self)), np.diff(start))
        return (at - low) + item * (2.0 * stretch), stretch

    def states(self, rows: Ints, at: Floats | float) -> Ints:
        """Return how many changes of state each item has had by ``at``."""
        start, moments = self.moments
        shelf, stretch = self._shelf
        low = float(moments.min(initial=0.0))
        place = np.clip(np.asarray(at) - low, -0.5, stretch)
        found = np.searchsorted(shelf, place + rows * (2.0 * stretch), side="right")
        return found - start[rows]

    def next_change(self, rows: Ints, at: Floats | float) -> Floats:
        """Return when each item's state changes next after ``at``; ``inf`` if never."""
        start, moments = self.moments
        place = start[rows] + self.states(rows, at)
        last = place >= start[rows + 1]
        if moments.size == 0:
            return np.full(rows.size, np.inf)
        return np.where(last, np.inf, moments[np.minimum(place, moments.size - 1)])

    def seen(self, rows: Ints, at: float) -> Bytes:
        """Return whether each item is there at ``at``."""
        there = (self.born[rows] <= at) & (at < self.died[rows])
        return np.where(there, Seen.PRESENT, Seen.ABSENT).astype(np.int8)

    def items(self) -> list[Item]:
        """Return the items of the recording."""
        group = self.group or ("",) * len(self)
        columns = zip(self.keys, self.weight.tolist(), group, strict=True)
        return [Item(key, NAME, weight, group=group) for key, weight, group in columns]

    def looks(self, rows: Ints, at: float) -> Looks:
        """Return what a look at each of these items would have shown."""
        seen = self.seen(rows, at)
        numbers = np.where(seen == Seen.PRESENT, self.states(rows, at), -1)
        return Looks(
            keys=tuple(self.keys[i] for i in rows.tolist()),
            at=np.full(rows.size, at),
            seen=seen,
            digest=tuple("" if v < 0 else str(v) for v in numbers.tolist()),
        )


@dataclass(frozen=True, slots=True)
class RecordedSource:
    """Answers as the real source would have answered at that moment."""

    recording: Recording

    async def perform(
        self, requests: Sequence[Request], now: float, purse: Purse
    ) -> AsyncIterator[Looks]:
        """Carry out requests and yield what would have been seen."""
        paid = min(len(requests), purse.left)
        if paid == 0:
            return
        purse.pay(paid)
        row = self.recording.row
        rows = np.array([row[r.key] for r in requests[:paid]], dtype=np.intp)
        yield self.recording.looks(rows, now)
