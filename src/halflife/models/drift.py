"""Drift of the content summaries of text databases away from the truth.

The summary of database i is still valid t after it was made with probability

    S_i(t) = exp(-rate_i t**shape_dom),
    rate_i = rate_dom |D_i|**b_s exp(b_k kappa_i) exp(b_t tau_i),

where |D| is the number of documents, kappa the mean divergence between summaries a week
apart, and tau the divergence from which a summary counts as changed. Definition 4.2 of
Ipeirotis, Ntoulas, Cho and Gravano, "Modeling and managing changes in text databases",
TODS 2007. ``PAPER`` has their numbers; ``DriftModel`` fits others to data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats, Ints
from halflife.core.errors import NotFitted, UsageError
from halflife.models.cox import CoxModel, CoxStatus
from halflife.models.cox_baseline import CurveFit, weibull_curves
from halflife.models.cox_columns import codes
from halflife.models.drift_tables import (
    ALL,
    BASELINES,
    COEFFICIENTS,
    DOMAINS,
    Feature,
    Method,
)
from halflife.models.spells import Spells
from halflife.models.weibull_ph import WeibullPH, WeibullPHStatus

WEEK = 7.0
_EXP = 600.0
_SMALL, _LARGE = 1e-10, 1e300
_HALF = 0.5  # prior deaths where none was observed

Baselines: TypeAlias = Literal["curve", "likelihood"]


@dataclass(frozen=True, slots=True)
class WeibullSurvival:
    """S(t) = exp(-rate t**shape), with rate and shape per item; a ``view.Survival``.

    With a = 1 / shape and x = rate t**shape the integral of S over 0..t is
    t Gamma(1 + a) P(a, x) / x**a and that of u S is t**2 a Gamma(2a) P(2a, x) / x**2a.

    >>> one = WeibullSurvival(np.array([0.5]), np.array([1.0]))
    >>> one.lasting(np.array([np.inf])), one.moment(np.array([np.inf]))
    (array([2.]), array([4.]))
    """

    rate: Floats
    shape: Floats

    def alive(self, t: Floats) -> Floats:
        """Return exp(-rate t**shape)."""
        with np.errstate(under="ignore"):
            return np.exp(-self._cumulative_hazard(t))

    def lasting(self, t: Floats) -> Floats:
        """Return the integral of S over 0..t."""
        return self._integral(t, 1.0)

    def moment(self, t: Floats) -> Floats:
        """Return the integral of u S(u) over 0..t."""
        return self._integral(t, 2.0)

    def life(self) -> Floats:
        """Return the mean life, Gamma(1 + 1/shape) rate**(-1/shape)."""
        return self.lasting(np.full(self.rate.shape, np.inf))

    def _cumulative_hazard(self, t: Floats) -> Floats:
        with np.errstate(invalid="ignore", over="ignore"):  # 0 times inf is 0 here
            return np.where(self.rate > 0, self.rate * t**self.shape, 0.0)

    def _integral(self, t: Floats, power: float) -> Floats:
        a = power / self.shape
        x = self._cumulative_hazard(t)
        x_within = np.clip(x, _SMALL, _LARGE)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            share = (
                a
                * lazy_scipy.gamma(a)
                * lazy_scipy.gammainc(a, x_within)
                / x_within**a
                / power
            )
            to_t = np.where(x > _SMALL, t**power * share, t**power / power)
            to_infinity = a * lazy_scipy.gamma(a) / power * self.rate**-a
        return np.where(np.isinf(t) & (self.rate > 0), to_infinity, to_t)


def features(
    size: ArrayLike,
    divergence: ArrayLike,
    threshold: ArrayLike,
    names: Sequence[Feature] = ALL,
) -> Floats:
    """Return the covariates of databases, one row each: ln|D|, kappa and tau."""
    documents = np.asarray(size, np.float64)
    if not np.all(documents > 0):
        raise ValueError("size must be above 0: an empty database has no logarithm")
    columns = np.broadcast_arrays(np.log(documents), divergence, threshold)
    named = dict(zip(ALL, columns, strict=True))
    return np.column_stack([np.atleast_1d(named[n]).astype(np.float64) for n in names])


@dataclass(frozen=True, slots=True)
class DriftPrediction:
    """A fitted model of drift.

    Attributes:
        domains: The domains of databases; each has a baseline.
        rate: The rates of the baselines, where all covariates are 0, per unit**shape.
        shape: The shapes of the baselines.
        names: The covariates.
        coefficient: Their coefficients.
        days: Length of the unit of time in days; the paper's is a week.

    """

    domains: tuple[str, ...]
    rate: Floats
    shape: Floats
    names: tuple[str, ...]
    coefficient: Floats
    days: float = WEEK

    def rates(self, domain: Sequence[str], x: ArrayLike) -> tuple[Floats, Floats]:
        """Return each database's rate and shape, in the model's unit of time."""
        place = self._place(domain)
        eta = np.asarray(x, np.float64) @ self.coefficient
        return self.rate[place] * np.exp(np.clip(eta, -_EXP, _EXP)), self.shape[place]

    def survival(self, domain: Sequence[str], x: ArrayLike) -> WeibullSurvival:
        """Return each database's survival, time in days."""
        rate, shape = self.rates(domain, x)
        return WeibullSurvival(rate * self.days**-shape, shape)

    def _place(self, domain: Sequence[str]) -> Ints:
        place = {name: k for k, name in enumerate(self.domains)}
        for name in domain:
            if name not in place:
                raise UsageError(
                    f"no baseline for domain {name!r}; domains are {', '.join(place)}"
                )
        return np.array([place[name] for name in domain], np.intp)


