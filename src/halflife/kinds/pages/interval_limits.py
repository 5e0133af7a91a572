"""Pages of one source that must not be looked at too soon, or too late."""

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
class Spaced:
    """A belief in which no item is ready before so many days have passed.

    Attributes:
        belief: What is believed of the items.
        soonest: Days between two looks at an item, at least.

    """

    belief: Belief
    soonest: float

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        return self._spaced(self.belief(evidence, now, since))

    def learn(self, evidence: Evidence, now: float) -> bool:
        """Take in what is new; return whether ``view_rows`` can view this evidence."""
        return isinstance(self.belief, PartialBelief) and self.belief.learn(
            evidence, now
        )

    def view_rows(
        self, evidence: Evidence, rows: Ints, now: float, since: float
    ) -> View:
        """Return what we believe of the items at these rows, as learned last."""
        belief = cast("PartialBelief", self.belief)
        return self._spaced(belief.view_rows(evidence, rows, now, since))

    def _spaced(self, view: View) -> View:
        return replace(view, ready=view.ready & (view.age >= self.soonest))


@dataclass(frozen=True, slots=True)
class Punctual:
    """A policy that first looks at what has waited too long, longest first.

    Attributes:
        policy: What decides about the rest.
        latest: Days between two looks at an item, at most.

    """

    policy: Policy
    latest: float

    def __call__(self, view: View, budget: Budget, rng: Generator) -> Plan:
        """Return what is overdue; if nothing is, what the policy says."""
        late = (view.age >= self.latest) & (view.age < inf) & view.ready & ~view.looked
        if not late.any():
            return self.policy(view, budget, rng)
        rows = np.flatnonzero(late)
        rows = rows[np.argsort(-view.age[rows], kind="stable")][: budget.requests]
        keys = tuple(view.keys[int(row)] for row in rows)
        return Plan(
            keys, rows, view.age[rows], lambda _: "its longest interval is over"
        )
