"""A recording of the changes of items, and a source that answers from it."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from halflife.core.arrays import Bytes, Floats, Ints
from halflife.core.budget import Purse
from halflife.core.item import Item
from halflife.core.observation import Observations, Seen
from halflife.core.request import Fetches, Request

NAME = "recording"  # the name of a recording's source


@dataclass(frozen=True)
class Recording:
    """The complete history of a set of items, as columns.

    Item ``i`` got new content at each of ``at[start[i]:start[i + 1]]``, which ascend;
    it exists from ``born[i]`` until ``died[i]``. Times are in days.

    Attributes:
        keys: The items' keys.
        start: Where each item's changes begin in ``at``; one more than items.
        at: The moments of change.
        weight: The weight of each item.
        born: When each item was created; ``-inf`` if before the recording.
        died: When it was deleted; ``inf`` if it was not.
        group: The group of each item, such as its site; empty if all are in one.
        hint_start: Where each item's hints begin in ``hint_at``; empty if none came.
        hint_at: When hints claimed that the item had just changed, true or not.
        length: How long each item is when the recording begins, in any unit; nan
            where unknown, empty if all are unknown.

    """

    keys: tuple[str, ...]
    start: Ints
    at: Floats
    weight: Floats
    born: Floats
    died: Floats
    group: tuple[str, ...] = ()
    hint_start: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    hint_at: Floats = field(default_factory=lambda: np.zeros(0))
    length: Floats = field(default_factory=lambda: np.zeros(0))

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def row(self) -> dict[str, int]:
        """The row of each key."""
        return {key: i for i, key in enumerate(self.keys)}

    def take(self, rows: Ints) -> "Recording":
        """Return the recording of these items only, in this order."""
        start, at = _ragged(self.start, self.at, rows)
        hints = self.hint_start, self.hint_at
        hint_start, hint_at = _ragged(*hints, rows) if self.hint_start.size else hints
        return Recording(
            keys=tuple(self.keys[i] for i in rows.tolist()),
            start=start,
            at=at,
            weight=self.weight[rows],
            born=self.born[rows],
            died=self.died[rows],
            group=tuple(self.group[i] for i in rows.tolist()) if self.group else (),
            hint_start=hint_start,
            hint_at=hint_at,
            length=self.length[rows] if self.length.size else self.length,
        )

    def moved(self, days: float) -> "Recording":
        """Return the same recording with everything ``days`` later."""
        later = {n: getattr(self, n) + days for n in ("at", "born", "died", "hint_at")}
        return replace(self, **later)

    @cached_property
    def moments(self) -> tuple[Ints, Floats]:
        """Every moment at which an item's state changes, as ragged columns.

        Birth and death are changes of state, too; changes outside an item's lifetime
        do not count.
        """
        item = np.repeat(np.arange(len(self)), np.diff(self.start))
        inside = (self.at > self.born[item]) & (self.at < self.died[item])
        items = np.arange(len(self))
        born, died = np.isfinite(self.born), np.isfinite(self.died)
        item = np.concatenate([item[inside], items[born], items[died]])
        at = np.concatenate([self.at[inside], self.born[born], self.died[died]])
        order = np.lexsort((at, item))
        start = np.zeros(len(self) + 1, dtype=np.intp)
        np.cumsum(np.bincount(item, minlength=len(self)), out=start[1:])
        return start, at[order]

    @cached_property
    def _axis(self) -> tuple[Floats, float]:
        """All moments on one ascending axis, each item in a range of its own."""
        start, at = self.moments
        low = float(at.min(initial=0.0))
        stretch = float(at.max(initial=0.0)) - low + 1.0
        item = np.repeat(np.arange(len(self)), np.diff(start))
        return (at - low) + item * (2.0 * stretch), stretch

    def states(self, rows: Ints, at: Floats | float) -> Ints:
        """Return how many changes of state each item has had by ``at``."""
        start, moments = self.moments
        axis, stretch = self._axis
        low = float(moments.min(initial=0.0))
        place = np.clip(np.asarray(at) - low, -0.5, stretch)
        found = np.searchsorted(axis, place + rows * (2.0 * stretch), side="right")
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
        """Return whether each item exists at ``at``."""
        there = (self.born[rows] <= at) & (at < self.died[rows])
        return np.where(there, Seen.PRESENT, Seen.ABSENT).astype(np.int8)

    @cached_property
    def _hints(self) -> tuple[Ints, Floats]:
        """The item and the time of each hint, in the order of time."""
        if self.hint_start.size == 0:
            return np.zeros(0, dtype=np.intp), np.zeros(0)
        item = np.repeat(np.arange(len(self)), np.diff(self.hint_start))
        order = np.argsort(self.hint_at, kind="stable")
        return item[order], self.hint_at[order]

    def hints(self, after: float, until: float) -> Observations:
        """Return the hints between two moments, the last of each item."""
        item, at = self._hints
        first, last = np.searchsorted(at, [after, until], side="right")
        rows, back = np.unique(item[first:last][::-1], return_index=True)
        return Observations(
            keys=tuple(self.keys[i] for i in rows.tolist()),
            at=at[first:last][::-1][back],
            seen=np.full(rows.size, Seen.HINT, dtype=np.int8),
            digest=("",) * rows.size,
        )

    def lengths(self) -> dict[str, float]:
        """Return the known lengths of items, by key."""
        known = np.flatnonzero(~np.isnan(self.length))
        names = map(self.keys.__getitem__, known.tolist())
        return dict(zip(names, self.length[known].tolist(), strict=True))

    def items(self) -> list[Item]:
        """Return the items of the recording."""
        group = self.group or ("",) * len(self)
        columns = zip(self.keys, self.weight.tolist(), group, strict=True)
        return [Item(key, NAME, weight, group=group) for key, weight, group in columns]

    def observe(self, rows: Ints, at: float) -> Observations:
        """Return the observations that fetches of these items would have made."""
        seen = self.seen(rows, at)
        numbers = np.where(seen == Seen.PRESENT, self.states(rows, at), -1)
        return Observations(
            keys=tuple(map(self.keys.__getitem__, rows.tolist())),
            at=np.full(rows.size, at),
            seen=seen,
            digest=tuple(["" if v < 0 else str(v) for v in numbers.tolist()]),
        )


def _ragged(start: Ints, values: Floats, rows: Ints) -> tuple[Ints, Floats]:
    """Return the values of these rows, one row after the other."""
    counts = np.diff(start)[rows]
    begin = np.concatenate([[0], np.cumsum(counts)])
    place = np.repeat(start[rows] - begin[:-1], counts) + np.arange(begin[-1])
    return begin, values[place]


@dataclass(frozen=True, slots=True)
class RecordedPageSource:
    """Answers as the real source would have answered at that moment."""

    recording: Recording

    async def perform(
        self, requests: Sequence[Request], now: float, purse: Purse
    ) -> AsyncIterator[Observations]:
        """Perform requests and yield the observations."""
        paid = min(len(requests), purse.left)
        if paid == 0:
            return
        purse.pay(paid)
        if isinstance(requests, Fetches):
            keys = requests.keys[:paid]
        else:
            keys = [request.key for request in requests[:paid]]
        row = self.recording.row.__getitem__
        rows = np.fromiter(map(row, keys), np.intp, paid)
        yield self.recording.observe(rows, now)


def joined(recordings: Sequence[Recording]) -> Recording:
    """Return several recordings as one, without their hints."""
    counts = np.concatenate([np.diff(r.start) for r in recordings])
    return Recording(
        keys=tuple(key for r in recordings for key in r.keys),
        start=np.concatenate([[0], np.cumsum(counts)]).astype(np.intp),
        at=np.concatenate([r.at for r in recordings]),
        weight=np.concatenate([r.weight for r in recordings]),
        born=np.concatenate([r.born for r in recordings]),
        died=np.concatenate([r.died for r in recordings]),
    )


def recording_of_changes(
    keys: tuple[str, ...],
    item: Ints,
    at: Floats,
    lives: tuple[Floats, Floats],
    weight: Floats | None = None,
) -> Recording:
    """Return a recording of changes in any order, and of births and deaths.

    Every item weighs 1 where no weights are given.
    """
    order = np.lexsort((at, item))
    start = np.zeros(len(keys) + 1, dtype=np.intp)
    np.cumsum(np.bincount(item, minlength=len(keys)), out=start[1:])
    weight = np.ones(len(keys)) if weight is None else weight
    return Recording(keys, start, at[order], weight, *lives)
