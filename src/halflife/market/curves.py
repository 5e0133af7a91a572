"""The value of renewing a copy at regular intervals, from its decay."""

from dataclasses import dataclass

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats

MOMENTS = 64  # of an interval
_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Decay:
    """The quality of a copy after so many days, with a lower bound.

    A new copy has quality 1. Between two times the quality is interpolated linearly;
    after the last one it is constant.

    Attributes:
        ahead: Days, ascending, above 0.
        mean: The expected quality.
        low: The lower bound of the quality, with some confidence.

    """

    ahead: Floats
    mean: Floats
    low: Floats

    def at(self, days: Floats) -> tuple[Floats, Floats]:
        """Return mean and lower bound after so many days."""
        moments = np.concatenate([[0.0], self.ahead])
        mean, low = (
            np.interp(days, moments, np.concatenate([[1.0], column]))
            for column in (self.mean, self.low)
        )
        return mean, low

    def index(self, days: float) -> float:
        """Return U(t) = integral of the mean over 0..t - t mean(t)."""
        moments = np.concatenate([[0.0], self.ahead[self.ahead < days], [days]])
        mean, _ = self.at(moments)
        integral = float(np.sum(np.diff(moments) * (mean[1:] + mean[:-1]) / 2.0))
        return max(integral - days * float(mean[-1]), 0.0)


def renewed_quality(
    decay: Decay, every: Floats, confidence: float
) -> tuple[Floats, Floats, Floats]:
    """Return mean, low and high quality of copies renewed at these intervals, in days.

    The mean is over an interval. Low and high are quantiles over a random moment of
    the interval and over the forecast's error, which is normal with the spread implied
    by the lower bound: the mean over moments of Phi((q - mean(t)) / spread(t)) is
    1 - confidence at low, and confidence at high.
    """
    z = max(float(lazy_scipy.ndtri(confidence)), 1e-6)
    share = (np.arange(MOMENTS) + 0.5) / MOMENTS
    mean, low = decay.at(every[:, None] * share)
    spread = np.maximum((mean - low) / z, 1e-9)
    ends = [_quantile(mean, spread, p) for p in (1.0 - confidence, confidence)]
    return mean.mean(axis=1), *(np.clip(end, 0.0, 1.0) for end in ends)


def _quantile(mean: Floats, spread: Floats, chance: float) -> Floats:
    """Return the quantile of the mixture of each row, by bisection."""
    below, above = np.full(len(mean), -1.0), np.full(len(mean), 2.0)
    for _ in range(_HALVINGS):
        middle = (below + above) / 2.0
        less = lazy_scipy.ndtr((middle[:, None] - mean) / spread).mean(axis=1)
        below = np.where(less < chance, middle, below)
        above = np.where(less < chance, above, middle)
    return above
