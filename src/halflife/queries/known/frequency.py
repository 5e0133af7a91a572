"""The best frequency of each query.

Over many rounds the order of queries makes no difference, but their frequency does.
With staleness D(t) = b t**k (k = 2 for summed ages, b = w rate / 2; k = 1 for
drifts) and a query sent f times a day, its tuples' mean staleness is
b / ((k + 1) f**k). Minimising the sum subject to sum(c f) = budget makes

    k b / ((k + 1) f**(k + 1) c)

the same for all queries: **f is proportional to (b / c)**(1 / (k + 1))**, the cube root
for summed ages and the square root for drifts. With t = 1 / f the left side is
U(t) / c, U(t) = t D(t) - integral of D over 0..t, so sending at each turn the query
with the largest sum(w U(t)) / c reaches the same optimum without a timetable; that is
the index rule of ``halflife.queries.known.rules``.

A tuple that several queries return is refreshed by each of them. Its frequency is
F_r = sum(f_q, q that return r), and sum(b_r / F_r**k) is convex in f. Splitting each
F_r in the shares of the last round bounds the sum from above by one with disjoint
groups, so

    f_q <- f_q (g_q / c_q)**(1 / (k + 1)),  g_q = sum(k b_r / F_r**(k + 1))

scaled to the budget, never increases it; disjoint groups are optimal after one round.
"""

from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Floats
from halflife.queries.known.gains import Gains

ROUNDS = 3000
_CLOSE = 1e-4


@dataclass(frozen=True, slots=True)
class QueryFrequencies:
    """How often to send each query.

    Attributes:
        frequency: Times a day.
        value: The resulting sum(b_r / F_r**k).
        gap: A bound on how far this is above the optimum, as a share of the value.

    """

    frequency: Floats
    value: float
    gap: float


def disjoint_frequencies(
    b: Floats, cost: Floats, budget: float, *, power: float = 2.0
) -> Floats:
    """Return the best times a day of queries that share no tuple.

    f = budget (b / c)**(1 / (k + 1)) / sum(c (b / c)**(1 / (k + 1))).

    >>> disjoint_frequencies(np.array([1.0, 8.0]), np.ones(2), 6.0)
    array([2., 4.])
    """
    share = (b / cost) ** (1.0 / (power + 1.0))
    spent = float(np.sum(cost * share))
    return budget * share / spent if spent > 0 else np.zeros(b.size)


def frequencies(
    gains: Gains,
    b: Floats,
    cost: Floats,
    budget: float,
    *,
    power: float = 2.0,
    rounds: int = ROUNDS,
) -> QueryFrequencies:
    """Return the best times a day of queries that may share tuples.

    Tuples that no query returns are left out. No plan is below the tangent plane at f:
    with g f = k value, the optimum is at least (1 + k) value - budget max(g / c), and
    the gap is the distance to that. It ends when the gap is below 0.0001, or after
    ``rounds``; the value converges long before the gap does.
    """
    b = np.where(gains.pool.reachable, b, 0.0)
    frequency = disjoint_frequencies(gains.sums(b), cost, budget, power=power)
    value, gap = 0.0, 0.0
    if not frequency.any():
        return QueryFrequencies(frequency, value, gap)
    for _ in range(rounds):
        times = gains.shares(frequency)
        positive = np.where(times > 0, times, 1.0)
        value = float(np.sum(b / positive**power))
        slope = gains.sums(power * b / positive ** (power + 1.0)) / cost
        gap = (budget * float(slope.max()) - power * value) / value
        if gap < _CLOSE:
            break
        frequency = frequency * slope ** (1.0 / (power + 1.0))
        frequency *= budget / float(np.sum(cost * frequency))
    return QueryFrequencies(frequency, value, gap)
