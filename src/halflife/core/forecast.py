"""Forecasts of the quality of a copy."""

from dataclasses import dataclass, replace

import numpy as np

from halflife.core import notebook
from halflife.core.arrays import Floats


@dataclass(frozen=True, slots=True)
class Forecast:
    """A quality measure over time, with bounds.

    Attributes:
        measure: The forecast measure: ``freshness``, ``recall`` or ``precision``.
        at: Moments in days, ascending.
        mean: The expected value at each moment.
        low: Its lower bound.
        high: Its upper bound.
        confidence: The probability that the truth lies within the bounds.

    """

    measure: str
    at: Floats
    mean: Floats
    low: Floats
    high: Floats
    confidence: float = 0.95

    def first_below(self, level: float) -> float | None:
        """Return the moment from which the lower bound is below ``level``, if any.

        The bound is interpolated linearly between the moments of the forecast.

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
        """Return the forecast for a copy that is not fetched again.

        Such a copy cannot improve, so its lower bound must never rise, as bounds
        widened around a falling mean, or quantiles of a different distribution at each
        moment, could. The mean lies within the bounds.

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
        """Return the curve and a table of its ends, for a notebook."""
        if not self.at.size:
            return notebook.table([self.measure], [])
        rows = [
            (
                notebook.moment(float(self.at[i])),
                *_formatted(self.mean, self.low, self.high, i),
            )
            for i in (0, -1)
        ]
        return self.plot() + notebook.table(["at", self.measure, "low", "high"], rows)


def _formatted(mean: Floats, low: Floats, high: Floats, i: int) -> tuple[str, ...]:
    return tuple(f"{column[i]:.3f}" for column in (mean, low, high))
