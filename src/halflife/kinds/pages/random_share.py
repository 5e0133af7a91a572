"""Pages of which half are chosen for being stale, and half by lot."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from halflife.core.budget import Budget
from halflife.core.plan import Plan, no_plan
from halflife.core.view import View
from halflife.policies import Policy


@dataclass(frozen=True, slots=True)
class HalfDrawn:
    """A policy that looks at the best pages, and at as many that chance names.

    Busy times of pages that hardly ever change are seen by these alone.

    Attributes:
        policy: What says which are best.

    """

    policy: Policy

    def __call__(self, view: View, budget: Budget, rng: Generator) -> Plan:
        """Return the best, then pages drawn by lot; of a single one a coin decides."""
        half = (budget.requests + int(rng.random() < 0.5)) // 2
        best = self.policy(view, Budget(half), rng) if half else no_plan()
        if half and not len(best):
            return best
        left = view.ready & view.held & ~view.looked & (view.room > 0)
        left[best.rows] = False
        rows = np.flatnonzero(left)
        drawn = rng.permutation(rows)[: budget.requests - len(best)]
        mine = frozenset(drawn.tolist())
        return Plan(
            (*best.keys, *(view.keys[row] for row in drawn.tolist())),
            np.concatenate([best.rows, drawn]).astype(np.intp),
            np.concatenate([best.gain, np.zeros(drawn.size)]),
            lambda row: "drawn to see busy times" if row in mine else best.reason(row),
        )
