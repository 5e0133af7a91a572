"""The second pass: the demand at every price of a narrow bracket, exactly."""

from typing import NamedTuple, Self

import numpy as np

from halflife.allocation.columns import Objective
from halflife.allocation.demand import CLOSE, Demand
from halflife.allocation.parts.items import ItemPart, Problem, stand_ins
from halflife.allocation.search import Search
from halflife.allocation.solver import demand_of
from halflife.core.arrays import Floats

TRUST = 5e-6  # in ln(price); range in which slopes are used
_EDGE = 1e-3  # in ln(price); items so close to their first price are kept one by one
_MOST_EDGES = 1 << 16  # most such items of a part
_STEPS = 200


class BudgetPrice(NamedTuple):
    """Two adjacent prices, or one twice, between which the budget is met.

    ``share`` is the weight of the frequencies at the lower price: there may be no float
    between the two prices. ``nothing`` says that no item is fetched.
    """

    low: float
    high: float
    share: float = 1.0
    nothing: bool = False


class Bracket(NamedTuple):
    """The demand of some items near a price.

    ``asked`` and ``falls`` are the requests a day of most of them and their -d / d
    ln(price); ``edges`` has the others, one column each: its first price, its demand in
    its own time, and its shape.
    """

    price: float
    asked: float
    falls: float
    edges: Floats

    def add(self, other: Self) -> "Bracket":
        """Return the demand of both together."""
        edges = np.concatenate([self.edges, other.edges], axis=1)
        asked, falls = self.asked + other.asked, self.falls + other.falls
        return Bracket(self.price, asked, falls, edges)

    def at(self, price: float, edges: Demand) -> tuple[float, float]:
        """Return the requests a day at a price, and their d / d ln(price)."""
        distance = float(np.log(price / self.price))
        slope = self.falls / self.asked if self.asked > 0 else 0.0
        main = self.asked * float(np.exp(np.clip(-slope * distance, -40.0, 40.0)))
        others, change = edges.at(price, np.empty(edges.first.size))
        return main + others, change - main * slope


def probe_part(problem: Problem, price: float, part: ItemPart) -> Bracket:
    """Return the demand of the items of a part near a price."""
    brackets = [
        _probe(demand_of(problem.useful(rows), problem.objective), price)
        for block in part.blocks()
        for rows in block.cut()
    ]
    brackets.append(Bracket(price, 0.0, 0.0, np.empty((3, 0))))
    asked, falls = (
        sum(getattr(b, name) for b in brackets) for name in ("asked", "falls")
    )
    edges = np.concatenate([b.edges for b in brackets], axis=1)
    return _merge(Bracket(price, asked, falls, edges), problem.objective)


def _probe(demand: Demand, price: float) -> Bracket:
    n = demand.first.size
    frequency, slope = np.empty(n), np.empty(n)
    demand.at(price, frequency, slope)
    spent = frequency * demand.cost
    edges = np.empty((3, 0))
    if demand.limited:
        log = np.log(price / demand.first)
        near = np.flatnonzero(np.abs(log) < _EDGE)
        spent[near] = slope[near] = 0.0
        slope[log >= 0] = 0.0
        mass = demand.pace[near] * demand.cost[near]
        edges = np.stack([demand.first[near], mass, demand.shape[near]])
    return Bracket(price, float(spent.sum()), float(spent @ slope), edges)


def _merge(bracket: Bracket, objective: Objective) -> Bracket:
    """Return the bracket with equal items at the edge merged, and with few of them."""
    if bracket.edges.shape[1] < 2:
        return bracket
    keys, code = np.unique(bracket.edges[[0, 2]], axis=1, return_inverse=True)
    mass = np.bincount(code.ravel(), bracket.edges[1], minlength=keys.shape[1])
    edges = np.stack([keys[0], mass, keys[1]])
    if edges.shape[1] <= _MOST_EDGES:
        return bracket._replace(edges=edges)
    order = np.argsort(np.abs(np.log(bracket.price / edges[0])), kind="stable")
    kept, rest = order[:_MOST_EDGES], edges[:, order[_MOST_EDGES:]]
    frequency, slope = np.empty((2, rest.shape[1]))
    stand_ins(rest, objective).at(bracket.price, frequency, slope)
    slope[rest[0] <= bracket.price] = 0.0
    return Bracket(
        bracket.price,
        bracket.asked + float(frequency.sum()),
        bracket.falls + float(frequency @ slope),
        edges[:, np.sort(kept)],
    )


def find_price(
    bracket: Bracket, budget: float, top: float, objective: Objective
) -> BudgetPrice:
    """Return the price at which the bracket's demand meets the budget.

    It is the price for all items if it is within ``TRUST`` of the bracket's price.
    """
    edges = stand_ins(bracket.edges, objective)
    search = Search(float(np.log(bracket.price)), top)
    for _ in range(_STEPS):
        total, change = bracket.at(search.price, edges)
        if abs(total - budget) <= CLOSE * budget:
            return BudgetPrice(search.price, search.price)
        search.move(total, change, budget)
        if search.tight:
            break
    low, high = search.price_at(search.low), search.price_at(search.high)
    most, least = (bracket.at(price, edges)[0] for price in (low, high))
    # Two coordinates may be rounded to one price, where demand falls within a float.
    while least > budget:
        high = float(np.nextafter(high, np.inf))
        least = bracket.at(high, edges)[0]
    while most < budget:
        low = float(np.nextafter(low, 0.0))
        most = bracket.at(low, edges)[0]
    return BudgetPrice(low, high, (budget - least) / (most - least))
