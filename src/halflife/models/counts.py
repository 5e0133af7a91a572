"""Probabilities of counts under three laws, with the derivatives that a fit needs.

A count of mean m has variance m (Poisson), m (1 + d) (negative binomial, size m / d) or
m d (Gamma of shape m / d and scale d, rounded to whole numbers). "gamma-density" is the
same Gamma with its density in place of probabilities, and P(X <= 1/2) for a count of 0,
where the density is of no use; its likelihood is not comparable with others.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats

Law: TypeAlias = Literal["poisson", "negative-binomial", "gamma", "gamma-density"]
LAWS: tuple[Law, ...] = ("poisson", "negative-binomial", "gamma")

_Function: TypeAlias = Callable[[Floats, Floats, float], Floats]

_NUDGE = 1e-4  # of a logarithm, for slopes by differences
_UNDERFLOW = 1e-280


def log_probability(law: Law, count: Floats, mean: Floats, d: float) -> Floats:
    """Return the logarithm of the probability of each count.

    >>> np.exp(log_probability("gamma", np.array([0.0]), np.array([1.0]), 1.0)).round(4)
    array([0.3935])
    """
    return _LOG[law](count, mean, d)


def cumulative(law: Law, count: Floats, mean: Floats, d: float) -> Floats:
    """Return the probability of at most each count; 0 for counts below 0."""
    return np.where(count < 0, 0.0, _CUMULATIVE[law](np.maximum(count, 0), mean, d))


def variance_per_mean(law: Law, d: float) -> float:
    """Return the variance of a count over its mean."""
    return {"poisson": 1.0, "negative-binomial": 1.0 + d}.get(law, d)


def slopes(law: Law, count: Floats, mean: Floats, d: float) -> list[Floats]:
    """Return ln P and its derivatives in (ln mean, ln d): value, m, d, mm, md, dd.

    By central differences: incomplete gamma functions have no simple derivative in the
    shape. The relative errors are about 1e-8.
    """

    def at(by_mean: int, by_d: int) -> Floats:
        up = np.exp(_NUDGE * by_mean), np.exp(_NUDGE * by_d)
        return _LOG[law](count, mean * up[0], d * float(up[1]))

    value, more, less = at(0, 0), at(1, 0), at(-1, 0)
    zeros = np.zeros(value.size)
    first, second = (more - less) / (2 * _NUDGE), (more - 2 * value + less) / _NUDGE**2
    if law == "poisson":
        return [value, first, zeros, second, zeros, zeros]
    up_d, down_d = at(0, 1), at(0, -1)
    twist = at(1, 1) + at(-1, -1) + 2 * value - more - less - up_d - down_d
    return [
        value,
        first,
        (up_d - down_d) / (2 * _NUDGE),
        second,
        twist / (2 * _NUDGE**2),
        (up_d - 2 * value + down_d) / _NUDGE**2,
    ]


def _log_poisson(count: Floats, mean: Floats, _: float) -> Floats:
    log_p: Floats = lazy_scipy.xlogy(count, mean) - mean - lazy_scipy.gammaln(count + 1)
    return log_p


def _log_negative_binomial(count: Floats, mean: Floats, d: float) -> Floats:
    size = mean / d
    positive = np.maximum(count, 1.0)
    ways = np.where(
        count > 0, -lazy_scipy.betaln(size, positive) - np.log(positive), 0.0
    )
    log_p: Floats = ways - size * np.log1p(d) - count * np.log1p(1.0 / d)
    return log_p


def _log_gamma(count: Floats, mean: Floats, d: float) -> Floats:
    shape, high, low = mean / d, (count + 0.5) / d, np.maximum(count - 0.5, 0.0) / d
    tail = low > shape  # the smaller side keeps its digits
    mass = np.empty(shape.size)
    for side, rows in ((lazy_scipy.gammaincc, tail), (lazy_scipy.gammainc, ~tail)):
        mass[rows] = side(shape[rows], high[rows]) - side(shape[rows], low[rows])
    mass = np.abs(mass)
    tiny = mass < _UNDERFLOW
    density = _density(count, shape, d)
    log_p: Floats = np.where(tiny, density, np.log(np.where(tiny, 1.0, mass)))
    return log_p


def _log_gamma_density(count: Floats, mean: Floats, d: float) -> Floats:
    is_zero = count < 0.5
    log_p = _density(count, mean / d, d)
    log_p[is_zero] = _log_gamma(count[is_zero], mean[is_zero], d)
    return log_p


def _density(count: Floats, shape: Floats, d: float) -> Floats:
    x = np.maximum(count, 0.25) / d
    log: Floats = (
        lazy_scipy.xlogy(shape - 1, x) - x - lazy_scipy.gammaln(shape) - np.log(d)
    )
    return log


def _up_to_poisson(count: Floats, mean: Floats, _: float) -> Floats:
    p: Floats = lazy_scipy.gammaincc(count + 1, mean)
    return p


def _up_to_negative_binomial(count: Floats, mean: Floats, d: float) -> Floats:
    p: Floats = lazy_scipy.betainc(mean / d, count + 1, 1.0 / (1.0 + d))
    return p


def _up_to_gamma(count: Floats, mean: Floats, d: float) -> Floats:
    p: Floats = lazy_scipy.gammainc(mean / d, (count + 0.5) / d)
    return p


_LOG: dict[Law, _Function] = {
    "poisson": _log_poisson,
    "negative-binomial": _log_negative_binomial,
    "gamma": _log_gamma,
    "gamma-density": _log_gamma_density,
}
_CUMULATIVE: dict[Law, _Function] = {
    "poisson": _up_to_poisson,
    "negative-binomial": _up_to_negative_binomial,
    "gamma": _up_to_gamma,
    "gamma-density": _up_to_gamma,
}
