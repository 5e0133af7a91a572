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
from halflife.arrays import Floats, Ints

_BLOCK = 8192  # items at a time: what one step needs stays in the processor's cache
_STAND_INS = 32768
_SHAPES = 64  # of their cells lie side by side where shapes differ
_NEAR = 3e-6  # in ln(price); so close, frequencies follow their slopes
_STRAIGHT = 1e-5  # the most that ln(frequency) may move along its slope
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
    for losses without a limit, the unit in which the curve counts the price. An item
    with a ``floor`` pays no less than that; ``limits`` are the fewest and the most
    looks a day, one row each.
    """

    curve: curves.Curve
    first: Floats
    pace: Floats
    cost: Floats
    shape: Floats
    limited: bool
    floor: Floats | None = None
    limits: Floats | None = None

    def summary(self) -> Self:
        """Return a few thousand stand-ins that ask for nearly the same at any price.

        Items of like ``first`` and ``shape`` become one, at their mean and with
        their ``pace * cost`` added up. There must be no floor and no limits.
        """
        log, mass = np.log(self.first), self.pace * self.cost
        rows = 1 if np.ptp(self.shape) == 0 else _SHAPES
        cell = _cells(self.shape, rows) * (_STAND_INS // rows)
        cell += _cells(log, _STAND_INS // rows)
        total = np.bincount(cell, mass, minlength=_STAND_INS)
        some = total > 0
        log_first = np.bincount(cell, mass * log, minlength=_STAND_INS)
        shape = np.bincount(cell, mass * self.shape, minlength=_STAND_INS)
        return self._replace(
            first=np.exp(log_first[some] / total[some]),
            pace=np.asarray(total[some], dtype=np.float64),
            cost=np.ones(int(some.sum())),
            shape=shape[some] / total[some],
        )

    def at(
        self, price: float, frequency: Floats, slope: Floats | None = None
    ) -> tuple[float, float]:
        """Fill in the frequencies; return requests a day, and their d / d ln price.

        ``slope``, if given, is filled with -d ln(frequency) / d ln(price).
        """
        total = change = 0.0
        for start in range(0, self.first.size, _BLOCK):
            rows = slice(start, start + _BLOCK)
            bend = None if slope is None else slope[rows]
            asked, falls = self._block(price, rows, frequency[rows], bend)
            total += asked
            change -= falls
        return total, change

    def near(
        self, price: float, known: "Known", frequency: Floats
    ) -> tuple[float, float]:
        """Do the same as ``at`` close to a price for which it was done.

        Items about to be given up or taken on are computed anew, the others follow
        their slopes: what is left out is of the order of the step's square.
        """
        moved = known.slope * float(np.log(known.price / price))
        straight = np.clip(moved, -_STRAIGHT, _STRAIGHT)
        np.multiply(known.frequency, np.exp(straight), out=frequency)
        steep = np.flatnonzero(np.abs(moved) > _STRAIGHT)
        part = self._take(steep)
        some = np.empty(steep.size)
        part.at(price, some)
        frequency[steep] = some
        spent = frequency * self.cost
        return float(spent.sum()), -float(spent @ known.slope)

    def _take(self, rows: Ints) -> Self:
        return self._replace(
            first=self.first[rows],
            pace=self.pace[rows],
            cost=self.cost[rows],
            shape=self.shape[rows],
        )

    def slope(self, price: float) -> float | None:
        """Return d ln(requests) / d ln(price) across a small range of prices."""
        scratch = np.empty(self.first.size)
        more, less = (self.at(price * by, scratch)[0] for by in (0.98, 1.02))
        return float(np.log(less / more) / np.log(1.02 / 0.98)) if less > 0 else None

    def _block(
        self, price: float, rows: slice, out: Floats, slope: Floats | None = None
    ) -> tuple[float, float]:
        paid = price if self.floor is None else np.maximum(price, self.floor[rows])
        y = np.maximum(paid / self.first[rows], _NO_PRICE)
        spacing, bend = self.curve(y, self.shape[rows])
        out[:] = self.pace[rows] / spacing
        if self.limited:
            out[y >= 1.0] = 0.0
        if self.floor is not None:
            bend = np.where(self.floor[rows] < price, bend, 0.0)
        if self.limits is not None:
            fewest, most = self.limits[:, rows]
            bend = np.where((out > fewest) & (out < most), bend, 0.0)
            np.clip(out, fewest, most, out=out)
        if slope is not None:  # who was given up counts as steep up to its own price
            given_up = _STRAIGHT / np.log(np.maximum(y, 1.0 + 1e-15))
            slope[:] = np.where(y < 1.0, bend, given_up) if self.limited else bend
        spent = out * self.cost[rows]
        return float(spent.sum()), float(spent @ bend)


class Known(NamedTuple):
    """Frequencies and their slopes at a price."""

    price: float
    frequency: Floats
    slope: Floats


class _Trials:
    """What is asked for at one price after another; close to the last it is quick."""

    def __init__(self, demand: Demand) -> None:
        self._demand = demand
        self._known: Known | None = None

    def at(self, price: float) -> tuple[Floats, float, float]:
        """Return frequencies, requests a day, and their d / d ln price."""
        frequency, known = np.empty(self._demand.first.size), self._known
        if known and abs(np.log(price / known.price)) < _NEAR:
            return frequency, *self._demand.near(price, known, frequency)
        slope = np.empty_like(frequency)
        total, change = self._demand.at(price, frequency, slope)
        if self._demand.floor is None and self._demand.limits is None:
            self._known = Known(price, frequency, slope)
        return frequency, total, change


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
    demand = demand_of(given, objective)
    if first.size <= _STAND_INS:
        return settle(demand, budget, start_of(demand, budget, objective))
    few = demand.summary()  # its price is nearly everyone's, and cheap
    price = settle(few, budget, start_of(few, budget, objective))[1]
    return settle(demand, budget, float(np.log(price)), few.slope(price))


def _cells(values: Floats, n: int) -> Ints:
    """Return in which of ``n`` equal parts of their range the values lie."""
    low, high = float(values.min()), float(values.max())
    scale = (n - 1) / (high - low) if high > low else 0.0
    return np.asarray((values - low) * scale + 0.5).astype(np.intp)


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
    first = _first(given, objective)
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
    if bound > budget * (1 + _CLOSE):
        raise ValueError(
            f"the fewest looks a day take {bound:g} requests, the budget is {budget:g}"
        )
    rest = budget - float((given.cost * fewest)[~useful].sum())
    some = given.take(useful)
    if float(some.cost @ most[useful]) <= rest * (1 + _CLOSE):
        frequency[useful] = most[useful]
        return frequency, 0.0
    first = float(_first(some, objective).max())
    if float(some.cost @ fewest[useful]) >= rest * (1 - _CLOSE):
        return frequency, first if objective == "freshness" else np.inf
    demand = demand_of(some, objective, limits=limits[:, useful])
    spent, price = settle(demand, rest, start_of(demand, rest, objective))
    frequency[useful] = np.clip(spent, fewest[useful], most[useful])
    return frequency, price


def _first(given: Columns, objective: Objective) -> Floats:
    """Return weight * U(inf) / cost, or its unit where U has no limit."""
    worth = given.weight / (given.cost * given.pace)
    if objective == "age":
        return worth / given.pace
    if objective == "freshness":
        return np.asarray(worth * special.gamma(1 + 1 / given.shape))
    return worth


def start_of(demand: Demand, budget: float, objective: Objective) -> float:
    """Return ln of the price if every look came soon: U(s) is then c s**p.

    For Poisson it is an upper bound, and always as good a start as any.
    """
    g = float(np.mean(demand.shape))
    p = 2 + g if objective == "age" else 1 + g
    c = 1 / p if objective == "age" else g / (p * special.gamma(1 + 1 / g))
    asked = float(np.sum(demand.cost * demand.pace * (c * demand.first) ** (1 / p)))
    return p * float(np.log(asked / budget))


def settle(
    demand: Demand, budget: float, start: float, slope: float | None = None
) -> tuple[Floats, float]:
    """Return the frequencies that spend exactly the budget, and their price.

    Newton's method on ln(requests), kept inside a bracket that shrinks. Frequencies
    near the price at which an item is given up are steeper than floats can follow;
    the last of the budget is then handed out between the two ends of the bracket,
    between which every item's worth lies.
    """
    top = float(demand.first.max()) if demand.limited else np.inf
    search = Search(start, top, slope)
    trials = _Trials(demand)
    for _ in range(_STEPS):
        frequency, total, change = trials.at(search.price)
        if abs(total - budget) <= _CLOSE * budget:
            return frequency * (budget / total), search.price
        search.move(total, change, budget)
        if search.tight:
            break
    frequency, fewer = (np.empty(demand.first.size) for _ in range(2))
    most, _ = demand.at(search.price_at(search.low), frequency)
    least, _ = demand.at(search.price_at(search.high), fewer)
    share = (budget - least) / (most - least)
    return fewer + share * (frequency - fewer), search.price_at(search.low)


def value_of(given: Columns, frequency: Floats, objective: Objective) -> float:
    """Return the weighted mean of the objective; without weight nothing is lost."""
    matters = given.weight > 0
    if not matters.any():
        return 1.0 if objective == "freshness" else 0.0
    shape = given.shape if given.bent else None
    total = 0.0
    for start in range(0, given.rate.size, _BLOCK):
        rows = slice(start, start + _BLOCK)
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
