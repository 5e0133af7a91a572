"""The interval between fetches as a function of the price of a fetch.

Each curve solves U(s) = y for s = pace * T, the interval in the item's own time,
where y is the price in units of the item's worth. It also returns
d ln s / d ln y, which the search for the price needs. ``shape`` is the Weibull
shape; for Poisson it is 1 and s is the expected number of changes.

``freshness`` and ``harmonic`` take arrays of any library that follows the array API,
in single or double precision; the others need ``scipy.special``.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from halflife.allocation.objectives import age_worth
from halflife.core import lazy_scipy
from halflife.core.arrays import Floats, namespace

Curve: TypeAlias = Callable[[Floats, Floats], tuple[Floats, Floats]]

_NEWTON_STEPS = 40
_HALLEY_STEPS = 2  # from a start right to a few percent only rounding remains
_ALL_GONE = 50.0
_BELOW_ONE = 1.0 - 2.0**-53
_DOUBLE = 2.0**-52  # the difference of 1 and the next float
_SERIES_ALONE = 0.5  # s below which the series is right to the last digit
_SINGLE_SERIES = 1.3  # the same in single precision
_SERIES_STARTS = 2.0  # s below which it is near enough to start from
_HARMONIC_STARTS = 1.2  # the same for the other branch
_ANY_START = 0.1  # any start, where the series alone is used
_SMALL_ROOT, _LEAST_CUBE = 0.3, 1e-3  # starts of the inverse of P(k, x)
_SETTLED = 1e-4  # the next error is of the order of its cube
_LARGEST_LOG = 600.0  # exp of it is far from the end of the floats

# u - 1 - ln u = e**2 / 2 has the root u = 1 + sum(c * e**k), k = 1, 2, ...
# Temme, "The asymptotic expansion of the incomplete gamma functions", 1979.
_TEMME = (
    1.0,
    1 / 3,
    1 / 36,
    -1 / 270,
    1 / 4320,
    1 / 17010,
    -139 / 5443200,
    1 / 204120,
    -571 / 2351462400,
    -281 / 1515591000,
    163879 / 2172751257600,
    -5221 / 354648294000,
    5246819 / 10168475885568000,
    5459 / 7447614174000,
)


def freshness(y: Floats, _: Floats) -> tuple[Floats, Floats]:
    """Solve 1 - (1 + x) exp(-x) = y, for y below 1.

    With z = -ln(1 - y) this is x - ln(1 + x) = z.
    """
    xp = namespace(y)
    z = -xp.log1p(-xp.clip(y, max=1.0 - xp.finfo(y.dtype).eps / 2))
    x = inverse_log_gap(z)
    return x, xp.expm1(z) * (1.0 + x) / x**2


def inverse_log_gap(z: Floats) -> Floats:
    """Solve x - ln(1 + x) = z for x > 0, to 1e-13 of x; z must not be negative.

    >>> inverse_log_gap(np.array([1 - np.log(2)]))
    array([1.])
    """
    xp = namespace(z)
    s = xp.sqrt(2.0 * z)
    series = _temme(xp.clip(s, max=_SERIES_STARTS))
    x = xp.where(s < _SERIES_STARTS, series, z + xp.log1p(z + xp.log1p(z)))
    x = xp.clip(x, min=_ANY_START)
    for _ in range(_HALLEY_STEPS):
        step = (x - xp.log1p(x) - z) * (1.0 + x) / x
        x = x - step / (1.0 - 0.5 * step / (x * (1.0 + x)))
    result: Floats = xp.where(s < _series_alone(xp, z), series, x)
    return result


def harmonic(y: Floats, _: Floats) -> tuple[Floats, Floats]:
    """Solve x - 1 + exp(-x) = y; that is x = y + 1 + W0(-exp(-y - 1)).

    >>> harmonic(np.array([np.exp(-1)]), np.ones(1))[0]
    array([1.])
    """
    xp = namespace(y)
    s = xp.sqrt(2.0 * y)
    series = y - _temme(-xp.clip(s, max=_SERIES_STARTS))
    x = xp.where(s < _HARMONIC_STARTS, series, y + 1.0 - xp.exp(-y - 1.0))
    x = xp.clip(x, min=_ANY_START)
    for _step in range(_HALLEY_STEPS):
        bend = xp.exp(-x)
        off = (x + xp.expm1(-x) - y) / -xp.expm1(-x)
        x = x - off / (1.0 + 0.5 * off * bend / xp.expm1(-x))
    x = xp.where(s < _series_alone(xp, y), series, x)
    return x, y / (-xp.expm1(-x) * x)


def age(y: Floats, shape: Floats) -> tuple[Floats, Floats]:
    """Solve the integral of u (1 - exp(-u**shape)) over 0..s = y.

    With x = s**shape, ln U is concave in ln x and the start lies left of the root,
    so Newton's steps in the logarithms come from the left and never overshoot.
    From x = 50 on, exp(-x) is nothing and U is s**2 / 2 less a constant.
    """
    a = 1.0 / shape
    rest = a * lazy_scipy.gamma(2 * a)
    cut = 0.5 * _ALL_GONE ** (2 * a)
    near = np.minimum(y, cut)
    x = _before_age(near, a)
    for _ in range(_NEWTON_STEPS):
        worth = age_worth(x, a)
        slope = -a * x ** (2 * a) * np.expm1(-x) / worth
        step = np.log(near / worth) / slope
        x = x * np.exp(step)
        if np.max(np.abs(step), initial=0.0) < 1e-7:  # the next error is its square
            break
    s = np.where(y < cut, x**a, np.sqrt(2 * (y + rest)))
    return s, np.where(y < cut, a / slope, y / s**2)


def _before_age(y: Floats, a: Floats) -> Floats:
    """Return an x left of the root of ``age``, and near it where y is small or large.

    1 - exp(-u) is less than u and less than 1, so U(s) is less than each of
    a / (1 + 2 a) x**(1 + 2 a) and x**(2 a) / 2.
    """
    soon = (y * (1 + 2 * a) / a) ** (1 / (1 + 2 * a))
    return np.maximum(soon, (2 * y) ** (0.5 / a))


def poisson_age(y: Floats, _: Floats) -> tuple[Floats, Floats]:
    """Solve x**2 / 2 - 1 + (1 + x) exp(-x) = y."""
    return age(y, np.ones(()))


def weibull_freshness(y: Floats, shape: Floats) -> tuple[Floats, Floats]:
    """Solve P(1 + 1/shape, s**shape) = y, for y below 1.

    U is Gamma(1 + 1/shape) P(1 + 1/shape, x) since U(T) is the integral of t dD(t);
    Eq. 4 of Ipeirotis et al., "Modeling and managing changes in text databases",
    TODS 2007, is the same thing integrated by parts.
    """
    spacing, bend = np.ones_like(y), np.zeros_like(y)
    live = y < 1.0
    y, a = y[live], 1.0 / np.broadcast_to(shape, y.shape)[live]
    x, lead = inverse_gamma(1.0 + a, y)
    spacing[live], bend[live] = x**a, a * y / lead
    return spacing, bend


def inverse_gamma(k: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Solve P(k, x) = y for 0 < y < 1; return x, and d P / d ln x there.

    Two steps of Halley's method in ln x, on ln P below one half and on ln(1 - P) above,
    both of which are concave, from a start that is right to a few percent. Each costs
    one incomplete gamma function; scipy's inverse costs five. It is used for the few
    that have not converged.

    >>> inverse_gamma(np.array([1.0, 2.0]), np.array([0.5, 0.5]))[0].round(6)
    array([0.693147, 1.678347])
    """
    log_gamma = lazy_scipy.gammaln(k)
    x, step = _near_inverse(k, y, log_gamma), np.full(y.shape, np.inf)
    for _ in range(_HALLEY_STEPS):
        step = _halley(k, y, x, log_gamma)
        x = x * np.exp(step)
    unsettled = ~(np.abs(step) < _SETTLED)
    if unsettled.any():
        x[unsettled] = lazy_scipy.gammaincinv(k[unsettled], y[unsettled])
    return x, np.exp(k * np.log(x) - x - log_gamma)


