"""Lengths of gaps in classes, eight to the octave."""

import numpy as np

from halflife.core.arrays import Floats, Ints

CLASSES_PER_OCTAVE = 8
SHARES = 1024  # tallies are whole multiples of 1 / SHARES, so their sums are exact


def classes(length: Floats) -> tuple[Ints, Floats]:
    """Return the class below each gap length, and the share of the class above.

    A gap is split between its two neighbours so that the logarithm of its length is
    kept; the error of the log-likelihood is then at most 5e-4 per observation.

    >>> classes(np.array([1.0, 2.0]))[0]
    array([0, 8])
    """
    place = np.round(CLASSES_PER_OCTAVE * SHARES * np.log2(length)) / SHARES
    below = np.floor(place)
    return below.astype(np.intp), place - below


def class_length(number: Ints) -> Floats:
    """Return the gap length that a class stands for, in days."""
    return np.exp2(np.asarray(number, dtype=np.float64) / CLASSES_PER_OCTAVE)


def class_of(length: Floats) -> Ints:
    """Return the class of each tallied gap, by its length."""
    number: Ints = np.round(CLASSES_PER_OCTAVE * np.log2(length)).astype(np.intp)
    return number


def tally_by_class(item: Ints, length: Floats) -> tuple[Ints, Ints, Floats]:
    """Return the tally of gaps, split between the classes below and above each."""
    if item.size == 0:
        return item, item, length
    below, share = classes(length)
    inside = share > 0
    return (
        np.concatenate([item, item[inside]]),
        np.concatenate([below, below[inside] + 1]),
        np.concatenate([1.0 - share, share[inside]]),
    )
