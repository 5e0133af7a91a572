"""The expected freshness of a copy, with bounds."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from math import inf
from typing import Any, NamedTuple, cast

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.forecast import Forecast
from halflife.core.view import Survival, View
from halflife.models.unrest import PRIOR, shared_survival

BLOCK = 65_536  # items that are computed at once, where there are many


def freshness_forecast(
    view: View, ahead: Floats, *, confidence: float = 0.95
) -> Forecast:
    """Return the expected freshness ``ahead`` days from now, with bounds.

    A copy is fresh t days on with probability S(age + t), uncertainty about its rate
    included; an item never seen is not fresh. The weighted share of fresh copies has
    mean m = sum(w S) / sum(w) and variance v = sum(w^2 S (1 - S)) / sum(w)^2. The
    bounds are quantiles of the Beta distribution with that mean and variance, which
    keeps them within [0, 1], or the nearest whole items. If the probability that
    nothing changed exceeds the tail, the upper bound is 1.

    Items of a group share its busy times (``fates``): S is a mean over these, and each
    group adds (sum of its w e)^2 / sum(w)^2, with e their effect on each item. What is
    not known of the present pace of all groups adds the same for all items together.
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
    low, high = round_to_items(
        low, high, effective_items(total, np.sum(view.weight**2))
    )
    high = np.where(calm > (1.0 - confidence) / 2.0, 1.0, high)
    return Forecast("freshness", view.now + ahead, mean, low, high, confidence)


def effective_items(weight: Floats | float, squares: Floats | float) -> Floats:
    """Return the effective number of items with this sum of weights.

    (sum(w))^2 / sum(w^2): Kish, "Survey sampling", 1965.

    >>> float(effective_items(3.0, 1.0**2 + 2.0**2))
    1.8
    """
    count: Floats = np.maximum(weight**2 / np.maximum(squares, 1e-300), 1.0)
    return count


def round_to_items(
    low: Floats, high: Floats, n: Floats | float
) -> tuple[Floats, Floats]:
    """Return bounds of a share of ``n`` items, widened to whole items.

    k items cover shares of (k - 1/2) / n to (k + 1/2) / n, the continuity correction.

    >>> round_to_items(np.array([0.72]), np.array([0.97]), 10)
    (array([0.7]), array([1.]))
    """
    below, above = np.round(low * n) / n, np.minimum(np.round(high * n) / n, 1.0)
    return np.minimum(below, low), np.maximum(above, high)


def _moments(view: View, total: float, later: float) -> tuple[float, float, float]:
    """Return mean and variance of the fresh share later, and the chance that all is."""
    mean = own_variance = 0.0
    n = int(view.group.max(initial=-1)) + 1
    swing, sums, sway = np.zeros(n), np.zeros((4, n)), 0.0
    for at, survival in item_blocks(view):
        share, fate = view.weight[at] / total, fates(view, at, survival, later)
        mean += float(share @ fate.alive)
        own_variance += float((share**2) @ fate.alone)
        swing += np.bincount(view.group[at], share * fate.swing, n)
        sums += sum_by_group(fate, share > 0, view.group[at], n)
        sway += float(share @ fate.sway)
    calm = float(np.exp(log_unchanged(sums).sum()))
    variance = own_variance + float(np.sum(swing**2)) + sway**2
    return min(mean, 1.0), variance, calm  # rounding


class Fates(NamedTuple):
    """The possible states of copies at a later time.

    Attributes:
        alive: The probability that each is fresh.
        alone: The independent variance of each.
        swing: The standard deviation that each shares with its group.
        falls: Changes of each expected so far; ``inf`` if it was never fetched.
        ahead: Future changes expected to hit the whole group at once.
        bunch: Its group's unrest, as a share of the future time.
        sway: The standard deviation that each shares with all groups.

    """

    alive: Floats
    alone: Floats
    swing: Floats
    falls: Floats
    ahead: Floats
    bunch: Floats
    sway: Floats


def sum_by_group(fate: Fates, rows: Bools, group: Ints, n: int) -> Floats:
    """Return sums over the rows in each group: falls, ahead, bunch and the count."""
    columns = *fate[3:6], np.ones(group.size)
    return np.stack([np.bincount(group[rows], c[rows], n) for c in columns])


def log_unchanged(sums: Floats) -> Floats:
    """Return the log-probability that nothing in each group changed.

    With D changes of its items expected so far, F in future, and k = future time over
    unrest, the number of times at which anything happens to the group: the items are
    hit x = k (1 - exp(-F / k)) times, and these times follow a Gamma process, so that
    the probability is exp(-D) (1 + x / k) ** -k. The sums are those of
    ``sum_by_group``.

    >>> few, many = np.array([2.0, 0.0, 0.0, 2.0]), np.array([0.0, 900.0, 2.0, 4.0])
    >>> np.exp(log_unchanged(np.stack([few, many], axis=1))).round(3)  # 1/e^2 and 1/2^2
    array([0.135, 0.25 ])
    """
    before, ahead, bunch, items = sums
    bunch = bunch / np.maximum(items, 1.0)
    uneven = bunch > 1e-9
    k = 1.0 / np.where(uneven, bunch, 1.0)
    hit: Floats = np.where(uneven, k * np.log1p(-np.expm1(-ahead / k)), ahead)
    log_p: Floats = -before - hit
    return log_p


