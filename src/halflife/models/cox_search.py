"""The peak of the partial likelihood, by Newton's method with halved steps."""

from typing import NamedTuple

import numpy as np

from halflife.core.arrays import Bools, Floats
from halflife.models.cox_risk import RiskSets, slopes, sums

_ROUNDS = 60
_HALVINGS = 30
_CLOSE = 1e-16  # gain in log-likelihood expected of one more step
_NOISE = 1e-12  # relative error of a sum of many terms
_LEAST = 1e-9  # least information, relative to a covariate's own
_SEPARATED = 1e-5  # of the information at 0; less means that there is no peak
_STRIDE = 5.0  # standard deviations that one step goes at most


class CoxPeak(NamedTuple):
    """The end of the search.

    Attributes:
        beta: Coefficients.
        value: Log-likelihood without the penalty.
        information: Minus the second derivatives, penalty included.
        settled: Whether the last step was short enough.

    """

    beta: Floats
    value: float
    information: Floats
    settled: bool


def estimable(information: Floats, deaths: float) -> Bools:
    """Return which covariates add information to those before them.

    One after the other, by the information that remains given the others
    (its pivot in Cholesky's factors).
    """
    left = information.copy()
    adds_information = np.zeros(left.shape[0], np.bool_)
    least = _LEAST * np.maximum(np.diag(information), deaths * 1e-3)
    for k in range(left.shape[0]):
        if left[k, k] > least[k]:
            adds_information[k] = True
            left -= np.outer(left[:, k], left[k]) / left[k, k]
    return adds_information


def is_separated(peak: CoxPeak, flat: Floats) -> bool:
    """Return whether some direction lost nearly all of its information since 0.

    Where likelihood rises without end it flattens out, and the information goes to 0
    with the gradient; at a peak it does not.
    """
    half = np.linalg.inv(np.linalg.cholesky(flat))
    left = np.linalg.eigvalsh(half @ peak.information @ half.T)
    return bool(left[0] < _SEPARATED)


def peak(sets: RiskSets, z: Floats, ridge: float, start: Floats) -> CoxPeak:
    """Return the peak of the likelihood less ``ridge`` / 2 sum(beta**2)."""
    beta = start
    risk_sums = sums(sets, z, beta)
    value = risk_sums.value - 0.5 * ridge * float(beta @ beta)
    for _ in range(_ROUNDS):
        slope, information = slopes(sets, z, risk_sums)
        slope, information = (
            slope - ridge * beta,
            information + ridge * np.eye(beta.size),
        )
        step = _step(information, slope)
        if float(step @ slope) < _CLOSE:
            return CoxPeak(beta, risk_sums.value, information, settled=True)
        for _halving in range(_HALVINGS):
            target = beta + step
            target_sums = sums(sets, z, target)
            target_value = target_sums.value - 0.5 * ridge * float(target @ target)
            if target_value >= value - _NOISE * (1.0 + abs(value)):
                break
            step = step / 2
        else:
            return CoxPeak(beta, risk_sums.value, information, settled=False)
        beta, risk_sums, value = target, target_sums, target_value
    return CoxPeak(beta, risk_sums.value, information, settled=False)


def _step(information: Floats, slope: Floats) -> Floats:
    """Return Newton's step, at most ``_STRIDE`` long, with flat directions damped."""
    curve, axes = np.linalg.eigh(information)
    steep = np.maximum(curve, 1e-14 * max(float(curve[-1]), 1e-300))
    step: Floats = axes @ (axes.T @ slope / steep)
    return step * min(1.0, _STRIDE / max(float(np.abs(step).max()), 1e-300))
