"""A share of the budget for new pages, beside pages to be fetched again.

The index puts new pages first, as if they were last seen long ago. During the crawl of
a site that would leave nothing for known pages. So new pages get a share of each turn,
and known pages the rest. Each side may use what the other cannot.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from halflife.core.arrays import Bools, Ints
from halflife.core.budget import Budget
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.policies import Policy


@dataclass(frozen=True, slots=True)
class DiscoveryPolicy:
    """A policy that spends a share of each turn on discovered pages.

    Attributes:
        policy: Chooses among new pages, and among all others.
        share: The share of a turn's requests of each source that discovers pages; if
            several have new pages, each share is divided by their number.
        source_of: Returns the name of the source of an item.
        left: Returns how many discovered pages of each source may still be fetched
            within its part of the window; a source that is missing has no such limit.

    """

    policy: Policy
    share: Mapping[str, float]
    source_of: Callable[[str], str]
    left: Callable[[], Mapping[str, int]] = dict

    def __call__(self, view: View, budget: Budget, rng: np.random.Generator) -> Plan:
        """Return the next requests, costing at most ``budget``."""
        source = self._sources(view)
        new = (source >= 0) & ~view.held & ~view.looked
        rest = self.policy(_only(view, ~new), budget, rng)
        if not new.any():
            return rest
        # All new pages are ranked: each source has its own share.
        whole = Budget(max(budget.requests, math.ceil(view.cost[new].sum())))
        ranked = self.policy(_only(view, new), whole if budget else budget, rng)
        in_quota = self._quota(view, budget, source, (source[ranked.rows], rng))
        most = budget.requests - int(in_quota.sum())
        kept = min(len(rest), most)
        others = np.flatnonzero(~in_quota)[: most - kept]
        first = np.union1d(np.flatnonzero(in_quota), others)
        return _mixed(ranked, first, rest, kept)

    def _sources(self, view: View) -> Ints:
        """Return the number of the source with a share of each new item; -1 for others.

        An item is new in a turn if it had no successful fetch before it.
        """
        number = {name: i for i, name in enumerate(self.share)}
        source = np.full(len(view), -1, dtype=np.intp)
        for row in np.flatnonzero(view.looks <= view.looked):
            source[row] = number.get(self.source_of(view.keys[int(row)]), -1)
        return source

    def _quota(
        self,
        view: View,
        budget: Budget,
        source: Ints,
        chosen: tuple[Ints, np.random.Generator],
    ) -> Bools:
        """Return which of the ranked new pages are within the quota of their source.

        A quota below one request is rounded at random: in turns of a single request a
        share of one half must not get all.
        """
        found, rng = chosen
        left = self.left()
        turn = budget.requests + int(np.count_nonzero(view.looked))
        in_quota = np.zeros(found.size, dtype=np.bool_)
        rivals = max(np.unique(found).size, 1)
        for number, (name, share) in enumerate(self.share.items()):
            done = np.count_nonzero((source == number) & view.looked)
            exact = share * turn / rivals
            whole = math.ceil(exact) if exact >= 1 else int(rng.random() < exact)
            quota = max(min(whole - int(done), left.get(name, whole)), 0)
            in_quota[np.flatnonzero(found == number)[:quota]] = True
        in_quota[np.flatnonzero(in_quota)[budget.requests :]] = False
        return in_quota


def _only(view: View, rows: Bools) -> View:
    """Return a view in which all other rows count as tried in this turn."""
    return replace(view, looked=view.looked | ~rows)


def _mixed(found: Plan, first: Ints, rest: Plan, kept: int) -> Plan:
    """Return both plans as one, evenly mixed, so that a cut affects both."""
    place = np.concatenate(
        [
            (np.arange(first.size) + 0.5) / max(first.size, 1),
            (np.arange(kept) + 0.5) / max(kept, 1),
        ]
    )
    order = np.argsort(place, kind="stable")
    keys = (*(found.keys[i] for i in first), *rest.keys[:kept])
    rows = np.concatenate([found.rows[first], rest.rows[:kept]])[order]
    gain = np.concatenate([found.gain[first], rest.gain[:kept]])[order]
    is_new = set(found.rows[first].tolist())

    def reason(row: int) -> str:
        return found.reason(row) if row in is_new else rest.reason(row)

    return Plan(tuple(keys[i] for i in order), rows, gain, reason)