def fates(view: View, at: slice, survival: Survival, later: float) -> Fates:
    """Return the possible states of the items at ``at``, ``later`` days from now.

    Their time lived at the usual pace by then, e = ``exposure_after``, has the variance
    p^2 u (age + later) + u e^2 / watched: the first term for the changes of their
    group, with unrest u and pace p, since their last observation and in future, the
    second for the uncertainty of its usual pace after the days watched. Future changes,
    in p later of the e days, hit them all at once with probability q = p u r, at most 1
    (``models.unrest``). The unrest itself was learned from n spans as long as this one,
    ``PRIOR`` included; the shared part has the variance of Student's t with n degrees
    of freedom, n / (n - 2) times as much. The age counts for less where pages were
    found to change apart from their group, or where maps announce changes
    (``View.unsettled``). Where the group's past is in doubt, even without
    unrest, they swing by at least S(e - doubt) - S(e + doubt) over 2. If the pace p of
    all groups has the standard deviation d on the logarithmic scale (``models.pace``),
    all copies sway together by S(e exp(-d)) - S(e exp(d)) over 2.
    """
    held, doubt = view.looks[at] > 0, view.doubt[at]
    u, watched, pace, unsure = view.unrest().of(view.group[at])
    lived = np.where(held, exposure_after(view, at, later, pace), 0.0)
    alive = np.where(held, survival.alive(lived), 0.0)
    swing = np.zeros(alive.size)
    if doubt.any():
        early = survival.alive(np.maximum(lived - doubt, 0.0))
        swing = np.where(held, early - survival.alive(lived + doubt), 0.0) / 2.0
    sway = np.zeros(alive.size)
    if np.any(unsure > 0):
        few, many = (survival.alive(lived * np.exp(d)) for d in (-unsure, unsure))
        sway = np.where(held, few - many, 0.0) / 2.0
    falls = np.where(alive > 0, -np.log(np.where(alive > 0, alive, 1.0)), inf)
    if not np.any(u > 0):
        zeros = np.zeros(alive.size)
        return Fates(alive, alive * (1.0 - alive), swing, falls, zeros, zeros, sway)
    days = np.maximum(lived, 1e-12)
    coming = np.minimum(pace * later / days, 1.0)
    finite_falls = np.where(np.isfinite(falls), falls, 0.0)
    hit = np.minimum(pace * u * finite_falls / days, 1.0) * coming
    span = np.where(held, view.unsettled_age[at], 0.0) + later
    variance = pace**2 * u * span + u * lived**2 / watched
    alive, alone, shared_swing = shared_survival(alive, lived, variance, hit)
    spans = watched / np.maximum(span, 1.0) + PRIOR
    shared_swing = np.minimum(
        shared_swing / np.sqrt(1.0 - 2.0 / spans), np.sqrt(alive * (1.0 - alive))
    )
    bunch = np.broadcast_to(u / later if later > 0 else 0.0, span.shape)
    ahead = finite_falls * coming
    before = falls - ahead
    swing = np.maximum(swing, shared_swing)
    return Fates(alive, alone, swing, before, ahead, bunch, sway)


def exposure_after(
    view: View, at: slice, later: float, pace: Floats | float = 1.0
) -> Floats:
    """Return the time that items will have lived at their usual pace ``later``.

    In a future day they live ``pace`` days. With a calendar they live when their group
    changes: the exposure is stretched as the days since the last observation were.
    """
    if view.calendar is None:
        return np.asarray(view.exposure[at] + pace * later)
    age = view.age[at]
    stretch, ahead = view.calendar(view.group[at], age, later)
    return np.asarray(view.exposure[at] * stretch + pace * ahead)


def item_blocks(view: View) -> Iterator[tuple[slice, Survival]]:
    """Yield slices of the items of a view, with their survival.

    Many items are computed block by block, so that temporary arrays stay small.
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
    """Return the probability that the copy of one item is still fresh."""
    at = slice(row, row + 1) if columns(view) else slice(0, len(view))
    return float(survival_of(view, at).alive(view.exposure[at])[row - at.start])


def columns(view: View) -> dict[str, Any]:
    """Return the columns of a view's survival; empty if it has other parts."""
    law = view.survival
    if not is_dataclass(law):
        return {}
    parts = {field.name: getattr(law, field.name) for field in fields(law)}
    are_columns = all(np.shape(column) == (len(view),) for column in parts.values())
    return parts if are_columns else {}


def survival_of(view: View, at: slice) -> Survival:
    """Return the survival of the items at ``at``."""
    parts = {name: column[at] for name, column in columns(view).items()}
    return replace(cast("Any", view.survival), **parts) if parts else view.survival


def beta_bounds(
    mean: Floats, variance: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """Return the central interval of the Beta distribution with these moments.

    With mean m and variance v, a + b = m (1 - m) / v - 1, a = m (a + b). Without
    variance both bounds are the mean. As v approaches m (1 - m), its limit, the
    distribution approaches a single toss: 1 with probability m, else 0; variances
    beyond the limit count as such a toss.

    >>> low, high = beta_bounds(np.array([0.5]), np.array([1 / 12]), 0.9)
    >>> low.round(6), high.round(6)
    (array([0.05]), array([0.95]))
    """
    largest = mean * (1.0 - mean)
    tail = (1.0 - confidence) / 2.0
    low, high = mean.copy(), mean.copy()
    toss = (variance > 0) & (variance >= largest * (1.0 - 1e-9))
    low[toss] = mean[toss] >= 1.0 - tail
    high[toss] = mean[toss] > tail
    usual = (variance > 1e-15) & ~toss
    if not usual.any():
        return low, high
    strength = largest[usual] / variance[usual] - 1.0
    a, b = mean[usual] * strength, (1.0 - mean[usual]) * strength
    low[usual] = lazy_scipy.betaincinv(a, b, tail)
    high[usual] = lazy_scipy.betaincinv(a, b, 1.0 - tail)
    return low, high
