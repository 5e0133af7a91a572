"""The best order of queries in a loop, beside which ascending order is judged."""

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Floats, Ints


def loop_costs(a: Floats, age: Floats) -> Floats:
    """Return the cost of query i over the loop if it is sent in slot j = 1 .. k.

    With time in slots and its tuples ``age`` old when the loop begins, the mean of
    a (age + u)**2 until it is sent and of a (u - j)**2 from then on:
    a ((age + j)**3 - age**3 + (k - j)**3) / (3 k).
    """
    k = a.size
    sent = np.arange(1, k + 1, dtype=np.float64)
    before = (age[:, None] + sent) ** 3 - age[:, None] ** 3
    costs: Floats = a[:, None] * (before + (k - sent) ** 3) / (3.0 * max(k, 1))
    return costs


def loop_mean(a: Floats, age: Floats, slot: NDArray[np.integer]) -> float:
    """Return the mean staleness over a loop that sends all queries."""
    return float(loop_costs(a, age)[np.arange(a.size), slot - 1].sum())


def best_order(a: Floats, age: Floats) -> Ints:
    """Return the slots that minimise the mean staleness over the loop.

    The choice of slots is an assignment problem; the mean is a sum of one cost for
    each pair of a query and a slot.

    >>> best_order(np.array([1.0, 2.0]), np.array([50.0, 0.0]))
    array([1, 2])
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415  (slow)

    _, column = linear_sum_assignment(loop_costs(a, age))
    return np.asarray(column + 1, dtype=np.intp)
