"""How good our copy is believed to be."""

import numpy as np

from halflife import special
from halflife.arrays import Floats
from halflife.forecast import Forecast
from halflife.view import View


def freshness_forecast(
    view: View, ahead: Floats, *, confidence: float = 0.95
) -> Forecast:
    """Return the believed freshness ``ahead`` days from now, with bounds.

    A copy is fresh t days on with chance S(age + t), uncertainty about its rate
    included; an item never seen is not fresh. The weighted share of fresh copies
    has mean m = sum(w S) / sum(w) and variance v = sum(w^2 S (1 - S)) / sum(w)^2.
    The bounds are quantiles of the Beta distribution with that mean and
    variance, which keeps them within [0, 1] and right for few items too.

    Items of a group share its busy times. Where these are in doubt (``View.doubt``),
    all of the group errs the same way: with e = S(age - doubt) - S(age + doubt) over
    2, each group adds (sum of its w e)^2 / sum(w)^2. Busy times that are still to
    come are not foreseen.
    """
    total = float(view.weight.sum())
    share = view.weight / total if total > 0 else view.weight
    mean, variance = np.ones(ahead.size), np.zeros(ahead.size)
    if total > 0:
        for i, later in enumerate(ahead.tolist()):
            age = np.where(view.held, view.exposure + later, 0.0)
            alive = np.where(view.held, view.survival.alive(age), 0.0)
            mean[i] = min(float(share @ alive), 1.0)  # rounding may lift it above
            alone = (share**2) @ (alive * (1.0 - alive))
            variance[i] = alone + _shared(view, share, age)
            # No share between 0 and 1 varies more than a single toss.
            variance[i] = min(variance[i], mean[i] * (1.0 - mean[i]))
    low, high = beta_bounds(mean, variance, confidence)
    return Forecast("freshness", view.now + ahead, mean, low, high, confidence)


def _shared(view: View, share: Floats, age: Floats) -> float:
    """Return the variance of freshness that groups add as a whole."""
    if not view.doubt.any():
        return 0.0
    early = view.survival.alive(np.maximum(age - view.doubt, 0.0))
    swing = np.where(view.held, early - view.survival.alive(age + view.doubt), 0.0)
    return float(np.sum(np.bincount(view.group, share * swing / 2.0) ** 2))


def beta_bounds(
    mean: Floats, variance: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """Return the central interval of the Beta distribution with these moments.

    With mean m and variance v, a + b = m (1 - m) / v - 1, a = m (a + b). Without
    variance both bounds are the mean. As v nears m (1 - m), its limit, the
    distribution nears a single toss: 1 with chance m, else 0.

    >>> low, high = beta_bounds(np.array([0.5]), np.array([1 / 12]), 0.9)
    >>> low.round(6), high.round(6)
    (array([0.05]), array([0.95]))
    """
    most = mean * (1.0 - mean)
    tail = (1.0 - confidence) / 2.0
    low, high = mean.copy(), mean.copy()
    toss = (variance > 0) & (variance >= most * (1.0 - 1e-9))
    low[toss] = mean[toss] >= 1.0 - tail
    high[toss] = mean[toss] > tail
    usual = (variance > 1e-15) & ~toss
    if not usual.any():
        return low, high
    both = most[usual] / variance[usual] - 1.0
    a, b = mean[usual] * both, (1.0 - mean[usual]) * both
    low[usual] = special.betaincinv(a, b, tail)
    high[usual] = special.betaincinv(a, b, 1.0 - tail)
    return low, high
