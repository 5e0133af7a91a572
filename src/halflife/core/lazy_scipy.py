"""``scipy.special``, imported when one of its functions is first used.

Its import takes longer than all other imports together, and most commands do not need
it. The functions that every plan needs are here.
"""

from typing import Any

import numpy as np

from halflife.core.arrays import Floats


def exprel(x: Floats | float) -> Floats:
    """Return (exp(x) - 1) / x, which is 1 at 0.

    >>> exprel(np.array([0.0, 1.0, -np.inf, np.inf])).round(3)
    array([1.   , 1.718, 0.   ,   inf])
    """
    values = np.asarray(x, dtype=np.float64)
    safe = np.where((values == 0) | np.isposinf(values), 1.0, values)
    with np.errstate(over="ignore"):
        ratio = np.expm1(safe) / safe
    return np.where(values == 0, 1.0, np.where(np.isposinf(values), np.inf, ratio))


def preload() -> None:
    """Import it now, while there is nothing else to do."""
    from scipy import special  # noqa: F401, PLC0415  (slow)


def __getattr__(name: str) -> Any:  # noqa: ANN401  (whatever scipy has by that name)
    if name.startswith("_"):
        raise AttributeError(name)
    from scipy import special  # noqa: PLC0415  (slow)

    function = globals()[name] = getattr(special, name)
    return function
