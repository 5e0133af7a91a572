"""Upper bounds of the freshness that any schedule can reach."""

import numpy as np
from numpy.typing import ArrayLike

from halflife.allocation import curves
from halflife.allocation.columns import amount, columns, non_negative
from halflife.allocation.solver import Demand, allocate, spend_budget
from halflife.core.arrays import Floats, Ints


def blind_bound(
    rate: ArrayLike,
    budget: float,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
) -> float:
    """Return the best mean freshness without news of changes (B0; Poisson).

    No policy that sees only its own fetches does better in the long run, whether it
    knows the rates or learns them: with the budget relaxed to an average, each item's
    best schedule at the common price is even.
    """
    return allocate(rate, budget, weight=weight, cost=cost).value


def signal_bound(
    rate: ArrayLike,
    budget: float,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
) -> float:
    """Return the best mean freshness if every change is announced (B1; Poisson).

    Fetching after a share of the changes, at once, keeps the item fresh for that share
    of the time, min(1, frequency / rate); the best shares solve a fractional knapsack.
    """
    given = columns(rate, weight, cost)
    spend = amount("budget", budget)
    if not given.weight.any():
        return 1.0
    useful = given.take(given.useful)
    covered = _knapsack(useful.weight, useful.cost * useful.rate, spend)
    weight_unchanging = given.weight[~given.useful].sum()
    return float((weight_unchanging + covered) / given.weight.sum())


def hindsight_bound(
    rate: ArrayLike,
    budget: float,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
) -> float:
    """Return the best mean freshness if the future were known (B2; Poisson).

    Fetch just after those changes that begin a long gap. At price m the gaps worth a
    fetch are those longer than y / rate with y = m cost rate / weight, so
    frequency = rate exp(-y) and freshness = (1 + y) exp(-y).
    """
    given = columns(rate, weight, cost)
    spend = amount("budget", budget)
    if not given.weight.any():
        return 1.0
    useful = given.take(given.useful)
    weight_unchanging = float(given.weight[~given.useful].sum())
    if float((useful.cost * useful.rate).sum()) <= spend:
        return 1.0
    fresh = np.zeros(useful.rate.size)
    if spend > 0:
        first = useful.weight / (useful.cost * useful.rate)
        demand = Demand(
            curves.hindsight,
            first,
            useful.pace,
            useful.cost,
            useful.shape,
            limited=False,
        )
        frequency, _ = spend_budget(demand, spend, float(np.log(first).mean()))
        share = np.minimum(frequency / useful.rate, 1.0)
        fresh = share - _x_log_x(share)
    return float(
        (weight_unchanging + (useful.weight * fresh).sum()) / given.weight.sum()
    )


def hindsight_bound_on_trace(
    start: Ints,
    at: Floats,
    horizon: float,
    budget_total: float,
    *,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
) -> float:
    """Return the best mean freshness over a recorded trace, with hindsight (B2).

    Item ``i`` changed at the times ``at[start[i]:start[i + 1]]``, all within
    0..horizon, and its copy is up to date at time 0. A request just after a change
    gains the time until the next one; the ``budget_total`` best are made. With costs
    other than 1 the last request may be made in part: an upper bound.

    >>> hindsight_bound_on_trace(np.array([0, 2]), np.array([1.0, 2.0]), 10.0, 1)
    0.9
    """
    given = columns(np.ones(len(start) - 1), weight, cost)
    times = non_negative("at", at)
    spend = amount("budget_total", budget_total)
    item = np.repeat(np.arange(given.rate.size), np.diff(start))
    if not (np.isfinite(horizon) and horizon > 0):
        raise ValueError(f"horizon must be finite and above 0, got {horizon}")
    gap, free = _gaps(np.asarray(start), times, horizon)
    if not given.weight.any():
        return 1.0
    bought = _knapsack(given.weight[item] * gap, given.cost[item], spend)
    total = float((given.weight * free).sum()) + bought
    return total / (horizon * float(given.weight.sum()))


def _gaps(start: Ints, at: Floats, horizon: float) -> tuple[Floats, Floats]:
    """Return the time after each change, and each item's time before its first."""
    last = np.append(at, horizon)[1:]
    busy = np.diff(start) > 0
    last[start[1:][busy] - 1] = horizon
    gap = last - at
    if np.any(gap < 0):
        first = int(np.flatnonzero(gap < 0)[0])
        raise ValueError(
            f"at must ascend within each item and stay below the horizon; "
            f"it does not after index {first}"
        )
    free = np.full(len(start) - 1, horizon)
    free[busy] = at[start[:-1][busy]]
    return gap, free


def _knapsack(value: Floats, size: Floats, room: float) -> float:
    """Return the largest value that fits, with fractions of things."""
    order = np.argsort(-value / size, kind="stable")
    filled = np.cumsum(size[order])
    left = room - (filled - size[order])
    share = np.clip(left / size[order], 0.0, 1.0)
    return float((value[order] * share).sum())


def _x_log_x(x: Floats) -> Floats:
    return x * np.log(np.maximum(x, 1e-300))
