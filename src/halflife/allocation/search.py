"""The search for the price at which demand meets the budget."""

import numpy as np

_TIGHT = 1e-12  # relative; prices this close are one price
_SATURATED = float(np.log(40.0))  # 1 - exp(-40) is 1 as a float
_STRIDE = 4.0
_BELOW_TOP = 0.9  # largest share of the top price to start from
_LARGEST_LOG = 709.0  # exp of it is a float
_LEAP = 40.0  # largest step, where demand is flat


class Search:
    """Newton's method inside a bracket, in a coordinate in which demand is smooth.

    The coordinate is m = ln(price), or, where demand is 0 above the price ``top``,
    m = ln(-ln(1 - price / top)): then demand falls like a power of exp(m) at both
    ends. Demand never rises with m.

    Args:
        start: The first ln(price).
        top: The price above which demand is 0.
        slope: Approximate d ln(demand) / d ln(price) near the start, if known.

    """

    def __init__(self, start: float, top: float, slope: float | None = None) -> None:
        self.top = top
        self.slope = slope
        self.low, self.high = -np.inf, np.inf
        self.at = start
        self._last = self._before = np.inf
        self._seen: tuple[float, float] | None = None
        if np.isfinite(top):
            self.high = _SATURATED
            share = min(float(np.exp(min(start - np.log(top), 0.0))), _BELOW_TOP)
            self.at = float(np.log(-np.log1p(-share))) if share > 1e-300 else start

    @property
    def price(self) -> float:
        """The current price."""
        return self.price_at(self.at)

    @property
    def tight(self) -> bool:
        """Whether the two ends of the bracket are one price."""
        low, high = self.price_at(self.low), self.price_at(self.high)
        return bool(high - low <= _TIGHT * high < np.inf)

    def price_at(self, m: float) -> float:
        """Return the price at a coordinate."""
        if np.isfinite(self.top):
            return float(-self.top * np.expm1(-np.exp(m)))
        return float(np.exp(min(m, _LARGEST_LOG)))

    def move(self, total: float, change: float, budget: float) -> None:
        """Use the demand at the current price, and move to the next price."""
        if total > budget:
            self.low = self.at
        else:
            self.high = self.at
        step = self._step(total, change, budget)
        after = self.at + step
        # Newton's steps must halve every other time, or the bracket is bisected.
        slow = abs(step) > 0.5 * self._before and np.isfinite(self.high - self.low)
        if slow or not self.low < after < self.high:
            after = self._middle()
        self._before, self._last = self._last, abs(after - self.at)
        self.at = after

    def _step(self, total: float, change: float, budget: float) -> float:
        """Return the step by the known slope or the tangent, then by the chord.

        Items near their first price make the tangent far too steep; a few of them
        hardly change the chord.
        """
        if total <= 0 or change >= 0 or not np.isfinite(total / change):
            self._seen = None
            return np.inf
        log = float(np.log(total))
        tangent = change / total if self.slope is None else self.slope
        slope = tangent * self._stretch()
        if self._seen is not None and self._seen[0] != self.at:
            chord = (log - self._seen[1]) / (self.at - self._seen[0])
            slope = chord if chord < 0 else slope
        self._seen = (self.at, log)
        step = (float(np.log(budget)) - log) / slope
        return max(-_LEAP, min(_LEAP, step))

    def _stretch(self) -> float:
        """Return d ln(price) / d m."""
        if np.isinf(self.top):
            return 1.0
        z = np.exp(self.at)
        return float(z / np.expm1(z)) if z > 0 else 1.0

    def _middle(self) -> float:
        if np.isinf(self.low):
            return self.at - _STRIDE * max(1.0, abs(self.at) / 8)
        if np.isinf(self.high):
            return self.at + _STRIDE * max(1.0, abs(self.at) / 8)
        return (self.low + self.high) / 2
