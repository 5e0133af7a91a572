"""Counts of arrivals: Gamma, Poisson or negative binomial, by day of the week.

All three laws give sums over time the same form: a count over steps of mean M has

    Poisson            variance M
    negative binomial  variance M (1 + d), size M / d
    Gamma              variance M d, shape M / d and scale d

so with the paper's Gamma(shape L, scale T) a day, m days are Gamma(m L, T), d = T and
M = m L T. "Quality-aware repositories", s. 3.1. A count is a whole number, so the Gamma
gives it P(k - 1/2 < X <= k + 1/2), and a day without arrivals P(X <= 1/2): zeros do no
harm, and its likelihood can be compared with the others'.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats, Ints
from halflife.models.ascent import Peak, Slopes, climb
from halflife.models.counts import (
    LAWS,
    Law,
    slopes,
    variance_per_mean,
)

_HALF = 0.5  # prior arrivals where none was observed
_EPOCH_WEEKDAY = 3  # day 0 of the epoch was a Thursday; Monday is 0
_FEWEST = 3  # intervals needed to estimate a spread
_DISPERSION = (float(np.log(1e-3)), float(np.log(1e6)))
_WIDE = 12.0  # largest distance of a weekday's ln(rate) from that of all days
_WEEKS = 4  # in which each weekday was observed, before they may differ


class ArrivalStatus(IntEnum):
    """How far observations suffice for a model of arrivals.

    OK           maximum likelihood
    NO_LOOKS     nothing was observed: no model, the numbers mean nothing
    NO_ARRIVALS  none arrived: the rate of half an arrival, Poisson
    FEW_LOOKS    too few observations to estimate a spread: Poisson
    """

    OK = 0
    NO_LOOKS = 1
    NO_ARRIVALS = 2
    FEW_LOOKS = 3


@dataclass(frozen=True)
class ArrivalModel:
    """A fitted model of arrivals; rates per day.

    Attributes:
        law: The distribution of the counts.
        weekday: Rate on each day of the week, Monday first.
        dispersion: d of the law; 0 for Poisson.
        covariance: Of the logarithms of the parameters: the rate (seven if weekdays
            differ), then the dispersion unless Poisson.
        log_likelihood: At the estimate.
        aic: Of every model that was fitted, by name (law, "+weekday"); the smallest was
            chosen.
        weekday_p: P-value of equal weekdays, by likelihood ratio under this law; 1 if
            they were not compared.
        spread: Pearson's chi-squared over degrees of freedom: 1 if the law fits.
        memory: Correlation of neighbouring residuals: 0 if counts are independent.
        status: How far observations suffice; see ``ArrivalStatus``.

    """

    law: Law
    weekday: Floats
    dispersion: float
    covariance: Floats
    log_likelihood: float
    aic: dict[str, float]
    weekday_p: float
    spread: float
    memory: float
    status: ArrivalStatus

    @property
    def rate(self) -> float:
        """Arrivals a day, over a week."""
        return float(self.weekday.mean())

    @property
    def rate_error(self) -> float:
        """Standard error of ``rate``, by the delta method."""
        n = self._rates
        by_log = self.weekday / 7 if n == 7 else np.array([self.rate])
        variance = float(by_log @ self.covariance[:n, :n] @ by_log)
        return float(np.sqrt(max(variance, 0.0)))

    @property
    def factors(self) -> Floats:
        """Rate on each weekday over the mean rate."""
        return self.weekday / self.rate

    @property
    def shape(self) -> float:
        """The paper's lambda: shape of the Gamma with this mean and variance a day."""
        return self.rate / self.scale

    @property
    def scale(self) -> float:
        """The paper's theta: variance over mean."""
        return variance_per_mean(self.law, self.dispersion)

    def mean(
        self, start: Floats | float, end: Floats | float, *, decay: float = 0.0
    ) -> Floats:
        """Return the expected arrivals from ``start`` to ``end``.

        With a ``decay`` (deaths per object and day) only those still present at
        ``end``.
        """
        days = weekday_days(np.atleast_1d(start), np.atleast_1d(end), decay)
        return (days @ self.weekday).reshape(np.broadcast(start, end).shape)

    def variance(
        self, start: Floats | float, end: Floats | float, *, decay: float = 0.0
    ) -> Floats:
        """Return the variance of the arrivals that ``mean`` expects."""
        return self.mean(start, end, decay=decay) * self.scale

    @property
    def _rates(self) -> int:
        return len(self.covariance) - (self.law != "poisson")


