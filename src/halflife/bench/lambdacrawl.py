"""LambdaCrawl as in its paper, page after page: a rival for the benchmarks.

Kolobov et al., "Staying up to date with online content changes using reinforcement
learning for scheduling", NeurIPS 2019, algorithms 1 to 3, written from the paper in the
form of the code published with it: loops over pages, a bisection on the price to a
tolerance in the price's own units, and a scalar minimisation over the split of the
budget between pages that announce their changes and pages that do not.
"""

from collections.abc import Callable
from math import log, sqrt

import numpy as np
from scipy import optimize

from halflife.core.arrays import Bools, Floats

_LOOSE = 0.1  # the published tolerance of the price
_SPLIT = 0.005  # share of the budget; the published tolerance of the split


def bisection(
    rate: Floats,
    weight: Floats,
    budget: float,
    total: Callable[[Floats, Floats, float], float],
) -> float:
    """Return the price, between the bounds of the paper (algorithm 1)."""
    n = rate.size
    slow, fast = float(rate.min()), float(rate.max())
    low = n**2 * float(weight.min()) * slow / (n * fast * budget + budget**2)
    high = n**2 * float(weight.max()) * fast / (n * slow * budget + budget**2)
    while (high - low) / 2 > _LOOSE:
        middle = (low + high) / 2
        if total(rate, weight, middle) > budget:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def by_bisection(rate: Floats, weight: Floats, budget: float) -> Floats:
    """Return LambdaCrawl's fetches a day, page after page as in the published code."""
    price = bisection(rate, weight, budget, by_page)
    fetches = np.zeros(rate.size)
    for i in range(rate.size):
        fetches[i] = by_page(rate[i : i + 1], weight[i : i + 1], price)
    return fetches


def by_page(rate: Floats, weight: Floats, price: float) -> float:
    """Return the fetches a day at a price, page after page as in the published code."""
    total = 0.0
    for i in range(len(rate)):
        root = sqrt(rate[i] ** 2 + 4 * weight[i] * rate[i] / price)
        total += (root - rate[i]) / 2
    return float(total)


def fetches_at_price(rate: Floats, weight: Floats, price: float) -> float:
    """Return the fetches a day at a price, in one pass over columns."""
    return float(((np.sqrt(rate**2 + 4 * weight * rate / price) - rate) / 2).sum())


def saturating(rate: Floats, weight: Floats, budget: float) -> Floats:
    """Return the chances of a fetch after an announced change (algorithm 2).

    Chances are proportional to weight / rate; those that would exceed 1 are set to 1,
    and the rest is divided again among the others until none exceeds 1.
    """
    chance, left = np.zeros(rate.size), budget
    while True:
        total = sum(weight[i] for i in range(rate.size) if chance[i] == 0)
        hopes = {
            i: left * weight[i] / (rate[i] * total)
            for i in range(rate.size)
            if chance[i] == 0
        }
        full = [i for i, hope in hopes.items() if hope >= 1]
        if not full:
            chance[list(hopes)] = list(hopes.values())
            return chance
        for i in full:
            chance[i] = 1.0
            left -= rate[i]


def mixed(
    rate: Floats, weight: Floats, complete: Bools, budget: float
) -> tuple[Floats, Floats]:
    """Return rates of fetches, and chances after announcements (algorithm 3)."""
    announced = (rate[complete], weight[complete])
    silent = (rate[~complete], weight[~complete])

    def lost(split: float) -> float:
        fetches = by_bisection(*silent, budget - split)
        chance = saturating(*announced, split)
        unseen = sum(
            w * log(1 + r / f) for r, w, f in zip(*silent, fetches, strict=True)
        )
        seen = sum(w * log(p) for w, p in zip(announced[1], chance, strict=True))
        return float(unseen - seen)

    most = min(budget, float(announced[0].sum()))
    best = optimize.minimize_scalar(
        lost, bounds=(0, most), method="bounded", options={"xatol": _SPLIT * budget}
    ).x
    return by_bisection(*silent, budget - best), saturating(*announced, best)
