"""Change rates of items that change as Poisson processes."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import LARGEST_LOG, Bools, Bytes, Floats, Ints
from halflife.core.errors import NotFitted
from halflife.core.history import Gaps
from halflife.models.gaps import (
    RateStatus,
    check_gaps,
    quiet_days,
    statuses,
    sum_by_item,
)
from halflife.models.roots import falling_roots

__all__ = ["Exponential", "GammaSurvival", "PoissonRate", "RateStatus"]

SLOWEST, FASTEST = 1e-9, 1e6  # changes a day; no estimate leaves these bounds
_NEAR, _TERMS = 0.3, 24  # limit and number of terms of a power series
_NOTHING = 1e-300  # least argument of a logarithm


@dataclass(frozen=True, slots=True)
class Exponential:
    """Survival of items whose change rates are known; at rate 0 an item never changes.

    S(t) = exp(-rate t).

    >>> Exponential(np.array([0.5])).lasting(np.array([np.inf]))
    array([2.])
    """

    rate: Floats

    def alive(self, t: Floats) -> Floats:
        """Return exp(-rate t)."""
        return np.exp(-self._changes(t))

    def lasting(self, t: Floats) -> Floats:
        """Return (1 - exp(-rate t)) / rate."""
        x = self._changes(t)
        with np.errstate(divide="ignore", invalid="ignore"):  # inf is handled apart
            return np.where(np.isinf(t), 1.0 / self.rate, t * lazy_scipy.exprel(-x))

    def moment(self, t: Floats) -> Floats:
        """Return (1 - (1 + x) exp(-x)) / rate**2 with x = rate t."""
        x = self._changes(t)
        positive = np.maximum(x, 1e-9)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            part = np.where(
                x > 1e-9, lazy_scipy.gammainc(2, positive) / positive**2, 0.5 - x / 3
            )
            return np.where(np.isinf(t), 1.0 / self.rate**2, t**2 * part)

    def _changes(self, t: Floats) -> Floats:
        with np.errstate(invalid="ignore"):  # a rate of 0 over infinite time is 0
            return np.where(self.rate > 0, self.rate * t, 0.0)


@dataclass(frozen=True, slots=True)
class GammaSurvival:
    """Survival of items whose rates are known only up to a Gamma distribution.

    With rate ~ Gamma(shape, exposure), S(t) = (1 + t / exposure) ** -shape: as if
    ``shape`` changes had been seen in ``exposure`` days. A long survivor is probably
    slow, so S falls ever more slowly.

    >>> GammaSurvival(np.array([2.0]), np.array([10.0])).alive(np.array([10.0]))
    array([0.25])
    """

    shape: Floats
    exposure: Floats

    def alive(self, t: Floats) -> Floats:
        """Return (1 + t / exposure) ** -shape."""
        return np.exp(-self.shape * np.log1p(t / self.exposure))

    def lasting(self, t: Floats) -> Floats:
        """Return exposure / (shape - 1) * (1 - (1 + t / exposure) ** (1 - shape))."""
        a, b = self.shape, self.exposure
        log = np.log1p(t / b)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            finite = b * log * lazy_scipy.exprel((1 - a) * log)
            return np.where(np.isinf(t), _or_inf(b / (a - 1), a > 1), finite)

    def moment(self, t: Floats) -> Floats:
        """Return exposure**2 (F(2 - shape) - F(1 - shape)), F(c) = ((1 + z)**c - 1)/c.

        With z = t / exposure; near z = 0, where the difference loses its digits, the
        power series of the integrand is integrated instead.
        """
        a, b = self.shape, self.exposure
        z = t / b
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            far = np.where(a < 3, _two_powers(a, z), _one_power(a, z)) * b**2
            near = t**2 * _moment_series(a, np.where(z < 1, z, 0.0))
            finite = np.where(z * np.maximum(a, 1.0) < _NEAR, near, far)
            endless = _or_inf(b**2 / ((a - 1) * (a - 2)), a > 2)
            return np.where(np.isinf(t), endless, finite)


def _or_inf(value: Floats, where: Bools) -> Floats:
    return np.where(where, value, np.inf)


def _two_powers(a: Floats, z: Floats) -> Floats:
    log = np.log1p(z)
    return np.asarray(
        log * (lazy_scipy.exprel((2 - a) * log) - lazy_scipy.exprel((1 - a) * log))
    )


def _one_power(a: Floats, z: Floats) -> Floats:
    falls = np.log1p((a - 1) * z) - (a - 1) * np.log1p(z)
    return -np.expm1(falls) / ((a - 1) * (a - 2))


def _moment_series(a: Floats, z: Floats) -> Floats:
    """Return the integral of v (1 + v)**-a over 0..z, divided by z**2."""
    total = np.zeros(np.broadcast_shapes(np.shape(a), np.shape(z)))
    for k in range(_TERMS, -1, -1):
        total = 1.0 / (k + 2) - z * (a + k) / (k + 1) * total
    return total


class PoissonRate:
    """Rate of a Poisson process observed only at intervals.

    An observation shows *whether* an item changed since the previous one, not how often
    or when. With gaps g the posterior mode r of the rate solves

        sum(g / (exp(r g) - 1), changed) + a / r = sum(g, quiet) + b,

    the mode under a Gamma(a + 1, b) prior. The left side falls and the right side is
    constant, so the root is unique; a = b = 0 is maximum likelihood.
    Cho and Garcia-Molina, "Estimating frequency of change", TOIT 2003, s. 5.

    Args:
        prior_changes: a, prior changes.
        prior_days: b, the days of the prior changes.

    Attributes:
        rate_: Changes a day of each item, from 1e-9 to 1e6.
        status_: How far the observations determine each rate; see ``RateStatus``.

    >>> every_other = np.arange(8) % 2 == 0
    >>> PoissonRate().fit(np.zeros(8, int), np.ones(8), every_other).rate_.round(2)
    array([0.66])

    """

    rate_: Floats
    status_: Bytes

    def __init__(self, *, prior_changes: float = 0.5, prior_days: float = 1.0) -> None:
        self.prior_changes = prior_changes
        self.prior_days = prior_days

    def fit(
        self,
        item: Ints,
        length: Floats,
        changed: Bools,
        tally: Floats | None = None,
        *,
        n_items: int | None = None,
    ) -> Self:
        """Estimate one rate per item from the gaps between its observations."""
        for name in ("prior_changes", "prior_days"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name} must be finite and not negative")
        gaps, n = check_gaps(item, length, changed, tally, n_items)
        quiet = quiet_days(gaps, n) + self.prior_days
        self.rate_ = _mode(gaps, quiet, self.prior_changes)
        self.status_ = statuses(gaps, n)
        return self

    def survival(self) -> Exponential:
        """Return the survival of the items if the estimates were exact."""
        if not hasattr(self, "rate_"):
            raise NotFitted("call fit() before survival()")
        return Exponential(self.rate_)


def _mode(gaps: Gaps, quiet: Floats, prior_changes: float) -> Floats:
    """Solve ln(sum(x / (exp(x) - 1)) + a) = ln(r) + ln(quiet), with x = r g.

    In these logarithms both sides are almost linear, so Newton's method is fast.
    """
    n, rows = quiet.size, gaps.changed
    item, length, tally = gaps.item[rows], gaps.length[rows], gaps.tally[rows]
    changes = sum_by_item(item, tally, n) + prior_changes
    days = quiet + sum_by_item(item, tally * length, n) / 2
    # Without a change the rate is the slowest, without a quiet day the fastest.
    slow, fast = np.full(n, np.log(SLOWEST)), np.full(n, np.log(FASTEST))
    low = np.where((changes > 0) & (quiet == 0), fast, slow)
    high = np.where(changes > 0, fast, slow)
    load = np.log(np.maximum(quiet, _NOTHING))
    start = np.log(np.maximum(changes, _NOTHING)) - np.log(np.maximum(days, _NOTHING))

    def surplus(log_rate: Floats) -> tuple[Floats, Floats]:
        x = np.exp(log_rate)[item] * length
        pull = tally * x / np.expm1(np.minimum(x, LARGEST_LOG))
        total = np.maximum(sum_by_item(item, pull, n) + prior_changes, _NOTHING)
        bend = sum_by_item(item, pull * (1 + x / np.expm1(-x)), n) / total
        return np.log(total) - log_rate - load, bend - 1.0

    return np.exp(falling_roots(surplus, low, high, start))
