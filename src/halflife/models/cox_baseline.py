"""Baselines of Cox's model: steps from the data, and Weibull curves through them."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.cox_risk import RiskSets, RiskSums, Ties, totals

_ROUNDS = 200
_CLOSE = 1e-12
_DAMPING, _EASE, _STUCK = 1e-3, 10.0, 1e14  # first damping, its factor, and its limit
_STRIDE = 2.0  # largest change of ln(rate) or ln(shape) in a step
_EXP = 600.0
_SOON = 1e-9  # a death at time 0 is moved here, to have a logarithm
_SHAPES = (0.02, 50.0)


class Baseline(NamedTuple):
    """The cumulative hazard of one stratum.

    Attributes:
        stratum: Its name.
        time: When spells ended, ascending.
        hazard: Sum of the steps up to then; S0 is exp(-hazard).

    """

    stratum: str
    time: Floats
    hazard: Floats

    def survival(self, t: Floats) -> Floats:
        """Return S0(t)."""
        place = np.searchsorted(self.time, t, "right")
        hazard: Floats = np.append(0.0, self.hazard)[place]
        return np.exp(-hazard)


class CurveFitStatus(IntEnum):
    """How far the points of a curve suffice for a fit.

    OK          least squares
    FEW_POINTS  fewer than two different points within 0 and 1: shape 1, and the rate
                is deaths' last cumulative hazard over their time
    BOUND       the shape ended at a bound, or the search did not converge
    """

    OK = 0
    FEW_POINTS = 1
    BOUND = 2


class CurveFit(NamedTuple):
    """exp(-rate t**shape) for each curve, and how far it is from the points (RMS)."""

    rate: Floats
    shape: Floats
    error: Floats
    status: tuple[CurveFitStatus, ...]


def baselines(
    sets: RiskSets,
    risk_sums: RiskSums,
    shift: Floats,
    names: tuple[str, ...],
    ties: Ties,
) -> tuple[Baseline, ...]:
    """Return the cumulative hazards, by Efron's steps or Breslow's, W / S0.

    ``shift`` is ln of the relative hazard wanted in each stratum, in the units of the
    sums.
    """
    step = risk_sums.step if ties == "efron" else sets.mass / risk_sums.risk[0]
    unit = np.exp(np.clip(shift - risk_sums.top, -_EXP, _EXP))
    bounds = zip(sets.start[:-1], sets.start[1:], unit, strict=True)
    return tuple(
        Baseline(
            names[sets.stratum[low]],
            sets.time[low:high],
            factor * np.cumsum(step[low:high]),
        )
        for low, high, factor in bounds
    )


def weibull_curves(curves: tuple[Baseline, ...]) -> CurveFit:
    """Fit exp(-rate t**shape) to S0 at its steps by Levenberg and Marquardt's method.

    Least squares in (ln rate, ln shape), all curves at once; as Ipeirotis et al., TODS
    2007, s. 4.3.3, fit their baselines. More, "The Levenberg-Marquardt algorithm",
    1977.
    """
    if not curves:
        return CurveFit(np.zeros(0), np.zeros(0), np.zeros(0), ())
    sizes = np.array([curve.time.size for curve in curves], np.intp)
    own = np.repeat(np.arange(sizes.size), sizes)
    time = np.maximum(np.concatenate([curve.time for curve in curves]), _SOON)
    hazard = np.concatenate([curve.hazard for curve in curves])
    scale = _geometric(own, time)
    points = _Points(own, np.log(time / scale[own]), np.exp(-hazard), sizes)
    start, fit = _start(points, hazard)
    low, high = np.log(_SHAPES)
    at, settled = _descend(points, start, fit)
    stuck = (at[1] <= low) | (at[1] >= high) | ~settled
    shape = np.exp(at[1])
    rate = np.exp(np.clip(at[0] - shape * np.log(scale), -_EXP, _EXP))
    error = np.sqrt(points.total(points.residuals(at) ** 2) / sizes)
    codes = np.where(~fit, 1, np.where(stuck, 2, 0))
    return CurveFit(
        rate, shape, error, tuple(CurveFitStatus(k) for k in codes.tolist())
    )


class _Points(NamedTuple):
    """The points of all curves: curve, ln time, survival; and points per curve."""

    own: Ints
    log: Floats
    alive: Floats
    sizes: Ints

    def total(self, values: Floats) -> Floats:
        return totals(self.own, values, self.sizes.size)

    def hazard(self, at: Floats) -> tuple[Floats, Floats]:
        """Return H = exp(ln rate + shape ln t), and shape ln t."""
        bent = np.exp(at[1])[self.own] * self.log
        return np.exp(np.clip(at[0][self.own] + bent, -_EXP, _EXP)), bent

    def residuals(self, at: Floats) -> Floats:
        with np.errstate(under="ignore"):
            gap: Floats = np.exp(-self.hazard(at)[0]) - self.alive
        return gap

    def slopes(self, at: Floats) -> tuple[Floats, Floats]:
        """Return the derivatives of the curve in ln rate and ln shape."""
        hazard, bent = self.hazard(at)
        with np.errstate(under="ignore"):
            rate = -hazard * np.exp(-hazard)
            return rate, rate * bent


def _geometric(own: Ints, time: Floats) -> Floats:
    return np.exp(np.bincount(own, np.log(time)) / np.bincount(own))


def _start(points: _Points, hazard: Floats) -> tuple[Floats, Bools]:
    """Return the line through (ln t, ln H), and which curves have one."""
    y = np.log(np.clip(hazard, 1e-300, _EXP))
    count = points.sizes
    mean_x, mean_y = points.total(points.log) / count, points.total(y) / count
    dx, dy = points.log - mean_x[points.own], y - mean_y[points.own]
    spread = points.total(dx * dx)
    within = (points.alive > 1e-12) & (points.alive < 1 - 1e-12)
    fit: Bools = (spread > 1e-12) & (points.total(within.astype(np.float64)) >= 2)
    shape = np.where(fit, points.total(dx * dy) / np.where(fit, spread, 1.0), 1.0)
    shape = np.clip(shape, 2 * _SHAPES[0], _SHAPES[1] / 2)
    last = np.cumsum(count) - 1
    alone = y[last] - points.log[last]
    return np.array([np.where(fit, mean_y - shape * mean_x, alone), np.log(shape)]), fit


def _descend(points: _Points, start: Floats, fit: Bools) -> tuple[Floats, Bools]:
    """Return where the squares are least, and which curves converged."""
    at, damping = start, np.full(fit.size, _DAMPING)
    least = points.total(points.residuals(at) ** 2)
    settled = ~fit
    for _ in range(_ROUNDS):
        step = _step(points, at, damping)
        low, high = np.log(_SHAPES)
        target = np.where(settled, at, at + step)
        target[1] = np.clip(target[1], low, high)
        squares = points.total(points.residuals(target) ** 2)
        better = squares <= least
        distance = np.abs(target - at).max(axis=0)
        at, least = np.where(better, target, at), np.where(better, squares, least)
        damping = np.where(better, damping / _EASE, damping * _EASE)
        settled = settled | (distance < _CLOSE) | (damping > _STUCK)
        if settled.all():
            break
    return at, settled


def _step(points: _Points, at: Floats, damping: Floats) -> Floats:
    """Return the damped Gauss-Newton step of each curve."""
    a, b = points.slopes(at)
    residual = points.residuals(at)
    aa, ab, bb = points.total(a * a), points.total(a * b), points.total(b * b)
    ga, gb = points.total(a * residual), points.total(b * residual)
    aa, bb = aa * (1 + damping) + 1e-300, bb * (1 + damping) + 1e-300
    det = aa * bb - ab * ab
    det = np.where(det > 1e-16 * aa * bb, det, np.inf)
    step: Floats = np.array([(bb * ga - ab * gb) / det, (aa * gb - ab * ga) / det])
    return np.clip(-step, -_STRIDE, _STRIDE)
