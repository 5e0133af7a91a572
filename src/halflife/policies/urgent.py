"""Urgent pages that come before all others: due maps, unread links, announcements."""

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
    """A policy that starts with urgent pages, each of them once.

    Attributes:
        policy: The policy for the other pages.
        keys: The urgent pages that remain; callers may add more.
        why: The reason why they come first.

    """

    policy: Policy
    keys: set[str]
    why: str

    def __call__(self, view: View, budget: Budget, rng: Generator) -> Plan:
        """Return the next requests, best first, costing at most ``budget``."""
        if self.keys:
            urgent = [i for i, key in enumerate(view.keys) if key in self.keys]
            rows = np.array(urgent, dtype=np.intp)
            rows = rows[view.ready[rows] & ~view.looked[rows]][: budget.requests]
            keys = tuple(view.keys[row] for row in rows.tolist())
            self.keys.difference_update(keys)
            if keys:
                return Plan(keys, rows, view.weight[rows], lambda _: self.why)
        return self.policy(view, budget, rng)


def urgent_first(inner: Policy, keys: set[str], why: str) -> Policy:
    """Return a policy that starts with ``keys``, in the rounds of the inner one."""
    if isinstance(inner, InRounds):
        return replace(inner, policy=UrgentFirst(inner.policy, keys, why))
    return UrgentFirst(inner, keys, why)
