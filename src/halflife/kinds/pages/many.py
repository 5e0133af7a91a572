"""Forecasts and value curves of many sources of pages, computed together.

The results of ``freshness_forecast`` and ``engine.appraisal`` for one source are
computed here for thousands in a few passes over all pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from halflife.allocation import Objective
from halflife.core import lazy_scipy
from halflife.core.arrays import Floats, Ints
from halflife.core.forecast import Forecast
from halflife.core.value_curve import Worth
from halflife.core.view import View
from halflife.models.quality import (
    beta_bounds,
    effective_items,
    fates,
    item_blocks,
    log_unchanged,
    round_to_items,
    sum_by_group,
)

POINTS = 24  # of a curve
LOWEST, HIGHEST = 1e-5, 0.9999  # prices of a fetch, as shares of the highest
_TABLE = np.geomspace(1e-4, 40.0, 4000)  # rate times interval


@dataclass(frozen=True, slots=True)
class OwnedPages:
    """Pages and the sources they belong to.

    Attributes:
        view: The view of all pages.
        code: The number of each page's source.
        n: The number of sources.

    """

    view: View
    code: Ints
    n: int

    def total(self, values: Floats) -> Floats:
        """Return the sum of a column for each source."""
        return np.asarray(np.bincount(self.code, values, self.n), np.float64)

    @property
    def share(self) -> Floats:
        """The share of each page in the weight of its source."""
        whole = np.maximum(self.total(self.view.weight), 1e-12)
        part: Floats = self.view.weight / whole[self.code]
        return part


class FreshnessBounds(NamedTuple):
    """Mean and bounds of freshness: a row for each source, a column for each time."""

    mean: Floats
    low: Floats
    high: Floats


def forecasts(
    owned: OwnedPages, ahead: Floats, confidence: float = 0.95
) -> tuple[FreshnessBounds, Forecast]:
    """Return freshness forecasts of each source, and of all pages together.

    Equal to ``halflife.models.quality.freshness_forecast`` of each source; both are
    sums over the same pages, so one pass is enough.
    """
    whole = owned.total(owned.view.weight)
    view = owned.view
    pairs = (
        _pairs(owned) if np.any(view.unrest().days > 0) or view.doubt.any() else None
    )
    mean, variance, calm = (np.zeros((owned.n + 1, ahead.size)) for _ in range(3))
    for i, later in enumerate(ahead.tolist()):
        moments = _moments(owned, pairs, later)
        mean[:, i], variance[:, i] = _shares(moments, whole)
        calm[:, i] = moments.calm
    mean = np.minimum(mean, 1.0)
    variance = np.minimum(variance, mean * (1.0 - mean))
    low, high = beta_bounds(mean.ravel(), variance.ravel(), confidence)
    low, high = low.reshape(mean.shape), high.reshape(mean.shape)
    low, high = round_to_items(low, high, _sizes(owned))
    high = np.where(calm > (1.0 - confidence) / 2.0, 1.0, high)
    together = Forecast(
        "freshness", owned.view.now + ahead, mean[-1], low[-1], high[-1], confidence
    )
    return FreshnessBounds(mean[:-1], low[:-1], high[:-1]), together


def _sizes(owned: OwnedPages) -> Floats:
    """Return the effective number of pages of each source, and of all together."""
    sums = (owned.total(owned.view.weight**power) for power in (1, 2))
    return effective_items(*(np.append(each, each.sum()) for each in sums))[:, None]


class _Pairs(NamedTuple):
    """Pairs of a source and a group with pages in common.

    Attributes:
        of: The pair of each page.
        source: The source of each pair.
        group: Its group.

    """

    of: Ints
    source: Ints
    group: Ints


def _pairs(owned: OwnedPages) -> _Pairs:
    group = owned.view.group
    pair = owned.code.astype(np.int64) * (int(group.max(initial=0)) + 1) + group
    _, first, of = np.unique(pair, return_index=True, return_inverse=True)
    return _Pairs(of.astype(np.int32), owned.code[first], group[first])


class _Moments(NamedTuple):
    """The sums from which mean and variance follow, with unscaled weights.

    Attributes:
        mean: For each source, the sum of w S.
        alone: The sum of w^2 S (1 - S).
        shared: The variance that the groups of each source add, and their pace.
        together: The same for all pages.
        calm: The chance that no page changed, for each source and for all.

    """

    mean: Floats
    alone: Floats
    shared: Floats
    together: float
    calm: Floats


def _moments(owned: OwnedPages, pairs: _Pairs | None, later: float) -> _Moments:
    """Return the sums some days later over all pages, computed block by block."""
    view, n = owned.view, owned.n
    mean, alone, shared, together = np.zeros(n), np.zeros(n), np.zeros(n), 0.0
    of = owned.code if pairs is None else pairs.of
    size = n if pairs is None else pairs.source.size
    swung, touched, swayed = np.zeros(size), np.zeros((4, size)), np.zeros(n)
    for at, survival in item_blocks(view):
        code, weight = owned.code[at], view.weight[at]
        fate = fates(view, at, survival, later)
        mean += np.bincount(code, weight * fate.alive, n)
        alone += np.bincount(code, weight**2 * fate.alone, n)
        touched += sum_by_group(fate, weight > 0, of[at], size)
        swayed += np.bincount(code, weight * fate.sway, n)
        if pairs is not None:
            swung += np.bincount(of[at], weight * fate.swing, size)
    calm = log_unchanged(touched)
    every = float(calm.sum())
    if pairs is not None:
        shared += np.bincount(pairs.source, swung**2, n)
        together = float(np.sum(np.bincount(pairs.group, swung) ** 2))
        calm = np.bincount(pairs.source, calm, n).astype(np.float64)
        groups = [np.bincount(pairs.group, each) for each in touched]
        every = float(log_unchanged(np.stack(groups)).sum())
    shared += swayed**2
    together += float(swayed.sum()) ** 2
    return _Moments(mean, alone, shared, together, np.exp(np.append(calm, every)))


def _shares(moments: _Moments, whole: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of the fresh share: each source, then all together."""
    total = max(float(whole.sum()), 1e-12)
    weight = np.append(np.maximum(whole, 1e-12), total)
    variance = moments.alone + moments.shared
    all_ = float(moments.alone.sum()) + moments.together
    mean: Floats = np.append(moments.mean, moments.mean.sum()) / weight
    return mean, np.append(variance, all_) / weight**2


