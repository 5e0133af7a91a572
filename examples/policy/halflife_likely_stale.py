"""Fetch the pages that are most likely out of date."""

import numpy as np

from halflife.belief.poisson import PoissonBelief
from halflife.policies import Strategy
from halflife.policies.choose import best


class LikelyStale:
    """Fetch what is most likely out of date, heavy pages first."""

    def __call__(self, view, budget, rng):
        gain = self.gain(view)
        score = np.where(gain > 0, gain, -np.inf)
        return best(view, budget, score, gain, lambda row: self.why(view, row))

    def gain(self, view):
        return view.weight * self.stale(view) / view.cost

    def stale(self, view):
        since = np.where(view.held, view.exposure, 0.0)
        return np.where(view.held, 1.0 - view.survival.alive(since), 1.0)

    def why(self, view, row):
        if not view.held[row]:
            return "never seen yet"
        return f"{self.stale(view)[row]:.0%} likely out of date"


likely_stale = Strategy(
    LikelyStale(),
    PoissonBelief,
    about="Fetch what is most likely out of date.",
)