def paper(method: Method = "QBS", names: Sequence[Feature] = ALL) -> DriftPrediction:
    """Return the model of Tables IV and V for one method of making summaries.

    >>> paper().rates(["com"], features(1000, 0.1, 0.5))[0].round(4)
    array([0.0353])
    """
    key = (method, tuple(names))
    if key not in COEFFICIENTS:
        raise UsageError(f"the paper has no model of {key}; it has {[*COEFFICIENTS]}")
    rate, shape = (np.array(column) for column in BASELINES[key])
    return DriftPrediction(
        DOMAINS, rate, shape, tuple(names), np.array(COEFFICIENTS[key])
    )


PAPER = paper()


class DriftFit(NamedTuple):
    """The fits behind a ``DriftModel``.

    Attributes:
        cox: The coefficients with their errors and tests.
        curves: Least squares through Cox's baselines, if selected.
        weibull: Maximum likelihood of all together, if selected.

    """

    cox: CoxModel
    curves: CurveFit | None
    weibull: WeibullPH | None


class DriftModel:
    """Fits the drift of summaries to spells during which they stayed valid.

    Coefficients by Cox's regression, stratified by domain, with errors robust to the
    many overlapping spells of a database; baselines by least squares through Cox's
    (``curve``, as in the paper), or coefficients and baselines together by maximum
    likelihood (``likelihood``), which accounts for a change anywhere between two
    observations. A domain in which nothing ended gets shape 1 and the rate of half a
    death.

    Args:
        baseline: ``curve`` or ``likelihood``.
        ridge: As for ``CoxModel``.
        origin: Whether curves are fitted where all covariates are at their ``mean``,
            or ``zero`` as in the paper; least squares depends on it.
        days: Length of the unit of time of the spells, in days.

    Attributes:
        drift_: The fitted model.
        learned_: The fits behind it.
        idle_: Domains in which nothing ended.
        status_: The status of the fit that the coefficients come from.

    """

    drift_: DriftPrediction
    learned_: DriftFit
    idle_: tuple[str, ...]
    status_: CoxStatus | WeibullPHStatus

    def __init__(
        self,
        *,
        baseline: Baselines = "curve",
        ridge: float = 0.0,
        origin: Literal["mean", "zero"] = "mean",
        days: float = WEEK,
    ) -> None:
        self.baseline = baseline
        self.ridge = ridge
        self.origin = origin
        self.days = days

    def fit(
        self,
        spells: Spells,
        x: ArrayLike,
        *,
        domain: ArrayLike,
        database: ArrayLike | None = None,
        names: Sequence[str] = ALL,
        start: ArrayLike | None = None,
    ) -> Self:
        """Estimate from spells with their covariates, domain and database."""
        if self.baseline not in {"curve", "likelihood"}:
            raise ValueError(
                f"baseline must be 'curve' or 'likelihood', got {self.baseline!r}"
            )
        covariates = np.asarray(x, np.float64)
        cox = CoxModel(ridge=self.ridge).fit(
            covariates,
            np.where(spells.ended, spells.upper, spells.lower),
            spells.ended,
            strata=domain,
            entry=spells.entry if spells.entry.any() else None,
            weight=spells.weight,
            cluster=database,
            names=names,
            start=start,
        )
        self.idle_ = cox.idle_
        if self.baseline == "curve":
            self.drift_ = self._curves(cox, spells, covariates, domain)
        else:
            fitted = WeibullPH().fit(
                spells,
                covariates,
                strata=domain,
                cluster=database,
                start=cox.coefficient_,
            )
            self.drift_ = self._likelihood(cox, fitted)
        return self

    def _curves(
        self, cox: CoxModel, spells: Spells, x: Floats, domain: ArrayLike
    ) -> DriftPrediction:
        mean = x.mean(axis=0) if x.shape[0] else np.zeros(x.shape[1])
        point = mean if self.origin == "mean" else np.zeros(x.shape[1])
        bases = cox.baseline(point)
        curves = weibull_curves(bases)
        self.learned_, self.status_ = DriftFit(cox, curves, None), cox.status_
        rate, shape = _idle_rates(cox, spells, x, domain), np.ones(len(cox.strata_))
        for k, base in enumerate(bases):
            place = cox.strata_.index(base.stratum)
            rate[place] = curves.rate[k] / float(cox.relative(point))
            shape[place] = curves.shape[k]
        return DriftPrediction(
            cox.strata_, rate, shape, cox.names_, cox.coefficient_, self.days
        )

    def _likelihood(self, cox: CoxModel, fitted: WeibullPH) -> DriftPrediction:
        self.learned_, self.status_ = DriftFit(cox, None, fitted), fitted.status_
        return DriftPrediction(
            fitted.strata_,
            fitted.rate_,
            fitted.shape_,
            cox.names_,
            fitted.coefficient_,
            self.days,
        )

    def predict(self, domain: Sequence[str], x: ArrayLike) -> WeibullSurvival:
        """Return the survival of other databases' summaries, time in days."""
        if not hasattr(self, "drift_"):
            raise NotFitted("call fit before predict of DriftModel")
        return self.drift_.survival(domain, x)


def _idle_rates(cox: CoxModel, spells: Spells, x: Floats, domain: ArrayLike) -> Floats:
    """Return half a death over the exposure in each domain, in Cox's relative time."""
    code = codes(domain, len(spells), "domain")[1]
    exposures = spells.weight * (spells.lower - spells.entry) * cox.relative(x)
    exposure = np.bincount(code, exposures, len(cox.strata_))
    return _HALF / np.maximum(exposure, 1e-30)
