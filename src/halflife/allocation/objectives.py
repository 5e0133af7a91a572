"""The value of a schedule, and the gain of one more fetch.

Three losses D(t), t days after a sync, for a copy that is fresh with probability S(t):

freshness   1 - S(t)                    the probability that the copy is out of date
age         t - integral of S over 0..t    for how long it has been out of date
harmonic    E[1 + 1/2 + ... + 1/N(t)]    with N(t) changes missed; Poisson only

Cho and Garcia-Molina, "Effective page refresh policies", TODS 2003, for the first two;
Kolobov et al., "Staying up to date with online content changes", NeurIPS 2019, for the
third. Below, x = rate * T**shape with T = 1 / frequency. Each closed form loses
precision near x = 0, so its power series is used below x = 1.
"""

from collections.abc import Callable

import numpy as np

from halflife.allocation.columns import Objective
from halflife.core import lazy_scipy
from halflife.core.arrays import Floats
from halflife.core.view import Survival

_TERMS = 18
_SEAM = 1.0  # x from which closed forms are used instead of series
_MOST = 1e300  # x at frequency 0


def index(survival: Survival, age: Floats, objective: Objective) -> Floats:
    """Return the gain of a fetch of each item now, per unit of weight.

    U(t) = t D(t) - integral of D over 0..t, which is
    freshness: integral of S - t S(t); age: t**2 / 2 - integral of u S(u);
    harmonic: t - integral of S. An ``age`` of ``inf`` means that there is no copy:
    a fetch then gains all future fresh days, or, for age and harmonic, ``inf``.
    """
    t = np.asarray(age, dtype=np.float64)
    never = np.isinf(t)
    held = np.where(never, 0.0, t)
    if objective == "freshness":
        gain = survival.lasting(held) - held * survival.alive(held)
        first = survival.lasting(t) if never.any() else t
    elif objective == "age":
        gain, first = held**2 / 2 - survival.moment(held), t
    elif objective == "harmonic":
        gain, first = held - survival.lasting(held), t
    else:
        raise unknown_objective(objective)
    return np.where(never, first, np.maximum(gain, 0.0))


def unknown_objective(objective: str) -> ValueError:
    """Return the error for an objective that does not exist."""
    return ValueError(
        f"objective must be 'freshness', 'age' or 'harmonic', got {objective!r}"
    )


def mean_freshness(
    frequency: Floats, rate: Floats, shape: Floats | float = 1
) -> Floats:
    """Return the share of time that each copy is fresh.

    The mean of S over 0..T; for Poisson (1 - exp(-x)) / x. Without fetches it is 0; an
    item that never changes is always fresh.

    >>> mean_freshness(np.array([1.0]), np.array([1.0])).round(3)
    array([0.632])
    """
    pace, x = _scaled(frequency, rate, shape)
    fresh = lazy_scipy.exprel(-x) if _poisson(shape) else _weibull_freshness(x, shape)
    return np.where(pace == 0, 1.0, np.where(frequency > 0, fresh, 0.0))


def _weibull_freshness(x: Floats, shape: Floats | float) -> Floats:
    a = 1.0 / np.asarray(shape, dtype=np.float64)
    x = np.maximum(x, 1e-25)  # below it the share is 1, and x**a may vanish
    with np.errstate(over="ignore"):  # an overflow means a share of 0
        return np.asarray(lazy_scipy.gamma(1 + a) * lazy_scipy.gammainc(a, x) / x**a)


def mean_age(frequency: Floats, rate: Floats, shape: Floats | float = 1) -> Floats:
    """Return the mean time that each copy has been out of date, in days.

    T/2 - integral of S + (integral of u S) / T, over 0..T; for Poisson
    T/2 - 1/rate + (1 - exp(-x)) / (rate x). Without fetches it is ``inf``.

    >>> mean_age(np.array([1.0]), np.array([1.0])).round(3)
    array([0.132])
    """
    pace, x = _scaled(frequency, rate, shape)
    g = np.asarray(shape, dtype=np.float64)

    def large(x: Floats) -> Floats:
        a = 1.0 / g
        lasting = lazy_scipy.gamma(1 + a) * lazy_scipy.gammainc(a, x) / x**a
        moment = (
            a * lazy_scipy.gamma(2 * a) * lazy_scipy.gammainc(2 * a, x) / x ** (2 * a)
        )
        return np.asarray(0.5 - lasting + moment)

    with np.errstate(divide="ignore", over="ignore"):  # infinite without fetches
        share = series_or_large(
            x, lambda j: np.asarray((g * j + 1) * (g * j + 2)), large
        )
        late = share / np.asarray(frequency, dtype=np.float64)
    return np.where(pace == 0, 0.0, late)


