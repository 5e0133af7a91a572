"""Plans for very many items, made from a short list of candidates.

One pass over all items, block by block, finds the few thousand with the largest gains.
For a while plans are made from these: their gains are updated, and items fetched since
are left out. A pass takes tenths of a second for a million items and the memory of one
block; a decision takes a millisecond.

The approximation: an item outside the list may come to gain more than the last one
taken from it, and what fetches reveal about other items is used only in the next pass.
So there is a new pass after some minutes, after some fetches, and after new items.
"""

from dataclasses import replace

import numpy as np

from halflife.belief import Belief, PartialBelief, ready
from halflife.core.arrays import Ints
from halflife.core.budget import Budget
from halflife.core.evidence import Evidence
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.models.quality import columns
from halflife.policies import Policy
from halflife.policies.index import Index
from halflife.policies.rounds import InRounds
from halflife.policies.view_rows import take_rows

MANY = 100_000  # items from which on a short list is used
BLOCK = 65_536
SIZE = 4096
LASTS = 1.0 / 96.0  # days between two passes
USED = 0.25  # share of a list that may be fetched before the next pass


class Shortlist:
    """Makes plans of a policy from a short list of items.

    Args:
        belief: The belief; if it can view some items at a time, a pass needs only the
            memory of one block.
        policy: The policy; it must evaluate each item by itself, up to host limits.
        size: Least items of the list; twice the budget if that is more.
        lasts: Days after which there is a new list.
        block: Items of a block.

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
        self._evidence: Evidence | None = None
        self._count = 0
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
        """Return the view of the list now; None if a new pass is needed."""
        kept = self._view
        if (
            kept is None
            or self._evidence is not evidence
            or self._count != len(evidence)
        ):
            return None
        soon = kept.now <= now <= kept.now + self.lasts
        if not soon or 2 * budget.requests > max(self._rows.size, self.size):
            return None
        view = self._aged(evidence, now, since)
        done = np.count_nonzero(evidence.tried_at[self._rows] > kept.now)
        return None if done > USED * self._rows.size else view

    def _aged(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view of the list, updated to now."""
        kept, rows = self._view, self._rows
        if kept is None:
            raise RuntimeError("there is no list yet")
        tried, elapsed = evidence.tried_at[rows], now - kept.now
        looked = (tried >= since) & (tried <= now)
        may = ready(evidence.failures[rows], tried, now)
        return replace(
            kept,
            now=now,
            age=kept.age + elapsed,
            exposure=kept.exposure + elapsed,
            looked=looked,
            # Items fetched since the pass in an earlier turn are done.
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
        """Make a new list; return the view of all items if that is not possible."""
        self.passes += 1
        self._evidence, self._count, self._view = evidence, len(evidence), None
        many = Budget(max(self.size, 2 * budget.requests))
        belief = self.belief
        if isinstance(belief, PartialBelief) and belief.learn(evidence, now):
            rows = self._best(belief, evidence, (now, since), many, rng)
            self._keep(rows, belief.view_rows(evidence, rows, now, since))
            return None
        whole = belief(evidence, now, since)
        if not columns(whole):
            return whole
        found = self._chooser(whole, many, rng)
        rows = np.union1d(found.rows, np.flatnonzero(whole.looked))
        self._keep(rows, take_rows(whole, rows))
        return None

    def _best(
        self,
        belief: PartialBelief,
        evidence: Evidence,
        moment: tuple[float, float],
        many: Budget,
        rng: np.random.Generator,
    ) -> Ints:
        """Return the rows with the largest gains, and those of this turn."""
        rows, gain, looked = [], [], []
        chooser = self._chooser
        nameless = ("",) * self.block  # an index does not use keys: make none
        for start in range(0, len(evidence), self.block):
            block_rows = np.arange(start, min(start + self.block, len(evidence)))
            view = belief.view_rows(evidence, block_rows, *moment)
            if isinstance(chooser, Index):
                view = replace(view, keys=nameless[: block_rows.size])
            found = chooser(view, many, rng)
            rows.append(block_rows[found.rows])
            gain.append(found.gain)
            looked.append(block_rows[view.looked])
        row, bought = np.concatenate([*rows, []]), np.concatenate([*gain, []])
        best = np.argsort(-bought, kind="stable")[: many.requests]
        chosen = np.concatenate([row[best], *looked])
        return np.unique(chosen.astype(np.intp))

    def _keep(self, rows: Ints, view: View) -> None:
        self._rows, self._view = rows, view
