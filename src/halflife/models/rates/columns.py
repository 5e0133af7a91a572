"""Columns that grow, and gaps split into rounds."""

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Floats
from halflife.core.history import Gaps

Kind = TypeVar("Kind", bound=np.generic)


def lengthen(column: NDArray[Kind], n: int, blank: float = 0.0) -> NDArray[Kind]:
    """Return the column with its last axis at least ``n`` long, the rest blank.

    >>> lengthen(np.ones(2), 3)
    array([1., 1., 0.])
    """
    n_new = n - column.shape[-1]
    if n_new <= 0:
        return column
    blanks = np.full((*column.shape[:-1], n_new), blank, dtype=column.dtype)
    return np.concatenate([column, blanks], axis=-1)


def ratio(top: Floats, bottom: Floats) -> Floats:
    """Return top / bottom, and 0 where the bottom is 0.

    >>> ratio(np.array([1.0, 1.0]), np.array([0.0, 2.0]))
    array([0. , 0.5])
    """
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def rounds_of_gaps(gaps: Gaps) -> Iterator[Gaps]:
    """Yield the gaps in parts in which no item occurs twice, in their order.

    A row that stands for several gaps is repeated that many times, with a tally of at
    most 1 each.

    >>> gaps = Gaps(np.array([0, 1, 0]), np.ones(3), np.arange(3) > 1, np.ones(3))
    >>> [part.item.tolist() for part in rounds_of_gaps(gaps)]
    [[0, 1], [0]]
    """
    times = np.maximum(np.ceil(gaps.tally), 1.0).astype(np.intp)
    row = np.repeat(np.arange(times.size), times)
    item = gaps.item[row]
    order = np.argsort(item, kind="stable")
    first = np.flatnonzero(np.diff(item[order], prepend=-1))
    count = np.diff(first, append=item.size)
    turn = np.empty(item.size, dtype=np.intp)
    turn[order] = np.arange(item.size) - np.repeat(first, count)
    by_turn = np.argsort(turn, kind="stable")
    for part in np.split(by_turn, np.cumsum(np.bincount(turn))[:-1]):
        rows = row[part]
        tally = gaps.tally[rows] / times[rows]
        yield Gaps(gaps.item[rows], gaps.length[rows], gaps.changed[rows], tally)
