"""The schedule that spends a budget best, and the price of a request."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from halflife import special
from halflife.allocation import curves
from halflife.allocation.columns import Columns, Objective, amount, columns
from halflife.allocation.objectives import (
    marginal,
    mean_age,
    mean_freshness,
    mean_harmonic,
    unknown,
)
from halflife.allocation.search import Search
from halflife.arrays import Floats

_BLOCK = 8192  # items at a time: what one step needs stays in the processor's cache
_SAMPLE = 8192
_CLOSE = 1e-11  # relative; how nearly the budget is met before the last scaling
_NO_PRICE = 1e-290  # a price of nothing would ask for infinitely many looks
_STEPS = 200

_POISSON: dict[Objective, curves.Curve] = {
    "freshness": curves.freshness,
    "age": curves.poisson_age,
    "harmonic": curves.harmonic,
}
_WEIBULL: dict[Objective, curves.Curve] = {
    "freshness": curves.weibull_freshness,
    "age": curves.age,
}


@dataclass(frozen=True, slots=True)
class Allocation:
    """How often to look at each item, evenly spaced.

    Attributes:
        frequency: Looks a day.
        price: What the last request a day buys, in weight times the objective.
        value: The weighted mean over all items: of freshness, from 0 to 1, or of
            the loss, for age (days) and harmonic.

    """

    frequency: Floats
    price: float
    value: float


class Demand(NamedTuple):
    """What the items would ask for at any price.

    ``first`` is the price at which an item's first look stops being worth it, or,
    for losses without a limit, the unit in which the curve counts the price.
    """

    curve: curves.Curve
    first: Floats
    pace: Floats
    cost: Floats
    shape: Floats
    limited: bool

    def sample(self, every: int) -> Self:
        """Return the demand of one item in ``every``."""
        return self._replace(
            first=self.first[::every],
            pace=self.pace[::every],
            cost=self.cost[::every],
            shape=self.shape[::every],
        )

    def at(self, price: float, frequency: Floats) -> tuple[float, float]:
        """Fill in the frequencies; return requests a day, and their d / d ln price."""
        total = change = 0.0
        for start in range(0, self.first.size, _BLOCK):
            rows = slice(start, start + _BLOCK)
            asked, bend = self._block(price, rows, frequency[rows])
            total += asked
            change -= bend
        return total, change

    def _block(self, price: float, rows: slice, out: Floats) -> tuple[float, float]:
        y = np.maximum(price / self.first[rows], _NO_PRICE)
        spacing, bend = self.curve(y, self.shape[rows])
        out[:] = self.pace[rows] / spacing
        if self.limited:
            out[y >= 1.0] = 0.0
        spent = out * self.cost[rows]
        return float(spent.sum()), float(spent @ bend)


def allocate(
    rate: ArrayLike,
    budget: float,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
    shape: ArrayLike | None = None,
    objective: Objective = "freshness",
) -> Allocation:
    """Return the looks a day that make the most of ``budget`` requests a day.

    Maximises sum(weight * mean freshness), or minimises the loss, subject to
    sum(cost * frequency) = budget. At the optimum weight * U(1 / frequency) / cost is
    the same, the price, for every item that is looked at; the price is found by
    Newton's method. Under freshness an item that changes too fast to be worth
    chasing gets exactly 0: spending in proportion to the change rate is worse than
    spending evenly. Cho and Garcia-Molina, TODS 2003; with a ``shape``, survival is
    exp(-rate * t**shape) and this is Eq. 4 of Ipeirotis et al., TODS 2007.

    >>> allocate([1, 2, 3, 4, 5], 5).frequency.round(2)
    array([1.15, 1.36, 1.35, 1.14, 0.  ])
    """
    given = columns(rate, weight, cost, shape)
    spend = amount("budget", budget)
    _check(given, objective)
    frequency = np.zeros(given.rate.size)
    useful = given.useful
    price = 0.0
    if useful.all() and useful.size:
        frequency, price = _spend(given, spend, objective)
    elif useful.any():
        some = given.take(useful)
        frequency[useful], price = _spend(some, spend, objective)
    return Allocation(
        frequency, price * given.scale, _value(given, frequency, objective)
    )


def kkt_residual(  # noqa: PLR0913  (an allocation and what it was made from)
    allocation: Allocation,
    rate: ArrayLike,
    budget: float,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
    shape: ArrayLike | None = None,
    objective: Objective = "freshness",
) -> float:
    """Return by how much, relatively, an allocation misses being optimal.

    The largest of: |worth / price - 1| over the items looked at, worth / price - 1
    over the items left out, and |spent / budget - 1|. The problem is convex, so 0
    means optimal.
    """
    given = columns(rate, weight, cost, shape)
    spent = float((given.cost * allocation.frequency).sum())
    over = abs(spent / budget - 1.0) if budget > 0 else spent
    some = given.take(given.useful)
    if not some.rate.size or not np.isfinite(allocation.price):
        return spent
    f = allocation.frequency[given.useful]
    g = some.shape if some.bent else 1.0
    worth = some.weight * marginal(f, some.rate, shape=g, objective=objective)
    off = given.scale * worth / (some.cost * allocation.price) - 1.0
    off = np.where(f > 0, np.abs(off), np.maximum(off, 0.0))
    wasted = float(allocation.frequency[~given.useful].max(initial=0.0))
    return max(over, wasted, float(off.max()))


def _check(given: Columns, objective: Objective) -> None:
    if objective not in _POISSON:
        raise unknown(objective)
    if objective == "harmonic" and given.bent:
        raise ValueError(
            "objective 'harmonic' needs shape 1: it counts the changes missed, and the "
            "survival of the first one says nothing about the others"
        )


def _spend(given: Columns, budget: float, objective: Objective) -> tuple[Floats, float]:
    first = _first(given, objective)
    limited = objective == "freshness"
    if budget == 0:
        return np.zeros_like(first), float(first.max()) if limited else np.inf
    curve = (_WEIBULL if given.bent else _POISSON)[objective]
    demand = Demand(curve, first, given.pace, given.cost, given.shape, limited)
    every = max(1, first.size // _SAMPLE)
    sample = demand.sample(every)
    share = budget * sample.first.size / first.size
    start = _start(sample, share, objective)
    if every > 1:  # a sample's price is nearly everyone's, and cheap
        start = float(np.log(settle(sample, share, start)[1]))
    return settle(demand, budget, start)


def _first(given: Columns, objective: Objective) -> Floats:
    """Return weight * U(inf) / cost, or its unit where U has no limit."""
    worth = given.weight / (given.cost * given.pace)
    if objective == "age":
        return worth / given.pace
    if objective == "freshness":
        return np.asarray(worth * special.gamma(1 + 1 / given.shape))
    return worth


def _start(demand: Demand, budget: float, objective: Objective) -> float:
    """Return ln of the price if every look came soon: U(s) is then c s**p.

    For Poisson it is an upper bound, and always as good a start as any.
    """
    g = float(np.mean(demand.shape))
    p = 2 + g if objective == "age" else 1 + g
    c = 1 / p if objective == "age" else g / (p * special.gamma(1 + 1 / g))
    asked = float(np.sum(demand.cost * demand.pace * (c * demand.first) ** (1 / p)))
    return p * float(np.log(asked / budget))


def settle(demand: Demand, budget: float, start: float) -> tuple[Floats, float]:
    """Return the frequencies that spend exactly the budget, and their price.

    Newton's method on ln(requests), kept inside a bracket that shrinks. Frequencies
    near the price at which an item is given up are steeper than floats can follow;
    the last of the budget is then handed out between the two ends of the bracket,
    between which every item's worth lies.
    """
    search = Search(start, float(demand.first.max()) if demand.limited else np.inf)
    frequency = np.empty(demand.first.size)
    for _ in range(_STEPS):
        total, change = demand.at(search.price, frequency)
        if abs(total - budget) <= _CLOSE * budget:
            return frequency * (budget / total), search.price
        search.move(total, change, budget)
        if search.tight:
            break
    fewer = np.empty_like(frequency)
    most, _ = demand.at(search.price_at(search.low), frequency)
    least, _ = demand.at(search.price_at(search.high), fewer)
    share = (budget - least) / (most - least)
    return fewer + share * (frequency - fewer), search.price_at(search.low)


def _value(given: Columns, frequency: Floats, objective: Objective) -> float:
    """Return the weighted mean of the objective; without weight nothing is lost."""
    matters = given.weight > 0
    if not matters.any():
        return 1.0 if objective == "freshness" else 0.0
    f = frequency[matters]
    rate = np.where(given.pace > 0, given.rate, 0.0)[matters]
    g = given.shape[matters] if given.bent else 1.0
    if objective == "freshness":
        each = mean_freshness(f, rate, g)
    elif objective == "age":
        each = mean_age(f, rate, g)
    else:
        each = mean_harmonic(f, rate)
    weight = given.weight[matters]
    return float((weight * each).sum() / weight.sum())
