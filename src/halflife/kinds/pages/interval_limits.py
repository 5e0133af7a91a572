"""Least and longest intervals between two fetches of the pages of one source."""

from dataclasses import dataclass, replace
from math import inf
from typing import cast

import numpy as np
from numpy.random import Generator

from halflife.belief import Belief, PartialBelief
from halflife.core.arrays import Ints
from halflife.core.budget import Budget
from halflife.core.evidence import Evidence
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.policies import Policy


@dataclass(slots=True)
class MinIntervalBelief:
    """A belief in which no item is ready before its least interval has passed.

    Attributes:
        belief: The belief about the items.
        soonest: Least days between two fetches of an item.

    """

    belief: Belief
    soonest: float

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; fetches from ``since`` on belong to this turn."""
        return self._spaced(self.belief(evidence, now, since))

    def learn(self, evidence: Evidence, now: float) -> bool:
        """Learn from new evidence; return whether ``view_rows`` can view its rows."""
        return isinstance(self.belief, PartialBelief) and self.belief.learn(
            evidence, now
        )

    def view_rows(
        self, evidence: Evidence, rows: Ints, now: float, since: float
    ) -> View:
        """Return the view of the items at these rows, as learned last."""
        belief = cast("PartialBelief", self.belief)
        return self._spaced(belief.view_rows(evidence, rows, now, since))

    def _spaced(self, view: View) -> View:
        return replace(view, ready=view.ready & (view.age >= self.soonest))


@dataclass(frozen=True, slots=True)
class MaxIntervalPolicy:
    """A policy that first fetches overdue items, the longest overdue first.

    Attributes:
        policy: The policy for the other items.
        latest: Longest days between two fetches of an item.

    """

    policy: Policy
    latest: float

    def __call__(self, view: View, budget: Budget, rng: Generator) -> Plan:
        """Return a plan of overdue items; the policy's plan if there are none."""
        late = (view.age >= self.latest) & (view.age < inf) & view.ready & ~view.looked
        if not late.any():
            return self.policy(view, budget, rng)
        rows = np.flatnonzero(late)
        rows = rows[np.argsort(-view.age[rows], kind="stable")][: budget.requests]
        keys = tuple(view.keys[int(row)] for row in rows)
        return Plan(
            keys, rows, view.age[rows], lambda _: "its longest interval is over"
        )
