"""How long it takes to learn the change rates of many pages, and how well it goes."""

from time import process_time

import numpy as np

from halflife.bench.population import rates_and_weights
from halflife.core.arrays import Floats
from halflife.core.history import Gaps
from halflife.models.poisson import PoissonRate
from lab.rates.empirical_bayes import EmpiricalBayesRate, grid_posterior, log_likelihood


def run(items: int = 100_000, looks: int = 20, seed: int = 0) -> dict[str, float]:
    """Return two estimators' processor seconds, and their error in ln(rate).

    Every page is looked at ``looks`` times, at irregular gaps of about three days.
    The empirical Bayes estimate compared is the posterior mean of ln(rate).
    """
    rate, _ = rates_and_weights(items, seed)
    gaps = watch(rate, looks, seed + 1)
    start = process_time()
    single = PoissonRate().fit(*gaps, n_items=items)
    alone = process_time() - start
    start = process_time()
    pooled = EmpiricalBayesRate().fit(*gaps, n_items=items)
    together = process_time() - start
    weight = grid_posterior(log_likelihood(gaps, items), pooled.prior_)
    return {
        "items": items,
        "looks": looks,
        "poisson_seconds": alone,
        "poisson_rmse": _error(np.log(single.rate_), rate),
        "empirical_bayes_seconds": together,
        "empirical_bayes_rmse": _error(weight @ np.log(pooled.grid.rate), rate),
    }


def watch(rate: Floats, looks: int, seed: int) -> Gaps:
    """Return what ``looks`` looks at pages of these rates would show."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(rate.size), looks)
    length = np.exp(rng.normal(np.log(3.0), 1.0, item.size))
    changed = rng.random(item.size) < -np.expm1(-rate[item] * length)
    return Gaps(item, length, changed, np.ones(item.size))


def _error(guess: Floats, rate: Floats) -> float:
    return float(np.sqrt(np.mean((guess - np.log(rate)) ** 2)))
