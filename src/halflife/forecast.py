"""What we expect of our copy, now and later."""

from dataclasses import dataclass

import numpy as np

from halflife.arrays import Floats


@dataclass(frozen=True, slots=True)
class Forecast:
    """A quality measure over time, with bounds.

    Attributes:
        measure: What is forecast: ``freshness``, later ``recall``, ``precision``.
        at: Moments in days, ascending.
        mean: The expected value at each moment.
        low: Its lower bound.
        high: Its upper bound.
        confidence: How often the truth is meant to lie within the bounds.

    """

    measure: str
    at: Floats
    mean: Floats
    low: Floats
    high: Floats
    confidence: float = 0.95

    def first_below(self, level: float) -> float | None:
        """Return the moment from which the lower bound is below ``level``, if any.

        Between two moments of the forecast the bound is taken as a line.

        >>> two = np.array([0.0, 1.0])
        >>> Forecast("freshness", two, 1 - two / 2, 1 - two / 2, two).first_below(0.75)
        0.5
        """
        below = np.flatnonzero(self.low < level)
        if below.size == 0:
            return None
        i = int(below[0])
        if i == 0:
            return float(self.at[0])
        share = (self.low[i - 1] - level) / (self.low[i - 1] - self.low[i])
        return float(self.at[i - 1] + share * (self.at[i] - self.at[i - 1]))
