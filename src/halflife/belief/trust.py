"""Trust in a stretched age, learned from how well it predicts changes.

With age a and time lived L, the exposure is a (L / a) ** g. Every observation adds to
the likelihood of each degree g, and the exposure is the mean over g weighed by these
likelihoods and by the prior exp(-doubt g): with doubt, trust has to be earned.
"""

import numpy as np

from halflife.belief.gap_hints import NO_HINTS, GapHints
from halflife.core.arrays import Bools, Floats
from halflife.models.poisson import GammaSurvival

MEMORY = 5000.0  # observations after which the effect of one has faded to 1 / e
_LEAST = 1e-4  # a degree of trust less likely than this is left out


class TrustPosterior:
    """How far the time lived predicts changes better than age does.

    Args:
        degrees: The degrees of trust.
        doubt: The evidence in nats that makes full trust as likely as none.

    """

    def __init__(self, degrees: Floats, doubt: float = 0.0) -> None:
        self.degrees, self.doubt = degrees, doubt
        self.likely = np.zeros(degrees.size)

    @property
    def weight(self) -> Floats:
        """The probability of each degree of trust."""
        posterior = self.likely - self.doubt * self.degrees
        weight = np.exp(posterior - posterior.max())
        return np.asarray(weight / weight.sum())

    @property
    def share(self) -> float:
        """The mean degree of trust."""
        return float(self.weight @ self.degrees)

    def mean(self, age: Floats, lived: Floats) -> Floats:
        """Return the exposure, averaged over degrees of trust."""
        weight = self.weight
        likely = np.flatnonzero(weight > _LEAST)
        share = weight[likely] / weight[likely].sum()
        return np.asarray(share @ _exposures(age, lived, self.degrees[likely]))

    def learn(
        self,
        survival: GammaSurvival,
        age: Floats,
        lived: Floats,
        changed: Bools,
        hints: GapHints = NO_HINTS,
    ) -> None:
        """Add the log-likelihood of observations under each degree of trust."""
        exposure = hints.share * _exposures(age, lived, self.degrees)
        alive = survival.alive(exposure) * np.exp(-hints.load)
        probability = np.where(changed, 1.0 - alive, alive)
        log_likelihood = np.log(np.maximum(probability, 1e-12)).sum(axis=1)
        self.likely = self.likely * np.exp(-age.size / MEMORY) + log_likelihood


def _exposures(age: Floats, lived: Floats, trust: Floats) -> Floats:
    """Return the exposure of each item for each degree of trust, one a row."""
    positive_age = np.maximum(age, 1e-12)
    return positive_age * (np.maximum(lived, 1e-12) / positive_age) ** trust[:, None]
