"""The quality of a copy whose removals wait for a decision.

An answer lacks a share h of the copy and is not credible; what it shows was taken. Of
two things one is true, and nothing says which: the objects have gone, or the answer is
cut off and they are still there, with arrivals among them that nobody has seen.
"""

import numpy as np

from halflife.core.arrays import Bools, Floats
from halflife.models.setquality import Band


def held_recall(shown: Band, hidden: Band, share: float) -> Band:
    """Return the recall: ``shown`` is that since the answer, ``hidden`` since before.

    If the objects have gone it is as after any fetch. If not, a share h of the source
    has the recall of an older copy: (1 - h) shown + h hidden. The bounds cover both,
    and the mean is that of both.

    >>> new, old = [Band(*np.array([[x], [x - 0.1], [1.0]])) for x in (1.0, 0.8)]
    >>> [float(part.round(3)[0]) for part in held_recall(new, old, 0.5)]
    [0.95, 0.8, 1.0]
    """
    cut = Band(
        *((1.0 - share) * a + share * b for a, b in zip(shown, hidden, strict=True))
    )
    return _either(shown, cut)


def held_precision(copied: Band, share: float) -> Band:
    """Return the precision, from that of a copy without held removals.

    If the objects have gone it is (1 - h) times as high.

    >>> band = held_precision(Band(*np.array([[0.9], [0.8], [1.0]])), 0.5)
    >>> [float(part.round(3)[0]) for part in band]
    [0.675, 0.4, 1.0]
    """
    return _either(copied, Band(*((1.0 - share) * part for part in copied)))


def held_gone(copied: Band, share: float, size: float) -> Band:
    """Return how many objects have gone: those that wait, too, or not.

    >>> band = held_gone(Band(*np.array([[10.0], [0.0], [20.0]])), 0.5, 100)
    >>> [float(part.round(3)[0]) for part in band]
    [32.5, 0.0, 60.0]
    """
    rest = Band(*(share * size + (1.0 - share) * part for part in copied))
    return _either(copied, rest)


def chosen(where: Bools, one: Band, other: Band) -> Band:
    """Return the first forecast where the condition holds, else the other."""
    return Band(*(np.where(where, a, b) for a, b in zip(one, other, strict=True)))


def _either(one: Band, other: Band) -> Band:
    mean: Floats = (one.mean + other.mean) / 2.0
    return Band(mean, np.minimum(one.low, other.low), np.maximum(one.high, other.high))
