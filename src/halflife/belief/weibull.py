"""Belief in copies whose survival is Weibull, with one shape for all items."""

from dataclasses import dataclass

import numpy as np

from halflife.belief import view_of
from halflife.core import lazy_scipy
from halflife.core.arrays import Floats
from halflife.core.evidence import Evidence
from halflife.core.history import Gaps
from halflife.core.view import View
from halflife.models.poisson import PoissonRate

REFIT = 1.25  # growth of the observations after which rates are learned again
SHAPES = (0.4, 0.55, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0)
_PRIOR_CHANGES, _PRIOR_DAYS = 0.5, 1.0
_SPREAD = 0.5  # of ln(shape) about 0, before any observation


@dataclass(frozen=True, slots=True)
class Weibull:
    """S(t) = exp(-rate t**shape), with one rate for each item.

    >>> Weibull(np.array([0.5]), 1.0).lasting(np.array([np.inf]))
    array([2.])
    """

    rate: Floats
    shape: float

    def alive(self, t: Floats) -> Floats:
        """Return exp(-rate t**shape)."""
        return np.exp(-self.rate * t**self.shape)

    def lasting(self, t: Floats) -> Floats:
        """Return Gamma(1 + a) P(a, x) rate**-a with x = rate t**shape, a = 1/shape."""
        a = 1.0 / self.shape
        part = lazy_scipy.gammainc(a, self.rate * t**self.shape)
        return np.asarray(lazy_scipy.gamma(1 + a) * part * self.rate**-a)

    def moment(self, t: Floats) -> Floats:
        """Return a Gamma(2a) P(2a, x) rate**-2a."""
        a = 1.0 / self.shape
        part = lazy_scipy.gammainc(2 * a, self.rate * t**self.shape)
        return np.asarray(a * lazy_scipy.gamma(2 * a) * part * self.rate ** (-2 * a))


class WeibullBelief:
    """Weibull survival with one shape for all; each item has its own rate.

    A gap g sees a change with chance 1 - exp(-rate g**shape), which is a Poisson
    process in the time g**shape; so each rate is estimated as a Poisson rate, and the
    shape is the one of ``SHAPES`` under which the gaps are most likely, and 1 at
    first. Quiet gaps of one item that were added in one batch count as one long gap.

    Args:
        shape: The shape, if it is known; otherwise it is learned again when the number
            of observations has doubled.

    """

    def __init__(self, shape: float | None = None) -> None:
        self.shape = shape
        self._of: Evidence | None = None
        self._looks = self._bent_at = 0
        self._survival = Weibull(np.zeros(0), 1.0)

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; items fetched since ``since`` count as done."""
        observed = int(evidence.looks.sum())
        grown = self._survival.rate.size != len(evidence)
        if self._of is not evidence or grown or observed > REFIT * self._looks:
            self._survival = self._refit(evidence, observed)
            self._of, self._looks = evidence, observed
        a = 1.0 / self._survival.shape
        rate = self._survival.rate**a / lazy_scipy.gamma(
            1 + a
        )  # one over the mean life
        return view_of(evidence, now, since, np.asarray(rate), self._survival)

    def _refit(self, evidence: Evidence, observed: int) -> Weibull:
        shape = self.shape
        if self._of is evidence and observed <= 2 * self._bent_at and shape is None:
            shape = self._survival.shape
        else:
            self._bent_at = observed
        return fit_weibull(evidence.gaps(), len(evidence), shape)


def fit_weibull(gaps: Gaps, n_items: int, shape: float | None = None) -> Weibull:
    """Return the rates, and the shape unless given, of the highest likelihood."""
    shapes = SHAPES if shape is None else (shape,)
    fits = [_fit(gaps, n_items, g) for g in shapes]
    return max(fits, key=lambda f: f[0])[1]


def _fit(gaps: Gaps, n_items: int, shape: float) -> tuple[float, Weibull]:
    time = gaps.length**shape
    model = PoissonRate(prior_changes=_PRIOR_CHANGES, prior_days=_PRIOR_DAYS)
    rate = model.fit(gaps.item, time, gaps.changed, gaps.tally, n_items=n_items).rate_
    expected = rate[gaps.item] * time
    with np.errstate(divide="ignore"):
        log_change = np.log(-np.expm1(-np.maximum(expected, 1e-12)))
    log_likelihood = gaps.tally * np.where(gaps.changed, log_change, -expected)
    prior = _PRIOR_CHANGES * np.log(rate) - _PRIOR_DAYS * rate
    log_prior = -0.5 * (np.log(shape) / _SPREAD) ** 2
    return float(log_likelihood.sum() + prior.sum() + log_prior), Weibull(rate, shape)
