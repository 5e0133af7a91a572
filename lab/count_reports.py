"""How databases report counts: rounded, with errors, or up to a limit."""

import numpy as np
from numpy.random import Generator

from halflife.bench.textcounts import CountReport
from halflife.core.arrays import Floats


def rounded(digits: int) -> CountReport:
    """Return a report of so many significant digits: "about 1,200"."""

    def report(count: Floats, _: Generator) -> Floats:
        size = 10.0 ** (np.floor(np.log10(np.maximum(count, 1.0))) - digits + 1)
        return np.asarray(np.round(count / size) * size)

    return report


def noisy(spread: float) -> CountReport:
    """Return a report with random errors, different each time."""

    def report(count: Floats, rng: Generator) -> Floats:
        return np.asarray(count * np.exp(spread * rng.standard_normal(count.size)))

    return report


def capped(limit: float) -> CountReport:
    """Return a report that stops at a limit; counts from there on are unknown."""
    return lambda count, _: np.where(count >= limit, np.nan, count)
