"""What we expect of our copy, now and later."""

from dataclasses import dataclass, replace

import numpy as np

from halflife.core import notebook
from halflife.core.arrays import Floats


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

    def unfetched(self) -> "Forecast":
        """Return the same of a copy that nobody renews: its bounds hold what is known.

        Such a copy gets no better, so that its lower bound never rises. Bounds that
        are widened around a mean that falls, or quantiles of another distribution at
        each moment, would. The mean lies within the bounds.

        >>> three = np.arange(3.0)
        >>> one = Forecast("recall", three, 0.9 - three / 4, three / 10, three + 1)
        >>> one.unfetched().low
        array([0., 0., 0.])
        """
        low = np.minimum(np.minimum.accumulate(self.low), self.mean)
        return replace(self, low=low, high=np.maximum(self.high, self.mean))

    def plot(self) -> str:
        """Return the forecast as an SVG that can stand alone."""
        title = f"{self.measure}, with its {self.confidence:.0%} interval"
        return notebook.curve(title, self.at, self.mean, self.low, self.high)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the curve, and its ends in words."""
        if not self.at.size:
            return notebook.table([self.measure], [])
        rows = [
            (
                notebook.moment(float(self.at[i])),
                *_three(self.mean, self.low, self.high, i),
            )
            for i in (0, -1)
        ]
        return self.plot() + notebook.table(["at", self.measure, "low", "high"], rows)


def _three(mean: Floats, low: Floats, high: Floats, i: int) -> tuple[str, ...]:
    return tuple(f"{column[i]:.3f}" for column in (mean, low, high))
