"""Look, learn, look again: a turn's budget spent in several rounds."""

import math
from dataclasses import dataclass

import numpy as np

from halflife.core.budget import Budget
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.policies import Policy


@dataclass(frozen=True, slots=True)
class InRounds:
    """A policy that plans a part of each turn at a time.

    What the first looks of a turn show, such as that a site has been rebuilt, then
    tells where the others go. It costs no request.

    Attributes:
        policy: Chooses what to ask in a round.
        rounds: Parts to which a turn's requests are dealt.

    """

    policy: Policy
    rounds: int = 4

    def __call__(self, view: View, budget: Budget, rng: np.random.Generator) -> Plan:
        """Return the next requests, best first, costing at most ``budget``."""
        done = float(view.cost[view.looked].sum())
        part = math.ceil((budget.requests + done) / self.rounds)
        return self.policy(view, Budget(min(part, budget.requests)), rng)
