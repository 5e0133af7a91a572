"""Observations of many items, as columns."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from halflife.core.arrays import Bools, Bytes, Floats, Ints
from halflife.core.observation import Observation, Seen


class Gaps(NamedTuple):
    """Stretches of time between two successful observations of the same item.

    A change is known only to lie somewhere inside its gap: the data are
    interval-censored, and models must treat them so. ``tally`` is the number of gaps of
    this length that a row stands for; it need not be a whole number.
    """

    item: Ints
    length: Floats
    changed: Bools
    tally: Floats


@dataclass(frozen=True, slots=True)
class History:
    """All observations of a set of items, sorted by item and then by time.

    Item ``i`` owns the slice ``start[i]:start[i + 1]`` of every column, so a million
    short histories cost four arrays and no Python objects. Failed fetches and hints are
    left out: they do not observe the item.

    >>> first = Observation("x", 0.0, Seen.PRESENT, "1")
    >>> again = Observation("x", 2.0, Seen.PRESENT, "2")
    >>> History.of([again, first]).gaps().length
    array([2.])
    """

    keys: tuple[str, ...]
    start: Ints
    at: Floats
    seen: Bytes
    digest: Ints

    @classmethod
    def of(cls, observations: Iterable[Observation], keys: Iterable[str] = ()) -> Self:
        """Build columns from observations in any order; ``keys`` come first."""
        rows = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        codes: dict[str, int] = {}
        item, at, seen, digest = [], [], [], []
        for o in observations:
            row = rows.setdefault(o.key, len(rows))
            if o.seen <= Seen.ABSENT:
                item.append(row)
                at.append(o.at)
                seen.append(int(o.seen))
                digest.append(codes.setdefault(o.digest, len(codes)))
        return cls.from_columns(
            tuple(rows),
            np.array(item, dtype=np.intp),
            np.array(at, dtype=np.float64),
            np.array(seen, dtype=np.int8),
            np.array(digest, dtype=np.intp),
        )

    @classmethod
    def from_columns(
        cls, keys: tuple[str, ...], item: Ints, at: Floats, seen: Bytes, digest: Ints
    ) -> Self:
        """Build a history from unsorted columns of successful observations."""
        order = np.lexsort((at, item))
        start = np.zeros(len(keys) + 1, dtype=np.intp)
        np.cumsum(np.bincount(item, minlength=len(keys)), out=start[1:])
        return cls(keys, start, at[order], seen[order], digest[order])

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def item(self) -> Ints:
        """The item of each observation."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def gaps(self) -> Gaps:
        """Return the gaps between consecutive observations, and which saw a change.

        Appearing and disappearing are changes too.
        """
        item = self.item
        length = np.diff(self.at)
        inside = (item[1:] == item[:-1]) & (length > 0)
        changed = (np.diff(self.digest) != 0) | (np.diff(self.seen) != 0)
        return Gaps(
            item=item[1:][inside],
            length=length[inside],
            changed=changed[inside],
            tally=np.ones(int(inside.sum())),
        )

    def last_seen(self) -> Floats:
        """Return each item's latest successful observation; ``-inf`` if none."""
        latest = np.full(len(self), -np.inf)
        observed = np.diff(self.start) > 0
        latest[observed] = self.at[self.start[1:][observed] - 1]
        return latest
