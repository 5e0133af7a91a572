"""Estimates of size from documents that were found more than once."""

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.errors import UsageError
from halflife.probing.size import LEVEL, SizeInterval


def chapman(first: int, second: int, both: int, level: float = LEVEL) -> SizeInterval:
    """Return the size from two samples: N = (n1 + 1)(n2 + 1)/(m + 1) - 1.

    Var N = (n1 + 1)(n2 + 1)(n1 - m)(n2 - m) / ((m + 1)^2 (m + 2)). The interval is
    log-normal in the documents that are in neither sample. Chapman 1951, Seber 1970.

    >>> round(chapman(10, 15, 5).size, 2)
    28.33
    """
    if not 0 <= both <= min(first, second):
        raise UsageError(f"of {first} and {second} documents, {both} cannot be common")
    product = (first + 1) * (second + 1)
    size = product / (both + 1) - 1.0
    gaps = (first - both) * (second - both)
    variance = product * gaps / ((both + 1) ** 2 * (both + 2))
    return lognormal_interval(first + second - both, size, variance, level)


def chao(once: int, twice: int, seen: int, level: float = LEVEL) -> SizeInterval:
    """Return a lower bound of the size if some documents are easier to find.

    N = D + f1^2 / (2 f2), or D + f1 (f1 - 1)/2 if f2 = 0. It is a lower bound in the
    mean, and exact if all are equally easy to find. Chao, "Estimating the population
    size for capture-recapture data with unequal catchability", Biometrics 1987.

    >>> round(chao(43, 16, 76).size)
    134

    Args:
        once: Documents found exactly once, f1.
        twice: Documents found exactly twice, f2.
        seen: Different documents found, D.
        level: Chance that the interval is meant to hold the size.

    """
    if twice:
        ratio = once / twice
        size = seen + once * ratio / 2.0
        variance = twice * (ratio**2 / 2.0 + ratio**3 + ratio**4 / 4.0)
        return lognormal_interval(seen, size, variance, level)
    size = seen + once * (once - 1) / 2.0
    variance = once * (once - 1) / 2.0 + once * (2 * once - 1) ** 2 / 4.0
    variance -= once**4 / (4.0 * size) if size else 0.0
    return lognormal_interval(seen, size, max(variance, 0.0), level)


def lognormal_interval(
    seen: float, size: float, variance: float, level: float
) -> SizeInterval:
    """Return the interval that is log-normal in the documents not seen."""
    unseen = size - seen
    if unseen <= 0.0:
        return SizeInterval(float(seen), float(seen), float(seen))
    spread = np.log1p(variance / unseen**2) ** 0.5
    factor = float(np.exp(lazy_scipy.ndtri(0.5 + level / 2.0) * spread))
    return SizeInterval(size, seen + unseen / factor, seen + unseen * factor)
