"""How good our copy is believed to be."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

import numpy as np

from halflife import special
from halflife.arrays import Floats
from halflife.forecast import Forecast
from halflife.view import Survival, View

BLOCK = 65_536  # items that are computed at once, where there are many


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
    mean, variance = np.ones(ahead.size), np.zeros(ahead.size)
    if total > 0:
        for i, later in enumerate(ahead.tolist()):
            mean[i], variance[i] = _moments(view, total, later)
            # No share between 0 and 1 varies more than a single toss.
            variance[i] = min(variance[i], mean[i] * (1.0 - mean[i]))
    low, high = beta_bounds(mean, variance, confidence)
    return Forecast("freshness", view.now + ahead, mean, low, high, confidence)


def _moments(view: View, total: float, later: float) -> tuple[float, float]:
    """Return mean and variance of the share that is fresh some days later."""
    mean = alone = 0.0
    together = np.zeros(int(view.group.max(initial=-1)) + 1)
    doubtful = bool(view.doubt.any())
    for at, survival in parts(view):
        held, share = view.looks[at] > 0, view.weight[at] / total
        age = np.where(held, view.exposure[at] + later, 0.0)
        alive = np.where(held, survival.alive(age), 0.0)
        mean += float(share @ alive)
        alone += float((share**2) @ (alive * (1.0 - alive)))
        if doubtful:
            doubt = view.doubt[at]
            early = survival.alive(np.maximum(age - doubt, 0.0))
            swing = np.where(held, early - survival.alive(age + doubt), 0.0)
            together += np.bincount(view.group[at], share * swing / 2.0, together.size)
    return min(mean, 1.0), alone + float(np.sum(together**2))  # rounding may lift it


def parts(view: View) -> Iterator[tuple[slice, Survival]]:
    """Yield where the items of a view lie, some at a time, and how they survive.

    Of many items, only some are computed at once: what lies beside them stays small.
    """
    n, law = len(view), view.survival
    columns: dict[str, Floats] = {}
    if n > 2 * BLOCK and is_dataclass(law):
        columns = {one.name: getattr(law, one.name) for one in fields(law)}
    if not columns or any(np.shape(column) != (n,) for column in columns.values()):
        yield slice(0, n), law
        return
    for start in range(0, n, BLOCK):
        at = slice(start, min(start + BLOCK, n))
        some = {name: column[at] for name, column in columns.items()}
        yield at, replace(cast("Any", law), **some)


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
