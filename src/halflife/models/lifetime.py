"""Lifetimes of objects: exponential and Weibull, from interval-censored spells.

"Quality-aware repositories", s. 3.2, which estimates the rate by 1 / mean life and so
ignores censoring and the time between observations. The likelihood that allows for both
is in ``halflife.models.weibull``.
"""

from dataclasses import replace
from enum import IntEnum
from typing import NamedTuple, Self

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats
from halflife.core.errors import NotFitted
from halflife.core.lifetimes import Lives
from halflife.models.ascent import Peak, climb
from halflife.models.spells import Spells, spells
from halflife.models.weibull import Likelihood

_HALF = 0.5  # prior deaths or survivors where none was observed
_NORMAL_95 = 1.959963984540054
_WIDE = 30.0  # largest distance of ln(rate) from ln(deaths / exposure)
_SHAPES = (0.05, 20.0)
_LARGEST = 1e300


class LifeStatus(IntEnum):
    """How far the spells suffice for a model of lifetimes.

    OK                 maximum likelihood
    NO_SPELLS          nothing was observed: no model, the numbers mean nothing
    NO_DEATHS          none ended: the rate is as if half a death had been seen, and
                       at 95 % at most 3 / exposure
    FASTER_THAN_LOOKS  all had gone by the next fetch: the rate is as if half a spell
                       had lasted, ln(1 + 2 n) / gap for equal gaps (Cho and
                       Garcia-Molina, TOIT 2003, s. 4.2)
    FEW_DEATHS         too few ages at death to estimate a shape: exponential, shape 1
    SHRUNK             likelihood rises without end in the shape: the mode under a
                       normal prior of ln(shape), mean 0 and variance 1 / deaths
    SIMPLER            the search for a shape did not converge: exponential, shape 1
    """

    OK = 0
    NO_SPELLS = 1
    NO_DEATHS = 2
    FASTER_THAN_LOOKS = 3
    FEW_DEATHS = 4
    SHRUNK = 5
    SIMPLER = 6


class _Fit(NamedTuple):
    peak: Peak
    status: LifeStatus
    used: Spells
    scale: float


