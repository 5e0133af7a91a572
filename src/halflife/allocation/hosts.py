"""The best schedule when hosts limit the requests a day.

A host whose demand exceeds its limit has a price of its own, at which its items' demand
equals the limit. That price does not depend on anything outside the host, so all of
them are found first, and each item then pays the larger of its host's price and the
common one. Kolobov et al., "Optimal freshness crawl under politeness constraints",
SIGIR 2019, solve the same problem by recursion.
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
    """The frequency of each item, evenly spaced, within the limits of the hosts.

    Attributes:
        frequency: Fetches a day.
        price: The gain of the last request a day at hosts below their limit; 0 if all
            hosts together accept less than the budget.
        host_price: The gain of one more request a day at each host: its own price if it
            is at its limit, and otherwise ``price``, also for a host with the limit 0.
        value: The weighted mean over all items, as in ``Allocation``.

    """

    frequency: Floats
    price: float
    host_price: Floats
    value: float


def allocate_polite(  # noqa: PLR0913  (one problem, stated whole)
    rate: ArrayLike,
    budget: float,
    host: Ints,
    cap: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
    objective: Objective = "freshness",
) -> PoliteAllocation:
    """Return the fetches a day that make the best use of a budget within host limits.

    ``host`` is each item's host, a number from 0; ``cap`` the requests a day that each
    host accepts, ``inf`` if unlimited. The frequencies are
    f(max(price, price of the host)) with f as in ``allocate``.

    >>> allocate_polite([1, 1, 1, 1], 4, np.array([0, 0, 0, 1]), [1.5, 9]).frequency
    array([0.5, 0.5, 0.5, 2.5])
    """
    given = columns(rate, weight, cost)
    check_objective(given, objective)
    host, cap = _hosts(host, cap, given)
    useful = given.useful & (cap[host] > 0)
    useful_items, host_of = given.take(useful), host[useful]
    frequency = np.zeros(given.rate.size)
    price, own = 0.0, np.zeros(cap.size)
    if useful_items.rate.size:
        demand = demand_of(useful_items, objective)
        capped, own = _host_prices(demand, host_of, cap)
        spend = amount("budget", budget)
        start = start_of(demand, spend, objective) if spend else 0.0
        prices = _HostPrices(demand, host_of, capped, own)
        frequency[useful], price = _spend(prices, cap, spend, start)
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
    """Return the frequencies if only hosts limited them, and the hosts' prices.

    Where a host has no limit the price is 0, and the frequency is meaningless.
    """
    rows = np.flatnonzero(np.isfinite(cap[host]))
    frequency, price = np.zeros(host.size), np.zeros(cap.size)
    limited = np.unique(host[rows])
    if not limited.size:
        return frequency, price
    place = np.searchsorted(limited, host[rows])
    limited_demand = demand.take(rows)

    def frequencies(log_price: Floats) -> Floats:
        out = np.empty(rows.size)
        limited_demand._replace(floor=np.exp(log_price)[place]).at(0.0, out)
        return out

    def requests(log_price: Floats) -> Floats:
        spent = np.bincount(
            place, limited_demand.cost * frequencies(log_price), limited.size
        )
        return spent.astype(np.float64)

    high = np.full(limited.size, -CHEAPEST)
    if demand.limited:
        high = np.full(limited.size, -np.inf)
        # Beyond rounding, so that demand is 0 at the higher end.
        np.maximum.at(high, place, np.log(limited_demand.first) + _BEYOND)
    ends = find_prices(requests, cap[limited], np.full(limited.size, CHEAPEST), high)
    frequency[rows] = ends.mix(
        frequencies(ends.low), frequencies(ends.high), ends.share[place]
    )
    price[limited] = np.exp(ends.low)
    return frequency, price


class _HostPrices(NamedTuple):
    """The prices of hosts before the budget applies, one row an item or a host."""

    demand: Demand
    host: Ints
    capped: Floats
    own: Floats


def _spend(
    prices: _HostPrices, cap: Floats, budget: float, start: float
) -> tuple[Floats, float]:
    """Return the frequencies under both kinds of limit, and the common price."""
    demand, host, capped, own = prices
    if float(cap[np.unique(host)].sum()) <= budget * (1 + _NEARLY):
        return capped, 0.0
    if budget == 0:
        no_demand = float(demand.first.max()) if demand.limited else np.inf
        return np.zeros(host.size), no_demand
    frequency, price = spend_budget(demand._replace(floor=own[host]), budget, start)
    # A host's own price is met exactly only by the shared frequencies.
    full: Bools = own[host] > price
    fuller = full
    while fuller.any() and not fuller.all():
        full = fuller
        remaining = budget - float(cap[np.unique(host[full])].sum())
        if remaining <= 0:
            break
        frequency = capped.copy()
        others = demand.take(np.flatnonzero(~full))
        frequency[~full], price = spend_budget(others, remaining, float(np.log(price)))
        # The remaining budget may lower the price until other hosts are full.
        fuller = full | (own[host] > price)
        if (fuller == full).all():
            break
    return frequency, price
