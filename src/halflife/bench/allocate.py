"""The time to compute the best schedule for many pages, and its exactness.

The rivals run in the same process, on fewer pages, and are scaled to the same number.
Ratios are of processor seconds, so that other work on the machine does not matter.
"""

import os
from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from halflife.allocation import allocate, kkt_residual
from halflife.allocation.random_schedules import lambdacrawl
from halflife.bench import lambdacrawl as published
from halflife.bench.population import rates_and_weights
from halflife.core.arrays import Floats

_REPEATS = 3
_BUDGET = 0.2  # requests a page and day
_NESTED_ITEMS, _BENT_ITEMS, _CRAWL_ITEMS, _MIXED_ITEMS = 1000, 200, 50_000, 1000
_ANNOUNCED = 0.04  # share of pages that announce changes, from the paper
SHAPES = (0.5, 2.0)


class Cost(NamedTuple):
    """Wall-clock and processor seconds."""

    wall: float
    processor: float


def run(items: int, seed: int = 0) -> dict[str, float]:
    """Return the time, the exactness and the value of one allocation, and of rivals.

    The nested root finder solves the same problem, on 1000 pages. LambdaCrawl
    minimises the harmonic loss of fetches at random moments; its published algorithm,
    page by page on 50 000 pages and at its own tolerance of the price, is compared with
    our solver of the same problem (``lambdacrawl_ratio``) and with our schedule at
    even spacing, which loses less (``lambdacrawl_even_ratio``). The same bisection
    over whole columns is ``lambdacrawl_vectorised_ratio``. With 4 % of the pages
    announcing their changes, its search over splits of the budget, on 1000 pages, is
    compared with our one price for both kinds (``lambdacrawl_mixed_ratio``).
    ``harmonic_saved`` is the reduction of the loss by even spacing.
    """
    rate, weight = rates_and_weights(items, seed)
    row = _timed(rate, weight, None)
    n = min(items, _NESTED_ITEMS)
    few = rates_and_weights(n, seed)
    nested = cost(partial(nested_brentq, *few, _BUDGET * n), 1)
    row |= _beside("rival", nested, n, row)
    return row | _crawling(rate, weight, seed)


def weibull(items: int = 100_000, seed: int = 0) -> dict[str, float]:
    """Return the same for lifetimes that are not exponential, shapes 0.5 to 2.

    The rival is the nested root finder on the incomplete gamma function.
    """
    rate, weight = rates_and_weights(items, seed)
    shape = np.random.default_rng(seed).uniform(*SHAPES, items)
    row = _timed(rate, weight, shape)
    n = min(_BENT_ITEMS, items)
    work = partial(nested_weibull, rate[:n], weight[:n], shape[:n], _BUDGET * n)
    return row | _beside("rival", cost(work, 1), n, row)


def cost(work: Callable[[], object], repeats: int = _REPEATS) -> Cost:
    """Return the cost of the fastest of some runs."""
    wall = processor = np.inf
    for _ in range(repeats):
        began, spent = perf_counter(), process_time()
        work()
        wall = min(wall, perf_counter() - began)
        processor = min(processor, process_time() - spent)
    return Cost(wall, processor)


def _timed(rate: Floats, weight: Floats, shape: Floats | None) -> dict[str, float]:
    budget = _BUDGET * rate.size
    work = partial(allocate, rate, budget, weight=weight, shape=shape)
    took, plan = cost(work), work()
    return {
        "items": rate.size,
        "seconds": took.wall,
        "processor_seconds": took.processor,
        "kkt_residual": kkt_residual(plan, rate, budget, weight=weight, shape=shape),
        "budget_error": abs(float(plan.frequency.sum()) / budget - 1.0),
        "price": plan.price,
        "value": plan.value,
        "load": os.getloadavg()[0],
    }


def _beside(
    name: str, rival: Cost, items: int, ours: dict[str, float]
) -> dict[str, float]:
    """Return a rival's time for each page, and the ratio to ours."""
    per_item = rival.processor / items
    ratio = per_item * ours["items"] / ours["processor_seconds"]
    return {f"{name}_seconds_per_item": per_item, f"{name}_ratio": ratio}


