"""What all looks so far add up to.

Planning must not read the whole log again at every turn, so each look is folded
into a few numbers an item. The numbers suffice for the Poisson likelihood: the
quiet gaps enter it only by their sum, and the gaps that saw a change are tallied
by length, eight classes to the octave.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from halflife.arrays import Bools, Bytes, Floats, Ints
from halflife.history import Gaps
from halflife.item import Item
from halflife.observation import Looks, Seen

CLASSES_PER_OCTAVE = 8
NEVER: int = -1  # the ``seen`` of an item that was never looked at

_COLUMNS = {
    "weight": np.float64,
    "cost": np.float64,
    "group": np.intp,
    "last_at": np.float64,
    "tried_at": np.float64,
    "failures": np.intp,
    "looks": np.intp,
    "changes": np.intp,
    "quiet": np.float64,
    "seen": np.int8,
    "changed": np.bool_,
}


def classes(length: Floats) -> tuple[Ints, Floats]:
    """Return the class below each gap length, and the share of the class above.

    A gap is split between its two neighbours so that the logarithm of its length
    is kept; the log-likelihood is then right to 3e-4 a look.

    >>> classes(np.array([1.0, 2.0]))[0]
    array([0, 8])
    """
    place = CLASSES_PER_OCTAVE * np.log2(length)
    below = np.floor(place)
    return below.astype(np.intp), place - below


def class_length(number: Ints) -> Floats:
    """Return the gap length that a class stands for, in days."""
    return np.exp2(np.asarray(number, dtype=np.float64) / CLASSES_PER_OCTAVE)


@dataclass(frozen=True, slots=True)
class Fold:
    """What a batch of looks adds to the evidence, ready to be written down.

    ``rows`` are the items touched; the other columns are their new values.
    ``gap_item``, ``gap_class``, ``gap_tally`` tally the gaps that saw a change.
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
    digest: tuple[str, ...]
    quiet_gap: Floats
    gap_item: Ints
    gap_class: Ints
    gap_tally: Floats


