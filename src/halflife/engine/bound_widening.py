"""How far what is believed of a source is trusted: where doubt widens bounds.

Whatever is believed of a source (a forecast, how its copy decays, what requests buy
there) comes with bounds that its model states. If forecasts of the source missed, or
checks disagree with them, all these bounds are widened by one factor, and only here.
The means stay as they are.
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
    """How far what is believed of a source is trusted.

    Attributes:
        factor: By how much its bounds are widened; 1 if it is trusted fully.
        why: What speaks against it, in words; empty if nothing does.

    """

    factor: float = 1.0
    why: str = ""

    def forecast(self, cast: Forecast) -> Forecast:
        """Return a forecast with bounds as wide as they have to be.

        The chance that one summary holds has no bounds of its own; see ``chance``.
        """
        if self.factor <= 1.0 or cast.measure != "summary":
            return widen_forecast(cast, self.factor)
        low, high = self.chance(cast.mean)
        return replace(cast, low=low, high=high)

    def chance(self, lasts: Floats) -> tuple[Floats, Floats]:
        """Return bounds of the chance that something lasts: p^f and p^(1/f).

        As if its end came f times as fast as believed, or f times as slowly.
        """
        return lasts**self.factor, lasts ** (1.0 / self.factor)

    def band(
        self, mean: Floats, low: Floats, high: Floats, *, most: float = 1.0
    ) -> tuple[Floats, Floats]:
        """Return the same of any bounds between 0 and ``most``."""
        return widen_bounds(mean, low, high, self.factor, most=most)

    def decay(self, decay: Decay) -> Decay:
        """Return how a copy decays, with a lower bound that never rises with time."""
        if self.factor <= 1.0:
            return decay
        low, _ = self.band(decay.mean, decay.low, decay.mean)
        return replace(decay, low=np.minimum.accumulate(low))

    def worth(self, worth: Worth) -> Worth:
        """Return what requests buy; more of them never have a lower bound below."""
        if self.factor <= 1.0:
            return worth
        low, high = self.band(worth.quality, worth.low, worth.high)
        # It may be raised again where fewer requests are sure of more, but no further.
        low = np.minimum(np.maximum.accumulate(low), worth.low)
        return replace(worth, low=low, high=high)

    def words(self) -> str:
        """Say how far it is trusted."""
        if self.factor <= 1.0:
            return "bounds are as the forecasts say"
        why = f": {self.why}" if self.why else ""
        return f"bounds are so many times as wide as the forecasts say{why}"


FULL = Trust()
