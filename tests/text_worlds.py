"""Made-up text databases whose summaries drift as one likes."""

import numpy as np

from halflife.bench.textreplay import TextWorld
from halflife.summary.drift import SummaryDrift
from halflife.summary.metrics import METRICS, SummaryChange

STRATA = ("com", "edu", "gov", "misc", "org")


def drift_of(name, stratum, rate, *, weeks, size, power, rng):
    """Return a database that drifts by rate * age**power, times luck."""
    week = np.arange(weeks)
    age = np.maximum(week[None, :] - week[:, None], 0).astype(float)
    luck = 1.0 if rng is None else rng.gamma(4.0, 0.25, age.shape)
    kl = rate * age**power * luck
    shares = {m: np.exp(-kl) for m in METRICS if m != "kl"}
    change = SummaryChange(kl=kl, status=np.zeros(kl.shape, np.int8), **shares)
    many = np.full(weeks, size)
    return SummaryDrift(name, stratum, week, week, many, 10.0 * many, change)


def databases(rates, *, weeks=40, power=1.0, seed=None):
    """Return databases with these rates, of all domains in turn."""
    rng = None if seed is None else np.random.default_rng(seed)
    return tuple(
        drift_of(
            f"d{i}",
            STRATA[i % 5],
            rate,
            weeks=weeks,
            size=50.0 + 7 * i,
            power=power,
            rng=rng,
        )
        for i, rate in enumerate(rates)
    )


def world_of(found):
    """Return a world in which a document changes as the divergence grows."""
    size = np.array([d.size for d in found]).astype(np.intp)
    kl = np.array([d.change.kl for d in found])
    gone = np.minimum((kl * size[:, :, None]).astype(np.intp), size[:, :, None])
    return TextWorld(tuple(found), size, gone)
