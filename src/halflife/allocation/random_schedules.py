"""Schedules with fetches at random moments, as published.

If fetches of an item are random at a rate r, its copy is fresh for the share
r / (r + rate) of the time, and its harmonic loss is ln(1 + rate / r). Even spacing at
the same rate is always better: at one fetch per change 0.632 of the time against 0.500.
These are the rules of Azar et al., "Tractable near-optimal policies for crawling", PNAS
2018, and of Kolobov et al., "Staying up to date with online content changes using
reinforcement learning for scheduling", NeurIPS 2019.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from halflife.allocation.columns import Columns, amount, columns
from halflife.allocation.solver import Allocation, Demand, spend_budget
from halflife.core.arrays import Bools, Floats


@dataclass(frozen=True, slots=True)
class NewsAllocation:
    """The frequencies of items of which some announce every change.

    Attributes:
        frequency: Fetches a day, after announcements or not.
        chance: Probability of a fetch after an announced change; 0 for items without
            announcements.
        price: The gain of the last request a day; 0 if the budget cannot be spent.
        value: The weighted mean of the harmonic loss.

    """

    frequency: Floats
    chance: Floats
    price: float
    value: float


def random_freshness(frequency: Floats, rate: Floats) -> Floats:
    """Return the share of time that copies are fresh with random fetches.

    >>> random_freshness(np.array([1.0]), np.array([1.0]))
    array([0.5])
    """
    total = np.asarray(frequency + rate)
    return np.divide(frequency, total, out=np.ones_like(total), where=rate > 0)


def random_harmonic(frequency: Floats, rate: Floats) -> Floats:
    """Return the harmonic loss ln(1 + rate / frequency) with random fetches."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(rate > 0, np.log1p(rate / frequency), 0.0)


def azar(
    rate: ArrayLike,
    budget: float,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
) -> Allocation:
    """Return the rates of random fetches that keep copies freshest; closed form.

    Maximises sum(weight * r / (r + rate)) with sum(cost * r) = budget. Items are
    selected in the order of weight / (cost * rate), as long as the root of that exceeds
    t = sum(sqrt(weight cost rate)) / (budget + sum(cost rate)) over those selected;
    then r = sqrt(weight rate / cost) / t - rate and the price is t**2. Needs one sort.

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
        selected = int(np.flatnonzero(np.sqrt(w / (c * r)) >= roots)[-1]) + 1
        root = float(roots[selected - 1])
        frequencies = np.maximum(np.sqrt(w * r / c) / root - r, 0.0)[:selected]
        frequency[useful[order[:selected]]] = frequencies
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
    """Return the rates of random fetches with the least harmonic loss (LambdaCrawl).

    An item without announcements gets r = (-rate + sqrt(rate**2 + 4 weight
    rate / (price cost))) / 2. An item that announces every change (``complete``) is
    fetched after each with probability p = min(1, weight / (price cost rate)), with the
    loss -ln p. One price serves both kinds, so the budget need not be split between
    them. NeurIPS 2019, props. 2, 5 and eq. 8.

    >>> lambdacrawl([1, 2, 3, 4, 5], 5).frequency.round(2)
    array([0.78, 0.95, 1.04, 1.1 , 1.14])
    """
    given = columns(rate, weight, cost)
    spend = amount("budget", budget)
    news = np.zeros(given.rate.size) if complete is None else complete.astype(float)
    useful = given.useful
    frequency, price = np.zeros(given.rate.size), 0.0
    if useful.any() and spend > 0:
        useful_items, useful_news = given.take(useful), news[useful]
        frequency[useful], price = _settle(useful_items, useful_news, spend)
    share = np.divide(frequency, given.rate, out=np.ones_like(news), where=useful)
    share = np.minimum(share, 1.0)
    chance = np.where(news > 0, share, 0.0)
    with np.errstate(divide="ignore"):  # never fetched: infinite loss
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
    """Return rates of random fetches proportional to the weights (LambdaCrawlApprox).

    r = budget * weight / sum(cost * weight), independent of the change rates: the
    optimum if weight / rate were the same for all items. NeurIPS 2019, prop. 9.

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
    announced = np.maximum(y, 1.0)
    bend = np.where(news > 0, np.where(y > 1, 1.0, 0.0), (1 + s) / (2 + s))
    return np.where(news > 0, announced, s), bend


def _mean(given: Columns, losses: Floats, empty: float) -> float:
    matters = given.weight > 0
    if not matters.any():
        return empty
    return float(np.average(losses[matters], weights=given.weight[matters]))
