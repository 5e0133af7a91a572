"""How long the best schedule for many pages takes to compute, and how exact it is."""

from time import perf_counter

import numpy as np
from scipy import optimize

from halflife.allocation import allocate, kkt_residual
from halflife.arrays import Floats
from halflife.bench.population import rates_and_weights

_RIVAL_ITEMS = 1000
_MANY = 1_000_000


def run(items: int, seed: int = 0) -> dict[str, float]:
    """Return the time, the exactness and the value of one allocation.

    The rival finds each page's interval with ``scipy.optimize.brentq`` inside another
    ``brentq`` for the price; it is timed on 1000 pages.
    """
    rate, weight = rates_and_weights(items, seed)
    row = _timed(rate, weight, None)
    rival = _rival_seconds(seed) / _RIVAL_ITEMS
    row["rival_seconds_per_item"] = rival
    row["rival_ratio"] = rival * items / row["seconds"]
    return row


def weibull(items: int = 100_000, seed: int = 0) -> dict[str, float]:
    """Return the same for lifetimes that are not exponential, shapes 0.5 to 2."""
    rate, weight = rates_and_weights(items, seed)
    return _timed(rate, weight, np.random.default_rng(seed).uniform(0.5, 2.0, items))


def _timed(rate: Floats, weight: Floats, shape: Floats | None) -> dict[str, float]:
    budget = 0.2 * rate.size
    best = np.inf
    for _ in range(1 if rate.size >= _MANY else 3):
        start = perf_counter()
        plan = allocate(rate, budget, weight=weight, shape=shape)
        best = min(best, perf_counter() - start)
    return {
        "items": rate.size,
        "seconds": best,
        "kkt_residual": kkt_residual(plan, rate, budget, weight=weight, shape=shape),
        "budget_error": abs(float(plan.frequency.sum()) / budget - 1.0),
        "price": plan.price,
        "value": plan.value,
    }


def _rival_seconds(seed: int) -> float:
    rate, weight = rates_and_weights(_RIVAL_ITEMS, seed)
    start = perf_counter()
    nested_brentq(rate, weight, 0.2 * _RIVAL_ITEMS)
    return perf_counter() - start


def nested_brentq(rate: Floats, weight: Floats, budget: float) -> Floats:
    """Return the same schedule, page by page with a root finder off the shelf."""
    pages = list(zip(rate.tolist(), weight.tolist(), strict=True))

    def looks(price: float) -> list[float]:
        return [_looks(r, price * r / w) for r, w in pages]

    def over(log_price: float) -> float:
        return float(np.log(sum(looks(np.exp(log_price))) / budget))

    top = float(np.log(np.max(weight / rate)))
    price = optimize.brentq(over, top - 30.0, top - 1e-9, xtol=1e-12)
    return np.array(looks(np.exp(price)))


def _looks(rate: float, y: float) -> float:
    """Solve 1 - (1 + x) exp(-x) = y for x = rate / frequency."""
    if y >= 1.0:
        return 0.0

    def off(x: float) -> float:
        return float(-np.expm1(-x) - x * np.exp(-x) - y)

    return rate / float(optimize.brentq(off, 1e-9, 800.0, xtol=1e-12))
