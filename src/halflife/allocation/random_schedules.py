"""Schedules whose looks come at random moments, as published.

If looks at an item come at random at a rate r, its copy is fresh for the share
r / (r + rate) of the time, and misses changes worth ln(1 + rate / r) in the harmonic
loss. Even spacing at the same rate is always better: at one look a change 0.632 of
the time against 0.500. These are the rules of Azar et al., "Tractable near-optimal
policies for crawling", PNAS 2018, and of Kolobov et al., "Staying up to date with
online content changes using reinforcement learning for scheduling", NeurIPS 2019.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from halflife.allocation.columns import Columns, amount, columns
from halflife.allocation.solver import Allocation, Demand, spend_budget
from halflife.core.arrays import Bools, Floats


@dataclass(frozen=True, slots=True)
class NewsAllocation:
    """How often to look at items of which some announce every change.

    Attributes:
        frequency: Looks a day, announced or not.
        chance: Chance with which a look follows an announced change; 0 for items
            that announce nothing.
        price: What the last request a day buys; 0 if the budget cannot be spent.
        value: The weighted mean of the harmonic loss.

    """

    frequency: Floats
    chance: Floats
    price: float
    value: float


def random_freshness(frequency: Floats, rate: Floats) -> Floats:
    """Return the share of time that copies are fresh if looks come at random.

    >>> random_freshness(np.array([1.0]), np.array([1.0]))
    array([0.5])
    """
    total = np.asarray(frequency + rate)
    return np.divide(frequency, total, out=np.ones_like(total), where=rate > 0)


def random_harmonic(frequency: Floats, rate: Floats) -> Floats:
    """Return the harmonic loss ln(1 + rate / frequency) if looks come at random."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(rate > 0, np.log1p(rate / frequency), 0.0)


def azar(
    rate: ArrayLike,
    budget: float,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
) -> Allocation:
    """Return the rates of random looks that keep copies freshest; closed form.

    Maximises sum(weight * r / (r + rate)) with sum(cost * r) = budget. Items are
    taken in the order of weight / (cost * rate), as long as the root of that exceeds
    t = sum(sqrt(weight cost rate)) / (budget + sum(cost rate)) over those taken; then
    r = sqrt(weight rate / cost) / t - rate and the price is t**2. Takes a sort.

    >>> azar([1, 2, 3, 4, 5], 5).frequency.round(2)
    array([1.39, 1.37, 1.13, 0.77, 0.34])
    """
    given = columns(rate, weight, cost)
    spend = amount("budget", budget)
    useful = np.flatnonzero(given.useful)
    frequency = np.zeros(given.rate.size)
    root = 0.0
    if useful.size:
        w, c, r = (a[useful] for a in (given.weight, given.cost, given.rate))
        order = np.argsort(-w / (c * r), kind="stable")
        w, c, r = w[order], c[order], r[order]
        roots = np.cumsum(np.sqrt(w * c * r)) / (spend + np.cumsum(c * r))
        taken = int(np.flatnonzero(np.sqrt(w / (c * r)) >= roots)[-1]) + 1
        root = float(roots[taken - 1])
        looks = np.maximum(np.sqrt(w * r / c) / root - r, 0.0)[:taken]
        frequency[useful[order[:taken]]] = looks
    fresh = random_freshness(frequency, given.rate)
    return Allocation(frequency, root**2 * given.scale, _mean(given, fresh, 1.0))


def lambdacrawl(
    rate: ArrayLike,
    budget: float,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
    complete: Bools | None = None,
) -> NewsAllocation:
    """Return the rates of random looks with the least harmonic loss (LambdaCrawl).

    An item seen only by looking gets r = (-rate + sqrt(rate**2 + 4 weight rate /
    (price cost))) / 2. An item that announces every change (``complete``) is looked
    at after each with chance p = min(1, weight / (price cost rate)), which costs it
    -ln p. One price serves both kinds, so no search for how to split the budget
    between them is needed. NeurIPS 2019, props. 2, 5 and eq. 8.

    >>> lambdacrawl([1, 2, 3, 4, 5], 5).frequency.round(2)
    array([0.78, 0.95, 1.04, 1.1 , 1.14])
    """
    given = columns(rate, weight, cost)
    spend = amount("budget", budget)
    news = np.zeros(given.rate.size) if complete is None else complete.astype(float)
    useful = given.useful
    frequency, price = np.zeros(given.rate.size), 0.0
    if useful.any() and spend > 0:
        some, told = given.take(useful), news[useful]
        frequency[useful], price = _settle(some, told, spend)
    share = np.divide(frequency, given.rate, out=np.ones_like(news), where=useful)
    share = np.minimum(share, 1.0)
    chance = np.where(news > 0, share, 0.0)
    with np.errstate(divide="ignore"):  # what is never looked at misses everything
        missed = -np.log(share)
    lost = np.where(news > 0, missed, random_harmonic(frequency, given.rate))
    value = _mean(given, lost, 0.0)
    return NewsAllocation(frequency, chance, price * given.scale, value)


def lambdacrawl_approx(
    rate: ArrayLike,
    budget: float,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
) -> Allocation:
    """Return rates of random looks in proportion to the weights (LambdaCrawlApprox).

    r = budget * weight / sum(cost * weight), whatever the change rates: the optimum
    if weight / rate were the same for all items. NeurIPS 2019, prop. 9.

    >>> lambdacrawl_approx([1, 5], 3, weight=[1, 2]).frequency
    array([1., 2.])
    """
    given = columns(rate, weight, cost)
    total = float(given.cost @ given.weight)
    share = amount("budget", budget) / total if total > 0 else 0.0
    frequency = share * given.weight
    lost = _mean(given, random_harmonic(frequency, given.rate), 0.0)
    return Allocation(frequency, 0.0, lost)


def _settle(given: Columns, news: Floats, budget: float) -> tuple[Floats, float]:
    if news.all() and float(given.cost @ given.rate) <= budget:
        return given.rate.copy(), 0.0
    first = given.weight / (given.cost * given.rate)
    demand = Demand(_random, first, given.rate, given.cost, news, limited=False)
    roots = float(np.sum(given.cost * given.rate * np.sqrt(first)))
    return spend_budget(demand, budget, 2 * float(np.log(roots / budget)))


def _random(y: Floats, news: Floats) -> tuple[Floats, Floats]:
    """Solve s**2 / (1 + s) = y for s = rate / r; with news, s = max(1, y)."""
    s = y * (1 + np.sqrt(1 + 4 / y)) / 2
    told = np.maximum(y, 1.0)
    bend = np.where(news > 0, np.where(y > 1, 1.0, 0.0), (1 + s) / (2 + s))
    return np.where(news > 0, told, s), bend


def _mean(given: Columns, each: Floats, empty: float) -> float:
    matters = given.weight > 0
    if not matters.any():
        return empty
    return float(np.average(each[matters], weights=given.weight[matters]))
