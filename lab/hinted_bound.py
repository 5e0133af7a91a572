"""The best freshness that hints of change allow, some of them false."""

import numpy as np
from numpy.typing import ArrayLike

from halflife.allocation.signals import FAR, LEAST_MISSED, SignalRates, cycle, value
from halflife.core.arrays import Floats

_GRID = 3000  # effective ages in the table


def hinted_bound(
    rate: ArrayLike,
    budget: float,
    recall: float,
    precision: float,
    *,
    weight: ArrayLike | None = None,
) -> float:
    """Return the best mean freshness with such hints (the noisy-signal bound).

    At price m each item is looked at when w V(T) reaches m; the price at which the
    looks take the budget is found by bisection. V(T) = u(D T) / D where u is the same
    for all items, so one table of u serves them all.
    """
    change = np.asarray(rate, dtype=np.float64)
    importance = np.ones(change.size) if weight is None else np.asarray(weight, float)
    grid = np.geomspace(1e-6, FAR / max(1.0 - recall, LEAST_MISSED), _GRID)
    one = SignalRates.at(np.ones(_GRID), recall, precision)
    bought = np.maximum.accumulate(value(one, grid))
    length, fresh = cycle(one, grid)

    def at(price: float) -> tuple[Floats, Floats]:
        asked = price * change / importance
        age = np.exp(np.interp(asked, bought, np.log(grid)))
        looked = asked < bought[-1]
        cycles = np.where(looked, np.interp(age, grid, length), np.inf)
        kept = np.interp(age, grid, fresh) / cycles
        return change / cycles, kept

    low, high = np.log(1e-12), np.log(float((importance / change).max()))
    for _ in range(80):
        middle = (low + high) / 2
        looks, _ = at(float(np.exp(middle)))
        low, high = (middle, high) if looks.sum() > budget else (low, middle)
    return _mixed(at(float(np.exp(low))), at(float(np.exp(high))), budget, importance)


def _mixed(
    more: tuple[Floats, Floats], less: tuple[Floats, Floats], budget: float, w: Floats
) -> float:
    """Return the freshness of the mix of two schedules that takes the budget."""
    spent = float(more[0].sum()), float(less[0].sum())
    share = (budget - spent[1]) / max(spent[0] - spent[1], 1e-300)
    kept = (float(w @ fresh) / float(w.sum()) for fresh in (more[1], less[1]))
    much, little = kept
    return little + min(max(share, 0.0), 1.0) * (much - little)
