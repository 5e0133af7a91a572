"""How good our copy is believed to be."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats
from halflife.core.forecast import Forecast
from halflife.core.view import Survival, View
from halflife.models.unrest import shared

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

    Items of a group share its busy times (``fates``): S is a mean over these, and each
    group adds (sum of its w e)^2 / sum(w)^2, with e what they make of each item.
    """
    total = float(view.weight.sum())
    mean, variance = np.ones(ahead.size), np.zeros(ahead.size)
    if total > 0:
        for i, later in enumerate(ahead.tolist()):
            mean[i], variance[i] = _moments(view, total, later)
    low, high = beta_bounds(mean, variance, confidence)
    return Forecast("freshness", view.now + ahead, mean, low, high, confidence)


def _moments(view: View, total: float, later: float) -> tuple[float, float]:
    """Return mean and variance of the share that is fresh some days later."""
    mean = alone = 0.0
    together = np.zeros(int(view.group.max(initial=-1)) + 1)
    for at, survival in parts(view):
        share, fate = view.weight[at] / total, fates(view, at, survival, later)
        mean += float(share @ fate.alive)
        alone += float((share**2) @ fate.alone)
        together += np.bincount(view.group[at], share * fate.swing, together.size)
    return min(mean, 1.0), alone + float(np.sum(together**2))  # rounding may lift it


class Fates(NamedTuple):
    """What may become of copies.

    Attributes:
        alive: The chance that each is fresh.
        alone: The variance that each has of its own.
        swing: The standard deviation that each shares with all of its group.

    """

    alive: Floats
    alone: Floats
    swing: Floats


def fates(view: View, at: slice, survival: Survival, later: float) -> Fates:
    """Return what may become of some of the items of a view, so many days later.

    How long they will have lived at their usual pace, e = ``lived_by``, has the
    variance u (age + later) + u e^2 / watched: what their group, with its unrest u, did
    since their last look and will do, and how well its usual pace is known from the
    days watched (``models.unrest``). Where maps tell of changes the age counts for less
    (``View.unsettled``). Where it is in doubt what the group did, even
    without unrest, they swing by S(e - doubt) - S(e + doubt) over 2 at least.
    """
    held, doubt = view.looks[at] > 0, view.doubt[at]
    u, watched = (
        each[at] if isinstance(each, np.ndarray) else each for each in view.unrest()
    )
    lived = np.where(held, lived_by(view, at, later), 0.0)
    alive = np.where(held, survival.alive(lived), 0.0)
    swing = np.zeros(alive.size)
    if doubt.any():
        early = survival.alive(np.maximum(lived - doubt, 0.0))
        swing = np.where(held, early - survival.alive(lived + doubt), 0.0) / 2.0
    if not np.any(u > 0):
        return Fates(alive, alive * (1.0 - alive), swing)
    age = (view.unsettled if view.unsettled.size else view.age)[at]
    variance = u * (np.where(held, age, 0.0) + later)
    alive, alone, more = shared(alive, lived, variance + u * lived**2 / watched)
    return Fates(alive, alone, np.maximum(swing, more))


def lived_by(view: View, at: slice, later: float) -> Floats:
    """Return how long items will have lived at their usual pace, so many days later.

    By a calendar they live when their group changes: the exposure is stretched as the
    days since the last look were, and the days to come count as they are.
    """
    if view.calendar is None:
        return np.asarray(view.exposure[at] + later)
    age = view.age[at]
    pace, ahead = view.calendar(view.group[at], age, later)
    return np.asarray(view.exposure[at] * pace + ahead)


def parts(view: View) -> Iterator[tuple[slice, Survival]]:
    """Yield where the items of a view lie, some at a time, and how they survive.

    Of many items, only some are computed at once: what lies beside them stays small.
    """
    n = len(view)
    if n <= 2 * BLOCK:
        yield slice(0, n), view.survival
        return
    size = BLOCK if columns(view) else n
    for start in range(0, n, size):
        at = slice(start, min(start + size, n))
        yield at, survival_of(view, at)


def alive_at(view: View, row: int) -> float:
    """Return the chance that the copy of one item is still true."""
    at = slice(row, row + 1) if columns(view) else slice(0, len(view))
    return float(survival_of(view, at).alive(view.exposure[at])[row - at.start])


def columns(view: View) -> dict[str, Any]:
    """Return the columns that a view's survival is made of, if it is made of such."""
    law = view.survival
    if not is_dataclass(law):
        return {}
    found = {one.name: getattr(law, one.name) for one in fields(law)}
    whole = all(np.shape(column) == (len(view),) for column in found.values())
    return found if whole else {}


def survival_of(view: View, at: slice) -> Survival:
    """Return how some items survive."""
    some = {name: column[at] for name, column in columns(view).items()}
    return replace(cast("Any", view.survival), **some) if some else view.survival


def beta_bounds(
    mean: Floats, variance: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """Return the central interval of the Beta distribution with these moments.

    With mean m and variance v, a + b = m (1 - m) / v - 1, a = m (a + b). Without
    variance both bounds are the mean. As v nears m (1 - m), its limit, the
    distribution nears a single toss: 1 with chance m, else 0; what is beyond the limit
    counts as such a toss.

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
    low[usual] = lazy_scipy.betaincinv(a, b, tail)
    high[usual] = lazy_scipy.betaincinv(a, b, 1.0 - tail)
    return low, high