def _near_inverse(k: Floats, y: Floats, log_gamma: Floats) -> Floats:
    """Return an approximate x where P(k, x) = y.

    Small x by the first two terms of the series, others by the cube, which is nearly
    normal: Wilson and Hilferty, "The distribution of chi-square", 1931.
    """
    root = np.exp((np.log(y) + log_gamma + np.log(k)) / k)
    cube = 1.0 - 1.0 / (9.0 * k) + lazy_scipy.ndtri(y) / (3.0 * np.sqrt(k))
    small = root < _SMALL_ROOT * k
    series = root * np.exp(np.where(small, root, 0.0) / (k + 1.0))
    return np.where(small, series, k * np.maximum(cube, _LEAST_CUBE) ** 3)


def _halley(k: Floats, y: Floats, x: Floats, log_gamma: Floats) -> Floats:
    """Return the step in ln x, at most 1."""
    reached = np.clip(lazy_scipy.gammainc(k, x), 1e-300, _BELOW_ONE)
    low = y < 0.5
    tail, target = np.where(low, reached, 1.0 - reached), np.where(low, y, 1.0 - y)
    slope = np.exp(k * np.log(x) - x - log_gamma) / np.where(low, tail, -tail)
    newton = np.log(tail / target) / slope
    step: Floats = -newton / (1.0 - 0.5 * newton * (k - x - slope))
    return np.clip(step, -1.0, 1.0)


def hindsight(y: Floats, _: Floats) -> tuple[Floats, Floats]:
    """Return 1 / (share of changes worth a fetch) when their gaps are known ahead.

    A gap longer than the price is worth a fetch; for exponential gaps that is the share
    exp(-y).
    """
    return np.exp(np.minimum(y, _LARGEST_LOG)), y


def _series_alone(xp: Any, like: Floats) -> float:  # noqa: ANN401  (any array library)
    """Return the s below which the series is right to the last digit of its type.

    Single precision needs it further: there s - ln(1 + s) loses a digit by s = 1.
    """
    double = xp.finfo(like.dtype).eps <= _DOUBLE
    return _SERIES_ALONE if double else _SINGLE_SERIES


def _temme(e: Floats) -> Floats:
    total = 0.0 * e
    for c in reversed(_TEMME):
        total = (total + c) * e
    return total
