"""Order and interval of a loop of queries.

A loop sends k queries, one every I days. x_i is the slot of query i (0: not sent in
this loop), and a_i = (1 / |L|) sum(w rate / 2) I**2 over the tuples it brings
(section 4.3). At the end of the loop

    E F(L; k I) = sum(a_i (k - x_i)**2)                                      (Eq. 4)

which ascending a_i minimise. That is one moment. Over the whole loop, tuples that were
last seen at different times continue to age until they are refreshed, and the best
order is an assignment problem.
"""

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Floats, Ints


def snapshot(a: Floats, slot: NDArray[np.integer]) -> float:
    """Return sum(a_i (k - x_i)**2), the staleness when the loop has ended (Eq. 4).

    >>> snapshot(np.array([0.375, 0.875]), np.array([1, 2]))
    0.375
    """
    return float(np.sum(a * (a.size - slot) ** 2))


def ascending(a: Floats) -> Ints:
    """Return the slots that minimise the snapshot: ascending a_i, from 1 on.

    >>> ascending(np.array([0.875, 0.375]))
    array([2, 1])
    """
    slot = np.empty(a.size, dtype=np.intp)
    slot[np.argsort(a, kind="stable")] = np.arange(1, a.size + 1)
    return slot


def relative_staleness(a: Floats, interval: float, size: int) -> float:
    """Return g(x, I) = E F(L; k I) / (k I |L|) in the best order (section 4.4).

    ``a`` is that of an interval of 1 day, so that it grows with I**2 and g with I.
    """
    at_end = snapshot(a, ascending(a)) * interval**2
    return at_end / (a.size * interval * size)


def interval_for(a: Floats, threshold: float, size: int) -> float:
    """Return the interval at which g(x, I) equals the threshold: alpha / g(x, 1).

    The order does not depend on I and g is linear in it, so no search is needed. It is
    ``inf`` if no interval is too long.

    >>> interval_for(np.array([0.375, 0.875]), 0.25, 4)
    5.333333333333333
    """
    daily = relative_staleness(a, 1.0, size) if a.size else 0.0
    return threshold / daily if daily > 0 else float("inf")