def mean_harmonic(frequency: Floats, rate: Floats) -> Floats:
    """Return the mean harmonic number of the changes missed (Poisson).

    Ein(x) - (x - 1 + exp(-x)) / x with Ein(x) = E1(x) + ln x + Euler's constant.
    Without fetches it is ``inf``.

    >>> mean_harmonic(np.array([1.0]), np.array([1.0])).round(3)
    array([0.429])
    """
    pace, x = _scaled(frequency, rate, 1.0)

    def large(x: Floats) -> Floats:
        missed = lazy_scipy.exp1(x) + np.log(x) + np.euler_gamma
        return np.asarray(missed - (x + np.expm1(-x)) / x)

    lost = series_or_large(x, lambda j: j * (j + 1.0), large)
    return np.where(pace == 0, 0.0, np.where(frequency > 0, lost, np.inf))


def marginal(
    frequency: Floats,
    rate: Floats,
    *,
    shape: Floats | float = 1,
    objective: Objective = "freshness",
) -> Floats:
    """Return the gain of one more fetch a day, per unit of weight: U(1 / frequency).

    freshness: Gamma(1 + a) P(1 + a, x) / pace, with a = 1 / shape, pace = rate**a and P
    the regularised incomplete gamma function; age: T**2 / 2 - integral of u S;
    harmonic: T - (1 - exp(-x)) / rate. Computed by ``scipy.special``, so the solver's
    own inverses can be checked against it.
    """
    pace, x = _scaled(frequency, rate, shape)
    a = 1.0 / np.asarray(shape, dtype=np.float64)
    if objective == "freshness":
        gain: Floats = lazy_scipy.gamma(1 + a) * lazy_scipy.gammainc(1 + a, x)
        unit = pace
    elif objective == "age":
        gain, unit = age_worth(x, a), pace**2
    elif objective == "harmonic":
        share = series_or_large(x, lambda j: j + 1.0, lambda x: (x + np.expm1(-x)) / x)
        gain, unit = x * share, pace
    else:
        raise unknown_objective(objective)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gain = gain / unit  # rates and frequencies of 0 are handled below
    if objective != "freshness":
        gain = np.where(np.asarray(frequency) > 0, gain, np.inf)
    return np.where(pace > 0, gain, 0.0)


def age_worth(x: Floats, a: Floats | float) -> Floats:
    """Return the integral of u (1 - exp(-u**(1/a))) over u from 0 to s = x**a.

    For a = 1 it is x**2 / 2 - 1 + (1 + x) exp(-x).
    """

    def large(x: Floats) -> Floats:
        if _poisson(a):
            return 0.5 - (1.0 - (1.0 + x) * np.exp(-x)) / x**2
        moment = a * lazy_scipy.gamma(2 * a) * lazy_scipy.gammainc(2 * a, x)
        return np.asarray(0.5 - moment / x ** (2 * a))

    with np.errstate(over="ignore"):  # infinite without fetches
        return x ** (2 * a) * series_or_large(x, lambda j: (j + 2 * a) / a, large)


def series_or_large(
    x: Floats,
    divisor: Callable[[int], Floats | float],
    large: Callable[[Floats], Floats],
) -> Floats:
    """Return ``large(x)`` from x = 1 on, and below it the series of the same function.

    The series is the sum over j = 1, 2, ... of -(-x)**j / (j! divisor(j)).
    """
    small = np.minimum(x, _SEAM)
    total = np.zeros_like(small)
    for j in range(_TERMS, 0, -1):
        total = small / j * (1.0 / divisor(j) - total)
    return np.where(x < _SEAM, total, large(np.maximum(x, _SEAM)))


def _poisson(shape: Floats | float) -> bool:
    return np.ndim(shape) == 0 and float(shape) == 1.0


def _scaled(
    frequency: Floats, rate: Floats, shape: Floats | float
) -> tuple[Floats, Floats]:
    """Return rate**(1/shape) and x = rate / frequency**shape, huge at frequency 0."""
    g = np.asarray(shape, dtype=np.float64)
    pace = np.asarray(rate, dtype=np.float64) ** (1.0 / g)
    frequencies = np.asarray(frequency, dtype=np.float64)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        x = (pace / frequencies) ** g
    return pace, np.minimum(np.where(frequencies > 0, x, np.inf), _MOST)
