"""The index policy with a cache that saves time and does not change plans.

The gain of a fetch never falls while an item waits. So an item that would not be among
the best some hours from now can be ignored until then: only candidates, and items with
new evidence, are evaluated again.
"""

from dataclasses import dataclass, replace

import numpy as np

from halflife.core.arrays import Bools, Floats
from halflife.core.budget import Budget
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.models.quality import columns
from halflife.policies.index import Index
from halflife.policies.view_rows import take_rows

_SLACK = 1.0 - 1e-5  # rounding may lower the index by less than that


@dataclass(frozen=True, slots=True)
class _Pool:
    """The candidates: rows that could be among the best for a while.

    Attributes:
        view: The view when they were picked.
        rows: Whether each row is a candidate.
        least: An upper bound of the gain of all others, up to the exposures ``until``.
        until: One exposure per item.

    """

    view: View
    rows: Bools
    least: float
    until: Floats


class Planner:
    """Plan like an index policy, but evaluate only a few candidates where possible.

    The plan equals that of ``policy``: the candidates are enough if they use up the
    budget at gains that no other item can reach; otherwise all items are evaluated.

    Args:
        policy: The policy to follow. With a longest interval, an extra cost of
            changes, or hosts with little room it is simply called: the candidates are
            not enough then.
        ahead: Days for which candidates are picked.
        spare: The number of candidates, as a multiple of the budget.

    """

    def __init__(
        self, policy: Index | None = None, *, ahead: float = 0.25, spare: int = 3
    ) -> None:
        self.policy = policy or Index()
        self.ahead = ahead
        self.spare = spare
        self.weighed = 0  # items that the last plan evaluated
        self._pool: _Pool | None = None

    def __call__(self, view: View, budget: Budget, rng: np.random.Generator) -> Plan:
        """Return the next requests, best first, costing at most ``budget``."""
        if not self._can_follow(view):
            self._pool, self.weighed = None, len(view)
            return self.policy(view, budget, rng)
        plan = self._from_pool(view, budget, rng)
        if plan is None:
            self._pool = self._picked(view, budget)
            plan = self._from_pool(view, budget, rng)
        if plan is None:
            self.weighed = len(view)
            plan = self.policy(view, budget, rng)
        return plan

    def _can_follow(self, view: View) -> bool:
        plain = self.policy.longest == np.inf and self.policy.extra == 0
        return plain and bool(np.isinf(view.room).all()) and bool(columns(view))

    def _from_pool(
        self, view: View, budget: Budget, rng: np.random.Generator
    ) -> Plan | None:
        """Return the plan, or None if the candidates are not enough."""
        pool = self._pool
        if pool is None or not _alike(pool.view, view):
            return None
        rows = np.flatnonzero(pool.rows | _is_stale(pool, view))
        if 4 * rows.size > len(view):
            return None
        self.weighed = rows.size
        few = self.policy(take_rows(view, rows), budget, rng)
        left = budget.requests - float(view.cost[rows[few.rows]].sum())
        used_up = len(few) > 0 and left < float(view.cost.min())
        if not used_up or float(few.gain.min()) < pool.least:
            return None

        def reason(row: int) -> str:
            return few.reason(int(np.searchsorted(rows, row)))

        return Plan(few.keys, rows[few.rows], few.gain, reason)

    def _picked(self, view: View, budget: Budget) -> _Pool:
        """Return the items that could be among the best within ``ahead`` days."""
        gain = self.policy.gain(view)
        open_gain = np.where(view.ready & ~view.looked, gain, 0.0)
        count = int(min(self.spare * max(budget.requests, 1), gain.size))
        least = float(np.partition(open_gain, -count)[-count])
        until = view.exposure + self.ahead
        later = self.policy.gain(replace(view, exposure=until))
        return _Pool(view, later >= least * _SLACK, least, until)


def _alike(before: View, now: View) -> bool:
    """Return whether two views have as many items and the same kind of survival."""
    same_kind = type(before.survival) is type(now.survival)
    return same_kind and len(before) == len(now)


def _is_stale(pool: _Pool, view: View) -> Bools:
    """Return the rows whose bounds in the pool may not hold any more."""
    stale: Bools = (view.exposure > pool.until) | (view.held != pool.view.held)
    stale |= view.weight != pool.view.weight
    stale |= view.cost != pool.view.cost
    before, now = columns(pool.view), columns(view)
    for name, column in now.items():
        stale |= column != before[name]
    return stale
