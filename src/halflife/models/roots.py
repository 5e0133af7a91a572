"""Roots of many falling functions at once."""

from collections.abc import Callable

import numpy as np

from halflife.core.arrays import Floats

_STEPS = 100


def falling_roots(
    function: Callable[[Floats], tuple[Floats, Floats]],
    low: Floats,
    high: Floats,
    start: Floats,
    close: float = 1e-12,
) -> Floats:
    """Return where each of many falling functions crosses zero, between two bounds.

    ``function`` returns the values and slopes of all of them. Newton's steps are used
    where they stay between the bounds, which close in; otherwise bisection. For a
    function that does not cross zero the result is the bound where it is nearest.

    >>> none, ten, one = np.zeros(1), np.full(1, 10.0), np.ones(1)
    >>> falling_roots(lambda x: (4 - x * x, -2 * x), none, ten, one)
    array([2.])
    """
    at = np.clip(start, low, high)
    for _ in range(_STEPS):
        value, slope = function(at)
        value = np.where(low < high, value, 0.0)
        low, high = np.where(value > 0, at, low), np.where(value < 0, at, high)
        after = at - value / np.minimum(slope, -1e-300)
        inside = (after > low) & (after < high)
        step = np.where(inside, after, (low + high) / 2) - at
        step = np.where(value == 0, 0.0, step)
        at = at + step
        if np.max(np.abs(step), initial=0.0) < close:
            break
    return np.asarray(at)
