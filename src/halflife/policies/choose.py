"""What every one-item-at-a-time policy does last: take the best that can be paid."""

from collections.abc import Callable

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.budget import Budget
from halflife.core.keys import names_at
from halflife.core.plan import Plan, no_plan
from halflife.core.view import View


def best(
    view: View,
    budget: Budget,
    score: Floats,
    gain: Floats,
    reason: Callable[[int], str],
) -> Plan:
    """Return a plan of the best-scoring items that may be asked for.

    Items already tried in this turn, items that back off, and items that score
    ``-inf`` are left out. Ties fall to the earlier row. No group is asked for more
    than it has room for in this turn: what comes further down its own order waits,
    as if it paid the group's own price (``halflife.allocation.hosts``). One pass
    over the columns finds the best; only those are sorted, unless there is a group
    with little room.
    """
    open_rows = np.flatnonzero(view.ready & ~view.looked & (score > -np.inf))
    open_rows = open_rows[_fits(view, open_rows, score)]
    cheapest = float(view.cost[open_rows].min(initial=np.inf))
    most = int(min(open_rows.size, budget.requests // max(cheapest, 1e-9)))
    if most == 0:
        return no_plan()
    if most < open_rows.size:
        threshold = np.partition(score[open_rows], -most)[-most]
        open_rows = open_rows[score[open_rows] >= threshold]
    order = np.argsort(-score[open_rows], kind="stable")
    rows = open_rows[order]
    rows = rows[np.cumsum(view.cost[rows]) <= budget.requests]
    return Plan(names_at(view.keys, rows), rows, gain[rows], reason)


def _fits(view: View, rows: Ints, score: Floats) -> Bools:
    """Return which of the rows their group has room for, best first.

    What the group was asked for already in this turn counts.
    """
    fits = np.ones(rows.size, dtype=np.bool_)
    tight = np.flatnonzero(np.isfinite(view.room[rows]))
    if tight.size == 0:
        return fits
    some = rows[tight]
    asked = np.bincount(view.group, view.cost * view.looked)
    order = np.lexsort((some, -score[some], view.group[some]))
    some = some[order]
    cost, group = view.cost[some], view.group[some]
    total = np.cumsum(cost)
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    before = np.repeat(total[begins] - cost[begins], np.diff(begins, append=some.size))
    fits[tight[order]] = asked[group] + total - before <= view.room[some]
    return fits
