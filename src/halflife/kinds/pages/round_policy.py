"""Plans that fetch each page once in a round of a target."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from numpy.random import Generator

from halflife.core.budget import Budget
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.policies import Policy


@dataclass(frozen=True, slots=True)
class RoundPolicy:
    """A policy that first fetches the pages not fetched since the round began.

    A round asks for requests because of these pages: what they may hide is the risk
    that the rule for targets computes. Pages that change fast would take the requests
    again and again, and a second fetch in a round says nothing of the other pages.

    Attributes:
        policy: Chooses among these pages; among all where it chooses none of them.
        began: Returns when the round began, in days; ``-inf`` if none did.

    """

    policy: Policy
    began: Callable[[], float]

    def __call__(self, view: View, budget: Budget, rng: Generator) -> Plan:
        """Return a plan for pages not yet fetched in the round, if there is one."""
        unseen = view.age > view.now - self.began()
        plan = self.policy(replace(view, ready=view.ready & unseen), budget, rng)
        return plan if len(plan) else self.policy(view, budget, rng)