class WeibullLifetime:
    """Weibull lifetimes, S(t) = exp(-(a t)**k), by maximum likelihood.

    Spells of unknown age (there at the first snapshot) are left out: their likelihood
    under a shape depends on arrivals before the first snapshot. Only where too few
    others have ended are they used, for an exponential.

    Args:
        prior_deaths: Prior deaths, added to those observed.
        prior_days: The exposure of the prior deaths, in days.

    Attributes:
        rate_: a, per day.
        shape_: k; above 1 objects age, below 1 old ones last longer.
        covariance_: The covariance of (rate, shape), from the observed information.
        log_likelihood_: At the estimate.
        aic_: 2 parameters - 2 log_likelihood_; the smaller the better.
        deaths_: Spells known to have ended, among those used.
        exposure_: Days for which those used were observed.
        status_: How far the spells suffice; see ``LifeStatus``.

    >>> seen = Spells.of(np.zeros(3), np.array([0.0, 1, 2]), np.array([1, 2, np.inf]))
    >>> found = WeibullLifetime().fit(seen)
    >>> found.status_.name, round(float(found.survival(np.array([1.0]))[0]), 3)
    ('OK', 0.667)

    """

    parameters = 2
    rate_: float
    shape_: float
    covariance_: Floats
    log_likelihood_: float
    aic_: float
    deaths_: float
    exposure_: float
    status_: LifeStatus

    def __init__(self, *, prior_deaths: float = 0.0, prior_days: float = 0.0) -> None:
        self.prior_deaths = prior_deaths
        self.prior_days = prior_days

    def fit(self, lives: Lives | Spells) -> Self:
        """Estimate from lifetimes, or from their spells if these are given."""
        for name in ("prior_deaths", "prior_days"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name} must be finite and not negative")
        data = (lives if isinstance(lives, Spells) else spells(lives)).merge_equal()
        return self._learn(self._search(data))

    def _search(self, data: Spells) -> _Fit:
        aged = data.take(data.aged) if not data.aged.all() else data
        plain = self._exponential(aged)
        if plain.status is not LifeStatus.OK or not _has_shape(plain.used):
            return _simpler(self._exponential(data), LifeStatus.FEW_DEATHS)
        used, scale, start = _without_instants(aged), plain.scale, plain.peak.at
        low, high = _box(start[0], *np.log(_SHAPES))
        for shrink, status in ((0.0, LifeStatus.OK), (used.deaths, LifeStatus.SHRUNK)):
            likelihood = Likelihood(used, scale, *self._prior(scale), shrink)
            peak = climb(likelihood, start, low, high)
            if peak.converged and not peak.bound.any():
                return _Fit(peak, status, used, scale)
        return _simpler(self._exponential(data), LifeStatus.SIMPLER)

    def _exponential(self, data: Spells) -> _Fit:
        """Return the best fit with shape 1, for which the age does not matter."""
        data = replace(_without_instants(data), spread=np.zeros(len(data)))
        deaths, exposure = data.deaths + self.prior_deaths, _observed_days(data)
        exposure += self.prior_days
        status, (more_deaths, more_days) = _prior_counts(data, deaths, exposure)
        count = max(deaths, _HALF)
        scale = (exposure + more_days) / count
        extra_deaths, extra_days = self._prior(scale)
        likelihood = Likelihood(
            data, scale, extra_deaths + more_deaths, extra_days + more_days / scale, 0.0
        )
        low, high = _box(0.0, 0.0, 0.0)
        peak = climb(likelihood, np.zeros(2), low, high)
        return _Fit(peak, status, data, scale)

    def _prior(self, scale: float) -> tuple[float, float]:
        return self.prior_deaths, self.prior_days / scale

    def _learn(self, fit: _Fit) -> Self:
        peak, used = fit.peak, fit.used
        unit = np.exp(peak.at) / np.array([fit.scale, 1.0])
        plain = Likelihood(used, fit.scale, 0.0, 0.0, 0.0)
        exact = float(used.weight[used.upper == used.lower].sum())
        self.rate_, self.shape_ = float(unit[0]), float(unit[1])
        self.covariance_ = peak.covariance * np.outer(unit, unit)
        self.log_likelihood_ = plain(peak.at)[0] - exact * float(np.log(fit.scale))
        self.aic_ = 2.0 * self.parameters - 2.0 * self.log_likelihood_
        self.deaths_, self.exposure_ = used.deaths, used.exposure
        self.status_ = fit.status
        return self

    def survival(self, t: Floats) -> Floats:
        """Return S(t), the probability to reach age ``t`` (days)."""
        return np.exp(-self._hazard_to(t))

    def conditional(self, t: Floats, age: Floats) -> Floats:
        """Return S(age + t) / S(age), the probability to last ``t`` more days."""
        start = np.maximum(age, 0.0)
        more = self._hazard_to(start + np.maximum(t, 0.0)) - self._hazard_to(start)
        return np.exp(-np.maximum(more, 0.0))

    def of_unknown_age(self, t: Floats) -> Floats:
        """Return the probability to last ``t`` more days from a random moment of life.

        The integral of S from t on over the integral of all of S: the share of those
        alive now, under steady arrivals, that are still alive then.
        """
        share: Floats = lazy_scipy.gammaincc(1.0 / self.shape_, self._hazard_to(t))
        return share

    def hazard(self, t: Floats) -> Floats:
        """Return h(t) = k a (a t)**(k - 1), deaths per object and day at age ``t``.

        It is infinite at birth for k < 1; so ages below 1e-9 / a count as that.
        """
        self._check()
        x = np.maximum(self.rate_ * np.asarray(t, np.float64), 1e-9)
        with np.errstate(under="ignore", over="ignore"):
            power = np.minimum(x ** (self.shape_ - 1.0), _LARGEST)
        return np.asarray(self.shape_ * self.rate_ * power)

    def mean(self) -> float:
        """Return the mean life, Gamma(1 + 1/k) / a days."""
        self._check()
        return float(lazy_scipy.gamma(1.0 + 1.0 / self.shape_)) / self.rate_

    def quantile(self, p: Floats) -> Floats:
        """Return the age by which a share ``p`` has gone."""
        self._check()
        with np.errstate(divide="ignore"):
            hazard = -np.log1p(-np.asarray(p, np.float64))
        return np.asarray(hazard ** (1.0 / self.shape_) / self.rate_)

    def rate_interval(self, z: float = _NORMAL_95) -> tuple[float, float]:
        """Return bounds of the rate, ``z`` standard errors of its logarithm away.

        Without any death: from 0 to -ln(1 - c) / exposure with c the one-sided
            confidence of ``z`` (the rule of three).
        """
        self._check()
        if self.status_ is LifeStatus.NO_DEATHS:
            doubt = lazy_scipy.erfc(z / np.sqrt(2.0))
            days = max(self.exposure_ + self.prior_days, 1e-9)
            return 0.0, float(-np.log(doubt)) / days
        error = float(np.sqrt(self.covariance_[0, 0])) / self.rate_
        factor = float(np.exp(min(z * error, _WIDE)))
        return self.rate_ / factor, self.rate_ * factor

    def _hazard_to(self, t: Floats) -> Floats:
        """Return H(t) = (a t)**k."""
        self._check()
        x = self.rate_ * np.maximum(t, 0.0)
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.minimum(x**self.shape_, _LARGEST))

    def _check(self) -> None:
        if not hasattr(self, "rate_"):
            raise NotFitted("call fit() first")


