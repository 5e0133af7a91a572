"""Pages never seen compete with pages to be seen again, for a share of the budget.

The index puts what was never seen first: it counts as last seen very long ago. On
a site that is still being found that would leave nothing for what is known, so the
pages that links have led to get a share of each turn, and the rest of the budget
goes as ever. What either side cannot use, the other may.
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
class Discovering:
    """A policy that spends a share of each turn on pages that links have led to.

    Attributes:
        policy: Chooses among pages never seen, and among all others.
        share: For each source that finds pages, the share of a turn's requests; if
            several have found some, each gets its share divided by their number.
        source_of: Names the source of an item.
        left: Returns how many found pages of each source may still be fetched before
            others have had their part of the window; one that is not named has no
            such limit.

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
        # All of them in order: the best may be of one source, and each has its share.
        every = Budget(max(budget.requests, math.ceil(view.cost[new].sum())))
        found = self.policy(_only(view, new), every if budget else budget, rng)
        some = self._quota(view, budget, source, (source[found.rows], rng))
        most = budget.requests - int(some.sum())
        kept = min(len(rest), most)
        late = np.flatnonzero(~some)[: most - kept]
        first = np.union1d(np.flatnonzero(some), late)
        return _mixed(found, first, rest, kept)

    def _sources(self, view: View) -> Ints:
        """Return which of the sources with a share each item that is new belongs to.

        An item is new in a turn if it had no good look before it.
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
        """Return which of the pages found, best first, their source's share pays.

        Less than one request is one by chance: in turns of a single request a share
        of one half must not be all.
        """
        found, rng = chosen
        left = self.left()
        turn = budget.requests + int(np.count_nonzero(view.looked))
        pays = np.zeros(found.size, dtype=np.bool_)
        rivals = max(np.unique(found).size, 1)
        for number, (name, share) in enumerate(self.share.items()):
            done = np.count_nonzero((source == number) & view.looked)
            part = share * turn / rivals
            whole = math.ceil(part) if part >= 1 else int(rng.random() < part)
            quota = max(min(whole - int(done), left.get(name, whole)), 0)
            pays[np.flatnonzero(found == number)[:quota]] = True
        pays[np.flatnonzero(pays)[budget.requests :]] = False
        return pays


def _only(view: View, rows: Bools) -> View:
    """Return a view in which all but these rows are done for this turn."""
    return replace(view, looked=view.looked | ~rows)


def _mixed(found: Plan, first: Ints, rest: Plan, kept: int) -> Plan:
    """Return both plans as one, evenly mixed, so that neither is cut off alone."""
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
    why = set(found.rows[first].tolist())

    def reason(row: int) -> str:
        return found.reason(row) if row in why else rest.reason(row)

    return Plan(tuple(keys[i] for i in order), rows, gain, reason)
