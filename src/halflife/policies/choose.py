"""The last step of every policy that scores items: plan the best within the budget."""

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
    """Return a plan of the best-scoring items that may be fetched.

    Items already tried in this turn, items that back off, and items that score
    ``-inf`` are left out. Ties go to the earlier row. No group gets more requests than
    its room in this turn; its other items wait, as if the group had its own price
    (``halflife.allocation.hosts``). One pass over the columns finds the best items, and
    only those are sorted, unless a group has little room.
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
    """Return which rows fit into the room of their group, best first.

    Requests of the group earlier in this turn count.
    """
    fits = np.ones(rows.size, dtype=np.bool_)
    tight = np.flatnonzero(np.isfinite(view.room[rows]))
    if tight.size == 0:
        return fits
    limited = rows[tight]
    used = np.bincount(view.group, view.cost * view.looked)
    order = np.lexsort((limited, -score[limited], view.group[limited]))
    limited = limited[order]
    cost, group = view.cost[limited], view.group[limited]
    total = np.cumsum(cost)
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    before = np.repeat(
        total[begins] - cost[begins], np.diff(begins, append=limited.size)
    )
    fits[tight[order]] = used[group] + total - before <= view.room[limited]
    return fits