def weekday_days(start: Floats, end: Floats, decay: float = 0.0) -> Floats:
    """Return the days of each weekday, Monday first, between two moments.

    With a ``decay`` a the moment s counts exp(-a (end - s)): the probability that an
    arrival then is still present at the end. One row for each interval.

    >>> weekday_days(np.array([0.0]), np.array([2.5]))  # from a Thursday
    array([[0. , 0. , 0. , 1. , 1. , 0.5, 0. ]])
    """
    start, end = np.broadcast_arrays(start, np.maximum(start, end))
    first, last = np.floor(start), np.ceil(end)
    pieces = np.maximum(last - first, 1).astype(np.intp)
    row = np.repeat(np.arange(start.size), pieces)
    day = (
        first[row] + np.arange(row.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    )
    low, high = np.maximum(start[row], day), np.minimum(end[row], day + 1)
    length = np.maximum(high - low, 0.0)
    if decay > 0:
        length *= np.exp(decay * (high - end[row])) * lazy_scipy.exprel(-decay * length)
    weekday = (day.astype(np.intp) + _EPOCH_WEEKDAY) % 7
    days = np.bincount(row * 7 + weekday, length, minlength=7 * start.size)
    return days.reshape(start.size, 7).astype(np.float64, copy=False)


def fit_arrivals(
    start: Floats,
    end: Floats,
    count: Ints,
    *,
    decay: float = 0.0,
    laws: tuple[Law, ...] = LAWS,
    weekdays: bool | None = None,
) -> ArrivalModel:
    """Return the model of arrivals with the smallest AIC.

    Args:
        start: When each interval between snapshots began; intervals may be unequal.
        end: When it ended.
        count: Objects first seen at its end.
        decay: Deaths per object and day. Objects that arrive and die between two
            snapshots are never seen; with the decay known, an interval of g days counts
            as (1 - exp(-decay g)) / decay days.
        laws: The distributions to choose from. "gamma-density" alone is the paper's
            fit, by the density of the Gamma; its AIC is not comparable with others.
        weekdays: Whether rates differ by the day of the week; ``None`` lets AIC decide.

    >>> day = np.arange(70.0)
    >>> found = fit_arrivals(day, day + 1, np.where(day % 7 == 3, 1, 4) + (day > 35))
    >>> found.law, round(found.rate, 2), found.factors.round(1).tolist()
    ('gamma', 4.07, [1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 0.4])

    """
    days = weekday_days(np.asarray(start, np.float64), np.asarray(end), decay)
    observed = days.sum(axis=1) > 0
    days, counts = days[observed], np.asarray(count, np.float64)[observed]
    if np.any(counts < 0) or not np.all(np.isfinite(counts)):
        raise ValueError("counts must be finite and not negative")
    if counts.sum() == 0 or counts.size < _FEWEST:
        return _rate_only(days, counts)
    tables = {"": days.sum(axis=1, keepdims=True), "+weekday": days}
    if weekdays is not None or not _covers_weekdays(days):
        del tables["" if weekdays and _covers_weekdays(days) else "+weekday"]
    fits = {
        law + name: _Fit(law, table, counts)
        for law in laws
        for name, table in tables.items()
    }
    return _best(fits)


class _Fit:
    """One law fitted to counts, its parameters the logarithms of rates and spread."""

    def __init__(self, law: Law, days: Floats, count: Floats) -> None:
        self.law, self.days, self.count = law, days, count
        mean = float(count.sum() / days.sum())
        self.rates = days.shape[1]
        self.parameters = self.rates + (law != "poisson")
        start = np.full(self.parameters, np.log(mean))
        low, high = start - _WIDE, start + _WIDE
        if law != "poisson":
            spread = (count - mean * days.sum(axis=1)) ** 2
            start[-1] = np.log(max(float(spread.sum()) / count.sum() - 0.5, 0.1))
            low[-1], high[-1] = _DISPERSION
        self.peak: Peak = climb(self, start, low, high, close=1e-8)
        self.aic = 2.0 * self.parameters - 2.0 * self.peak.value

    def __call__(self, at: Floats) -> Slopes:
        """Return the log-likelihood and its slopes, by differences row by row."""
        rate, dispersion = np.exp(at[: self.rates]), self.dispersion(at)
        mean = self.days @ rate
        v, m, d, mm, md, dd = slopes(self.law, self.count, mean, dispersion)
        share = self.days * rate / mean[:, None]
        slope, n = np.zeros(self.parameters), self.rates
        bend = np.zeros((self.parameters, self.parameters))
        slope[:n] = m @ share
        bend[:n, :n] = (share * (mm - m)[:, None]).T @ share
        bend[:n, :n] += np.diag(slope[:n])
        if self.parameters > n:
            slope[n], bend[n, n] = d.sum(), dd.sum()
            bend[:n, n] = bend[n, :n] = md @ share
        return float(v.sum()), slope, bend

    def dispersion(self, at: Floats) -> float:
        """Return the dispersion at these parameters; 0 for Poisson."""
        return float(np.exp(at[self.rates])) if self.law != "poisson" else 0.0

    def mean(self) -> Floats:
        """Return the expected counts."""
        return self.days @ np.exp(self.peak.at[: self.rates])


def _best(fits: Mapping[str, _Fit]) -> ArrivalModel:
    fit = fits[min(fits, key=lambda name: fits[name].aic)]
    rival = fits.get(fit.law), fits.get(fit.law + "+weekday")
    p_value = 1.0
    if rival[0] and rival[1]:
        gain = max(rival[1].peak.value - rival[0].peak.value, 0.0)
        p_value = float(lazy_scipy.gammaincc(3.0, gain))  # chi-squared, 6 degrees
    dispersion = fit.dispersion(fit.peak.at)
    rate = np.exp(fit.peak.at[: fit.rates])
    return ArrivalModel(
        fit.law,
        np.broadcast_to(rate, 7).copy(),
        dispersion,
        fit.peak.covariance,
        fit.peak.value,
        {name: fitted.aic for name, fitted in fits.items()},
        p_value,
        *_fitness(fit, dispersion),
        ArrivalStatus.OK,
    )


def _fitness(fit: _Fit, dispersion: float) -> tuple[float, float]:
    """Return Pearson's spread, and the correlation of neighbouring residuals."""
    mean, count = fit.mean(), fit.count
    scale = np.sqrt(mean * variance_per_mean(fit.law, dispersion))
    residual = (count - mean) / scale
    spread = float(residual @ residual) / max(count.size - fit.parameters, 1)
    memory = float(residual[1:] @ residual[:-1]) / max(
        float(residual @ residual), 1e-300
    )
    return spread, memory


def _covers_weekdays(days: Floats) -> bool:
    """Return whether each weekday filled most of some intervals, week after week."""
    mostly = days > 0.5 * days.sum(axis=1, keepdims=True)
    days_of_each: Floats = np.sum(days * mostly, axis=0)
    return bool(
        np.all(mostly.sum(axis=0) >= _WEEKS) and np.all(days_of_each >= _WEEKS / 2)
    )


def _rate_only(days: Floats, count: Floats) -> ArrivalModel:
    """Return the Poisson model for data that suffice only for a rate."""
    total, days_observed = float(count.sum()), float(days.sum())
    status = ArrivalStatus.FEW_LOOKS if total else ArrivalStatus.NO_ARRIVALS
    if not days_observed:
        status, days_observed = ArrivalStatus.NO_LOOKS, 1.0
    count_or_prior = total or _HALF
    return ArrivalModel(
        law="poisson",
        weekday=np.full(7, count_or_prior / days_observed),
        dispersion=0.0,
        covariance=np.array([[1.0 / count_or_prior]]),
        log_likelihood=0.0,
        aic={},
        weekday_p=1.0,
        spread=1.0,
        memory=0.0,
        status=status,
    )
