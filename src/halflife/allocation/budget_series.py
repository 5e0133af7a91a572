"""The best schedules of many budgets at once.

One budget after the other costs some dozens of array operations each, however few the
items are. Here the prices of all budgets are sought together, a row each.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from halflife.allocation.columns import Columns, amount, columns
from halflife.allocation.curves import freshness
from halflife.allocation.solver import allocate
from halflife.core.arrays import Floats

_FEW = 1024  # items; of more, each budget alone is as quick
_ROUNDS = 200
_CLOSE = 1e-11  # relative; how nearly a budget is met before the last scaling
_TIGHT = 1e-13  # of ln(-ln(1 - price / top)): two prices this close are one
_NO_PRICE = 1e-290  # a price of nothing would ask for infinitely many looks
_ENDS = (-660.0, float(np.log(40.0)))  # of ln(-ln(1 - price / top)); see ``Search``
_BELOW_TOP = 0.9  # of the top price, at most, to start from
_HALVED = 4  # every so many rounds the bracket is halved, should Newton's steps not


def frequencies(
    rate: ArrayLike,
    budgets: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
) -> Floats:
    """Return the looks a day that keep items freshest, a row for each budget.

    Each row is the ``frequency`` that ``allocate`` returns for that budget.

    >>> frequencies([1, 2, 3, 4, 5], [0, 5]).round(2)
    array([[0.  , 0.  , 0.  , 0.  , 0.  ],
           [1.15, 1.36, 1.35, 1.14, 0.  ]])
    """
    given = columns(rate, weight, cost)
    spend = np.array([amount("budget", budget) for budget in np.asarray(budgets)])
    if given.rate.size > _FEW:
        each = [allocate(rate, b, weight=weight, cost=cost) for b in spend.tolist()]
        return np.stack([one.frequency for one in each])
    found = np.zeros((spend.size, given.rate.size))
    some, paid = np.flatnonzero(given.useful), np.flatnonzero(spend)
    if some.size and paid.size:
        found[np.ix_(paid, some)] = _settle(given.take(given.useful), spend[paid])
    return found


class _Asked(NamedTuple):
    """What is asked for at some prices: looks a day, requests, their slope."""

    frequency: Floats
    total: Floats
    slope: Floats


def _asked(given: Columns, at: Floats) -> _Asked:
    """Return what all items ask for at ln(-ln(1 - price / top)), a row a price.

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
    return _Asked(frequency, total, -fall * z / np.expm1(np.maximum(z, 1e-300)))


def _start(given: Columns, budget: Floats) -> Floats:
    """Return where looks that come soon would cost the budget; never too low."""
    first = given.weight / (given.cost * given.pace)
    asked = float((given.cost * given.pace * np.sqrt(first / 2.0)).sum())
    share = np.minimum((asked / budget) ** 2 / first.max(), _BELOW_TOP)
    return np.asarray(np.log(-np.log1p(-np.maximum(share, 1e-285))))


def _settle(given: Columns, budget: Floats) -> Floats:
    """Return the frequencies that spend each budget: Newton's method in brackets.

    Where an item is given up its frequency is steeper than floats can follow; the
    rest of the budget is then handed out between the ends of the bracket.
    """
    low, high = (np.full(budget.size, end) for end in _ENDS)
    at = _start(given, budget)
    found = np.zeros((budget.size, given.rate.size))
    left, met = np.arange(budget.size), np.zeros(budget.size, np.bool_)
    for step in range(_ROUNDS):
        asked, want = _asked(given, at[left]), budget[left]
        close = np.abs(asked.total - want) <= _CLOSE * want
        met[left] = close
        scale = (want / np.maximum(asked.total, 1e-300))[close, None]
        found[left[close]] = asked.frequency[close] * scale
        low[left] = np.where(asked.total > want, at[left], low[left])
        high[left] = np.where(asked.total > want, high[left], at[left])
        at[left] = _next(asked, want, (at[left], low[left], high[left]), step)
        left = left[~close & (high[left] - low[left] > _TIGHT * np.abs(high[left]))]
        if not left.size:
            break
    rest = np.flatnonzero(~met)
    if rest.size:
        most, least = _asked(given, low[rest]), _asked(given, high[rest])
        share = (budget[rest] - least.total) / (most.total - least.total)
        found[rest] = least.frequency + share[:, None] * (
            most.frequency - least.frequency
        )
    return found


def _next(
    asked: _Asked, budget: Floats, now: tuple[Floats, Floats, Floats], step: int
) -> Floats:
    """Return Newton's steps where they stay in their bracket, else its middle."""
    at, low, high = now
    off = np.log(np.maximum(asked.total, 1e-300) / budget)
    there = at - off / np.minimum(asked.slope, -1e-300)
    newton = (there > low) & (there < high) & (step % _HALVED != _HALVED - 1)
    return np.where(newton, there, (low + high) / 2)
