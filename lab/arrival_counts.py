"""Arrivals of a recorded history, counted between its snapshots."""

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.lifetimes import Collection


def arrivals(
    collection: Collection, *, step: float = 0.0
) -> tuple[Floats, Floats, Ints]:
    """Return start, end and count: the spells that began between adjacent snapshots.

    With a ``step`` (days) snapshots are skipped until that much time has passed.
    Objects in the first snapshot did not arrive: they are not counted.
    """
    looks, lives = collection.looks, collection.lives
    if step > 0 and looks.size:
        bins = np.floor((looks - looks[0]) / step + 1e-9)
        looks = looks[np.concatenate(([True], bins[1:] > bins[:-1]))]
    first = np.searchsorted(looks, lives.first_seen[~lives.truncated])
    count = np.bincount(first, minlength=looks.size)[1 : max(looks.size, 1)]
    return looks[:-1], looks[1:], count
