"""The schedule that spends a budget best, and the price of a request."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from halflife.allocation import curves
from halflife.allocation.columns import Columns, Objective, amount, columns
from halflife.allocation.demand import BLOCK, CLOSE, STAND_INS, Demand, spend_budget
from halflife.allocation.objectives import (
    marginal,
    mean_age,
    mean_freshness,
    mean_harmonic,
    unknown_objective,
)
from halflife.core import lazy_scipy
from halflife.core.arrays import Floats

__all__ = [
    "Allocation",
    "Demand",
    "allocate",
    "check_objective",
    "demand_of",
    "first_of",
    "kkt_residual",
    "spend_budget",
    "start_of",
    "value_of",
]

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


def allocate(  # noqa: PLR0913  (one problem, told whole)
    rate: ArrayLike,
    budget: float,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
    shape: ArrayLike | None = None,
    objective: Objective = "freshness",
    limits: tuple[ArrayLike, ArrayLike] | None = None,
) -> Allocation:
    """Return the looks a day that make the most of ``budget`` requests a day.

    Maximises sum(weight * mean freshness), or minimises the loss, subject to
    sum(cost * frequency) = budget. At the optimum weight * U(1 / frequency) / cost is
    the same, the price, for every item that is looked at; the price is found by
    Newton's method. Under freshness an item that changes too fast to be worth
    chasing gets exactly 0: spending in proportion to the change rate is worse than
    spending evenly. Cho and Garcia-Molina, TODS 2003; with a ``shape``, survival is
    exp(-rate * t**shape) and this is Eq. 4 of Ipeirotis et al., TODS 2007.

    ``limits`` are the fewest and the most looks a day that an item may get; between
    them it gets what it would get at the price, and where all have their most the
    rest of the budget is not spent.

    >>> allocate([1, 2, 3, 4, 5], 5).frequency.round(2)
    array([1.15, 1.36, 1.35, 1.14, 0.  ])
    >>> allocate([1, 2, 3, 4, 5], 5, limits=(0.5, 1.2)).frequency.round(2)
    array([1.11, 1.2 , 1.2 , 0.99, 0.5 ])
    """
    given = columns(rate, weight, cost, shape)
    spend = amount("budget", budget)
    check_objective(given, objective)
    if limits is not None:
        frequency, price = _within(given, spend, objective, _limits(limits, given))
        return Allocation(
            frequency, price * given.scale, value_of(given, frequency, objective)
        )
    frequency = np.zeros(given.rate.size)
    useful = given.useful
    price = 0.0
    if useful.all() and useful.size:
        frequency, price = _spend(given, spend, objective)
    elif useful.any():
        some = given.take(useful)
        frequency[useful], price = _spend(some, spend, objective)
    quick = given.bent and objective == "freshness" and given.scale > 0
    value = (
        _bent_freshness(given, frequency, price)
        if quick
        else value_of(given, frequency, objective)
    )
    return Allocation(frequency, price * given.scale, value)


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


def check_objective(given: Columns, objective: Objective) -> None:
    """Raise ``ValueError`` unless the items can be given this objective."""
    if objective not in _POISSON:
        raise unknown_objective(objective)
    if objective == "harmonic" and given.bent:
        raise ValueError(
            "objective 'harmonic' needs shape 1: it counts the changes missed, and the "
            "survival of the first one says nothing about the others"
        )


def _spend(given: Columns, budget: float, objective: Objective) -> tuple[Floats, float]:
    first = first_of(given, objective)
    limited = objective == "freshness"
    if budget == 0:
        return np.zeros_like(first), float(first.max()) if limited else np.inf
    demand = demand_of(given, objective)
    if first.size <= STAND_INS:
        return spend_budget(demand, budget, start_of(demand, budget, objective))
    few = demand.summary()  # its price is nearly everyone's, and cheap
    price = spend_budget(few, budget, start_of(few, budget, objective))[1]
    return spend_budget(demand, budget, float(np.log(price)), few.slope(price))


def demand_of(
    given: Columns,
    objective: Objective,
    *,
    floor: Floats | None = None,
    limits: Floats | None = None,
) -> Demand:
    """Return what useful items would ask for at any price."""
    curve = (_WEIBULL if given.bent else _POISSON)[objective]
    limited = objective == "freshness"
    first = first_of(given, objective)
    shape = given.shape
    return Demand(curve, first, given.pace, given.cost, shape, limited, floor, limits)


def _limits(limits: tuple[ArrayLike, ArrayLike], given: Columns) -> Floats:
    n = given.rate.size
    fewest, most = (np.asarray(side, dtype=np.float64) for side in limits)
    both = np.stack([np.broadcast_to(fewest, n), np.broadcast_to(most, n)])
    if not np.all((both[0] >= 0) & (both[0] <= both[1]) & np.isfinite(both[0])):
        raise ValueError("limits must be 0 <= fewest <= most looks a day")
    return both


def _within(
    given: Columns, budget: float, objective: Objective, limits: Floats
) -> tuple[Floats, float]:
    """Return the best frequencies between limits, and the price."""
    fewest, most = limits
    useful = given.useful
    frequency = fewest.copy()
    bound = float(given.cost @ fewest)
    if bound > budget * (1 + CLOSE):
        raise ValueError(
            f"the fewest looks a day take {bound:g} requests, the budget is {budget:g}"
        )
    rest = budget - float((given.cost * fewest)[~useful].sum())
    some = given.take(useful)
    if float(some.cost @ most[useful]) <= rest * (1 + CLOSE):
        frequency[useful] = most[useful]
        return frequency, 0.0
    first = float(first_of(some, objective).max())
    if float(some.cost @ fewest[useful]) >= rest * (1 - CLOSE):
        return frequency, first if objective == "freshness" else np.inf
    demand = demand_of(some, objective, limits=limits[:, useful])
    spent, price = spend_budget(demand, rest, start_of(demand, rest, objective))
    frequency[useful] = np.clip(spent, fewest[useful], most[useful])
    return frequency, price


def first_of(given: Columns, objective: Objective) -> Floats:
    """Return weight * U(inf) / cost, or its unit where U has no limit."""
    worth: Floats = given.weight / (given.cost * given.pace)
    if objective == "age":
        return worth / given.pace
    if objective == "freshness" and given.bent:
        return np.asarray(worth * lazy_scipy.gamma(1 + 1 / given.shape))
    return worth


def start_of(demand: Demand, budget: float, objective: Objective) -> float:
    """Return ln of the price if every look came soon: U(s) is then c s**p.

    For Poisson it is an upper bound, and always as good a start as any.
    """
    g = float(np.mean(demand.shape))
    p = 2 + g if objective == "age" else 1 + g
    c = 1 / p if objective == "age" else g / (p * lazy_scipy.gamma(1 + 1 / g))
    asked = float(np.sum(demand.cost * demand.pace * (c * demand.first) ** (1 / p)))
    return p * float(np.log(asked / budget))


def value_of(given: Columns, frequency: Floats, objective: Objective) -> float:
    """Return the weighted mean of the objective; without weight nothing is lost."""
    matters = given.weight > 0
    if not matters.any():
        return 1.0 if objective == "freshness" else 0.0
    shape = given.shape if given.bent else None
    total = 0.0
    for start in range(0, given.rate.size, BLOCK):
        rows = slice(start, start + BLOCK)
        pace, weight = given.pace[rows], given.weight[rows]
        g = 1.0 if shape is None else shape[rows]
        rate = np.where(pace > 0, given.rate[rows], 0.0)
        each = _mean(objective, frequency[rows], rate, g)
        total += float((weight * np.where(weight > 0, each, 0.0)).sum())
    return total / float(given.weight.sum())


def _mean(
    objective: Objective, frequency: Floats, rate: Floats, shape: Floats | float
) -> Floats:
    if objective == "harmonic":
        return mean_harmonic(frequency, rate)
    mean = mean_freshness if objective == "freshness" else mean_age
    return mean(frequency, rate, shape)


def _bent_freshness(given: Columns, frequency: Floats, price: float) -> float:
    """Return the weighted mean freshness of a best schedule, without an integral.

    The mean of S over 0..T is S(T) + U(T) / T, and at the optimum weight * U is
    price * cost for every item looked at: the second terms add up to price * budget.
    """
    looked = frequency > 0
    x = (given.pace[looked] / frequency[looked]) ** given.shape[looked]
    alive = (given.pace == 0).astype(np.float64)
    alive[looked] = np.exp(-x)
    paid = price * float(given.cost @ frequency) if looked.any() else 0.0
    return (float(given.weight @ alive) + paid) / float(given.weight.sum())
