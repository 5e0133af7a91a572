"""The index policy with a memory that saves time and changes nothing.

What a look buys never falls while an item waits. So if an item would not be among
the best even some hours from now, it need not be looked at again before then: only
those that could be, and those of which something new is known, are weighed anew.
"""

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.budget import Budget
from halflife.core.categories import Categories
from halflife.core.keys import KeySubset
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.models.mixed_survival import survival_rows
from halflife.models.quality import columns
from halflife.policies.index import Index

Columns: TypeAlias = dict[str, NDArray[np.generic]]

_SLACK = 1.0 - 1e-5  # as floats go, the index may fall by less than that


@dataclass(frozen=True, slots=True)
class _Pool:
    """The rows that could be among the best for a while.

    Attributes:
        view: What was believed when they were picked.
        rows: The rows, ascending.
        least: What every other item buys less than, up to its exposure in ``until``.
        until: Exposures, one an item.

    """

    view: View
    rows: Bools
    least: float
    until: Floats


class Planner:
    """Plan as an index policy does, over few items where few can matter.

    The plan is the one that ``policy`` makes: the few are enough if they use up the
    budget at gains that nobody else can reach; if not, all are weighed.

    Args:
        policy: The policy to follow. With limits on the time between looks, or an
            extra cost of changes, it is simply called, and so it is where hosts
            have little room: then the few do not tell.
        ahead: Days of waiting for which the few are picked.
        spare: How many times the budget they are to last for.

    """

    def __init__(
        self, policy: Index | None = None, *, ahead: float = 0.25, spare: int = 3
    ) -> None:
        self.policy = policy or Index()
        self.ahead = ahead
        self.spare = spare
        self.weighed = 0  # items of which the last plan asked what they buy
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
        return plain and bool(np.isinf(view.room).all()) and law(view) is not None

    def _from_pool(
        self, view: View, budget: Budget, rng: np.random.Generator
    ) -> Plan | None:
        """Return the plan, or None if the pool cannot tell."""
        pool = self._pool
        if pool is None or not _alike(pool.view, view):
            return None
        rows = np.flatnonzero(pool.rows | _news(pool, view))
        if 4 * rows.size > len(view):
            return None
        self.weighed = rows.size
        few = self.policy(taken(view, rows), budget, rng)
        left = budget.requests - float(view.cost[rows[few.rows]].sum())
        used_up = len(few) > 0 and left < float(view.cost.min())
        if not used_up or float(few.gain.min()) < pool.least:
            return None

        def reason(row: int) -> str:
            return few.reason(int(np.searchsorted(rows, row)))

        return Plan(few.keys, rows[few.rows], few.gain, reason)

    def _picked(self, view: View, budget: Budget) -> _Pool:
        """Return who could be among the best until ``ahead`` days from now."""
        gain = self.policy.gain(view)
        open_gain = np.where(view.ready & ~view.looked, gain, 0.0)
        many = int(min(self.spare * max(budget.requests, 1), gain.size))
        least = float(np.partition(open_gain, -many)[-many])
        until = view.exposure + self.ahead
        later = self.policy.gain(replace(view, exposure=until))
        return _Pool(view, later >= least * _SLACK, least, until)


def law(view: View) -> Columns | None:
    """Return the columns that a view's survival is made of, if it is made of such."""
    return columns(view) or None


def _alike(before: View, now: View) -> bool:
    """Return whether two views are of as many items with the same kind of survival."""
    same_kind = type(before.survival) is type(now.survival)
    return same_kind and len(before) == len(now)


def _news(pool: _Pool, view: View) -> Bools:
    """Return the rows of which what was computed for the pool need not hold."""
    news: Bools = (view.exposure > pool.until) | (view.held != pool.view.held)
    news |= view.weight != pool.view.weight
    news |= view.cost != pool.view.cost
    before, now = law(pool.view) or {}, law(view) or {}
    for name, column in now.items():
        news |= column != before[name]
    return news


def taken(view: View, rows: Ints) -> View:
    """Return some rows of a view."""
    columns: dict[str, Any] = {}
    for field in fields(view):
        value = getattr(view, field.name)
        if isinstance(value, np.ndarray) and value.shape[:1] == (len(view),):
            columns[field.name] = value[rows]
    survival = survival_rows(view.survival, rows, len(view))
    return replace(
        view,
        keys=KeySubset(view.keys, rows),
        survival=survival,
        topics=partial(_filed, view, rows),
        **columns,
    )


def _filed(view: View, rows: Ints) -> Categories | None:
    """Return the topics of some rows of a view."""
    found = view.topics()
    return None if found is None else found.of_items(rows)
