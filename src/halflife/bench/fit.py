"""How long it takes to learn the change rates of many pages, and how well it goes."""

from collections.abc import Callable
from time import perf_counter

import numpy as np

from halflife.bench.population import rates_and_weights
from halflife.core.arrays import Floats
from halflife.core.history import Gaps
from halflife.models.empirical_bayes import (
    GRID,
    EmpiricalBayesRate,
    fit_prior,
    grid_posterior,
    log_likelihood,
    posterior,
)
from halflife.models.poisson import GammaSurvival, PoissonRate


def run(items: int = 100_000, looks: int = 20, seed: int = 0) -> dict[str, float]:
    """Return the seconds two estimators take, and their error in ln(rate).

    Every page is looked at ``looks`` times, at irregular gaps of about three days.
    The empirical Bayes estimate compared is the posterior mean of ln(rate).
    """
    rate, _ = rates_and_weights(items, seed)
    gaps = watch(rate, looks, seed + 1)
    start = perf_counter()
    single = PoissonRate().fit(*gaps, n_items=items)
    alone = perf_counter() - start
    start = perf_counter()
    pooled = EmpiricalBayesRate().fit(*gaps, n_items=items)
    together = perf_counter() - start
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


def projection(items: int = 1500, seed: int = 0) -> dict[str, float]:
    """Return what is lost by keeping two numbers an item instead of 80.

    Over three populations, 0 to 40 looks an item and 200 days ahead: the largest error
    of the survival, on average over items and for the worst of them, and the mean
    factor by which the index is off while survival is within 0.05 .. 0.99.
    """
    cases = [
        _projected(kind, looks, items, seed)
        for kind in (spread, mostly_still, three_kinds)
        for looks in (0, 1, 5, 40)
    ]
    mean, worst, index_off = np.array(cases).T
    return {
        "survival_error_mean": float(mean.mean()),
        "survival_error_worst": float(worst.max()),
        "index_factor_mean": float(np.exp(index_off.mean())),
    }


def _projected(
    kind: Callable[[np.random.Generator, int], Floats],
    looks: int,
    items: int,
    seed: int,
) -> tuple[float, float, float]:
    rng = np.random.default_rng(seed)
    known = watch(kind(rng, items), 20, seed + 1)
    prior = fit_prior(log_likelihood(known, items))
    table = log_likelihood(watch(kind(rng, items), looks, seed + 2), items)
    weight, kept = grid_posterior(table, prior), posterior(table, prior)
    time, rate = np.geomspace(1e-3, 200.0, 80), GRID.rate
    alive = weight @ np.exp(-np.multiply.outer(rate, time))
    lasting = weight @ (-np.expm1(-np.multiply.outer(rate, time)) / rate[:, None])
    law = GammaSurvival(kept.shape[:, None], kept.exposure[:, None])
    error = np.abs(law.alive(time) - alive).max(axis=1)
    exact = np.maximum(lasting - time * alive, 1e-12)
    ours = np.maximum(law.lasting(time) - time * law.alive(time), 1e-12)
    middle = (alive > 0.05) & (alive < 0.99)
    off = np.abs(np.log(ours / exact))[middle]
    return float(error.mean()), float(error.max()), float(off.mean())


def spread(rng: np.random.Generator, items: int) -> Floats:
    """Return rates that are lognormal about one change in ten days."""
    return np.exp(rng.normal(np.log(0.1), 1.8, items))


def mostly_still(rng: np.random.Generator, items: int) -> Floats:
    """Return rates of which two thirds are nearly nothing."""
    moving = np.exp(rng.normal(np.log(0.05), 1.2, items))
    return np.where(rng.random(items) < 2 / 3, 1e-5, moving)


def three_kinds(rng: np.random.Generator, items: int) -> Floats:
    """Return rates of archives, articles and front pages, in equal parts."""
    slow = np.exp(rng.normal(np.log(0.02), 0.7, items))
    kind = rng.integers(0, 3, items)
    return np.choose(kind, [np.full(items, 1e-4), slow, 100.0 * slow])
