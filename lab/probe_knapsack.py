"""The best queries within a number of requests: a knapsack of overlapping queries."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.queries.known.greedy import GreedyLimits, ProbeOffers, ProbePlan, choose
from halflife.queries.known.keywords import Pool


def knapsack(
    pool: Pool, value: Floats, offered: ProbeOffers, requests: int, *, depth: int = 0
) -> ProbePlan:
    """Return a choice within so many requests.

    It is the better of the greedy choice and the best single query (Leskovec et al.,
    KDD 2007: at least (1 - 1/e) / 2 of the optimum). With ``depth``, the greedy choice
    starts from every set of up to that many queries; from 3 on that gives 1 - 1/e
    (Sviridenko, 2004), in time that grows with that power of the pool's size.
    """
    limits = GreedyLimits(requests=requests)
    fits = np.flatnonzero(offered.pages <= requests)
    best = choose(pool, value, offered, limits)
    for begin in _begins(pool, value, offered, fits, depth):
        if offered.pages[list(begin)].sum() <= requests:
            tried = choose(pool, value, offered, limits, begin=begin)
            best = tried if tried.value > best.value else best
    return best


def _begins(
    pool: Pool, value: Floats, offered: ProbeOffers, fits: Ints, depth: int
) -> Iterator[tuple[int, ...]]:
    """Yield the sets of queries to start from: the best one, or all up to a size."""
    if not depth and fits.size:
        running = np.r_[0.0, np.cumsum(value[pool.matches.item])]
        alone = np.diff(running[pool.matches.start]) * offered.seen(1)
        yield (int(fits[np.argmax(alone[fits])]),)
    for size in range(1, depth + 1):
        yield from combinations(fits.tolist(), size)
