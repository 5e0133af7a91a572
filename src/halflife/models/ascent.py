"""The maximum of a smooth function of a few parameters, by Newton's method."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from halflife.core.arrays import Bools, Floats

Slopes: TypeAlias = tuple[float, Floats, Floats]

_ROUNDS = 200
_STRIDE = 2.0  # parameters are logarithms: no step changes one by more than e**2
_DAMPED, _HARDER, _EASIER = 0.1, 4.0, 0.1  # the least damping, and its factors
_NOISE = 1e-13  # relative rounding error of a sum of many terms
_FLAT = 1e-12  # curvature, relative to the largest, that counts as none


class Peak(NamedTuple):
    """The maximum of a function within bounds.

    Attributes:
        at: The parameters.
        value: The function there.
        covariance: The inverse of minus its Hessian over the parameters that are
            free; 0 for those fixed or at a bound.
        converged: Whether the last step was short enough.
        bound: Which of the variable parameters ended at a bound.

    """

    at: Floats
    value: float
    covariance: Floats
    converged: bool
    bound: Bools


def climb(
    function: Callable[[Floats], Slopes],
    start: Floats,
    low: Floats,
    high: Floats,
    close: float = 1e-9,
) -> Peak:
    """Return the peak that Newton's method reaches from ``start``.

    ``function`` returns value, gradient and Hessian. A step is the gradient over the
    absolute curvature in each principal direction, so it always leads up; it is
    shortened until the value does not fall. Parameters whose bounds agree stay fixed.

    >>> def hill(x):
    ...     return float(-((x[0] - 3) ** 2)), -2 * (x - 3), np.array([[-2.0]])
    >>> climb(hill, np.zeros(1), np.full(1, -9.0), np.full(1, 9.0)).at
    array([3.])
    """
    at = np.clip(start, low, high)
    value, slope, bend = function(at)
    damping, done = 0.0, False
    for _ in range(_ROUNDS):
        free = _free(at, slope, low, high)
        step = _step(slope, bend, free, damping)
        target = np.clip(at + step, low, high)
        length = float(np.max(np.abs(target - at), initial=0.0))
        reached = function(target)
        is_worse = not reached[0] >= value - _NOISE * (1.0 + abs(value))
        if not is_worse:
            at, (value, slope, bend) = target, reached
        # A step shortened by damping does not show convergence: only Newton's own does.
        newton = step if damping == 0 else _step(slope, bend, free, 0.0)
        done = max(length, float(np.max(np.abs(newton), initial=0.0))) < close
        if done:
            break
        damping = max(_HARDER * damping, _DAMPED) if is_worse else _EASIER * damping
    free = _free(at, slope, low, high)
    bound = (low < high) & ((at <= low) | (at >= high))
    return Peak(at, value, _inverse(-bend, free), done, bound)


def _free(at: Floats, slope: Floats, low: Floats, high: Floats) -> Bools:
    """Return which parameters may still move uphill."""
    stuck = ((at <= low) & (slope <= 0)) | ((at >= high) & (slope >= 0))
    free: Bools = (low < high) & ~stuck
    return free


def _step(slope: Floats, bend: Floats, free: Bools, damping: float) -> Floats:
    step = np.zeros(slope.size)
    if free.any():
        curve, axes = np.linalg.eigh(bend[np.ix_(free, free)])
        steep = np.maximum(np.abs(curve), _FLAT * np.abs(curve).max() + 1e-300)
        step[free] = axes @ (axes.T @ slope[free] / (steep * (1.0 + damping)))
    return step * min(1.0, _STRIDE / max(float(np.abs(step).max(initial=0.0)), _FLAT))


def _inverse(information: Floats, free: Bools) -> Floats:
    """Return the inverse over the free parameters, without flat directions."""
    inverse = np.zeros(information.shape)
    if free.any():
        curve, axes = np.linalg.eigh(information[np.ix_(free, free)])
        is_curved = curve > _FLAT * max(float(np.abs(curve).max()), 1e-300)
        inverse_curve = np.where(is_curved, 1.0 / np.where(is_curved, curve, 1.0), 0.0)
        inverse[np.ix_(free, free)] = (axes * inverse_curve) @ axes.T
    return inverse
