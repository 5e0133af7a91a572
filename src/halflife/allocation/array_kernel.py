"""Allocation on arrays of any library that follows the array API.

``allocate`` works on numpy's double precision. Here the same schedule is found for
arrays of numpy, PyTorch or CuPy, where they are, in their own precision: each pass
over the items is a handful of array operations, and only sums come back. Sums are
kept in double precision, block by block.

What single precision would spoil is written so that it does not: 1 - (1 + x) exp(-x)
loses all its digits near x = 0, where it is x**2 / 2.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from halflife.allocation import curves
from halflife.allocation.search import Search
from halflife.core.arrays import namespace

Array: TypeAlias = Any  # of whatever library; the array API has no type for it
Ask: TypeAlias = Callable[[float, Array, Array], tuple[float, float]]

BLOCK = 1 << 22  # items at a time, so that scratch space stays small
_CLOSE = 1e-11  # relative; how nearly the budget is met before the last scaling
_STEPS = 60
_FEW = 1 << 18  # items whose price is a good start for that of all
_NO_PRICE = 1e-30  # a price of nothing would ask for infinitely many looks
_SEAM = 1.5  # x up to which the series is used
_TERMS = 20  # of it: the first that is left out is 1e-16 of the first at the seam


class KernelPlan(NamedTuple):
    """How often to look at each item, and what it took to find out.

    Attributes:
        frequency: Looks a day, an array like the rates.
        price: What the last request a day buys.
        passes: How often all items were gone through.

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
    """Return the looks a day at a price, and -d ln(looks) / d ln(price).

    ``first`` is weight / (cost * rate), the price at which an item is given up.
    """
    xp = namespace(first)
    y = xp.clip(price / first, min=_NO_PRICE)
    spacing, bend = curves.freshness(y, y)
    nothing = 0.0 * y
    return xp.where(y < 1.0, pace / spacing, nothing), xp.where(y < 1.0, bend, nothing)


def requests_at(price: float, first: Array, mass: Array) -> tuple[float, float]:
    """Return the requests a day asked for at a price, and their d / d ln(price).

    ``mass`` is cost * rate of each item.
    """
    total = change = 0.0
    for rows in blocks(first):
        frequency, bend = frequencies_at(price, first[rows], mass[rows])
        total += double_sum(frequency)
        change -= double_sum(frequency * bend)
    return total, change


def double_sum(values: Array) -> float:
    """Return the sum, in double precision whatever the values are in.

    >>> double_sum(np.full(3, 0.5, dtype=np.float32))
    1.5
    """
    xp = namespace(values)
    return float(xp.sum(values, dtype=xp.float64))


def blocks(column: Array) -> Iterator[slice]:
    """Yield the rows, some millions at a time."""
    for start in range(0, column.shape[0], BLOCK):
        yield slice(start, start + BLOCK)


def allocate_array(
    rate: Array,
    budget: float,
    *,
    weight: Array,
    cost: Array | None = None,
    ask: Ask = asked,
) -> KernelPlan:
    """Return the looks a day with the best mean freshness, as ``allocate`` does.

    Rates, weights and costs are arrays of one library and one type, above zero. In
    single precision each item's worth is within 1e-6 of the price, and the budget is
    met by scaling what is left of the rounding. ``ask`` may be a fused kernel that
    does what ``requests_at`` does.

    >>> rate = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> allocate_array(rate, 5.0, weight=np.ones(5)).frequency.round(2)
    array([1.15, 1.36, 1.35, 1.14, 0.  ])
    """
    xp = namespace(rate)
    mass = rate if cost is None else cost * rate
    first = weight / mass
    met = _meet(first, mass, budget, ask)
    frequency = xp.empty_like(rate)
    for rows in blocks(rate):
        part = frequencies_at(met.low, first[rows], rate[rows])[0]
        if met.high > met.low:
            fewer = frequencies_at(met.high, first[rows], rate[rows])[0]
            part = fewer + met.share * (part - fewer)
        frequency[rows] = part * met.scale
    return KernelPlan(frequency, met.low, met.passes)


def residual(plan: KernelPlan, rate: Array, *, weight: Array, cost: Array) -> float:
    """Return by how much, relatively, an item's worth misses the price.

    The largest |worth / price - 1| of the items looked at, and worth / price - 1 of
    those left out; in double precision, whatever the frequencies are in.
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
        off = w * worth / (c * r * plan.price) - 1.0
        worst = max(worst, float(xp.max(xp.where(kept, xp.abs(off), off))))
    return worst


class _Met(NamedTuple):
    """Two prices next to each other, or one twice, between which the budget is met."""

    low: float
    high: float
    share: float
    scale: float
    passes: int


def _meet(first: Array, mass: Array, budget: float, ask: Ask) -> _Met:
    xp = namespace(first)
    search = Search(_start(first, mass, budget, ask), float(xp.max(first)))
    close = budget * max(_CLOSE, float(xp.finfo(first.dtype).eps))
    passes = 0
    while passes < _STEPS and not search.tight:
        price = search.price
        total, change = ask(price, first, mass)
        passes += 1
        if abs(total - budget) <= close:
            return _Met(price, price, 1.0, budget / total, passes + 1)
        search.move(total, change, budget)
    low, high = search.price_at(search.low), search.price_at(search.high)
    most, least = (ask(price, first, mass)[0] for price in (low, high))
    # All are about to be given up: floats know no price between these two.
    share = (budget - least) / (most - least)
    return _Met(low, high, share, 1.0, passes + 3)


def _start(first: Array, mass: Array, budget: float, ask: Ask) -> float:
    """Return ln of about the price.

    It is what some of the items would pay for their share of the budget, or, if they
    are few, what it would be if every look came soon.
    """
    xp, step = namespace(first), first.shape[0] // _FEW
    if step > 1:
        few, their = first[::step], mass[::step]
        share = (
            budget
            * double_sum(their)
            / sum(double_sum(mass[rows]) for rows in blocks(mass))
        )
        return float(np.log(_meet(few, their, share, ask).low))
    return 2.0 * float(np.log(double_sum(mass * xp.sqrt(0.5 * first)) / budget))
