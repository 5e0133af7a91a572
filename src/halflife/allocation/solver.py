"""The best schedule for a budget, and the price of a request."""

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
    """The frequency of each item, evenly spaced.

    Attributes:
        frequency: Fetches a day.
        price: The gain of the last request a day, in weight times the objective.
        value: The weighted mean over all items: of freshness, from 0 to 1, or of
            the loss, for age (days) and harmonic.

    """

    frequency: Floats
    price: float
    value: float


def allocate(  # noqa: PLR0913  (one problem, stated whole)
    rate: ArrayLike,
    budget: float,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
    shape: ArrayLike | None = None,
    objective: Objective = "freshness",
    limits: tuple[ArrayLike, ArrayLike] | None = None,
) -> Allocation:
    """Return the fetches a day that make the best use of ``budget`` requests a day.

    Maximises sum(weight * mean freshness), or minimises the loss, subject to
    sum(cost * frequency) = budget. At the optimum weight * U(1 / frequency) / cost is
    the same, the price, for every item that is fetched; the price is found by Newton's
    method. Under freshness an item that changes too fast to be worth a fetch gets
    exactly 0: frequencies in proportion to the change rate are worse than equal ones.
    Cho and Garcia-Molina, TODS 2003; with a ``shape``, survival is
    exp(-rate * t**shape) and this is Eq. 4 of Ipeirotis et al., TODS 2007.

    ``limits`` are the fewest and the most fetches a day of an item; between them the
    price decides, and if all items have their most the rest of the budget is not spent.

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
        useful_items = given.take(useful)
        frequency[useful], price = _spend(useful_items, spend, objective)
    closed_form = given.is_weibull and objective == "freshness" and given.scale > 0
    value = (
        _weibull_freshness(given, frequency, price)
        if closed_form
        else value_of(given, frequency, objective)
    )
    return Allocation(frequency, price * given.scale, value)


def kkt_residual(  # noqa: PLR0913  (an allocation and its inputs)
    allocation: Allocation,
    rate: ArrayLike,
    budget: float,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
    shape: ArrayLike | None = None,
    objective: Objective = "freshness",
) -> float:
    """Return the relative distance of an allocation from the optimum.

    The largest of: |worth / price - 1| over the items fetched, worth / price - 1 over
    the others, and |spent / budget - 1|. The problem is convex, so 0 means optimal.
    """
    given = columns(rate, weight, cost, shape)
    spent = float((given.cost * allocation.frequency).sum())
    budget_error = abs(spent / budget - 1.0) if budget > 0 else spent
    useful_items = given.take(given.useful)
    if not useful_items.rate.size or not np.isfinite(allocation.price):
        return spent
    f = allocation.frequency[given.useful]
    g = useful_items.shape if useful_items.is_weibull else 1.0
    worth = useful_items.weight * marginal(
        f, useful_items.rate, shape=g, objective=objective
    )
    error = given.scale * worth / (useful_items.cost * allocation.price) - 1.0
    error = np.where(f > 0, np.abs(error), np.maximum(error, 0.0))
    wasted = float(allocation.frequency[~given.useful].max(initial=0.0))
    return max(budget_error, wasted, float(error.max()))


def check_objective(given: Columns, objective: Objective) -> None:
    """Raise ``ValueError`` unless the objective applies to the items."""
    if objective not in _POISSON:
        raise unknown_objective(objective)
    if objective == "harmonic" and given.is_weibull:
        raise ValueError(
            "objective 'harmonic' needs shape 1: it counts the changes missed, and the "
            "survival until the first one does not determine the others"
        )


def _spend(given: Columns, budget: float, objective: Objective) -> tuple[Floats, float]:
    first = first_of(given, objective)
    limited = objective == "freshness"
    if budget == 0:
        return np.zeros_like(first), float(first.max()) if limited else np.inf
    demand = demand_of(given, objective)
    if first.size <= STAND_INS:
        return spend_budget(demand, budget, start_of(demand, budget, objective))
    summary = demand.summary()  # its price is nearly the same, and cheap
    price = spend_budget(summary, budget, start_of(summary, budget, objective))[1]
    return spend_budget(demand, budget, float(np.log(price)), summary.slope(price))


def demand_of(
    given: Columns,
    objective: Objective,
    *,
    floor: Floats | None = None,
    limits: Floats | None = None,
) -> Demand:
    """Return the demand of useful items as a function of the price."""
    curve = (_WEIBULL if given.is_weibull else _POISSON)[objective]
    limited = objective == "freshness"
    first = first_of(given, objective)
    shape = given.shape
    return Demand(curve, first, given.pace, given.cost, shape, limited, floor, limits)


def _limits(limits: tuple[ArrayLike, ArrayLike], given: Columns) -> Floats:
    n = given.rate.size
    fewest, most = (np.asarray(side, dtype=np.float64) for side in limits)
    bounds = np.stack([np.broadcast_to(fewest, n), np.broadcast_to(most, n)])
    if not np.all((bounds[0] >= 0) & (bounds[0] <= bounds[1]) & np.isfinite(bounds[0])):
        raise ValueError("limits must be 0 <= fewest <= most fetches a day")
    return bounds


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
            f"the fewest fetches a day cost {bound:g} requests,"
            f" the budget is {budget:g}"
        )
    remaining = budget - float((given.cost * fewest)[~useful].sum())
    useful_items = given.take(useful)
    if float(useful_items.cost @ most[useful]) <= remaining * (1 + CLOSE):
        frequency[useful] = most[useful]
        return frequency, 0.0
    first = float(first_of(useful_items, objective).max())
    if float(useful_items.cost @ fewest[useful]) >= remaining * (1 - CLOSE):
        return frequency, first if objective == "freshness" else np.inf
    demand = demand_of(useful_items, objective, limits=limits[:, useful])
    spent, price = spend_budget(
        demand, remaining, start_of(demand, remaining, objective)
    )
    frequency[useful] = np.clip(spent, fewest[useful], most[useful])
    return frequency, price


def first_of(given: Columns, objective: Objective) -> Floats:
    """Return weight * U(inf) / cost, or its unit where U has no limit."""
    worth: Floats = given.weight / (given.cost * given.pace)
    if objective == "age":
        return worth / given.pace
    if objective == "freshness" and given.is_weibull:
        return np.asarray(worth * lazy_scipy.gamma(1 + 1 / given.shape))
    return worth


def start_of(demand: Demand, budget: float, objective: Objective) -> float:
    """Return ln of the price for short intervals, where U(s) is c s**p.

    For Poisson it is an upper bound; it is always a good start.
    """
    g = float(np.mean(demand.shape))
    p = 2 + g if objective == "age" else 1 + g
    c = 1 / p if objective == "age" else g / (p * lazy_scipy.gamma(1 + 1 / g))
    requests = float(np.sum(demand.cost * demand.pace * (c * demand.first) ** (1 / p)))
    return p * float(np.log(requests / budget))


def value_of(given: Columns, frequency: Floats, objective: Objective) -> float:
    """Return the weighted mean of the objective; without weight there is no loss."""
    matters = given.weight > 0
    if not matters.any():
        return 1.0 if objective == "freshness" else 0.0
    shape = given.shape if given.is_weibull else None
    total = 0.0
    for start in range(0, given.rate.size, BLOCK):
        rows = slice(start, start + BLOCK)
        pace, weight = given.pace[rows], given.weight[rows]
        g = 1.0 if shape is None else shape[rows]
        rate = np.where(pace > 0, given.rate[rows], 0.0)
        means = _mean(objective, frequency[rows], rate, g)
        total += float((weight * np.where(weight > 0, means, 0.0)).sum())
    return total / float(given.weight.sum())


def _mean(
    objective: Objective, frequency: Floats, rate: Floats, shape: Floats | float
) -> Floats:
    if objective == "harmonic":
        return mean_harmonic(frequency, rate)
    mean = mean_freshness if objective == "freshness" else mean_age
    return mean(frequency, rate, shape)


def _weibull_freshness(given: Columns, frequency: Floats, price: float) -> float:
    """Return the weighted mean freshness of a best schedule, without an integral.

    The mean of S over 0..T is S(T) + U(T) / T, and at the optimum weight * U is
    price * cost for every fetched item: the second terms sum to price * budget.
    """
    fetched = frequency > 0
    x = (given.pace[fetched] / frequency[fetched]) ** given.shape[fetched]
    alive = (given.pace == 0).astype(np.float64)
    alive[fetched] = np.exp(-x)
    paid = price * float(given.cost @ frequency) if fetched.any() else 0.0
    return (float(given.weight @ alive) + paid) / float(given.weight.sum())
