"""The best few of very many, without sorting them all."""

import numpy as np

from halflife.core.arrays import Floats, Ints


def best_rows(score: Floats, count: int) -> Ints:
    """Return the rows of the ``count`` highest scores, best first; ties in their order.

    That is ``np.argsort(-score, kind="stable")[:count]``, but only these are sorted.

    >>> best_rows(np.array([1.0, 3.0, 2.0, 3.0]), 3)
    array([1, 3, 2])
    """
    if not 0 < count < score.size:
        return np.argsort(-score, kind="stable")[: max(count, 0)]
    least = -_kth(-score, count)
    if np.isnan(least):  # numbers come first, and there are too few
        return np.argsort(-score, kind="stable")[:count]
    some = np.flatnonzero(score >= least)
    return some[np.argsort(-score[some], kind="stable")[:count]]


def _kth(loss: Floats, count: int) -> float:
    """Return the ``count``-th lowest of the numbers, which are put out of order."""
    loss.partition(count - 1)
    return float(loss[count - 1])