def _crawling(rate: Floats, weight: Floats, seed: int) -> dict[str, float]:
    """Return the ratios to LambdaCrawl, page by page as published and vectorised."""
    budget, n = _BUDGET * rate.size, rate.size
    evenly = partial(allocate, rate, budget, weight=weight, objective="harmonic")
    random = partial(lambdacrawl, rate, budget, weight=weight)
    even, same = cost(evenly).processor, cost(random).processor
    sample = min(n, _CRAWL_ITEMS)
    few = rates_and_weights(sample, seed)
    pages = partial(published.by_bisection, *few, _BUDGET * sample)
    per_item = cost(pages, 1).processor / sample
    whole = partial(
        published.bisection, rate, weight, budget, published.fetches_at_price
    )
    return {
        "harmonic_processor_seconds": even,
        "harmonic_saved": 1.0 - evenly().value / random().value,
        "lambdacrawl_seconds_per_item": per_item,
        "lambdacrawl_ratio": per_item * n / same,
        "lambdacrawl_even_ratio": per_item * n / even,
        "lambdacrawl_vectorised_ratio": cost(whole, 1).processor / same,
        "lambdacrawl_mixed_ratio": _mixed(rate, weight, seed),
    }


def _mixed(rate: Floats, weight: Floats, seed: int) -> float:
    """Return the time of the published search over splits, relative to ours."""
    complete = np.random.default_rng(seed).random(rate.size) < _ANNOUNCED
    complete[0] = True
    budget = _BUDGET * rate.size
    ours = cost(partial(lambdacrawl, rate, budget, weight=weight, complete=complete))
    sample = min(rate.size, _MIXED_ITEMS)
    few = (*rates_and_weights(sample, seed), complete[:sample])
    theirs = cost(partial(published.mixed, *few, _BUDGET * sample), 1)
    return theirs.processor / sample * rate.size / ours.processor


def nested_brentq(rate: Floats, weight: Floats, budget: float) -> Floats:
    """Return the same schedule, page by page with a standard root finder."""
    pages = list(zip(rate.tolist(), weight.tolist(), strict=True))

    def fetches(price: float) -> list[float]:
        return [_fetches(r, price * r / w) for r, w in pages]

    return _at_budget(fetches, float(np.log(np.max(weight / rate))), budget)


def nested_weibull(
    rate: Floats, weight: Floats, shape: Floats, budget: float
) -> Floats:
    """Return the schedule for Weibull lifetimes: a root of Eq. 4 a page and price."""
    a = 1.0 / shape
    worth = weight * special.gamma(1.0 + a) * rate**-a
    pages = list(zip(rate.tolist(), worth.tolist(), a.tolist(), strict=True))

    def fetches(price: float) -> list[float]:
        return [_bent_fetches(r, price / w, a) for r, w, a in pages]

    return _at_budget(fetches, float(np.log(worth.max())), budget)


def _at_budget(
    fetches: Callable[[float], list[float]], top: float, budget: float
) -> Floats:
    def over(log_price: float) -> float:
        return float(np.log(sum(fetches(np.exp(log_price))) / budget))

    price = optimize.brentq(over, top - 30.0, top - 1e-9, xtol=1e-12)
    return np.array(fetches(np.exp(price)))


def _fetches(rate: float, y: float) -> float:
    """Solve 1 - (1 + x) exp(-x) = y for x = rate / frequency."""
    if y >= 1.0:
        return 0.0

    def off(x: float) -> float:
        return float(-np.expm1(-x) - x * np.exp(-x) - y)

    return rate / float(optimize.brentq(off, 1e-9, 800.0, xtol=1e-12))


def _bent_fetches(rate: float, y: float, a: float) -> float:
    """Solve P(1 + a, x) = y for x = rate / frequency ** (1 / a)."""
    if y >= 1.0:
        return 0.0

    def off(log_x: float) -> float:
        return float(special.gammainc(1.0 + a, np.exp(log_x)) - y)

    return float((rate / np.exp(optimize.brentq(off, -60.0, 6.6, xtol=1e-12))) ** a)
