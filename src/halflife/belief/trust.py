"""How far a stretched age is to be trusted, learned from how well it foretells.

With age a and time lived L, the exposure is a (L / a) ** g. Every look tells how likely
each degree g made what it found, and the exposure is the mean over g with these
likelihoods as weights.

Where pages change more often than believed, whatever makes exposures longer foretells
better, though neighbours say nothing. So each degree is judged together with several
factors f, by f a (L / a) ** g, and counts as likely as on the mean over them; no
exposure is multiplied by f. And trust has to be earned: each look makes a degree g
exp(-0.004 g) times as likely, so that of thousands of looks some must speak for it.
"""

from collections.abc import Sequence

import numpy as np

from halflife.belief.heard import UNHEARD, Heard
from halflife.core.arrays import Bools, Floats
from halflife.models.poisson import GammaSurvival

MEMORY = 5000.0  # looks after which what one told of trust has faded to 1 / e
WARY = 0.004  # what a look takes from full trust, as a logarithm
FACTORS: Floats = np.exp(np.linspace(-1.2, 1.2, 9))  # with which trust is judged
_FEW = 1e-4  # a degree of trust less likely than this is left out


class TrustPosterior:
    """How far the time lived foretells changes better than age does.

    Attributes:
        degrees: The degrees of trust.
        likely: How likely each made what was seen, as a logarithm; a row for each
            of ``FACTORS``.

    """

    def __init__(self, degrees: Floats) -> None:
        self.degrees = degrees
        self.likely = np.zeros((FACTORS.size, degrees.size))

    @property
    def weight(self) -> Floats:
        """How likely each degree of trust is."""
        weight = np.exp(self.likely - self.likely.max()).sum(axis=0)
        return np.asarray(weight / weight.sum())

    @property
    def share(self) -> float:
        """The mean degree of trust."""
        return float(self.weight @ self.degrees)

    @property
    def kept(self) -> tuple[float, ...]:
        """What was learned, as numbers to go on from."""
        return tuple(self.likely.ravel().tolist())

    def recall(self, kept: Sequence[float]) -> None:
        """Go on from what was learned; in earlier versions with no factor but 1."""
        if len(kept) in (self.degrees.size, self.likely.size):
            rows = np.reshape(kept, (-1, self.degrees.size))
            self.likely = np.broadcast_to(rows, self.likely.shape).copy()

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
        fade = np.exp(-age.size / MEMORY)
        for row, factor in enumerate(FACTORS):
            alive = survival.alive(factor * exposure) * np.exp(-heard.load)
            found = np.where(changed, 1.0 - alive, alive)
            told = np.log(np.maximum(found, 1e-12)).sum(axis=1)
            told -= WARY * age.size * self.degrees
            self.likely[row] = self.likely[row] * fade + told


def _exposures(age: Floats, lived: Floats, trust: Floats) -> Floats:
    """Return the exposure of each item for each degree of trust, one a row."""
    some = np.maximum(age, 1e-12)
    return some * (np.maximum(lived, 1e-12) / some) ** trust[:, None]
