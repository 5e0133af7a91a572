"""How long objects stay: exponential and Weibull lifetimes seen through looks.

"Quality-aware repositories", s. 3.2, which takes 1 / mean life for the rate and so
counts neither censoring nor the time between looks. The likelihood that does is in
``halflife.models.weibull``.
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

__all__ = ["ExponentialLifetime", "LifeStatus", "WeibullLifetime", "choose"]

_HALF = 0.5  # a death, or a survivor, that we pretend to have seen where none was
_NORMAL_95 = 1.959963984540054
_WIDE = 30.0  # how far ln(rate) may go from ln(deaths / exposure)
_SHAPES = (0.05, 20.0)
_LARGEST = 1e300
_GONE = 1e6  # a hazard beyond which nothing survives


class LifeStatus(IntEnum):
    """What the spells can tell about lifetimes.

    OK                 maximum likelihood
    NO_SPELLS          nothing was watched: no model, the numbers mean nothing
    NO_DEATHS          none ended: the rate is as if half a death had been seen, and
                       at 95 % at most 3 / exposure
    FASTER_THAN_LOOKS  all had gone by the next look: the rate is as if half a spell
                       had lasted, ln(1 + 2 n) / gap for equal gaps (Cho and
                       Garcia-Molina, TOIT 2003, s. 4.2)
    FEW_DEATHS         too few ages at death to tell a shape: exponential, shape 1
    SHRUNK             likelihood rises without end in the shape: the mode under a
                       normal prior of ln(shape), mean 0 and variance 1 / deaths
    SIMPLER            the search for a shape did not settle: exponential, shape 1
    """

    OK = 0
    NO_SPELLS = 1
    NO_DEATHS = 2
    FASTER_THAN_LOOKS = 3
    FEW_DEATHS = 4
    SHRUNK = 5
    SIMPLER = 6


class _Found(NamedTuple):
    peak: Peak
    status: LifeStatus
    used: Spells
    scale: float


class WeibullLifetime:
    """Weibull lifetimes, S(t) = exp(-(a t)**k), by maximum likelihood.

    Spells whose age nobody knows (there at the first look) are left out: what they
    tell about the shape depends on how objects came before we looked. Only where
    too few others have ended are they used, for an exponential.

    Args:
        prior_deaths: Deaths that we pretend to have seen besides.
        prior_days: Days of exposure over which we pretend to have seen them.

    Attributes:
        rate_: a, per day.
        shape_: k; above 1 objects wear out, below 1 old ones last.
        covariance_: Of (rate, shape), from the observed information.
        log_likelihood_: At the estimate.
        aic_: 2 parameters - 2 log_likelihood_; the smaller the better.
        deaths_: Spells known to have ended, among those used.
        exposure_: Days for which those used were watched.
        status_: What the spells can tell; see ``LifeStatus``.

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
        """Estimate from lives, or from their spells if these were made before."""
        for name in ("prior_deaths", "prior_days"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name} must be finite and not negative")
        data = (lives if isinstance(lives, Spells) else spells(lives)).tallied()
        return self._learn(self._search(data))

    def _search(self, data: Spells) -> _Found:
        aged = data.take(data.aged) if not data.aged.all() else data
        plain = self._exponential(aged)
        if plain.status is not LifeStatus.OK or not _tells_shape(plain.used):
            return _simpler(self._exponential(data), LifeStatus.FEW_DEATHS)
        used, scale, start = _without_instants(aged), plain.scale, plain.peak.at
        low, high = _box(start[0], *np.log(_SHAPES))
        for shrink, status in ((0.0, LifeStatus.OK), (used.deaths, LifeStatus.SHRUNK)):
            likelihood = Likelihood(used, scale, *self._prior(scale), shrink)
            peak = climb(likelihood, start, low, high)
            if peak.converged and not peak.bound.any():
                return _Found(peak, status, used, scale)
        return _simpler(self._exponential(data), LifeStatus.SIMPLER)

    def _exponential(self, data: Spells) -> _Found:
        """Return the best fit with shape 1, for which the birth does not matter."""
        data = replace(_without_instants(data), spread=np.zeros(len(data)))
        deaths, exposure = data.deaths + self.prior_deaths, _watched(data)
        exposure += self.prior_days
        status, (more_deaths, more_days) = _patched(data, deaths, exposure)
        seen = max(deaths, _HALF)
        scale = (exposure + more_days) / seen
        extra_deaths, extra_days = self._prior(scale)
        likelihood = Likelihood(
            data, scale, extra_deaths + more_deaths, extra_days + more_days / scale, 0.0
        )
        low, high = _box(0.0, 0.0, 0.0)
        peak = climb(likelihood, np.zeros(2), low, high)
        return _Found(peak, status, data, scale)

    def _prior(self, scale: float) -> tuple[float, float]:
        return self.prior_deaths, self.prior_days / scale

    def _learn(self, found: _Found) -> Self:
        peak, used = found.peak, found.used
        both = np.exp(peak.at) / np.array([found.scale, 1.0])
        plain = Likelihood(used, found.scale, 0.0, 0.0, 0.0)
        exact = float(used.weight[used.upper == used.lower].sum())
        self.rate_, self.shape_ = float(both[0]), float(both[1])
        self.covariance_ = peak.covariance * np.outer(both, both)
        self.log_likelihood_ = plain(peak.at)[0] - exact * float(np.log(found.scale))
        self.aic_ = 2.0 * self.parameters - 2.0 * self.log_likelihood_
        self.deaths_, self.exposure_ = used.deaths, used.exposure
        self.status_ = found.status
        return self

    def survival(self, t: Floats) -> Floats:
        """Return S(t), the chance to reach age ``t`` (days)."""
        return np.exp(-self._hazard_to(t))

    def conditional(self, t: Floats, age: Floats) -> Floats:
        """Return S(age + t) / S(age), the chance to last ``t`` more days."""
        start = np.maximum(age, 0.0)
        more = self._hazard_to(start + np.maximum(t, 0.0)) - self._hazard_to(start)
        return np.exp(-np.maximum(more, 0.0))

    def of_unknown_age(self, t: Floats) -> Floats:
        """Return the chance to last ``t`` more days when met at a random moment.

        The integral of S from t on over the integral of all of S: the share of those
        alive now, under steady arrivals, that are still there then.
        """
        found: Floats = lazy_scipy.gammaincc(1.0 / self.shape_, self._hazard_to(t))
        return found

    def hazard(self, t: Floats) -> Floats:
        """Return h(t) = k a (a t)**(k - 1), deaths per object and day at age ``t``.

        It is infinite at birth for k < 1; so no age below 1e-9 / a is looked at.
        """
        self._check()
        x = np.maximum(self.rate_ * np.asarray(t, np.float64), 1e-9)
        with np.errstate(under="ignore", over="ignore"):
            power = np.minimum(x ** (self.shape_ - 1.0), _LARGEST)
        return np.asarray(self.shape_ * self.rate_ * power)

    def survival_error(self, t: Floats, age: Floats | float = 0.0) -> Floats:
        """Return the standard error of ``conditional(t, age)`` by the delta method."""
        start = np.maximum(np.asarray(age, np.float64), 0.0)
        end = start + np.maximum(t, 0.0)
        by_rate, by_shape = (
            b - a for a, b in zip(self._slopes(start), self._slopes(end), strict=True)
        )
        (v, c), (_, w) = self.covariance_.tolist()
        spread = v * by_rate**2 + 2 * c * by_rate * by_shape + w * by_shape**2
        off = np.sqrt(np.maximum(spread, 0.0))
        return np.asarray(self.conditional(t, start) * off)

    def mean(self) -> float:
        """Return the mean life, Gamma(1 + 1/k) / a days."""
        self._check()
        return float(lazy_scipy.gamma(1.0 + 1.0 / self.shape_)) / self.rate_

    def quantile(self, p: Floats) -> Floats:
        """Return the age by which a share ``p`` has gone."""
        self._check()
        with np.errstate(divide="ignore"):
            gone = -np.log1p(-np.asarray(p, np.float64))
        return np.asarray(gone ** (1.0 / self.shape_) / self.rate_)

    def rate_interval(self, z: float = _NORMAL_95) -> tuple[float, float]:
        """Return bounds of the rate, ``z`` standard errors of its logarithm away.

        Without any death: from 0 to -ln(1 - c) / exposure with c the confidence that
        ``z`` stands for, one-sided (the rule of three).
        """
        self._check()
        if self.status_ is LifeStatus.NO_DEATHS:
            doubt = lazy_scipy.erfc(z / np.sqrt(2.0))
            days = max(self.exposure_ + self.prior_days, 1e-9)
            return 0.0, float(-np.log(doubt)) / days
        error = float(np.sqrt(self.covariance_[0, 0])) / self.rate_
        wide = float(np.exp(min(z * error, _WIDE)))
        return self.rate_ / wide, self.rate_ * wide

    def _hazard_to(self, t: Floats) -> Floats:
        """Return H(t) = (a t)**k."""
        self._check()
        x = self.rate_ * np.maximum(t, 0.0)
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.minimum(x**self.shape_, _LARGEST))

    def _slopes(self, t: Floats) -> tuple[Floats, Floats]:
        """Return dH/da and dH/dk."""
        h = np.minimum(self._hazard_to(t), _GONE)
        x = self.rate_ * np.where(np.asarray(t) > 0, t, 1.0)
        return self.shape_ * h / self.rate_, h * np.log(x)

    def _check(self) -> None:
        if not hasattr(self, "rate_"):
            raise NotFitted("call fit() first")


