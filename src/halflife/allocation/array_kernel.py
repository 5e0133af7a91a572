"""Allocation on arrays of any library that follows the array API.

``allocate`` works on numpy's double precision. Here the same schedule is found for
arrays of numpy, PyTorch or CuPy, on their device and in their own precision: each pass
over the items is a handful of array operations, and only sums are returned. Sums are
kept in double precision, block by block.

Expressions that would lose precision are rewritten: 1 - (1 + x) exp(-x) loses all its
digits near x = 0, where it is x**2 / 2.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from halflife.allocation import curves
from halflife.allocation.search import Search
from halflife.core.arrays import namespace

Array: TypeAlias = Any  # of any library; the array API has no type for it
Ask: TypeAlias = Callable[[float, Array, Array], tuple[float, float]]

BLOCK = 1 << 22  # items at a time, so that scratch space stays small
_CLOSE = 1e-11  # relative error of the budget before the last scaling
_STEPS = 60
_FEW = 1 << 18  # items in the sample that gives the first price
_NO_PRICE = 1e-30  # at a price of 0 the frequency would be infinite
_SEAM = 1.5  # x up to which the series is used
_TERMS = 20  # of the series: the first omitted one is 1e-16 of the first at the seam


class KernelPlan(NamedTuple):
    """The frequency of each item, and the price.

    Attributes:
        frequency: Fetches a day, an array like the rates.
        price: The gain of the last request a day.
        passes: The number of passes over all items.

    """

    frequency: Array
    price: float
    passes: int


def freshness_worth(x: Array) -> Array:
    """Return 1 - (1 + x) exp(-x), to a few units of the last digit for any x >= 0.

    Below x = 1.5 it is exp(-x) (x**2/2! + x**3/3! + ...), in which nothing cancels.

    >>> freshness_worth(np.array([1e-3, 1.0], dtype=np.float32))
    array([4.996668e-07, 2.642411e-01], dtype=float32)
    """
    xp = namespace(x)
    near = xp.clip(x, max=_SEAM)
    total = 0.0 * near
    for k in range(_TERMS, 2, -1):
        total = (total + 1.0) * near / float(k)
    small = xp.exp(-near) * (total + 1.0) * near * near * 0.5
    return xp.where(x < _SEAM, small, 1.0 - (1.0 + x) * xp.exp(-x))


def frequencies_at(price: float, first: Array, pace: Array) -> tuple[Array, Array]:
    """Return the fetches a day at a price, and -d ln(fetches) / d ln(price).

    ``first`` is weight / (cost * rate), the price above which an item is not fetched.
    """
    xp = namespace(first)
    y = xp.clip(price / first, min=_NO_PRICE)
    spacing, bend = curves.freshness(y, y)
    nothing = 0.0 * y
    return xp.where(y < 1.0, pace / spacing, nothing), xp.where(y < 1.0, bend, nothing)


def requests_at(price: float, first: Array, mass: Array) -> tuple[float, float]:
    """Return the requests a day at a price, and their d / d ln(price).

    ``mass`` is cost * rate of each item.
    """
    total = change = 0.0
    for rows in blocks(first):
        frequency, bend = frequencies_at(price, first[rows], mass[rows])
        total += double_sum(frequency)
        change -= double_sum(frequency * bend)
    return total, change


def double_sum(values: Array) -> float:
    """Return the sum in double precision.

    >>> double_sum(np.full(3, 0.5, dtype=np.float32))
    1.5
    """
    xp = namespace(values)
    return float(xp.sum(values, dtype=xp.float64))


def blocks(column: Array) -> Iterator[slice]:
    """Yield the rows in blocks of some millions."""
    for start in range(0, column.shape[0], BLOCK):
        yield slice(start, start + BLOCK)


def allocate_array(
    rate: Array,
    budget: float,
    *,
    weight: Array,
    cost: Array | None = None,
    ask: Ask = requests_at,
) -> KernelPlan:
    """Return the fetches a day with the best mean freshness, as ``allocate`` does.

    Rates, weights and costs are arrays of one library and one type, above zero. In
    single precision each item's gain is within 1e-6 of the price, and the rounding
    error of the budget is removed by scaling. ``ask`` may be a fused kernel equivalent
    to ``requests_at``.

    >>> rate = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> allocate_array(rate, 5.0, weight=np.ones(5)).frequency.round(2)
    array([1.15, 1.36, 1.35, 1.14, 0.  ])
    """
    xp = namespace(rate)
    mass = rate if cost is None else cost * rate
    first = weight / mass
    solution = _meet(first, mass, budget, ask)
    frequency = xp.empty_like(rate)
    for rows in blocks(rate):
        frequency_part = frequencies_at(solution.low, first[rows], rate[rows])[0]
        if solution.high > solution.low:
            fewer = frequencies_at(solution.high, first[rows], rate[rows])[0]
            frequency_part = fewer + solution.share * (frequency_part - fewer)
        frequency[rows] = frequency_part * solution.scale
    return KernelPlan(frequency, solution.low, solution.passes)


def residual(plan: KernelPlan, rate: Array, *, weight: Array, cost: Array) -> float:
    """Return the relative error of the optimality condition.

    The largest |gain / price - 1| of the items fetched, and gain / price - 1 of the
    others; in double precision.
    """
    xp, worst = namespace(rate), 0.0
    for rows in blocks(rate):
        r, w, c, f = (
            xp.asarray(column[rows], dtype=xp.float64)
            for column in (rate, weight, cost, plan.frequency)
        )
        kept = f > 0
        x = r / xp.where(kept, f, 1.0)
        worth = xp.where(kept, freshness_worth(x), 1.0)
        error = w * worth / (c * r * plan.price) - 1.0
        worst = max(worst, float(xp.max(xp.where(kept, xp.abs(error), error))))
    return worst


class _Solution(NamedTuple):
    """Two adjacent prices, or one twice, between which the budget is met."""

    low: float
    high: float
    share: float
    scale: float
    passes: int


def _meet(first: Array, mass: Array, budget: float, ask: Ask) -> _Solution:
    xp = namespace(first)
    search = Search(_start(first, mass, budget, ask), float(xp.max(first)))
    close = budget * max(_CLOSE, float(xp.finfo(first.dtype).eps))
    passes = 0
    while passes < _STEPS and not search.tight:
        price = search.price
        total, change = ask(price, first, mass)
        passes += 1
        if abs(total - budget) <= close:
            return _Solution(price, price, 1.0, budget / total, passes + 1)
        search.move(total, change, budget)
    low, high = search.price_at(search.low), search.price_at(search.high)
    most, least = (ask(price, first, mass)[0] for price in (low, high))
    # All items are at their first price: there is no float between these two.
    share = (budget - least) / (most - least)
    return _Solution(low, high, share, 1.0, passes + 3)


def _start(first: Array, mass: Array, budget: float, ask: Ask) -> float:
    """Return ln of an approximate price.

    It is the price of a sample of items with their share of the budget, or, if they are
    few, the price if all intervals were short.
    """
    xp, step = namespace(first), first.shape[0] // _FEW
    if step > 1:
        sample, sample_mass = first[::step], mass[::step]
        share = (
            budget
            * double_sum(sample_mass)
            / sum(double_sum(mass[rows]) for rows in blocks(mass))
        )
        return float(np.log(_meet(sample, sample_mass, share, ask).low))
    return 2.0 * float(np.log(double_sum(mass * xp.sqrt(0.5 * first)) / budget))
