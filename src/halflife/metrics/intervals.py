"""How sure we are of a mean over repetitions."""

from typing import NamedTuple

import numpy as np

from halflife import special
from halflife.arrays import Floats


class Interval(NamedTuple):
    """A mean with its confidence bounds."""

    mean: float
    low: float
    high: float


def mean_interval(values: Floats, *, confidence: float = 0.95) -> Interval:
    """Return the mean of independent repetitions and its Student t interval.

    mean -/+ t * s / sqrt(n), with s the sample standard deviation and t the
    quantile for n - 1 degrees of freedom. One value has no spread to go by: its
    bounds are the value itself.

    >>> tuple(round(x, 3) for x in mean_interval(np.array([1.0, 2.0, 3.0])))
    (2.0, -0.484, 4.484)
    """
    mean = float(np.mean(values))
    if values.size < 2:
        return Interval(mean, mean, mean)
    spread = float(np.std(values, ddof=1) / np.sqrt(values.size))
    t = float(special.stdtrit(values.size - 1, 0.5 + confidence / 2.0))
    return Interval(mean, mean - t * spread, mean + t * spread)


def series_interval(
    values: Floats, *, blocks: int = 10, confidence: float = 0.95
) -> Interval:
    """Return the mean of a series in time and its interval by batch means.

    Neighbours in time are alike, so the series is cut into ``blocks`` stretches
    of equal length whose means are nearly independent. Schmeiser, "Batch size
    effects in the analysis of simulation output", Operations Research 1982.

    >>> tuple(round(x, 2) for x in series_interval(np.arange(40.0), blocks=2))
    (19.5, -107.56, 146.56)
    """
    blocks = min(blocks, values.size)
    whole = values[values.size % blocks :]
    means = whole.reshape(blocks, -1).mean(axis=1)
    return mean_interval(means, confidence=confidence)