class ExponentialLifetime(WeibullLifetime):
    """Exponential lifetimes, S(t) = exp(-a t), by maximum likelihood.

    How old an object is makes no difference, so spells of unknown age count from the
    look at which they were first seen. Where every death is known exactly the
    estimate is deaths / exposure. Attributes as of ``WeibullLifetime``; shape 1.

    >>> life = Spells.of(np.zeros(3), np.array([2.0, 3, 5]), np.array([2, 3, np.inf]))
    >>> ExponentialLifetime().fit(life).rate_
    0.2
    """

    parameters = 1

    def _search(self, data: Spells) -> _Found:
        return self._exponential(data)


def choose(lives: Lives | Spells) -> WeibullLifetime:
    """Return the Weibull fit, or the exponential one if its AIC is no worse.

    They are compared on the spells of known age, which both can use; the exponential
    that is returned has learned from all.
    """
    data = (lives if isinstance(lives, Spells) else spells(lives)).tallied()
    bent = WeibullLifetime().fit(data)
    plain = ExponentialLifetime().fit(data.take(data.aged))
    if bent.status_ is LifeStatus.OK and bent.aic_ < plain.aic_:
        return bent
    return ExponentialLifetime().fit(data)


def _box(centre: float, low: float, high: float) -> tuple[Floats, Floats]:
    return np.array([centre - _WIDE, low]), np.array([centre + _WIDE, high])


def _watched(data: Spells) -> float:
    """Return the days for which spells are known to have been there."""
    return float(data.weight @ (data.lower - data.entry))


def _patched(
    data: Spells, deaths: float, exposure: float
) -> tuple[LifeStatus, tuple[float, float]]:
    """Return what the data can tell, and deaths and days to add so that a rate is."""
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

    They came before the shortest age that can be told from none: a tenth of the
    smallest one there is, or of a day.
    """
    instant = (data.upper == data.lower) & (data.lower == 0)
    if not instant.any():
        return data
    ages = np.concatenate([data.lower, data.upper[data.ended]])
    shortest = float(np.min(ages[ages > 0], initial=1.0)) / 10
    upper = np.where(instant, shortest, data.upper)
    return replace(data, upper=upper)


def _tells_shape(data: Spells) -> bool:
    """Return whether spells ended at two ages that can be told apart."""
    ended = data.ended
    if data.deaths < 2:
        return False
    return bool(data.lower[ended].max() >= data.upper[ended].min())


def _simpler(found: _Found, why: LifeStatus) -> _Found:
    """Return an exponential fit that stands in for a Weibull one, and why it does."""
    return found._replace(status=found.status or why)
