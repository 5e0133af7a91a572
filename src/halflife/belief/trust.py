"""How far a stretched age is to be trusted, learned from how well it foretells.

With age a and time lived L, the exposure is a (L / a) ** g. Every look tells how likely
each degree g made what it found, and the exposure is the mean over g with these
likelihoods as weights.
"""

import numpy as np

from halflife.belief.heard import UNHEARD, Heard
from halflife.core.arrays import Bools, Floats
from halflife.models.poisson import GammaSurvival

MEMORY = 5000.0  # looks after which what one told of trust has faded to 1 / e
_FEW = 1e-4  # a degree of trust less likely than this is left out


class TrustPosterior:
    """How far the time lived foretells changes better than age does."""

    def __init__(self, degrees: Floats) -> None:
        self.degrees = degrees
        self.likely = np.zeros(degrees.size)

    @property
    def weight(self) -> Floats:
        """How likely each degree of trust is."""
        weight = np.exp(self.likely - self.likely.max())
        return np.asarray(weight / weight.sum())

    @property
    def share(self) -> float:
        """The mean degree of trust."""
        return float(self.weight @ self.degrees)

    def mean(self, age: Floats, lived: Floats) -> Floats:
        """Return the exposure, averaged over degrees of trust."""
        weight = self.weight
        some = np.flatnonzero(weight > _FEW)
        share = weight[some] / weight[some].sum()
        return np.asarray(share @ _exposures(age, lived, self.degrees[some]))

    def learn(
        self,
        survival: GammaSurvival,
        age: Floats,
        lived: Floats,
        changed: Bools,
        heard: Heard = UNHEARD,
    ) -> None:
        """Take in what looks found, and how likely each degree of trust made it."""
        exposure = heard.share * _exposures(age, lived, self.degrees)
        alive = survival.alive(exposure) * np.exp(-heard.load)
        found = np.where(changed, 1.0 - alive, alive)
        told = np.log(np.maximum(found, 1e-12)).sum(axis=1)
        self.likely = self.likely * np.exp(-age.size / MEMORY) + told


def _exposures(age: Floats, lived: Floats, trust: Floats) -> Floats:
    """Return the exposure of each item for each degree of trust, one a row."""
    some = np.maximum(age, 1e-12)
    return some * (np.maximum(lived, 1e-12) / some) ** trust[:, None]
