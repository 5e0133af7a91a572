"""The recommended policy: the index with all that is learned from fetches.

It uses rates pooled from site to folder to page, busy times of sites and folders
(``belief.neighbours``), hints as far as they prove true (``belief.hinted``), the limits
of hosts (``policies.choose``), and turns in rounds, so that the first fetches of a turn
inform the others.
"""

from dataclasses import dataclass

import numpy as np

from halflife.allocation import Objective, index
from halflife.belief import Belief
from halflife.belief.hints import HintedBelief
from halflife.belief.neighbours import Neighbours
from halflife.core.arrays import Floats
from halflife.core.budget import Budget
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.policies import Strategy
from halflife.policies.best_schedule import BestSchedule
from halflife.policies.choose import best
from halflife.policies.index import NEVER_SEEN_DAYS, Index
from halflife.policies.rounds import InRounds

PATIENCE = 0.02


@dataclass(frozen=True, slots=True)
class PatientIndex(Index):
    """The index with patience, and with ties broken at random.

    Unknown pages all have the same index; in their order a crawl would go site by site.
    With ``boldness``, uncertain pages count as busier than believed, because their
    fetches are most informative; it gained nothing on recorded sites, so it is off by
    default.

    Attributes:
        boldness: Standard deviations that are added.
        patience: The weight of the harmonic loss, so that every page is fetched again
            at some time.

    """

    boldness: float = 0.0
    patience: float = 0.0

    def __call__(self, view: View, budget: Budget, rng: np.random.Generator) -> Plan:
        """Return the next requests, best first, costing at most ``budget``."""
        gain = self.gain(view)
        score = np.where(gain > 0, gain, -np.inf)
        score = self.bounded(view, score * (1.0 + 1e-6 * rng.random(len(view))))
        return best(view, budget, score, gain, lambda row: self.why(view, row))

    def gain(self, view: View) -> Floats:
        """Return the gain of a fetch of each item now, per request."""
        age = np.where(
            view.held, view.exposure + self.boldness * view.doubt, NEVER_SEEN_DAYS
        )
        return self.per_request(view, age, view.weight * self._bought(view, age))

    def _bought(self, view: View, age: Floats) -> Floats:
        """Return the index plus ``patience`` times the harmonic index."""
        law, patience = view.survival, self.patience
        if self.objective != "freshness" or not patience:
            bought = index(law, age, self.objective)
            return (
                bought + patience * index(law, age, "harmonic") if patience else bought
            )
        lasting = law.lasting(age)  # slow, and used by both indexes
        fresh = np.maximum(lasting - age * law.alive(age), 0.0)
        return np.asarray(fresh + patience * np.maximum(age - lasting, 0.0))


def _belief() -> Belief:
    return HintedBelief(Neighbours(), announced=False)


def champion_of(objective: Objective) -> Strategy:
    """Return the strategy for another objective.

    Only freshness would give up pages for ever, and needs patience.
    """
    patience = PATIENCE if objective == "freshness" else 0.0
    return Strategy(
        InRounds(PatientIndex(objective, patience=patience)),
        _belief,
        "Refresh where it buys most, learning from neighbours and hints; our best.",
        schedule=BestSchedule(objective),
    )


champion = champion_of("freshness")
