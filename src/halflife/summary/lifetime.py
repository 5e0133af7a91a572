"""How long the summaries of one database last, by the outcomes of its own so far.

A summary holds for t days with the chance exp(-theta r t**k), where r and k are those
of a model of many databases and theta is how much faster this one changes. The prior of
theta is Gamma with the shape and the rate ``WEIGHT``: 1 in the mean, as if ``WEIGHT``
of its summaries had failed at the pace of the model. With x = r t**k, one that still
held at a adds exp(-theta x(a)) to the likelihood, and one that held at a and no longer
at b adds exp(-theta x(a)) - exp(-theta x(b)): the time of its failure is not known
exactly. As long as none has failed, theta is Gamma again, and its mean

    WEIGHT / (WEIGHT + sum(x(a))).

Otherwise the mean is an integral over ln theta, whose integrand has a single peak.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from halflife.models.drift import WeibullSurvival

WEIGHT = 1.0  # summaries in the prior that failed at the pace of the model
POINTS = 4000
_LEAST, _MOST = 1e-12, 1e12
_DEVIATIONS, _BEYOND = 12.0, 40.0  # how far above its mean theta is integrated


class SummaryOutcome(NamedTuple):
    """The outcome of a summary.

    Attributes:
        held: The age in days at which it was last found to hold; 0 if never.
        failed: The age at which it was found to have failed; infinity if it has not.

    """

    held: float
    failed: float = np.inf


def pace(survival: WeibullSurvival, outcomes: Iterable[SummaryOutcome]) -> float:
    """Return how many times faster a database changes than in the model.

    >>> law = WeibullSurvival(np.array([0.1]), np.array([1.0]))
    >>> round(pace(law, [SummaryOutcome(30.0)]), 3)
    0.25
    >>> round(pace(law, [SummaryOutcome(0.0, 1.0)]), 3)
    1.909

    Lives whose length is known to the minute give the mean of a gamma law.
    >>> exact = [SummaryOutcome(5.0, 5.0 + 1e-5)] * 80
    >>> round(pace(law, exact), 3), round((WEIGHT + 80) / (WEIGHT + 80 * 0.5), 3)
    (1.976, 1.976)
    """
    ages = [
        (max(outcome.held, 0.0), max(outcome.failed, outcome.held, 0.0))
        for outcome in outcomes
    ]
    held, failed = np.array(ages, dtype=np.float64).reshape(-1, 2).T
    gone = np.isfinite(failed)
    rate, shape = float(survival.rate[0]), float(survival.shape[0])
    with np.errstate(over="ignore"):
        low = np.minimum(rate * held**shape, _MOST)
        high = np.minimum(rate * failed[gone] ** shape, _MOST)
    scale = WEIGHT + float(low.sum())
    if not gone.any():
        return WEIGHT / scale
    width = np.maximum(high - low[gone], _LEAST)
    top = WEIGHT + np.count_nonzero(gone)
    end = top + _DEVIATIONS * np.sqrt(top) + _BEYOND
    y = np.geomspace(1e-9, end, POINTS)  # theta scale
    with np.errstate(under="ignore"):
        failed_between = -np.expm1(-y[:, None] * (width / scale))
        logs = (
            WEIGHT * np.log(y)
            - y
            + np.log(np.maximum(failed_between, 1e-300)).sum(axis=1)
        )
        density = np.exp(logs - logs.max())
        return float((density @ y) / density.sum() / scale)


def posterior(
    survival: WeibullSurvival, outcomes: Iterable[SummaryOutcome]
) -> WeibullSurvival:
    """Return how long a summary holds, with theta at its posterior mean.

    The mean of exp(-theta x) is a little higher: the life is not overstated.
    """
    return WeibullSurvival(survival.rate * pace(survival, outcomes), survival.shape)