class Evidence:
    """The fold of all looks at a set of items; row ``i`` of each column is item ``i``.

    Attributes:
        keys: The items' names.
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

    def __init__(self) -> None:
        self.keys: tuple[str, ...] = ()
        self.groups: tuple[str, ...] = ()
        self.digest: list[str] = []
        self._row: dict[str, int] = {}
        self._gaps: list[Gaps] = []
        for name, kind in _COLUMNS.items():
            setattr(self, name, np.zeros(0, dtype=kind))

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

    def add(self, items: Iterable[Item]) -> None:
        """Make room for new items; items already known stay as they are."""
        fresh = {i.key: i for i in items if i.key not in self._row}
        if not fresh:
            return
        old, new = len(self), len(self) + len(fresh)
        for name in _COLUMNS:
            column = getattr(self, name)
            setattr(
                self,
                name,
                np.resize(column, new) if old else np.zeros(new, column.dtype),
            )
        groups = {g: i for i, g in enumerate(self.groups)}
        code = [groups.setdefault(i.group, len(groups)) for i in fresh.values()]
        self.groups = tuple(groups)
        blank = {"last_at": -np.inf, "tried_at": -np.inf, "seen": NEVER}
        for name in _COLUMNS:
            getattr(self, name)[old:] = blank.get(name, 0)
        self.group[old:] = code
        self.weight[old:] = [i.weight for i in fresh.values()]
        self.cost[old:] = [i.cost for i in fresh.values()]
        self._row.update((key, old + i) for i, key in enumerate(fresh))
        self.keys += tuple(fresh)
        self.digest.extend([""] * len(fresh))

    def restore(self, **columns: Sequence[float] | Sequence[str]) -> None:
        """Set columns as they were saved; names are those of the attributes."""
        for name, values in columns.items():
            if name == "digest":
                self.digest = [str(v) for v in values]
            else:
                getattr(self, name)[:] = np.asarray(values)

    def restore_gaps(self, item: Ints, number: Ints, tally: Floats) -> None:
        """Set the tally of changed gaps as it was saved; the quiet sums are known."""
        self._gaps = [
            Gaps(item, class_length(number), np.ones(item.size, np.bool_), tally),
            _quiet(np.arange(len(self)), self.quiet),
        ]

    def gaps(self, since: int = 0) -> Gaps:
        """Return the gaps of batch ``since`` and later; see ``batches``."""
        parts = self._gaps[since:]
        if not parts:
            return _no_gaps()
        return Gaps(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    @property
    def batches(self) -> int:
        """How many batches of gaps there are so far."""
        return len(self._gaps)

    def weigh(self, looks: Looks) -> Fold:
        """Return what the looks add, and change nothing yet.

        Each item may appear once; hints are not looks and must be left out.
        """
        rows = np.array([self._row[key] for key in looks.keys], dtype=np.intp)
        good = looks.seen <= Seen.ABSENT
        last, at = self.last_at[rows], looks.at
        differs = np.array(
            [self.digest[r] != d for r, d in zip(rows, looks.digest, strict=True)],
            dtype=np.bool_,
        ) | (self.seen[rows] != looks.seen)
        # A clock that went backwards says nothing about the time between looks.
        gap = np.where(good & np.isfinite(last) & (at > last), at - last, 0.0)
        changed = good & (self.seen[rows] != NEVER) & differs
        tallied = changed & (gap > 0)
        below, share = classes(gap[tallied])
        quiet = np.where(changed, 0.0, gap)
        digests = zip(rows, looks.digest, good, strict=True)
        return Fold(
            rows=rows,
            last_at=np.where(good, np.maximum(last, at), last),
            tried_at=np.maximum(self.tried_at[rows], at),
            failures=np.where(good, 0, self.failures[rows] + 1),
            looks=self.looks[rows] + good,
            changes=self.changes[rows] + changed,
            quiet=self.quiet[rows] + quiet,
            seen=np.where(good, looks.seen, self.seen[rows]),
            changed=np.where(good, changed, self.changed[rows]),
            digest=tuple(d if g else self.digest[r] for r, d, g in digests),
            quiet_gap=quiet,
            gap_item=np.concatenate([rows[tallied], rows[tallied]]),
            gap_class=np.concatenate([below, below + 1]),
            gap_tally=np.concatenate([1.0 - share, share]),
        )

    def take(self, fold: Fold) -> None:
        """Make a fold part of the evidence."""
        for name in ("last_at", "tried_at", "failures", "looks", "changes", "quiet"):
            getattr(self, name)[fold.rows] = getattr(fold, name)
        self.seen[fold.rows] = fold.seen
        self.changed[fold.rows] = fold.changed
        for row, digest in zip(fold.rows, fold.digest, strict=True):
            self.digest[row] = digest
        length = class_length(fold.gap_class)
        found = np.ones(length.size, np.bool_)
        self._gaps.append(Gaps(fold.gap_item, length, found, fold.gap_tally))
        self._gaps.append(_quiet(fold.rows, fold.quiet_gap))


def rounds(looks: Looks) -> list[Looks]:
    """Split looks so that no part holds an item twice; hints are left out."""
    parts: list[list[int]] = []
    times: dict[str, int] = {}
    for i, key in enumerate(looks.keys):
        if looks.seen[i] == Seen.HINT:
            continue
        turn = times[key] = times.get(key, -1) + 1
        if turn == len(parts):
            parts.append([])
        parts[turn].append(i)
    if len(parts) == 1 and len(parts[0]) == len(looks):
        return [looks]
    return [looks.take(part) for part in parts]


def _quiet(item: Ints, length: Floats) -> Gaps:
    some = length > 0
    n = int(some.sum())
    return Gaps(item[some], length[some], np.zeros(n, np.bool_), np.ones(n))


def _no_gaps() -> Gaps:
    none = np.zeros(0)
    return Gaps(none.astype(np.intp), none, none.astype(np.bool_), none)
