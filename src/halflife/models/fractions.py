"""Estimates of the share of a category that changed, from a sample of it.

Counts need not be whole: a weighted sample counts as its effective number of equally
weighted observations (``weighted_sample``).
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Bools, Floats, Ints

Method: TypeAlias = Literal["wilson", "exact"]
STRENGTHS = np.exp2(np.arange(-1.0, 11.0, 0.5))  # weights of a prior


class Fraction(NamedTuple):
    """Shares with their bounds, one row for each category."""

    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class CategorySample:
    """The statistics of a sample of each category.

    Attributes:
        mean: Estimate of the changed share; nan where nothing was sampled.
        count: The effective number of observations of the sample.
        variance: Variance of the estimate; nan where nothing was sampled.

    """

    mean: Floats
    count: Floats
    variance: Floats

    @property
    def changed(self) -> Floats:
        """The effective number of observations that found a change."""
        return np.where(self.count > 0, self.mean, 0.0) * self.count


def wilson(changed: Floats, count: Floats, *, confidence: float = 0.95) -> Fraction:
    """Return the shares and Wilson's score intervals.

    The bounds are (p + z^2/2n -/+ z sqrt(p (1 - p)/n + z^2/4n^2)) / (1 + z^2/n).
    Without an observation the share is one half and the bounds are 0 and 1.
    E. B. Wilson, JASA 1927.

    >>> [x.round(3).tolist() for x in wilson(np.array([5.0]), np.array([10.0]))]
    [[0.5], [0.237], [0.763]]
    """
    z = float(lazy_scipy.ndtri(0.5 + confidence / 2.0))
    n = np.where(count > 0, count, 1.0)
    p = np.where(count > 0, changed / n, 0.5)
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * np.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2) / (1 + z * z / n)
    low = np.where(count > 0, np.clip(middle - reach, 0.0, p), 0.0)
    high = np.where(count > 0, np.clip(middle + reach, p, 1.0), 1.0)
    return Fraction(p, low, high)


def clopper_pearson(
    changed: Floats, count: Floats, *, confidence: float = 0.95
) -> Fraction:
    """Return the shares and exact intervals, with at least the nominal coverage.

    The bounds are quantiles of Beta(x, n - x + 1) and Beta(x + 1, n - x).
    Clopper and Pearson, Biometrika 1934.

    >>> [x.round(3).tolist() for x in clopper_pearson(np.zeros(1), np.array([10.0]))]
    [[0.0], [0.0], [0.308]]
    """
    tail = (1.0 - confidence) / 2.0
    p = np.where(count > 0, changed / np.where(count > 0, count, 1.0), 0.5)
    unchanged = np.maximum(count - changed, 0.0)
    has_changed, has_unchanged = changed > 0, unchanged > 0
    low, high = np.zeros(p.size), np.ones(p.size)
    low[has_changed] = lazy_scipy.betaincinv(
        changed[has_changed], unchanged[has_changed] + 1.0, tail
    )
    high[has_unchanged] = lazy_scipy.betaincinv(
        changed[has_unchanged] + 1.0, unchanged[has_unchanged], 1.0 - tail
    )
    return Fraction(p, np.minimum(low, p), np.maximum(high, p))


def posterior(
    changed: Floats,
    count: Floats,
    *,
    mean: Floats,
    strength: float,
    confidence: float = 0.95,
) -> Fraction:
    """Return the posterior of the shares after the sample, with credible bounds.

    The prior Beta(k m, k (1 - m)) has mean m and the weight of k observations; x
    changed of n make it Beta(k m + x, k (1 - m) + n - x), with mean
    (k m + x) / (k + n).

    >>> one = np.ones(1)
    >>> posterior(3 * one, 4 * one, mean=0.25 * one, strength=4.0).mean
    array([0.5])
    """
    tail = (1.0 - confidence) / 2.0
    m = np.clip(mean, 1e-6, 1.0 - 1e-6)
    a = strength * m + changed
    b = strength * (1.0 - m) + np.maximum(count - changed, 0.0)
    middle = a / (a + b)
    low = np.minimum(lazy_scipy.betaincinv(a, b, tail), middle)
    high = np.maximum(lazy_scipy.betaincinv(a, b, 1.0 - tail), middle)
    return Fraction(middle, low, high)


def prior_strength(changed: Floats, count: Floats, mean: Floats) -> float:
    """Return the weight of the prior means in observations, from all categories.

    The k of ``STRENGTHS`` under which the samples are most likely, each count being
    Beta-binomial: log B(k m + x, k (1 - m) + n - x) - log B(k m, k (1 - m)) summed over
    the categories. Where the means predict the samples k is large; where they do not it
    is small, and the samples decide. Without samples it is the largest.
    """
    m = np.clip(mean, 1e-6, 1.0 - 1e-6)[:, None]
    a, b = STRENGTHS * m, STRENGTHS * (1.0 - m)
    x, unchanged = changed[:, None], np.maximum(count - changed, 0.0)[:, None]
    likelihood = (
        lazy_scipy.betaln(a + x, b + unchanged) - lazy_scipy.betaln(a, b)
    ).sum(axis=0)
    # The last of equals: nothing contradicts the means.
    best = likelihood.size - 1 - int(np.argmax(likelihood[::-1]))
    return float(STRENGTHS[best])


def weighted_sample(
    category: Ints, changed: Bools, weight: Floats, chance: Floats, categories: int
) -> CategorySample:
    """Return the weighted share that changed, from a sample with unequal chances.

    With v = w / pi, pi the probability of an item to be in the sample (Horvitz and
    Thompson, JASA 1952), the ratio estimate of Hajek is p = sum(v y) / sum(v); its
    variance is sum((1 - pi) (v (y - p))^2) / sum(v)^2. The sample counts as
    sum(v)^2 / sum(v^2) observations (Kish 1965).

    >>> three, half = np.array([True, True, True, False]), np.full(4, 0.5)
    >>> found = weighted_sample(np.zeros(4, int), three, np.ones(4), half, 1)
    >>> found.mean, found.count, found.variance.round(4)
    (array([0.75]), array([4.]), array([0.0234]))
    """
    v = weight / chance
    total = np.bincount(category, weights=v, minlength=categories)
    sampled = total > 0
    safe = np.where(sampled, total, 1.0)
    mean = np.bincount(category, weights=v * changed, minlength=categories) / safe
    square = np.bincount(category, weights=v * v, minlength=categories)
    squares = (1.0 - chance) * (v * (changed - mean[category])) ** 2
    spread = np.bincount(category, weights=squares, minlength=categories)
    return CategorySample(
        np.where(sampled, np.minimum(mean, 1.0), np.nan),
        np.where(sampled, safe**2 / np.where(sampled, square, 1.0), 0.0),
        np.where(sampled, spread / safe**2, np.nan),
    )
