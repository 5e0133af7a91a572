"""Calibration of forecasts: how often they came true, and corrections of bounds."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.forecast import Forecast
from halflife.metrics.intervals import Interval
from halflife.models.audit import share_bounds
from halflife.models.conformal import FREEDOM, mixed_quantiles

BINS = 10
FARTHEST = 8.0  # largest size of a score, in standard deviations
LENT = 20.0  # prior scores of a correct belief in a trust factor
WIDEST = 20.0  # largest factor by which bounds are widened
RECENT = 60  # scores that a trust factor is computed from
_MOST_LOOKS = 10_000


class Reliability(NamedTuple):
    """Forecast probabilities in bins and the shares that came true.

    Attributes:
        size: Forecasts in the bin.
        forecast: Their mean.
        found: The share that came true.
        low: Lower bound of that share at 95 %.
        high: Upper bound.

    """

    size: Floats
    forecast: Floats
    found: Floats
    low: Floats
    high: Floats


class Brier(NamedTuple):
    """The Brier score and its parts: score = reliability - resolution + uncertainty.

    Attributes:
        score: Mean of (p - y)^2.
        reliability: How far forecasts were from the shares that came true; 0 is
            perfect.
        resolution: How far the shares differ between forecasts; more is better.
        uncertainty: The score of forecasting the overall share everywhere.
        within: The loss by differences of forecasts within a bin; part of ``score``.

    """

    score: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float


def reliability(chance: Floats, occurred: Bools, *, bins: int = BINS) -> Reliability:
    """Return how often events forecast with about the same probability came true."""
    code = _bins(chance, bins)
    count = np.bincount(code, minlength=bins).astype(np.float64)
    filled = count > 0
    count = count[filled]
    forecast = np.bincount(code, chance, minlength=bins)[filled] / count
    hits = np.bincount(code, occurred, minlength=bins)[filled]
    bounds = [share_bounds(h, n, 0.95) for h, n in zip(hits, count, strict=True)]
    low, high = np.array(bounds).reshape(-1, 2).T
    return Reliability(count, forecast, hits / count, low, high)


def brier(chance: Floats, occurred: Bools, *, bins: int = BINS) -> Brier:
    """Return the Brier score and its parts, exactly.

    With bins k of n_k forecasts, mean forecast f_k and share o_k that came true, and
    o of all n: reliability = sum(n_k (f_k - o_k)^2) / n, resolution =
    sum(n_k (o_k - o)^2) / n, uncertainty = o (1 - o); Murphy, "A new vector partition
    of the probability score", J. Applied Meteorology 1973. Forecasts within a bin
    that differ add sum((p - f_k)^2 - 2 (p - f_k)(y - o_k)) / n (Stephenson, Coelho and
    Jolliffe, Weather and Forecasting 2008).

    >>> [round(x, 2) for x in brier(np.array([0.8, 0.8]), np.array([True, False]))]
    [0.34, 0.09, 0.0, 0.25, 0.0]
    """
    if chance.size == 0:
        return Brier(0.0, 0.0, 0.0, 0.0, 0.0)
    code = _bins(chance, bins)
    count = np.bincount(code)[code]
    mean, found = (np.bincount(code, c)[code] / count for c in (chance, occurred))
    base = float(occurred.mean())
    offset, residual = chance - mean, occurred - found
    return Brier(
        score=float(np.mean((chance - occurred) ** 2)),
        reliability=float(np.mean((mean - found) ** 2)),
        resolution=float(np.mean((found - base) ** 2)),
        uncertainty=base * (1.0 - base),
        within=float(np.mean(offset**2 - 2.0 * offset * residual)),
    )


def _bins(chance: Floats, bins: int) -> Ints:
    return np.minimum((chance * bins).astype(np.intp), bins - 1)


class Outcome(NamedTuple):
    """The observed outcome of a forecast of quality.

    Attributes:
        found: The quality found.
        looks: How many parts were checked to find it; ``inf`` if all were.

    """

    found: float
    looks: float


def effective_size(weight: Floats, held: float) -> float:
    """Return the effective sample size of the parts drawn.

    (sum(w))^2 / sum(w^2) (Kish, "Survey sampling", 1965), over 1 - n / held for the
    finite population: infinite if all parts were drawn.

    >>> effective_size(np.ones(5), 10.0), effective_size(np.ones(5), 5.0)
    (10.0, inf)
    """
    if weight.size >= held:
        return float("inf")
    kish = float(weight.sum() ** 2 / np.sum(weight**2)) if weight.any() else 0.0
    return kish / (1.0 - weight.size / held)


def normal_score(
    bounds: Interval, outcome: Outcome, u: float, confidence: float
) -> float:
    """Return how far off a forecast was, in standard deviations: its normal score.

    If all parts were seen the score is z (x - mean) / (mean - low) below the mean, and
    the same with the upper bound above it, z the normal quantile of the confidence: it
    lies within -z..z just when the truth lay within the bounds. If n parts were
    checked, the number of right ones has the Beta-binomial distribution with the mean
    of the forecast and the variance implied by its bounds, and the score is the normal
    quantile of P(K < k) + u P(K = k); with ``u`` uniform on 0..1 it is standard normal
    if the forecast is right (the randomised PIT: Czado, Gneiting and Held, Biometrics
    2009). Scores are limited to ``FARTHEST``.
    """
    mean, low, high = bounds
    z = float(lazy_scipy.ndtri(0.5 + confidence / 2.0))
    if outcome.looks > _MOST_LOOKS:
        side = mean - low if outcome.found < mean else high - mean
        offset = outcome.found - mean
        if abs(offset) < 1e-12:
            return 0.0
        score = z * offset / side if side > 0 else np.copysign(FARTHEST, offset)
        return float(np.clip(score, -FARTHEST, FARTHEST))
    n = round(outcome.looks)
    pmf = right_parts_pmf(mean, ((high - low) / (2.0 * z)) ** 2, n)
    k = min(max(round(outcome.found * n), 0), n)
    below = float(pmf[:k].sum() + u * pmf[k])
    above = float(pmf[k + 1 :].sum() + (1.0 - u) * pmf[k])
    tail = max(min(below, above), 1e-300)
    score = float(lazy_scipy.ndtri(tail))
    return max(score, -FARTHEST) if below <= above else min(-score, FARTHEST)


def right_parts_pmf(mean: float, variance: float, n: int) -> Floats:
    """Return the probabilities of 0..n right parts of n drawn, given the forecast.

    >>> right_parts_pmf(0.5, 1 / 12, 2).round(6)  # an even prior
    array([0.333333, 0.333333, 0.333333])
    """
    m = float(np.clip(mean, 1e-9, 1.0 - 1e-9))
    k = np.arange(n + 1.0)
    ways = (
        lazy_scipy.gammaln(n + 1)
        - lazy_scipy.gammaln(k + 1)
        - lazy_scipy.gammaln(n - k + 1)
    )
    largest = m * (1.0 - m)
    if variance <= 1e-9 * largest:
        logs = ways + k * np.log(m) + (n - k) * np.log1p(-m)
    else:
        strength = max(largest / variance - 1.0, 1e-6)
        a, b = m * strength, (1.0 - m) * strength
        logs = ways + lazy_scipy.betaln(a + k, b + (n - k)) - lazy_scipy.betaln(a, b)
    pmf: Floats = np.exp(logs - logs.max())
    pmf /= pmf.sum()
    return pmf


def within(scores: Floats, *, confidence: float = 0.95) -> Bools:
    """Return which forecasts had the truth within their bounds, with sampling error."""
    z = float(lazy_scipy.ndtri(0.5 + confidence / 2.0))
    return np.asarray(np.abs(scores) <= z + 1e-9)


def coverage(scores: Floats, *, confidence: float = 0.95) -> Interval:
    """Return the share of forecasts within their bounds, with its 95 % interval."""
    if scores.size == 0:
        return Interval(confidence, 0.0, 1.0)
    hits = float(np.count_nonzero(within(scores, confidence=confidence)))
    low, high = share_bounds(hits, float(scores.size), 0.95)
    return Interval(hits / scores.size, low, high)


def interval_score(
    low: Floats, high: Floats, truth: Floats, *, confidence: float = 0.95
) -> Floats:
    """Return the interval score: its width, plus a penalty for missing the truth.

    (high - low) + 2 / a (distance of the truth from the interval), a = 1 - confidence:
    the mean is least for the quantiles a / 2 and 1 - a / 2 of the truth (Winkler, JASA
    1972; Gneiting and Raftery, JASA 2007).

    >>> low, high = np.array([0.8, 0.8]), np.array([0.9, 0.9])
    >>> interval_score(low, high, np.array([0.85, 0.79])).round(6)
    array([0.1, 0.5])
    """
    distance = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
    return np.asarray(high - low + 2.0 / (1.0 - confidence) * distance)


LEVELS = (np.arange(20) + 0.5) / 20  # of the quantiles that a CRPS is averaged over


def crps(quantiles: Floats, truth: Floats) -> Floats:
    """Return the continuous ranked probability score of quantiles at ``LEVELS``.

    ``quantiles`` has one row for each forecast. The score is twice the pinball loss,
    averaged over all levels, here over twenty; for a point forecast it is the absolute
    error. Gneiting and Raftery, as above.

    >>> crps(np.full((1, 20), 0.7), np.array([0.9])).round(3)
    array([0.2])
    """
    residual = truth[:, None] - quantiles
    pinball = np.where(residual >= 0.0, LEVELS * residual, (LEVELS - 1.0) * residual)
    score: Floats = 2.0 * pinball.mean(axis=1)
    return score


def trust_factor(scores: Floats, *, confidence: float = 0.95) -> float:
    """Return the factor that widens bounds, given recent scores; at least 1.

    f = q / z, z the normal quantile of the confidence, q that of the sizes of the last
    ``RECENT`` scores and of ``LENT`` lent by the normal distribution, as in
    ``conformal``. Each further miss widens it, never beyond ``FARTHEST`` / z; misses
    that have left the window no longer count.

    >>> trust_factor(np.zeros(0)), round(trust_factor(np.full(40, 4.0)), 2)
    (1.0, 2.0)
    """
    tail = (1.0 - confidence) / 2.0
    size = np.minimum(np.abs(scores[-RECENT:]), FARTHEST)
    symmetric = np.concatenate([size, -size])
    # On the scale on which the lent scores of ``mixed_quantiles`` are normal.
    past = lazy_scipy.stdtrit(FREEDOM, lazy_scipy.ndtr(symmetric))
    _, stated = mixed_quantiles(np.zeros(0), 2.0 * LENT, tail)
    _, needed = mixed_quantiles(past, 2.0 * LENT, tail)
    z, q = (_normal(x) for x in (stated, needed))
    return max(1.0, q / z)


def widening_factor(believed: Interval, found: Interval) -> float:
    """Return the factor that widens bounds to contain what audits found; at least 1.

    If the interval found by audits contains the mean, they do not contradict it: 1. If
    it lies below, f = (mean - found.low) / (mean - low), the least factor with which
    the bounds contain the interval; the same on the other side. At most ``WIDEST``.

    >>> found = Interval(0.6, 0.5, 0.7)
    >>> round(widening_factor(Interval(0.9, 0.85, 0.92), found), 6)
    8.0
    >>> widening_factor(Interval(0.69, 0.65, 0.7), found)
    1.0
    """
    if found.high < believed.mean - 1e-12:
        distance, side = believed.mean - found.low, believed.mean - believed.low
    elif found.low > believed.mean + 1e-12:
        distance, side = found.high - believed.mean, believed.high - believed.mean
    else:
        return 1.0
    return float(np.clip(distance / max(side, 1e-12), 1.0, WIDEST))


def lifetime_widening_factor(believed: float, found: Interval) -> float:
    """Return the factor by which a lifetime must be shortened or lengthened.

    For a probability p that something lasts the bounds are p^f and p^(1/f): as if its
    end came f times as fast, or as slowly. If the interval of the observed share
    contains p, 1; otherwise the least f with which the bounds contain all of it, at
    most ``WIDEST``.

    >>> round(lifetime_widening_factor(0.9, Interval(0.6, 0.5, 0.7)), 2)
    6.58
    >>> lifetime_widening_factor(0.6, Interval(0.6, 0.5, 0.7))
    1.0
    """
    if found.low <= believed <= found.high:
        return 1.0
    p = float(np.clip(believed, 1e-9, 1.0 - 1e-9))
    if found.high < believed:
        factor = np.log(max(found.low, 1e-300)) / np.log(p)
    else:
        factor = np.log(p) / min(np.log(found.high), -1e-12)
    return float(np.clip(factor, 1.0, WIDEST))


def _normal(score: float) -> float:
    above = float(lazy_scipy.stdtr(FREEDOM, -score))
    return float(-lazy_scipy.ndtri(max(above, 1e-300)))


def widen_bounds(
    mean: Floats, low: Floats, high: Floats, factor: float, *, most: float = 1.0
) -> tuple[Floats, Floats]:
    """Return bounds ``factor`` times as far from the mean, between 0 and ``most``.

    low' = mean - f (mean - low) and high' = mean + f (high - mean). A factor of 1 or
    less leaves them unchanged, and a larger one never makes them narrower.

    >>> widen_bounds(np.array([0.5]), np.array([0.25]), np.array([0.75]), 1.5)
    (array([0.125]), array([0.875]))
    """
    if factor <= 1.0:
        return low, high
    # Rounding must not narrow the bounds.
    below = np.minimum(np.maximum(mean - factor * (mean - low), 0.0), low)
    above = np.maximum(np.minimum(mean + factor * (high - mean), most), high)
    return below, above


def widen_forecast(cast: Forecast, factor: float) -> Forecast:
    """Return a forecast with bounds ``factor`` times as far from the mean.

    >>> one = np.array([0.8])
    >>> wide = widen_forecast(Forecast("recall", one, one, one - 0.1, one + 0.1), 3.0)
    >>> wide.low.round(3), wide.high
    (array([0.5]), array([1.]))
    """
    if factor <= 1.0:
        return cast
    low, high = widen_bounds(cast.mean, cast.low, cast.high, factor)
    return replace(cast, low=low, high=high)
