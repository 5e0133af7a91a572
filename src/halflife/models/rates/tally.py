"""Gaps of many items tallied by length."""

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.gap_bins import class_length, classes
from halflife.core.history import Gaps

_SPAN = 1024  # classes an item may use; eight to the octave, so 64 octaves either way
_MIDDLE = _SPAN // 2


class GapTally:
    """The number of gaps of each item in each length class.

    Only classes in use need memory: an item fetched at even intervals has one or two.
    """

    def __init__(self) -> None:
        self._key = np.zeros(0, dtype=np.intp)
        self._tally = np.zeros(0)

    def add(self, item: Ints, length: Floats, tally: Floats) -> None:
        """Tally gaps, each split between the classes below and above its length."""
        below, share = classes(length)
        number = np.clip(np.concatenate([below, below + 1]), 1 - _MIDDLE, _MIDDLE - 1)
        amount = np.concatenate([tally * (1.0 - share), tally * share])
        key = np.concatenate([item, item]) * _SPAN + number + _MIDDLE
        used = amount > 0
        key, code = np.unique(key[used], return_inverse=True)
        total = np.bincount(code, amount[used], minlength=key.size)
        place = np.searchsorted(self._key, key)
        is_known = np.zeros(key.size, np.bool_)
        inside = place < self._key.size
        is_known[inside] = self._key[place[inside]] == key[inside]
        self._tally[place[is_known]] += total[is_known]
        self._key = np.insert(self._key, place[~is_known], key[~is_known])
        self._tally = np.insert(self._tally, place[~is_known], total[~is_known])

    def of(self, rows: Ints) -> Gaps:
        """Return the gaps of these items, numbered by their position in ``rows``."""
        first = np.searchsorted(self._key, rows * _SPAN)
        count = np.searchsorted(self._key, (rows + 1) * _SPAN) - first
        start = np.cumsum(count) - count
        at = np.arange(int(count.sum())) + np.repeat(first - start, count)
        item = np.repeat(np.arange(rows.size), count)
        length = class_length(self._key[at] % _SPAN - _MIDDLE)
        return Gaps(item, length, np.ones(at.size, np.bool_), self._tally[at])
