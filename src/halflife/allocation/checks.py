"""The best schedule when a fetch that finds no change is cheap.

A server that can answer "not modified" costs ``check`` requests for a check and sends
the content, for ``extra`` more, only if it changed. A fetch every T days then costs
check + extra (1 - exp(-rate T)) on average. One more fetch a day of an item adds
check + extra h(x), h(x) = 1 - (1 + x) exp(-x), x = rate T, to the cost, and for
freshness h(x) = rate U(T). So at the optimum

    weight U(T) / (check + extra rate U(T)) = price,

which is U(T) = price check / (weight - price extra rate): the weight of an item is
reduced by the cost of its own changes.
"""

import numpy as np
from numpy.typing import ArrayLike

from halflife.allocation import curves
from halflife.allocation.bisection import CHEAPEST, find_prices
from halflife.allocation.columns import Columns, amount, columns
from halflife.allocation.solver import Allocation, value_of
from halflife.core.arrays import Floats


def gain_of_check(
    gain: Floats, fresh: Floats, rate: Floats, check: Floats, extra: float
) -> Floats:
    """Return the gain of a fetch per unit of cost: gain / (check + extra rate fresh).

    ``gain`` is weight times the index of any objective, ``fresh`` the index of
    freshness. Exact if the rate is known; if it is not, rate times ``fresh``
    approximates the probability of a change, and is limited to 1.
    """
    if extra == 0:
        return gain / check
    return gain / (check + extra * np.minimum(rate * fresh, 1.0))


def mean_cost(frequency: Floats, rate: Floats, check: float, extra: float) -> Floats:
    """Return the cost of each item a day: f (check + extra (1 - exp(-x)))."""
    with np.errstate(divide="ignore", invalid="ignore"):
        changed = -np.expm1(-np.where(frequency > 0, rate / frequency, 0.0))
    return frequency * (check + extra * changed)


def allocate_checks(
    rate: ArrayLike,
    budget: float,
    *,
    check: float = 1.0,
    extra: float = 0.0,
    weight: ArrayLike | None = None,
) -> Allocation:
    """Return the freshest schedule when only changed items cost ``extra`` (Poisson).

    >>> allocate_checks([1, 2, 3, 4, 5], 5).frequency.round(2)
    array([1.15, 1.36, 1.35, 1.14, 0.  ])
    >>> allocate_checks([1, 2, 3, 4, 5], 5, check=0.5, extra=0.5).frequency.round(2)
    array([1.55, 1.75, 1.58, 0.93, 0.  ])
    """
    given = columns(rate, weight)
    spend = amount("budget", budget)
    price = (amount("check", check), amount("extra", extra))
    if price[0] == 0:
        raise ValueError("check must be above 0, or fetches would be unlimited")
    frequency = np.zeros(given.rate.size)
    useful = given.useful
    useful_items = given.take(useful)
    if not useful_items.rate.size or spend == 0:
        return Allocation(frequency, 0.0, value_of(given, frequency, "freshness"))

    def demand(log_price: Floats) -> Floats:
        frequencies = _frequencies(useful_items, log_price.item(), price)
        return np.array([mean_cost(frequencies, useful_items.rate, *price).sum()])

    top = np.log(np.max(useful_items.weight / useful_items.rate) / sum(price))
    ends = find_prices(demand, np.array([spend]), np.array([CHEAPEST]), np.array([top]))
    low, high = (
        _frequencies(useful_items, m.item(), price) for m in (ends.low, ends.high)
    )
    frequency[useful] = ends.mix(low, high, ends.share)
    value = value_of(given, frequency, "freshness")
    return Allocation(frequency, float(np.exp(ends.low.item())) * given.scale, value)


def _frequencies(given: Columns, log_price: float, cost: tuple[float, float]) -> Floats:
    price = np.exp(log_price)
    weight_left = given.weight - price * cost[1] * given.rate
    cost_of_check = price * cost[0] * given.rate
    y = np.where(
        cost_of_check < weight_left,
        cost_of_check / np.where(cost_of_check < weight_left, weight_left, 1.0),
        1.0,
    )
    x, _ = curves.freshness(np.maximum(y, 1e-290), given.shape)
    return np.where(y < 1.0, given.rate / x, 0.0)
