"""``scipy.special``, imported when one of its functions is first used.

Its import takes longer than that of everything else together, and most commands
need none of it. What every plan needs is here.
"""

from typing import Any

import numpy as np

from halflife.core.arrays import Floats


def exprel(x: Floats | float) -> Floats:
    """Return (exp(x) - 1) / x, which is 1 at 0.

    >>> exprel(np.array([0.0, 1.0, -np.inf, np.inf])).round(3)
    array([1.   , 1.718, 0.   ,   inf])
    """
    given = np.asarray(x, dtype=np.float64)
    some = np.where((given == 0) | np.isposinf(given), 1.0, given)
    with np.errstate(over="ignore"):
        found = np.expm1(some) / some
    return np.where(given == 0, 1.0, np.where(np.isposinf(given), np.inf, found))


def get_ready() -> None:
    """Import it now, at a moment at which there is nothing else to do."""
    from scipy import special  # noqa: F401, PLC0415  (slow)


def __getattr__(name: str) -> Any:  # noqa: ANN401  (whatever scipy has by that name)
    if name.startswith("_"):
        raise AttributeError(name)
    from scipy import special  # noqa: PLC0415  (slow)

    found = globals()[name] = getattr(special, name)
    return found
