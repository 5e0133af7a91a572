"""The peak of the partial likelihood, by Newton's method with halved steps."""

from typing import NamedTuple

import numpy as np

from halflife.core.arrays import Bools, Floats
from halflife.models.cox_risk import RiskSets, slopes, sums

_ROUNDS = 60
_HALVINGS = 30
_CLOSE = 1e-16  # of log-likelihood, that one more step promises
_NEAR = 1e-9  # so near, a step that promises no less than the last is noise
_NOISE = 1e-12  # relative; by how much a sum of many terms is off
_TOLD = 1e-9  # information, relative to a covariate's own, that says something
_FADED = 1e-5  # of the information at 0: so little is left where there is no peak
_STRIDE = 5.0  # standard deviations, at most, that one step goes


class CoxPeak(NamedTuple):
    """Where the search ended.

    Attributes:
        beta: Coefficients.
        value: Log-likelihood without the penalty.
        information: Minus the second derivatives, penalty included.
        settled: Whether the last step was as short as asked.

    """

    beta: Floats
    value: float
    information: Floats
    settled: bool


def told(information: Floats, deaths: float) -> Bools:
    """Return which covariates say something that those before them do not.

    One after the other, by what is left of its information once the others are known
    (its pivot in Cholesky's factors).
    """
    left = information.copy()
    known = np.zeros(left.shape[0], np.bool_)
    least = _TOLD * np.maximum(np.diag(information), deaths * 1e-3)
    for k in range(left.shape[0]):
        if left[k, k] > least[k]:
            known[k] = True
            left -= np.outer(left[:, k], left[k]) / left[k, k]
    return known


def faded(peak: CoxPeak, flat: Floats) -> bool:
    """Return whether some direction lost nearly all of its information since 0.

    Where likelihood rises without end it flattens out, and the information goes to 0
    with the slope; at a peak it does not.
    """
    half = np.linalg.inv(np.linalg.cholesky(flat))
    left = np.linalg.eigvalsh(half @ peak.information @ half.T)
    return bool(left[0] < _FADED)


def peak(sets: RiskSets, z: Floats, ridge: float, start: Floats) -> CoxPeak:
    """Return the peak of the likelihood less ``ridge`` / 2 sum(beta**2)."""
    beta = start
    found = sums(sets, z, beta)
    value = found.value - 0.5 * ridge * float(beta @ beta)
    for _ in range(_ROUNDS):
        slope, information = slopes(sets, z, found)
        slope, information = (
            slope - ridge * beta,
            information + ridge * np.eye(beta.size),
        )
        step = _step(information, slope)
        if float(step @ slope) < _CLOSE:
            return CoxPeak(beta, found.value, information, settled=True)
        for _halving in range(_HALVINGS):
            there = beta + step
            after = sums(sets, z, there)
            reached = after.value - 0.5 * ridge * float(there @ there)
            if reached >= value - _NOISE * (1.0 + abs(value)):
                break
            step = step / 2
        else:
            return CoxPeak(beta, found.value, information, settled=False)
        beta, found, value = there, after, reached
    return CoxPeak(beta, found.value, information, settled=False)


def _step(information: Floats, slope: Floats) -> Floats:
    """Return Newton's step, at most ``_STRIDE`` long; directions of no meaning rest."""
    curve, axes = np.linalg.eigh(information)
    steep = np.maximum(curve, 1e-14 * max(float(curve[-1]), 1e-300))
    step: Floats = axes @ (axes.T @ slope / steep)
    return step * min(1.0, _STRIDE / max(float(np.abs(step).max()), 1e-300))
