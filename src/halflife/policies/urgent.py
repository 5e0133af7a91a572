"""Pages that come before all others: maps that are due, links never read, news."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from halflife.core.budget import Budget
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.policies import Policy
from halflife.policies.rounds import InRounds


@dataclass(frozen=True, slots=True)
class UrgentFirst:
    """A policy that begins with some pages, each of them once.

    Attributes:
        policy: What decides about the rest.
        keys: The pages that are still to be fetched; others may add to them.
        why: Why these come first.

    """

    policy: Policy
    keys: set[str]
    why: str

    def __call__(self, view: View, budget: Budget, rng: Generator) -> Plan:
        """Return the next requests, best first, costing at most ``budget``."""
        if self.keys:
            mine = [i for i, key in enumerate(view.keys) if key in self.keys]
            rows = np.array(mine, dtype=np.intp)
            rows = rows[view.ready[rows] & ~view.looked[rows]][: budget.requests]
            keys = tuple(view.keys[row] for row in rows.tolist())
            self.keys.difference_update(keys)
            if keys:
                return Plan(keys, rows, view.weight[rows], lambda _: self.why)
        return self.policy(view, budget, rng)


def urgent_first(inner: Policy, keys: set[str], why: str) -> Policy:
    """Return a policy that begins with ``keys``, in the rounds of the inner one."""
    if isinstance(inner, InRounds):
        return replace(inner, policy=UrgentFirst(inner.policy, keys, why))
    return UrgentFirst(inner, keys, why)