class ExponentialLifetime(WeibullLifetime):
    """Exponential lifetimes, S(t) = exp(-a t), by maximum likelihood.

    The age of an object makes no difference, so spells of unknown age count from the
    snapshot at which they were first seen. Where every death is known exactly the
    estimate is deaths / exposure. Attributes as of ``WeibullLifetime``; shape 1.

    >>> life = Spells.of(np.zeros(3), np.array([2.0, 3, 5]), np.array([2, 3, np.inf]))
    >>> ExponentialLifetime().fit(life).rate_
    0.2
    """

    parameters = 1

    def _search(self, data: Spells) -> _Fit:
        return self._exponential(data)


def choose_lifetime(lives: Lives | Spells) -> WeibullLifetime:
    """Return the Weibull fit, or the exponential one if its AIC is no worse.

    They are compared on the spells of known age, which both can use; the exponential
    fit returned uses all spells.
    """
    data = (lives if isinstance(lives, Spells) else spells(lives)).merge_equal()
    weibull = WeibullLifetime().fit(data)
    exponential = ExponentialLifetime().fit(data.take(data.aged))
    if weibull.status_ is LifeStatus.OK and weibull.aic_ < exponential.aic_:
        return weibull
    return ExponentialLifetime().fit(data)


def _box(centre: float, low: float, high: float) -> tuple[Floats, Floats]:
    return np.array([centre - _WIDE, low]), np.array([centre + _WIDE, high])


def _observed_days(data: Spells) -> float:
    """Return the days for which spells are known to have lasted."""
    return float(data.weight @ (data.lower - data.entry))


def _prior_counts(
    data: Spells, deaths: float, exposure: float
) -> tuple[LifeStatus, tuple[float, float]]:
    """Return the status, and deaths and days to add so that a rate exists."""
    if not deaths:
        status = LifeStatus.NO_DEATHS if exposure else LifeStatus.NO_SPELLS
        return status, (_HALF, 0.0 if exposure else 1.0)
    if not exposure:
        gaps = np.where(data.ended, data.upper - data.lower, 0.0)
        gap = float(data.weight @ gaps) / deaths if data.deaths else 0.0
        return LifeStatus.FASTER_THAN_LOOKS, (0.0, _HALF * gap or 1.0)
    return LifeStatus.OK, (0.0, 0.0)


def _without_instants(data: Spells) -> Spells:
    """Return the spells with deaths at the very moment of birth spread a little.

    They are placed before the shortest age distinguished from 0: a tenth of the
    smallest age in the data, or of a day.
    """
    instant = (data.upper == data.lower) & (data.lower == 0)
    if not instant.any():
        return data
    ages = np.concatenate([data.lower, data.upper[data.ended]])
    shortest = float(np.min(ages[ages > 0], initial=1.0)) / 10
    upper = np.where(instant, shortest, data.upper)
    return replace(data, upper=upper)


def _has_shape(data: Spells) -> bool:
    """Return whether spells ended at two ages that differ for certain."""
    ended = data.ended
    if data.deaths < 2:
        return False
    return bool(data.lower[ended].max() >= data.upper[ended].min())


def _simpler(fit: _Fit, why: LifeStatus) -> _Fit:
    """Return an exponential fit in place of a Weibull one, with the reason."""
    return fit._replace(status=fit.status or why)
