"""Synthetic pages whose rates and weights are distributed as on real sites."""

import numpy as np

from halflife.core.arrays import Floats
from halflife.recordings.pages import Recording, recording_of_changes


def rates_and_weights(items: int, seed: int) -> tuple[Floats, Floats]:
    """Return change rates (lognormal, median 0.1 a day) and Pareto weights.

    They have the distribution of the measurements in docs/allocation.md, so that
    figures can be compared: sigma 1.8, rates within 5e-4 .. 50, whole weights to 2000.
    """
    rng = np.random.default_rng(seed)
    rate = np.clip(np.exp(rng.normal(np.log(0.1), 1.8, items)), 5e-4, 50.0)
    weight = np.minimum(np.ceil(rng.pareto(1.2, items) * 10.0 + 1.0), 2000.0)
    return rate, weight


def poisson_recording(
    rate: Floats, weight: Floats, days: float, seed: int
) -> Recording:
    """Return a history of items that change at random moments at these rates."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(rate.size), rng.poisson(rate * days))
    at = rng.uniform(0.0, days, item.size)
    keys = tuple(f"page/{i}" for i in range(rate.size))
    always = np.full(rate.size, -np.inf), np.full(rate.size, np.inf)
    return recording_of_changes(keys, item, at, always, weight)
