"""The best schedule when hosts take only so many requests a day.

A host that would be asked for more than it takes has a price of its own, the one at
which its items ask for exactly what it takes. That price does not depend on anything
outside the host, so all of them are found first, and each item then pays the larger
of its host's price and everyone's. Kolobov et al., "Optimal freshness crawl under
politeness constraints", SIGIR 2019, solve the same problem by recursion.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from halflife.allocation.bisection import CHEAPEST, find_prices
from halflife.allocation.columns import (
    Columns,
    Objective,
    amount,
    columns,
    non_negative,
)
from halflife.allocation.solver import (
    Demand,
    check_objective,
    demand_of,
    spend_budget,
    start_of,
    value_of,
)
from halflife.core.arrays import Bools, Floats, Ints

_NEARLY = 1e-11
_BEYOND = 1e-9  # in ln(price)


@dataclass(frozen=True, slots=True)
class PoliteAllocation:
    """How often to look at each item, evenly spaced, without asking a host too much.

    Attributes:
        frequency: Looks a day.
        price: What the last request a day buys where no host stands in the way; 0
            if all hosts together take less than the budget.
        host_price: What one more request a day to each host would buy; that is its
            own price if it is asked for all it takes, and else ``price``, also for
            a host that takes nothing at all.
        value: The weighted mean over all items, as in ``Allocation``.

    """

    frequency: Floats
    price: float
    host_price: Floats
    value: float


def allocate_polite(  # noqa: PLR0913  (one problem, told whole)
    rate: ArrayLike,
    budget: float,
    host: Ints,
    cap: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
    objective: Objective = "freshness",
) -> PoliteAllocation:
    """Return the looks a day that make the most of a budget that hosts limit.

    ``host`` is each item's host, a number from 0; ``cap`` the requests a day that
    each host takes, ``inf`` if any number. The frequencies are f(max(price, price of
    the host)) with f as in ``allocate``.

    >>> allocate_polite([1, 1, 1, 1], 4, np.array([0, 0, 0, 1]), [1.5, 9]).frequency
    array([0.5, 0.5, 0.5, 2.5])
    """
    given = columns(rate, weight, cost)
    check_objective(given, objective)
    host, cap = _hosts(host, cap, given)
    useful = given.useful & (cap[host] > 0)
    some, mine = given.take(useful), host[useful]
    frequency = np.zeros(given.rate.size)
    price, own = 0.0, np.zeros(cap.size)
    if some.rate.size:
        demand = demand_of(some, objective)
        capped, own = _host_prices(demand, mine, cap)
        spend = amount("budget", budget)
        start = start_of(demand, spend, objective) if spend else 0.0
        found = _Found(demand, mine, capped, own)
        frequency[useful], price = _spend(found, cap, spend, start)
    return PoliteAllocation(
        frequency,
        price * given.scale,
        np.maximum(own, price) * given.scale,
        value_of(given, frequency, objective),
    )


def _hosts(host: Ints, cap: ArrayLike, given: Columns) -> tuple[Ints, Floats]:
    codes = np.asarray(host, dtype=np.intp)
    caps = np.asarray(cap, dtype=np.float64)
    non_negative("cap", caps[~np.isposinf(caps)])
    if codes.shape != given.rate.shape or caps.ndim != 1:
        raise ValueError("host must be one number an item, and cap one a host")
    if codes.size and not 0 <= codes.min() <= codes.max() < caps.size:
        raise ValueError(f"host must be from 0 to {caps.size - 1}, one for each cap")
    return codes, caps


def _host_prices(demand: Demand, host: Ints, cap: Floats) -> tuple[Floats, Floats]:
    """Return what items would get if their hosts alone limited them, and the prices.

    Where a host has no limit the price is 0, and the frequency means nothing.
    """
    rows = np.flatnonzero(np.isfinite(cap[host]))
    frequency, price = np.zeros(host.size), np.zeros(cap.size)
    limited = np.unique(host[rows])
    if not limited.size:
        return frequency, price
    place = np.searchsorted(limited, host[rows])
    mine = demand.take(rows)

    def looks(log_price: Floats) -> Floats:
        out = np.empty(rows.size)
        mine._replace(floor=np.exp(log_price)[place]).at(0.0, out)
        return out

    def asked(log_price: Floats) -> Floats:
        spent = np.bincount(place, mine.cost * looks(log_price), limited.size)
        return spent.astype(np.float64)

    high = np.full(limited.size, -CHEAPEST)
    if demand.limited:
        high = np.full(limited.size, -np.inf)
        # Beyond rounding, so that nobody asks for anything at the higher end.
        np.maximum.at(high, place, np.log(mine.first) + _BEYOND)
    ends = find_prices(asked, cap[limited], np.full(limited.size, CHEAPEST), high)
    frequency[rows] = ends.mix(looks(ends.low), looks(ends.high), ends.share[place])
    price[limited] = np.exp(ends.low)
    return frequency, price


class _Found(NamedTuple):
    """What is known before the budget comes in, one row an item or a host."""

    demand: Demand
    host: Ints
    capped: Floats
    own: Floats


def _spend(
    found: _Found, cap: Floats, budget: float, start: float
) -> tuple[Floats, float]:
    """Return the frequencies under both kinds of limit, and everyone's price."""
    demand, host, capped, own = found
    if float(cap[np.unique(host)].sum()) <= budget * (1 + _NEARLY):
        return capped, 0.0
    if budget == 0:
        none = float(demand.first.max()) if demand.limited else np.inf
        return np.zeros(host.size), none
    frequency, price = spend_budget(demand._replace(floor=own[host]), budget, start)
    # A host's own price is met to the last digit only by what was shared out.
    full: Bools = own[host] > price
    fuller = full
    while fuller.any() and not fuller.all():
        full = fuller
        rest = budget - float(cap[np.unique(host[full])].sum())
        if rest <= 0:
            break
        frequency = capped.copy()
        others = demand.take(np.flatnonzero(~full))
        frequency[~full], price = spend_budget(others, rest, float(np.log(price)))
        # What the full hosts leave over may lower the price until others are full.
        fuller = full | (own[host] > price)
        if (fuller == full).all():
            break
    return frequency, price
