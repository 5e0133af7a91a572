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
from halflife.belief.hints import Hinted
from halflife.belief.neighbours import Neighbours
from halflife.core.arrays import Floats, Ints
from halflife.core.budget import Budget
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.policies import Strategy
from halflife.policies.choose import best
from halflife.policies.index import NEVER_SEEN_DAYS, Index
from halflife.policies.rounds import InRounds

PATIENCE = 0.02
TELLING = 0.1
WEEK = 7  # days
NOTICED = 0.3  # chance that a look shows that a site was busy


@dataclass(frozen=True, slots=True)
class Bold(Index):
    """The index with patience, and with ties broken by chance.

    Pages of which nothing is known yet are all alike; taking them in their order
    would sweep the web site by site. With ``boldness``, what is in doubt counts as
    busier than believed, because a look there teaches most; on recorded sites it
    gained nothing, so there is none unless it is asked for.

    A site of which nothing was heard for days may have been rebuilt. With ``telling``,
    the best page of each site counts for more by what a look there may tell: a share of
    the price of a request for each change that the site is due, as far as no look of
    the last week would have told of it.

    Attributes:
        boldness: Standard deviations that are added.
        patience: Share of the harmonic loss in what is kept low, so that no page is
            left alone for ever.
        telling: What a change that a site is due counts for, in prices of a request.

    """

    boldness: float = 0.0
    patience: float = 0.0
    telling: float = 0.0

    def __call__(self, view: View, budget: Budget, rng: np.random.Generator) -> Plan:
        """Return the next requests, best first, costing at most ``budget``."""
        gain = self.gain(view)
        score = np.where(gain > 0, gain, -np.inf)
        score = self.bounded(view, score * (1.0 + 1e-6 * rng.random(len(view))))
        if self.telling:
            rows, more = told_by_looks(view, budget, score)
            score[rows] += self.telling * more
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


def told_by_looks(view: View, budget: Budget, score: Floats) -> tuple[Ints, Floats]:
    """Return the best page of each site, and what a look there tells of the site.

    With p the score of the last page that the budget is enough for, r the sum of the
    rates of the site's pages, and n(d) the pages of it that were seen in the last d
    days, that is  p r (sum over d = 1..7 of exp(-0.3 n(d))): the changes of a week, as
    far as nobody would have noticed yet that the site was busy.
    """
    rows = np.flatnonzero(view.ready & ~view.looked & np.isfinite(score))
    if not (budget.requests > 0 and rows.size):
        return rows[:0], np.zeros(0)
    last = min(budget.requests, rows.size)
    price = np.partition(score[rows], -last)[-last]
    sites = int(view.group.max()) + 1
    due = np.bincount(view.group, np.where(view.held, view.rate, 0.0), sites)
    late = np.flatnonzero(view.age < WEEK)
    place = view.group[late] * WEEK + view.age[late].astype(np.intp)
    seen = np.bincount(place, minlength=sites * WEEK).reshape(sites, WEEK)
    unheard = np.exp(-NOTICED * np.cumsum(seen, axis=1)).sum(axis=1)
    top = np.full(sites, -np.inf)
    np.maximum.at(top, view.group[rows], score[rows])
    first = rows[score[rows] == top[view.group[rows]]]
    group, place = np.unique(view.group[first], return_index=True)
    return first[place], price * due[group] * unheard[group]


def _belief() -> Belief:
    return Hinted(Neighbours(), announced=False)


def champion_of(objective: Objective) -> Strategy:
    """Return the same rule for another loss to keep low.

    Only freshness would leave pages alone for ever, and needs patience. What looks
    tell of sites was weighed for freshness alone, too.
    """
    fresh = objective == "freshness"
    policy = Bold(
        objective,
        patience=PATIENCE if fresh else 0.0,
        telling=TELLING if fresh else 0.0,
    )
    return Strategy(
        InRounds(policy),
        _belief,
        "Refresh where it buys most, by what neighbours and hints tell; our best.",
    )


champion = champion_of("freshness")
