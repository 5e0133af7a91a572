"""What all looks so far add up to.

Planning must not read the whole log again at every turn, so each look is folded
into a few numbers an item. The numbers suffice for the Poisson likelihood: the
quiet gaps enter it only by their sum, and the gaps that saw a change are tallied
by length, eight classes to the octave.

Looks are folded in the order in which they were made. A time that lies before
the one folded last means that the clock was set back: nothing is known then about
the time between the two, and the later look's time is believed from there on.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halflife.arrays import Bools, Bytes, Floats, Ints
from halflife.history import Gaps
from halflife.item import Item
from halflife.observation import Looks, Seen

Texts: TypeAlias = NDArray[np.object_]

CLASSES_PER_OCTAVE = 8
SHARES = 1024  # tallies are whole multiples of 1 / SHARES, so their sums are exact
_ABSENT, _HINT = int(Seen.ABSENT), int(Seen.HINT)  # enums are slow to look up
NEVER: int = -1  # the ``seen`` of an item that was never looked at

_BLANK: dict[str, tuple[type[np.generic], object]] = {
    "number": (np.intp, -1),
    "weight": (np.float64, 1.0),
    "cost": (np.float64, 1.0),
    "group": (np.intp, 0),
    "last_at": (np.float64, -np.inf),
    "tried_at": (np.float64, -np.inf),
    "failures": (np.intp, 0),
    "looks": (np.intp, 0),
    "changes": (np.intp, 0),
    "quiet": (np.float64, 0.0),
    "seen": (np.int8, NEVER),
    "changed": (np.bool_, False),
    "digest": (np.object_, ""),
}
FOLDED = tuple(_BLANK)[4:]  # the columns that looks change


def classes(length: Floats) -> tuple[Ints, Floats]:
    """Return the class below each gap length, and the share of the class above.

    A gap is split between its two neighbours so that the logarithm of its length
    is kept; the log-likelihood is then right to 5e-4 a look.

    >>> classes(np.array([1.0, 2.0]))[0]
    array([0, 8])
    """
    place = np.round(CLASSES_PER_OCTAVE * SHARES * np.log2(length)) / SHARES
    below = np.floor(place)
    return below.astype(np.intp), place - below


def class_length(number: Ints) -> Floats:
    """Return the gap length that a class stands for, in days."""
    return np.exp2(np.asarray(number, dtype=np.float64) / CLASSES_PER_OCTAVE)


@dataclass(frozen=True, slots=True)
class Fold:
    """What a batch of looks adds to the evidence, ready to be written down.

    ``rows`` are the items touched, each once; the next columns are their new
    values. ``quiet_gap`` is what the batch added to ``quiet``. ``gap_item``,
    ``gap_class``, ``gap_tally`` tally the gaps that saw a change.
    """

    rows: Ints
    last_at: Floats
    tried_at: Floats
    failures: Ints
    looks: Ints
    changes: Ints
    quiet: Floats
    seen: Bytes
    changed: Bools
    digest: Texts
    quiet_gap: Floats
    gap_item: Ints
    gap_class: Ints
    gap_tally: Floats


class Evidence:
    """The fold of all looks at a set of items; row ``i`` of each column is item ``i``.

    Attributes:
        keys: The items' names.
        number: The items' numbers in the store that keeps them; -1 if it has none.
        weight: How much each item matters.
        cost: Requests that one look takes.
        group: The item's group, an index into ``groups``.
        last_at: Time of the latest good look; ``-inf`` if none.
        tried_at: Time of the latest look, good or failed; ``-inf`` if none.
        failures: Failed looks since the latest good one.
        looks: Good looks.
        changes: Good looks that found a change since the one before.
        quiet: Sum of the gaps that saw no change, in days.
        seen: What the latest good look saw; ``NEVER`` if there was none.
        changed: Whether the latest good look found a change.
        digest: The content's fingerprint at the latest good look.

    """

    number: Ints
    weight: Floats
    cost: Floats
    group: Ints
    last_at: Floats
    tried_at: Floats
    failures: Ints
    looks: Ints
    changes: Ints
    quiet: Floats
    seen: Bytes
    changed: Bools
    digest: Texts

    def __init__(self) -> None:
        self.keys: tuple[str, ...] = ()
        self.groups: tuple[str, ...] = ()
        self._row: dict[str, int] = {}
        self._code: dict[str, int] = {}
        self._gaps = _GapLog()
        self._room: dict[str, NDArray[np.generic]] = {}
        self._resize(0)

    @classmethod
    def of(cls, items: Iterable[Item]) -> Self:
        """Return the evidence on items at which nobody has looked yet."""
        evidence = cls()
        evidence.add(items)
        return evidence

    def __len__(self) -> int:
        return len(self.keys)

    def row(self, key: str) -> int | None:
        """Return the row of an item, or None if it is not known."""
        return self._row.get(key)

    def knows(self, keys: Iterable[str]) -> bool:
        """Return whether all these items are known."""
        return all(map(self._row.__contains__, keys))

    def add(self, items: Iterable[Item]) -> None:
        """Make room for new items; items already known stay as they are."""
        fresh: dict[str, Item] = {}
        for item in items:
            if item.key not in self._row:
                fresh.setdefault(item.key, item)
        if fresh:
            self.extend(
                tuple(fresh),
                weight=[i.weight for i in fresh.values()],
                cost=[i.cost for i in fresh.values()],
                group=[i.group for i in fresh.values()],
            )

    def extend(
        self,
        keys: Sequence[str],
        *,
        weight: Sequence[float],
        cost: Sequence[float],
        group: Sequence[str],
    ) -> None:
        """Make room for items as columns; none of them may be known."""
        old, code = len(self), self._code
        self._resize(old + len(keys))
        self.weight[old:] = weight
        self.cost[old:] = cost
        self.group[old:] = [code.setdefault(name, len(code)) for name in group]
        self.groups = tuple(code)
        self._row.update((key, old + i) for i, key in enumerate(keys))
        self.keys += tuple(keys)

    def restore(self, **columns: Sequence[float] | Sequence[str] | Texts) -> None:
        """Set columns as they were saved; names are those of the attributes."""
        for name, values in columns.items():
            column = getattr(self, name)
            column[:] = np.asarray(values, dtype=column.dtype)

    def restore_gaps(self, item: Ints, number: Ints, tally: Floats) -> None:
        """Set the tally of changed gaps as it was saved; the quiet sums are known."""
        self._gaps = _GapLog()
        found = np.ones(item.size, np.bool_)
        self._gaps.add(Gaps(item, class_length(number), found, tally))
        self._gaps.add(_quiet(np.arange(len(self)), self.quiet))

    def gaps(self, since: int = 0) -> Gaps:
        """Return the gaps added after ``batches`` was ``since``.

        Gaps that saw no change may come as sums: an item's row then stands for
        several quiet gaps, as long as all of them together.
        """
        return self._gaps.since(since)

    @property
    def batches(self) -> int:
        """How far the gaps go so far; a mark to hand to ``gaps`` later."""
        return len(self._gaps)

    def weigh(self, looks: Looks) -> Fold:
        """Return what the looks add, in their order, and change nothing yet.

        Hints are not looks and add nothing. Every item must be known.
        """
        if (looks.seen == _HINT).any():
            looks = looks.take(np.flatnonzero(looks.seen != _HINT).tolist())
        rows = np.fromiter(map(self._row.__getitem__, looks.keys), np.intp, len(looks))
        if rows.size > 1 and len(set(looks.keys)) < rows.size:
            return self._weigh_in_turns(looks, np.unique(rows))
        return self._weigh_once(looks, rows)

    def take(self, fold: Fold) -> None:
        """Make a fold part of the evidence."""
        for name in FOLDED:
            getattr(self, name)[fold.rows] = getattr(fold, name)
        if fold.gap_item.size:
            length = class_length(fold.gap_class)
            found = np.ones(length.size, np.bool_)
            self._gaps.add(Gaps(fold.gap_item, length, found, fold.gap_tally))
        self._gaps.add(_quiet(fold.rows, fold.quiet_gap))

    def _weigh_once(self, looks: Looks, rows: Ints) -> Fold:
        """Weigh looks at different items; ``rows`` says which."""
        good = looks.seen <= _ABSENT
        last, at, known = self.last_at[rows], looks.at, self.seen[rows]
        digest = self.digest[rows]
        seen_digest = np.array(looks.digest, dtype=np.object_)
        differs = (digest != seen_digest).astype(np.bool_) | (known != looks.seen)
        # A clock that went backwards says nothing about the time between looks.
        gap = np.where(good & np.isfinite(last) & (at > last), at - last, 0.0)
        changed = good & (known != NEVER) & differs
        tallied = changed & (gap > 0)
        item, number, tally = _tallied(rows[tallied], gap[tallied])
        quiet = np.where(changed, 0.0, gap)
        return Fold(
            rows=rows,
            last_at=np.where(good, at, last),
            tried_at=at,
            failures=np.where(good, 0, self.failures[rows] + 1),
            looks=self.looks[rows] + good,
            changes=self.changes[rows] + changed,
            quiet=self.quiet[rows] + quiet,
            seen=np.where(good, looks.seen, known),
            changed=np.where(good, changed, self.changed[rows]),
            digest=np.where(good, seen_digest, digest),
            quiet_gap=quiet,
            gap_item=item,
            gap_class=number,
            gap_tally=tally,
        )

    def _weigh_in_turns(self, looks: Looks, touched: Ints) -> Fold:
        """Weigh looks that may come back to an item, on a copy of what they touch."""
        copy = Evidence.of(Item(self.keys[row]) for row in touched)
        for name in FOLDED:
            getattr(copy, name)[:] = getattr(self, name)[touched]
        folds = []
        for turn in rounds(looks):
            folds.append(copy.weigh(turn))
            copy.take(folds[-1])
        quiet = np.zeros(touched.size)
        for fold in folds:
            quiet[fold.rows] += fold.quiet_gap
        return Fold(
            rows=touched,
            **{name: getattr(copy, name) for name in FOLDED},
            quiet_gap=quiet,
            gap_item=touched[np.concatenate([f.gap_item for f in folds])],
            gap_class=np.concatenate([f.gap_class for f in folds]),
            gap_tally=np.concatenate([f.gap_tally for f in folds]),
        )

    def _resize(self, size: int) -> None:
        """Let every column have ``size`` rows, with room to spare when it grows."""
        for name, (kind, blank) in _BLANK.items():
            room = self._room.get(name, np.zeros(0, dtype=kind))
            if room.size < size:
                more = np.full(max(size, room.size * 3 // 2), blank, dtype=kind)
                more[: room.size] = room
                room = more
            self._room[name] = room
            setattr(self, name, room[:size])


class _GapLog:
    """Gaps in the order in which they were added.

    They lie in pieces of falling size: a new piece is joined with those before it
    that are not larger, so that a million small batches make twenty pieces.
    """

    def __init__(self) -> None:
        self._pieces: list[Gaps] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, gaps: Gaps) -> None:
        """Add gaps at the end."""
        if gaps.item.size == 0:
            return
        self._size += gaps.item.size
        while self._pieces and self._pieces[-1].item.size <= gaps.item.size:
            gaps = _joined([self._pieces.pop(), gaps])
        self._pieces.append(gaps)

    def since(self, mark: int) -> Gaps:
        """Return the gaps added when there were already ``mark``."""
        parts, start = [], self._size
        for piece in reversed(self._pieces):
            if start <= mark:
                break
            start -= piece.item.size
            parts.append(_without(piece, max(mark - start, 0)))
        return _joined(parts[::-1])


def rounds(looks: Looks) -> list[Looks]:
    """Split looks so that no part holds an item twice; hints are left out."""
    parts: list[list[int]] = []
    times: dict[str, int] = {}
    for i, key in enumerate(looks.keys):
        if looks.seen[i] == _HINT:
            continue
        turn = times[key] = times.get(key, -1) + 1
        if turn == len(parts):
            parts.append([])
        parts[turn].append(i)
    return [looks.take(part) for part in parts]


def _tallied(item: Ints, length: Floats) -> tuple[Ints, Ints, Floats]:
    """Return the tally of gaps over the class below each and the one above."""
    if item.size == 0:
        return item, item, length
    below, share = classes(length)
    inside = share > 0
    return (
        np.concatenate([item, item[inside]]),
        np.concatenate([below, below[inside] + 1]),
        np.concatenate([1.0 - share, share[inside]]),
    )


def _quiet(item: Ints, length: Floats) -> Gaps:
    some = length > 0
    n = int(some.sum())
    return Gaps(item[some], length[some], np.zeros(n, np.bool_), np.ones(n))


def _without(gaps: Gaps, first: int) -> Gaps:
    item, length, changed, tally = gaps
    return Gaps(item[first:], length[first:], changed[first:], tally[first:])


def _joined(parts: list[Gaps]) -> Gaps:
    if not parts:
        none = np.zeros(0)
        return Gaps(none.astype(np.intp), none, none.astype(np.bool_), none)
    return Gaps(*(np.concatenate(column) for column in zip(*parts, strict=True)))
