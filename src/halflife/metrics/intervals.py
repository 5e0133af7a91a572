"""Confidence intervals of means over repetitions."""

from typing import NamedTuple

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats


class Interval(NamedTuple):
    """A mean with its confidence bounds."""

    mean: float
    low: float
    high: float


def mean_interval(values: Floats, *, confidence: float = 0.95) -> Interval:
    """Return the mean of independent repetitions and its Student t interval.

    mean -/+ t * s / sqrt(n), with s the sample standard deviation and t the quantile
    for n - 1 degrees of freedom. For a single value the bounds are the value itself.

    >>> tuple(round(x, 3) for x in mean_interval(np.array([1.0, 2.0, 3.0])))
    (2.0, -0.484, 4.484)
    """
    mean = float(np.mean(values))
    if values.size < 2:
        return Interval(mean, mean, mean)
    spread = float(np.std(values, ddof=1) / np.sqrt(values.size))
    t = float(lazy_scipy.stdtrit(values.size - 1, 0.5 + confidence / 2.0))
    return Interval(mean, mean - t * spread, mean + t * spread)


def series_interval(
    values: Floats, *, blocks: int = 10, confidence: float = 0.95
) -> Interval:
    """Return the mean of a series in time and its interval by batch means.

    Adjacent values are similar, so the series is cut into ``blocks`` batches of equal
    length whose means are nearly independent. Schmeiser, "Batch size effects in the
    analysis of simulation output", Operations Research 1982.

    >>> tuple(round(x, 2) for x in series_interval(np.arange(40.0), blocks=2))
    (19.5, -107.56, 146.56)
    """
    blocks = min(blocks, values.size)
    whole = values[values.size % blocks :]
    means = whole.reshape(blocks, -1).mean(axis=1)
    return mean_interval(means, confidence=confidence)


def draws(groups: int, rng: np.random.Generator, *, resamples: int = 2000) -> Floats:
    """Return how often each group is drawn in each resample, one row for each."""
    return rng.multinomial(groups, np.full(groups, 1.0 / groups), resamples).astype(
        np.float64
    )


class Ratio(NamedTuple):
    """A share of sums over groups: ``sum(top) / sum(bottom)``."""

    top: Floats
    bottom: Floats

    def of(self, counts: Floats) -> Floats:
        """Return the ratio with each group counted so often; 0 where it is 0 / 0."""
        top, bottom = counts @ self.top, counts @ self.bottom
        return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def cluster_interval(
    counts: Floats,
    ratio: Ratio,
    minus: Ratio | None = None,
    *,
    confidence: float = 0.95,
) -> Interval:
    """Return a ratio, or the difference of two, with its interval over groups.

    Whole groups are resampled, since the items of a group are similar; ``counts`` are
    ``draws``. Two ratios on the same draws are paired. Bias-corrected and
    accelerated: Efron, "Better bootstrap confidence intervals", JASA 1987.
    """

    def statistic(weights: Floats) -> Floats:
        return ratio.of(weights) - (0.0 if minus is None else minus.of(weights))

    groups = counts.shape[1]
    mean = statistic(np.ones((1, groups))).item()
    sampled = statistic(counts)
    if groups < 2 or float(np.ptp(sampled)) == 0.0:
        return Interval(mean, mean, mean)
    without = statistic(np.ones((groups, groups)) - np.eye(groups))
    low, high = _levels(mean, sampled, without, confidence)
    bounds = np.quantile(sampled, [low, high])
    return Interval(mean, min(float(bounds[0]), mean), max(float(bounds[1]), mean))


def _levels(
    mean: float, sampled: Floats, without: Floats, confidence: float
) -> tuple[float, float]:
    """Return the quantiles to take, given the values without each group."""
    below = np.mean(sampled < mean) + np.mean(sampled == mean) / 2.0
    edge = 0.5 / sampled.size
    bias = float(lazy_scipy.ndtri(np.clip(below, edge, 1.0 - edge)))
    deviation = without.mean() - without
    spread = float((deviation**2).sum()) ** 1.5
    skew = float((deviation**3).sum()) / (6.0 * spread) if spread > 0 else 0.0
    z = float(lazy_scipy.ndtri(0.5 + confidence / 2.0))
    ends = [bias + (bias + side) / (1.0 - skew * (bias + side)) for side in (-z, z)]
    return float(lazy_scipy.ndtr(ends[0])), float(lazy_scipy.ndtr(ends[1]))
