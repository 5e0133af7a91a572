"""Plans with half of the pages chosen as stale, and half at random."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from halflife.core.budget import Budget
from halflife.core.plan import Plan, no_plan
from halflife.core.view import View
from halflife.policies import Policy


@dataclass(frozen=True, slots=True)
class HalfRandomPolicy:
    """A policy that fetches the best pages, and as many random ones.

    Only the random ones detect busy times of pages that rarely change.

    Attributes:
        policy: Chooses the best pages.

    """

    policy: Policy

    def __call__(self, view: View, budget: Budget, rng: Generator) -> Plan:
        """Return the best pages, then random ones; chance decides about one page."""
        half = (budget.requests + int(rng.random() < 0.5)) // 2
        best = self.policy(view, Budget(half), rng) if half else no_plan()
        if half and not len(best):
            return best
        candidates = view.ready & view.held & ~view.looked & (view.room > 0)
        candidates[best.rows] = False
        rows = np.flatnonzero(candidates)
        drawn = rng.permutation(rows)[: budget.requests - len(best)]
        is_drawn = frozenset(drawn.tolist())
        return Plan(
            (*best.keys, *(view.keys[row] for row in drawn.tolist())),
            np.concatenate([best.rows, drawn]).astype(np.intp),
            np.concatenate([best.gain, np.zeros(drawn.size)]),
            lambda row: (
                "drawn to see busy times" if row in is_drawn else best.reason(row)
            ),
        )
