"""What to ask next of very many items, decided among few.

One pass over all items, block by block, finds the few thousand that buy most. For a
while, decisions are made among these: what a look at each buys is computed anew for
the moment, what was looked at since is left out. A pass takes tenths of a second for a
million items and one block of memory; a decision takes a millisecond.

What is left to chance by it: an item outside the list may come to buy more than the
last that is taken from it, and what looks teach of others waits for the next pass.
So passes are made after some minutes, after some looks, and when items become known.
"""

from dataclasses import replace

import numpy as np

from halflife.belief import Belief, PartialBelief, ready
from halflife.core.arrays import Ints
from halflife.core.budget import Budget
from halflife.core.evidence import Evidence
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.policies import Policy
from halflife.policies.index import Index
from halflife.policies.planner import law, taken
from halflife.policies.rounds import InRounds

MANY = 100_000  # items from which on plans are made among few of them
BLOCK = 65_536
SIZE = 4096
LASTS = 1.0 / 96.0  # days
USED = 0.25  # share of a list that may be looked at


class Shortlist:
    """A belief and a policy, asked for plans among few items.

    Args:
        belief: What is believed; if it can tell of some items at a time, a pass takes
            the memory of a block of them only.
        policy: Chooses; it must weigh each item by itself, up to what hosts take.
        size: How many items are in the list, at least; twice the budget, if more.
        lasts: Days after which there is a new list.
        block: Items that are viewed at once.

    """

    def __init__(
        self,
        belief: Belief,
        policy: Policy,
        *,
        size: int = SIZE,
        lasts: float = LASTS,
        block: int = BLOCK,
    ) -> None:
        self.belief = belief
        self.policy = policy
        self.size = size
        self.lasts = lasts
        self.block = block
        self.passes = 0
        self._chooser = policy.policy if isinstance(policy, InRounds) else policy
        self._of: Evidence | None = None
        self._known = 0
        self._rows: Ints = np.zeros(0, dtype=np.intp)
        self._view: View | None = None

    def plan(
        self,
        evidence: Evidence,
        now: float,
        since: float,
        budget: Budget,
        rng: np.random.Generator,
    ) -> Plan:
        """Return the next requests, best first, costing at most ``budget``."""
        view = self._fresh(evidence, now, since, budget)
        if view is None:
            whole = self._pass(evidence, now, since, budget, rng)
            if whole is not None:
                return self.policy(whole, budget, rng)
            view = self._aged(evidence, now, since)
        found = self.policy(view, budget, rng)
        rows = self._rows

        def reason(row: int) -> str:
            return found.reason(int(np.searchsorted(rows, row)))

        return Plan(found.keys, rows[found.rows], found.gain, reason)

    def _fresh(
        self, evidence: Evidence, now: float, since: float, budget: Budget
    ) -> View | None:
        """Return the list as it is now, if it is still good enough."""
        kept = self._view
        if kept is None or self._of is not evidence or self._known != len(evidence):
            return None
        soon = kept.now <= now <= kept.now + self.lasts
        if not soon or 2 * budget.requests > max(self._rows.size, self.size):
            return None
        view = self._aged(evidence, now, since)
        done = np.count_nonzero(evidence.tried_at[self._rows] > kept.now)
        return None if done > USED * self._rows.size else view

    def _aged(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the list's view, brought forward to now."""
        kept, rows = self._view, self._rows
        if kept is None:
            raise RuntimeError("there is no list yet")
        tried, on = evidence.tried_at[rows], now - kept.now
        looked = (tried >= since) & (tried <= now)
        may = ready(evidence.failures[rows], tried, now)
        return replace(
            kept,
            now=now,
            age=kept.age + on,
            exposure=kept.exposure + on,
            looked=looked,
            # What was looked at since the pass, in an earlier turn, has had its look.
            ready=may & (looked | (tried <= kept.now)),
        )

    def _pass(
        self,
        evidence: Evidence,
        now: float,
        since: float,
        budget: Budget,
        rng: np.random.Generator,
    ) -> View | None:
        """Make a new list; return a view of all if there can be none."""
        self.passes += 1
        self._of, self._known, self._view = evidence, len(evidence), None
        many = Budget(max(self.size, 2 * budget.requests))
        belief = self.belief
        if isinstance(belief, PartialBelief) and belief.learn(evidence, now):
            rows = self._best(belief, evidence, (now, since), many, rng)
            self._keep(rows, belief.view_rows(evidence, rows, now, since))
            return None
        whole = belief(evidence, now, since)
        if law(whole) is None:
            return whole
        found = self._chooser(whole, many, rng)
        rows = np.union1d(found.rows, np.flatnonzero(whole.looked))
        self._keep(rows, taken(whole, rows))
        return None

    def _best(
        self,
        belief: PartialBelief,
        evidence: Evidence,
        moment: tuple[float, float],
        many: Budget,
        rng: np.random.Generator,
    ) -> Ints:
        """Return the rows that buy most, found block by block; this turn's, too."""
        rows, gain, looked = [], [], []
        chooser = self._chooser
        nameless = ("",) * self.block  # an index does not go by names: make none
        for start in range(0, len(evidence), self.block):
            some = np.arange(start, min(start + self.block, len(evidence)))
            view = belief.view_rows(evidence, some, *moment)
            if isinstance(chooser, Index):
                view = replace(view, keys=nameless[: some.size])
            found = chooser(view, many, rng)
            rows.append(some[found.rows])
            gain.append(found.gain)
            looked.append(some[view.looked])
        row, bought = np.concatenate([*rows, []]), np.concatenate([*gain, []])
        best = np.argsort(-bought, kind="stable")[: many.requests]
        both = np.concatenate([row[best], *looked])
        return np.unique(both.astype(np.intp))

    def _keep(self, rows: Ints, view: View) -> None:
        self._rows, self._view = rows, view
