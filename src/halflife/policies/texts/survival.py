"""Frequencies by Eq. 4 from survival regression: the paper's three policies.

Ipeirotis, Ntoulas, Cho and Gravano, "Modeling and managing changes in text
databases", TODS 2007, s. 4.4 and 5.1: maximise the mean over databases of
f (integral of S over 0..1/f) with frequencies that add up to n / T.
"""

from halflife.allocation import allocate
from halflife.core.arrays import Floats
from halflife.models.drift import WeibullSurvival
from halflife.policies.texts.turns import RefreshFrequencies


def by_lives(
    lives: WeibullSurvival,
    every: float,
    *,
    cost: Floats | None = None,
    weight: Floats | None = None,
) -> RefreshFrequencies:
    """Return the policy for known lives, time in weeks.

    The budget renews every database once in ``every`` weeks. Where refreshes differ in
    cost, sum(cost f) is the cost of all of them over ``every``.

    >>> import numpy as np
    >>> lives = WeibullSurvival(np.array([0.088, 0.023]), np.array([1.05, 1.05]))
    >>> (1 / by_lives(lives, 40.0).frequency).round(), (
    ...     1 / by_lives(lives, 10.0).frequency).round()
    (array([46., 35.]), array([ 8., 13.]))
    """
    each = lives.rate.size if cost is None else float(cost.sum())
    found = allocate(
        lives.rate, each / every, shape=lives.shape, cost=cost, weight=weight
    )
    return RefreshFrequencies(found.frequency)
