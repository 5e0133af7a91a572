"""Look, learn, look again: a turn's budget spent in several rounds."""

import math
from dataclasses import dataclass

import numpy as np

from halflife.core.budget import Budget
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.policies import Policy

ROUNDS = 16  # on recorded sites better than 4 or 8; a round more costs a decision more
FEW = 4


@dataclass(frozen=True, slots=True)
class InRounds:
    """A policy that plans a part of each turn at a time.

    What the first looks of a turn show, such as that a site has been rebuilt, then
    tells where the others go. It costs no request.

    Attributes:
        policy: Chooses what to ask in a round.
        rounds: Parts to which a turn's requests are dealt.
        fewest: Requests in a round, at least, as long as that leaves ``FEW`` rounds:
            what is asked together goes out together.

    """

    policy: Policy
    rounds: int = ROUNDS
    fewest: int = 8

    def __call__(self, view: View, budget: Budget, rng: np.random.Generator) -> Plan:
        """Return the next requests, best first, costing at most ``budget``."""
        done = float(view.cost[view.looked].sum())
        whole = budget.requests + done
        part = math.ceil(whole / self.rounds)
        if part < self.fewest and self.rounds > FEW:
            part = min(self.fewest, math.ceil(whole / FEW))
        return self.policy(view, Budget(min(part, budget.requests)), rng)
