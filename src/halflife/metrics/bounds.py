"""Upper bounds of any schedule on a recorded trace, and the closeness of a score."""

from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Trace:
    """Every change of every item, and the times of requests; in days.

    Attributes:
        item: The item of each change; ascending.
        at: When it changed; ascending within each item.
        weight: How much each item matters.
        ticks: The moments at which requests can be made; ascending.
        granted: How many may be made at each.

    """

    item: Ints
    at: Floats
    weight: Floats
    ticks: Floats
    granted: Ints


def best_in_hindsight(trace: Trace, since: float, end: float) -> float:
    """Return an upper bound of the freshness of any schedule over since..end (B2).

    All copies are current at time 0. One request gains the time from the first tick
    after a change until the next change, as far as it is scored. Requests up to
    ``since`` can only gain after changes before then; they are at most N, the later
    ones M. The most valuable set with at most M changes after ``since`` and at most
    N + M in all is found greedily, for such sets are the independent ones of a matroid.
    The limit of requests per tick, and the loss of late requests, are ignored: an upper
    bound.

    >>> trace = Trace(np.array([0, 0]), np.array([1.0, 2.0]), np.ones(1),
    ...               np.arange(1.0, 10.0), np.array([0, 0, 1, 0, 0, 0, 0, 0, 0]))
    >>> best_in_hindsight(trace, 0.0, 10.0)
    0.9
    """
    total = float(trace.weight.sum()) * (end - since)
    if total <= 0:
        return 1.0
    value, free = _values(trace, since, end)
    later = trace.at > since
    after = int(trace.granted[trace.ticks > since].sum())
    chosen = np.concatenate([_largest(value[later], after), value[~later]])
    gained = float(_largest(chosen, int(trace.granted.sum())).sum())
    return min((free + gained) / total, 1.0)


def _values(trace: Trace, since: float, end: float) -> tuple[Floats, float]:
    """Return the gain of a request after each change, and the gain without requests."""
    item, at = trace.item, trace.at
    same = np.concatenate([item[1:] == item[:-1], [False]])[: at.size]
    until = np.where(same, np.concatenate([at[1:], [end]])[: at.size], end)
    ticks = np.append(trace.ticks, np.inf)
    opened = np.maximum(ticks[np.searchsorted(trace.ticks, at)], since)
    value = trace.weight[item] * np.maximum(np.minimum(until, end) - opened, 0.0)
    first = np.full(trace.weight.size, end)
    np.minimum.at(first, item, at)
    return value, float(trace.weight @ np.maximum(first - since, 0.0))


def _largest(values: Floats, count: int) -> Floats:
    return np.sort(values)[max(values.size - count, 0) :]


def closeness(freshness: float, bound: float) -> float:
    """Return the share of a bound that was reached.

    >>> closeness(0.5, 0.8)
    0.625
    """
    return freshness / bound if bound > 0 else 1.0


def headroom(freshness: float, uniform: float, bound: float) -> float | None:
    """Return the share recovered of the distance from uniform to a bound.

    None when uniform already reaches the bound: there is nothing to recover.

    >>> headroom(0.75, 0.5, 1.0)
    0.5
    """
    room = bound - uniform
    return (freshness - uniform) / room if room > 1e-12 else None


def staleness_cut(freshness: float, rival: float) -> float | None:
    """Return the relative reduction of staleness against a rival.

    >>> staleness_cut(0.75, 0.5)
    0.5
    """
    return 1.0 - (1.0 - freshness) / (1.0 - rival) if rival < 1.0 else None


def requests_for(
    freshness: float, shares: Floats, reached: Floats
) -> tuple[float, bool]:
    """Return the budget at which a policy reaches a freshness, and whether it is known.

    Staleness falls about as a power of the budget, so the curve is drawn straight in
    log budget and log staleness between the budgets tried. Beyond them the nearest
    is returned, and False.

    >>> requests_for(0.9, np.array([0.01, 0.04]), np.array([0.8, 0.95]))
    (0.02, True)
    """
    order = np.argsort(shares)
    across = np.log(shares[order])
    # a policy that is worse with more requests counts at its best so far
    best = np.maximum.accumulate(reached[order])
    up = -np.log(np.maximum(1.0 - best, 1e-12))
    target = -np.log(max(1.0 - freshness, 1e-12))
    is_known = bool(up[0] <= target + 1e-12 and target <= up[-1] + 1e-12)
    return float(np.round(np.exp(np.interp(target, up, across)), 12)), is_known
