"""Spend a turn's budget in several rounds, learning in between."""

import math
from dataclasses import dataclass

import numpy as np

from halflife.core.budget import Budget
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.policies import Policy

ROUNDS = 16  # on recorded sites better than 4 or 8; each costs a decision
FEW = 4


@dataclass(frozen=True, slots=True)
class InRounds:
    """A policy that plans each turn in rounds.

    The first fetches of a turn, for example of a rebuilt site, inform the later ones.
    This costs no request.

    Attributes:
        policy: Plans each round.
        rounds: The number of rounds of a turn.
        fewest: Least requests of a round, as long as that leaves ``FEW`` rounds: the
            requests of a round are sent concurrently.

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
