"""Trust in the forecasts of a source: where doubt widens bounds.

Every estimate for a source (a forecast, the decay of its copy, the value of requests)
comes with the bounds of its model. If forecasts of the source missed, or checks
contradict them, all these bounds are widened by one factor, and only here. The means
stay as they are.
"""

from dataclasses import dataclass, replace

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.forecast import Forecast
from halflife.core.value_curve import Worth
from halflife.market.curves import Decay
from halflife.models.calibration import widen_bounds, widen_forecast


@dataclass(frozen=True, slots=True)
class Trust:
    """How far the forecasts of a source are trusted.

    Attributes:
        factor: The factor by which bounds are widened; 1 for full trust.
        why: The reason against full trust; empty if there is none.

    """

    factor: float = 1.0
    why: str = ""

    def forecast(self, cast: Forecast) -> Forecast:
        """Return a forecast with widened bounds.

        The probability that a summary holds has no bounds of its own; see ``chance``.
        """
        if self.factor <= 1.0 or cast.measure != "summary":
            return widen_forecast(cast, self.factor)
        low, high = self.chance(cast.mean)
        return replace(cast, low=low, high=high)

    def chance(self, lasts: Floats) -> tuple[Floats, Floats]:
        """Return bounds of a probability of survival p: p^f and p^(1/f).

        This is survival at f times the forecast rate, and at 1/f of it.
        """
        return lasts**self.factor, lasts ** (1.0 / self.factor)

    def band(
        self, mean: Floats, low: Floats, high: Floats, *, most: float = 1.0
    ) -> tuple[Floats, Floats]:
        """Return widened bounds between 0 and ``most``."""
        return widen_bounds(mean, low, high, self.factor, most=most)

    def decay(self, decay: Decay) -> Decay:
        """Return a decay with a widened lower bound that never rises with time."""
        if self.factor <= 1.0:
            return decay
        low, _ = self.band(decay.mean, decay.low, decay.mean)
        return replace(decay, low=np.minimum.accumulate(low))

    def worth(self, worth: Worth) -> Worth:
        """Return a value curve with widened bounds; the lower one never falls."""
        if self.factor <= 1.0:
            return worth
        low, high = self.band(worth.quality, worth.low, worth.high)
        # Widening may leave it lower than with fewer requests: raise it, up to its own.
        low = np.minimum(np.maximum.accumulate(low), worth.low)
        return replace(worth, low=low, high=high)

    def words(self) -> str:
        """Return the factor and its reason in a sentence."""
        if self.factor <= 1.0:
            return "bounds are as the forecasts say"
        why = f": {self.why}" if self.why else ""
        return f"bounds are widened by this factor{why}"


FULL = Trust()
