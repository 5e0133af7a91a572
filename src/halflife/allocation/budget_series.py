"""The best schedules of many budgets at once.

Each budget alone costs dozens of array operations, however few the items are. Here the
prices of all budgets are solved for together, one row each.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from halflife.allocation.columns import Columns, amount, columns
from halflife.allocation.curves import freshness
from halflife.allocation.solver import allocate
from halflife.core.arrays import Floats

_FEW = 1024  # items; with more, each budget alone is as fast
_ROUNDS = 200
_CLOSE = 1e-11  # relative error of the budget before the last scaling
_TIGHT = 1e-13  # of ln(-ln(1 - price / top)): two prices this close are one
_NO_PRICE = 1e-290  # at a price of 0 the frequency would be infinite
_ENDS = (-660.0, float(np.log(40.0)))  # of ln(-ln(1 - price / top)); see ``Search``
_BELOW_TOP = 0.9  # of the top price, at most, to start from
_HALVED = 4  # every so many rounds the bracket is bisected


def frequencies(
    rate: ArrayLike,
    budgets: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
) -> Floats:
    """Return the fetches a day that keep items freshest, a row for each budget.

    Each row is the ``frequency`` that ``allocate`` returns for that budget.

    >>> frequencies([1, 2, 3, 4, 5], [0, 5]).round(2)
    array([[0.  , 0.  , 0.  , 0.  , 0.  ],
           [1.15, 1.36, 1.35, 1.14, 0.  ]])
    """
    given = columns(rate, weight, cost)
    spend = np.array([amount("budget", budget) for budget in np.asarray(budgets)])
    if given.rate.size > _FEW:
        allocations = [
            allocate(rate, b, weight=weight, cost=cost) for b in spend.tolist()
        ]
        return np.stack([allocation.frequency for allocation in allocations])
    found = np.zeros((spend.size, given.rate.size))
    useful, paid = np.flatnonzero(given.useful), np.flatnonzero(spend)
    if useful.size and paid.size:
        found[np.ix_(paid, useful)] = _settle(given.take(given.useful), spend[paid])
    return found


class _DemandAt(NamedTuple):
    """The demand at some prices: fetches a day, requests, their slope."""

    frequency: Floats
    total: Floats
    slope: Floats


def _demand_at(given: Columns, at: Floats) -> _DemandAt:
    """Return the demand of all items at ln(-ln(1 - price / top)), a row for each price.

    The slope is d ln(total) / d at.
    """
    first = given.weight / (given.cost * given.pace)
    z = np.exp(at)
    price = -first.max() * np.expm1(-z)
    y = np.maximum(price[:, None] / first, _NO_PRICE)
    spacing, bend = freshness(y, given.shape)
    frequency = np.where(y < 1.0, given.pace / spacing, 0.0)
    spent = frequency * given.cost
    total = spent.sum(axis=1)
    fall = (spent * bend).sum(axis=1) / np.maximum(total, 1e-300)
    return _DemandAt(frequency, total, -fall * z / np.expm1(np.maximum(z, 1e-300)))


def _start(given: Columns, budget: Floats) -> Floats:
    """Return where short intervals would cost the budget; never too low."""
    first = given.weight / (given.cost * given.pace)
    requests = float((given.cost * given.pace * np.sqrt(first / 2.0)).sum())
    share = np.minimum((requests / budget) ** 2 / first.max(), _BELOW_TOP)
    return np.asarray(np.log(-np.log1p(-np.maximum(share, 1e-285))))


def _settle(given: Columns, budget: Floats) -> Floats:
    """Return the frequencies that spend each budget: Newton's method in brackets.

    At its first price the frequency of an item is steeper than floats can resolve; the
    rest of the budget is then shared between the ends of the bracket.
    """
    low, high = (np.full(budget.size, end) for end in _ENDS)
    at = _start(given, budget)
    frequencies_of = np.zeros((budget.size, given.rate.size))
    left, is_met = np.arange(budget.size), np.zeros(budget.size, np.bool_)
    for step in range(_ROUNDS):
        demand, target = _demand_at(given, at[left]), budget[left]
        close = np.abs(demand.total - target) <= _CLOSE * target
        is_met[left] = close
        scale = (target / np.maximum(demand.total, 1e-300))[close, None]
        frequencies_of[left[close]] = demand.frequency[close] * scale
        low[left] = np.where(demand.total > target, at[left], low[left])
        high[left] = np.where(demand.total > target, high[left], at[left])
        at[left] = _next(demand, target, (at[left], low[left], high[left]), step)
        left = left[~close & (high[left] - low[left] > _TIGHT * np.abs(high[left]))]
        if not left.size:
            break
    rest = np.flatnonzero(~is_met)
    if rest.size:
        most, least = _demand_at(given, low[rest]), _demand_at(given, high[rest])
        share = (budget[rest] - least.total) / (most.total - least.total)
        frequencies_of[rest] = least.frequency + share[:, None] * (
            most.frequency - least.frequency
        )
    return frequencies_of


def _next(
    demand: _DemandAt, budget: Floats, now: tuple[Floats, Floats, Floats], step: int
) -> Floats:
    """Return Newton's steps where they stay in their bracket, else its middle."""
    at, low, high = now
    excess = np.log(np.maximum(demand.total, 1e-300) / budget)
    target = at - excess / np.minimum(demand.slope, -1e-300)
    newton = (target > low) & (target < high) & (step % _HALVED != _HALVED - 1)
    return np.where(newton, target, (low + high) / 2)
