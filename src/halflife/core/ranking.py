"""The best few of very many rows, without sorting them all."""

import numpy as np

from halflife.core.arrays import Floats, Ints


def best_rows(score: Floats, count: int) -> Ints:
    """Return the rows of the ``count`` highest scores, best first; ties in their order.

    The same as ``np.argsort(-score, kind="stable")[:count]``, but only these are
    sorted.

    >>> best_rows(np.array([1.0, 3.0, 2.0, 3.0]), 3)
    array([1, 3, 2])
    """
    if count <= 0:
        return np.zeros(0, dtype=np.intp)
    if count >= score.size:
        return np.argsort(-score, kind="stable")
    least = -_kth(-score, count)
    if np.isnan(least):  # numbers come first, and there are too few
        return np.argsort(-score, kind="stable")[:count]
    rows = np.flatnonzero(score >= least)
    return rows[np.argsort(-score[rows], kind="stable")[:count]]


def _kth(loss: Floats, count: int) -> float:
    """Return the ``count``-th lowest of the numbers, which are reordered in place."""
    loss.partition(count - 1)
    return float(loss[count - 1])
