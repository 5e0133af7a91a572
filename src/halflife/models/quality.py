"""How good our copy is believed to be."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from math import inf
from typing import Any, NamedTuple, cast

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.forecast import Forecast
from halflife.core.view import Survival, View
from halflife.models.unrest import PRIOR, shared

BLOCK = 65_536  # items that are computed at once, where there are many


def freshness_forecast(
    view: View, ahead: Floats, *, confidence: float = 0.95
) -> Forecast:
    """Return the believed freshness ``ahead`` days from now, with bounds.

    A copy is fresh t days on with chance S(age + t), uncertainty about its rate
    included; an item never seen is not fresh. The weighted share of fresh copies
    has mean m = sum(w S) / sum(w) and variance v = sum(w^2 S (1 - S)) / sum(w)^2.
    The bounds are quantiles of the Beta distribution with that mean and
    variance, which keeps them within [0, 1], or the nearest whole items. If nothing may
    have changed at all, with a chance of more than the tail, the upper bound is 1.

    Items of a group share its busy times (``fates``): S is a mean over these, and each
    group adds (sum of its w e)^2 / sum(w)^2, with e what they make of each item.
    """
    total = float(view.weight.sum())
    mean, variance, calm = (
        np.ones(ahead.size),
        np.zeros(ahead.size),
        np.ones(ahead.size),
    )
    if total > 0:
        for i, later in enumerate(ahead.tolist()):
            mean[i], variance[i], calm[i] = _moments(view, total, later)
    low, high = beta_bounds(mean, variance, confidence)
    low, high = whole_items(low, high, equal_items(total, np.sum(view.weight**2)))
    high = np.where(calm > (1.0 - confidence) / 2.0, 1.0, high)
    return Forecast("freshness", view.now + ahead, mean, low, high, confidence)


def equal_items(weight: Floats | float, squares: Floats | float) -> Floats:
    """Return how many equal items count as much as some of this weight in all.

    (sum(w))^2 / sum(w^2): Kish, "Survey sampling", 1965.

    >>> float(equal_items(3.0, 1.0**2 + 2.0**2))
    1.8
    """
    found: Floats = np.maximum(weight**2 / np.maximum(squares, 1e-300), 1.0)
    return found


def whole_items(low: Floats, high: Floats, n: Floats | float) -> tuple[Floats, Floats]:
    """Return bounds of a share of ``n`` items that hold the nearest whole items, too.

    k of them stand for shares of (k - 1/2) / n to (k + 1/2) / n, as ever where a smooth
    law is that of numbers of items.

    >>> whole_items(np.array([0.72]), np.array([0.97]), 10)
    (array([0.7]), array([1.]))
    """
    below, above = np.round(low * n) / n, np.minimum(np.round(high * n) / n, 1.0)
    return np.minimum(below, low), np.maximum(above, high)


def _moments(view: View, total: float, later: float) -> tuple[float, float, float]:
    """Return mean and variance of what is fresh some days later, and if all may be."""
    mean = alone = 0.0
    n = int(view.group.max(initial=-1)) + 1
    together, touched = np.zeros(n), np.zeros((4, n))
    for at, survival in parts(view):
        share, fate = view.weight[at] / total, fates(view, at, survival, later)
        mean += float(share @ fate.alive)
        alone += float((share**2) @ fate.alone)
        together += np.bincount(view.group[at], share * fate.swing, n)
        touched += touches(fate, share > 0, view.group[at], n)
    calm = float(np.exp(untouched(touched).sum()))
    return min(mean, 1.0), alone + float(np.sum(together**2)), calm  # rounding


class Fates(NamedTuple):
    """What may become of copies.

    Attributes:
        alive: The chance that each is fresh.
        alone: The variance that each has of its own.
        swing: The standard deviation that each shares with all of its group.
        falls: Changes to be expected of each so far; ``inf`` if it was never fetched.
        ahead: Changes to be expected that hit others of its group at once.
        bunch: Its group's unrest, as a part of the time to come.

    """

    alive: Floats
    alone: Floats
    swing: Floats
    falls: Floats
    ahead: Floats
    bunch: Floats


def touches(fate: Fates, some: Bools, group: Ints, n: int) -> Floats:
    """Return sums over some items of each of ``n`` groups: the last three, and one."""
    columns = *fate[3:], np.ones(group.size)
    return np.stack([np.bincount(group[some], c[some], n) for c in columns])


def untouched(sums: Floats) -> Floats:
    """Return the logarithm of the chance that nothing in each group changed.

    With D changes to be expected of its items so far, F to come, and k = time to come
    over unrest, the times at which anything happens to it: the items are hit
    x = k (1 - exp(-F / k)) times, and these times pass as a Gamma process does, so that
    the chance is exp(-D) (1 + x / k) ** -k. The sums are those of ``touches``.

    >>> few, many = np.array([2.0, 0.0, 0.0, 2.0]), np.array([0.0, 900.0, 2.0, 4.0])
    >>> np.exp(untouched(np.stack([few, many], axis=1))).round(3)  # 1/e^2 and 1/2^2
    array([0.135, 0.25 ])
    """
    before, ahead, bunch, items = sums
    bunch = bunch / np.maximum(items, 1.0)
    some = bunch > 1e-9
    k = 1.0 / np.where(some, bunch, 1.0)
    hit: Floats = np.where(some, k * np.log1p(-np.expm1(-ahead / k)), ahead)
    found: Floats = -before - hit
    return found


def fates(view: View, at: slice, survival: Survival, later: float) -> Fates:
    """Return what may become of some of the items of a view, so many days later.

    How long they will have lived at their usual pace, e = ``lived_by``, has the
    variance p^2 u (age + later) + u e^2 / watched: what their group, with its unrest u
    and its pace p, did since their last look and will do, and how well its usual pace
    is known from the days watched. Of what is to come, p later of the e days, much hits
    them at once: with the chance q = p u r, at most 1 (``models.unrest``). The unrest
    itself was learned from n spans as long as this one, ``PRIOR`` included; what they
    share has the variance of Student's t with n degrees of freedom, n / (n - 2) times
    as much. Where maps tell of changes the age counts for less (``View.unsettled``).
    Where it is in doubt what the group did, even without unrest, they swing by
    S(e - doubt) - S(e + doubt) over 2 at least.
    """
    held, doubt = view.looks[at] > 0, view.doubt[at]
    u, watched, pace = view.unrest().of(view.group[at])
    lived = np.where(held, lived_by(view, at, later, pace), 0.0)
    alive = np.where(held, survival.alive(lived), 0.0)
    swing = np.zeros(alive.size)
    if doubt.any():
        early = survival.alive(np.maximum(lived - doubt, 0.0))
        swing = np.where(held, early - survival.alive(lived + doubt), 0.0) / 2.0
    falls = np.where(alive > 0, -np.log(np.where(alive > 0, alive, 1.0)), inf)
    if not np.any(u > 0):
        none = np.zeros(alive.size)
        return Fates(alive, alive * (1.0 - alive), swing, falls, none, none)
    days = np.maximum(lived, 1e-12)
    coming = np.minimum(pace * later / days, 1.0)
    some = np.where(np.isfinite(falls), falls, 0.0)
    hit = np.minimum(pace * u * some / days, 1.0) * coming
    age = (view.unsettled if view.unsettled.size else view.age)[at]
    span = np.where(held, age, 0.0) + later
    variance = pace**2 * u * span + u * lived**2 / watched
    alive, alone, more = shared(alive, lived, variance, hit)
    spans = watched / np.maximum(span, 1.0) + PRIOR
    more = np.minimum(more / np.sqrt(1.0 - 2.0 / spans), np.sqrt(alive * (1.0 - alive)))
    bunch = np.broadcast_to(u / later if later > 0 else 0.0, span.shape)
    ahead = some * coming
    before = falls - ahead
    return Fates(alive, alone, np.maximum(swing, more), before, ahead, bunch)


def lived_by(view: View, at: slice, later: float, pace: Floats | float = 1.0) -> Floats:
    """Return how long items will have lived at their usual pace, so many days later.

    In a day to come they live ``pace`` days. By a calendar they live when their group
    changes: the exposure is stretched as the days since the last look were.
    """
    if view.calendar is None:
        return np.asarray(view.exposure[at] + pace * later)
    age = view.age[at]
    stretch, ahead = view.calendar(view.group[at], age, later)
    return np.asarray(view.exposure[at] * stretch + pace * ahead)


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