def worths(
    owned: OwnedPages,
    names: Sequence[str],
    weight: Floats,
    objective: Objective = "freshness",
) -> list[Worth | None]:
    """Return the value curve of each source; None where nothing was fetched.

    At a price p of a request, a page of share w, rate r and cost c is fetched every
    x / r days with U(x) = p c r / w, or never if there is no such x. Each price is the
    optimum of some budget, so the prices trace the whole curve. For freshness, U(x) is
    1 - (1 + x) exp(-x); for the harmonic loss, x - 1 + exp(-x). There are no bounds (0
    and 1): for so many sources they would take longer than all the rest.
    """
    view, share = owned.view, owned.share
    first = share / np.maximum(view.rate * view.cost, 1e-12)  # the highest price
    top = np.zeros(owned.n)
    np.maximum.at(top, owned.code, first)
    if objective == "freshness":
        gained, limit = lazy_scipy.gammainc(2.0, _TABLE), 1.0
    else:
        gained = _TABLE + np.expm1(-_TABLE)
        limit = float(gained[-1])
    prices = limit * np.geomspace(LOWEST / limit, HIGHEST, POINTS)[::-1]
    requests, mean = (np.zeros((owned.n, POINTS)) for _ in range(2))
    for at, survival in item_blocks(view):
        code, rate, cost = owned.code[at], view.rate[at], view.cost[at]
        least, still = top[code] / first[at], (rate == 0).astype(np.float64)
        for k, price in enumerate(prices.tolist()):
            y = price * least
            fetched = (y < limit) & (rate > 0)
            x = np.interp(np.minimum(y, limit), gained, _TABLE)
            every = np.where(fetched, x / np.maximum(rate, 1e-12), 1.0)
            fresh = np.where(fetched, survival.lasting(every) / every, still)
            spent = np.where(fetched, cost / every, 0.0)
            requests[:, k] += np.bincount(code, spent, owned.n)
            mean[:, k] += np.bincount(code, share[at] * fresh, owned.n)
    held = owned.total(view.held.astype(np.float64)) > 0
    return [
        _worth(name, float(weight[i]), requests[i], mean[i]) if held[i] else None
        for i, name in enumerate(names)
    ]


def _worth(name: str, weight: float, requests: Floats, mean: Floats) -> Worth:
    """Return the curve through the points with increasing requests."""
    x, y = np.concatenate([[0.0], requests]), np.concatenate([[0.0], mean])
    kept = np.concatenate([[True], np.diff(np.maximum.accumulate(x)) > 1e-12])
    mean = np.maximum.accumulate(np.clip(y[kept], 0.0, 1.0))
    none, all_ = np.zeros(mean.size), np.ones(mean.size)
    return Worth(name, "freshness", weight, x[kept], mean, none, all_)
