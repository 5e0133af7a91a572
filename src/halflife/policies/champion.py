"""The rule that we would choose: the index, with all that looks can teach.

What goes into it: rates pooled from site to folder to page, times in which a site or
a folder was busy (``belief.neighbours``), hints as far as they prove true
(``belief.hinted``), what a host takes in a turn (``policies.choose``), and turns in
rounds, so that the first looks tell where the others go.
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
class Bold(Index):
    """The index with patience, and with ties broken by chance.

    Pages of which nothing is known yet are all alike; taking them in their order
    would sweep the web site by site. With ``boldness``, what is in doubt counts as
    busier than believed, because a look there teaches most; on recorded sites it
    gained nothing, so there is none unless it is asked for.

    Attributes:
        boldness: Standard deviations that are added.
        patience: Share of the harmonic loss in what is kept low, so that no page is
            left alone for ever.

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
        """Return what a look at each item would buy now, per request."""
        age = np.where(
            view.held, view.exposure + self.boldness * view.doubt, NEVER_SEEN_DAYS
        )
        return self.per_request(view, age, view.weight * self._bought(view, age))

    def _bought(self, view: View, age: Floats) -> Floats:
        """Return the index, with the harmonic one as far as there is patience."""
        law, patience = view.survival, self.patience
        if self.objective != "freshness" or not patience:
            bought = index(law, age, self.objective)
            return (
                bought + patience * index(law, age, "harmonic") if patience else bought
            )
        lasting = law.lasting(age)  # both are made of it, and it takes long
        fresh = np.maximum(lasting - age * law.alive(age), 0.0)
        return np.asarray(fresh + patience * np.maximum(age - lasting, 0.0))


def _belief() -> Belief:
    return HintedBelief(Neighbours(), announced=False)


def champion_of(objective: Objective) -> Strategy:
    """Return the same rule for another loss to keep low.

    Only freshness would leave pages alone for ever, and needs patience.
    """
    patience = PATIENCE if objective == "freshness" else 0.0
    return Strategy(
        InRounds(Bold(objective, patience=patience)),
        _belief,
        "Refresh where it buys most, by what neighbours and hints tell; our best.",
        schedule=BestSchedule(objective),
    )


champion = champion_of("freshness")
