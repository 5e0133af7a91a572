"""The optimal policy: spend each request where it buys most.

With D(t) the expected loss t days after a sync, a request spent on an item now
buys ``w U(t) / c`` where U(t) = t D(t) - integral of D over 0..t. For Poisson changes
and known rates, refreshing where that is largest is within 0.1 % of the optimum
(docs/allocation.md).
"""

from dataclasses import dataclass

import numpy as np

from halflife.allocation import Objective, index
from halflife.allocation.checks import gain_of_check
from halflife.core.arrays import Floats
from halflife.core.budget import Budget
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.core.wording import count, number
from halflife.models.quality import alive_at
from halflife.policies import Strategy
from halflife.policies.best_schedule import BestSchedule
from halflife.policies.choose import best

NEVER_SEEN_DAYS = 1000.0  # an item never seen counts as last seen that long ago
_FIRST = 1e30  # above any gain of a fetch
_BUSY = 1.5  # factor of the usual pace from which a reason mentions it


@dataclass(frozen=True, slots=True)
class Index:
    """Refresh where ``w U(age) / c`` is largest.

    Attributes:
        objective: The loss to keep low: ``harmonic`` (the logarithm of the delay;
            starves no item), ``freshness`` (share of copies that are current; gives up
            on items that change too fast) or ``age`` (how long copies have been out of
            date).
        extra: The extra cost of a fetch that finds a change, where ``View.cost`` is
            that of finding none (``halflife.allocation.checks``).
        shortest: Least days between two fetches of an item.
        longest: Days after which an item comes before all others, oldest first, so
            that none starves; the budget must allow for it.

    """

    objective: Objective = "harmonic"
    extra: float = 0.0
    shortest: float = 0.0
    longest: float = np.inf

    def __call__(self, view: View, budget: Budget, rng: np.random.Generator) -> Plan:
        """Return the next requests, best first, costing at most ``budget``."""
        del rng  # ties go to the earlier row: nothing is random
        gain = self.gain(view)
        score = self.bounded(view, np.where(gain > 0, gain, -np.inf))
        return best(view, budget, score, gain, lambda row: self.why(view, row))

    def gain(self, view: View) -> Floats:
        """Return the gain of a fetch of each item now, per request."""
        age = np.where(view.held, view.exposure, NEVER_SEEN_DAYS)
        bought = index(view.survival, age, self.objective)
        return self.per_request(view, age, view.weight * bought)

    def per_request(self, view: View, age: Floats, gain: Floats) -> Floats:
        """Return gains divided by costs."""
        if self.extra == 0:
            return gain / view.cost
        fresh = index(view.survival, age, "freshness")
        return gain_of_check(gain, fresh, view.rate, view.cost, self.extra)

    def bounded(self, view: View, score: Floats) -> Floats:
        """Return scores that keep the interval of each item within its bounds."""
        if self.shortest > 0:
            score = np.where(view.age < self.shortest, -np.inf, score)
        if self.longest < np.inf:
            late = view.age > self.longest
            score = np.where(late, _FIRST * (1.0 + view.age - self.longest), score)
        return score

    def why(self, view: View, row: int) -> str:
        """Return the reason to fetch an item."""
        if view.looks[row] > 0 and view.age[row] > self.longest:
            return f"not seen for more than {days(self.longest)}"
        return _why(view, row)


def _why(view: View, row: int) -> str:
    if not view.looks[row] > 0:
        return "never seen yet"
    stale = 1.0 - alive_at(view, row)
    weight = "" if view.weight[row] == 1 else f", weight {number(view.weight[row], 6)}"
    return (
        f"{stale:.0%} likely changed: {count(view.rate[row], 'change')} a day, "
        f"last seen {days(float(view.age[row]))} ago"
        f"{_pace(float(view.exposure[row]), float(view.age[row]))}{weight}"
    )


def _pace(exposure: float, age: float) -> str:
    """Describe the exposure of a page if signs of change make it exceed the age.

    >>> _pace(30.0, 3.0), _pace(2.0, 2.0), _pace(0.0, 0.0)
    (' (30 days, by signs of change nearby)', '', '')
    """
    if age <= 0 or exposure < _BUSY * age:
        return ""
    return f" ({days(exposure)}, by signs of change nearby)"


def days(length: float) -> str:
    """Return a duration in words.

    >>> days(2.5), days(0.25), days(0.001), days(0.0001)
    ('2.5 days', '6 h', '1.4 min', '9 s')
    """
    if length >= 2:
        return f"{number(length, 3)} days"
    if length >= 1 / 24:
        return f"{number(length * 24, 2)} h"
    if length >= 1 / 1440:
        return f"{number(length * 1440, 2)} min"
    return f"{length * 86400:.0f} s"


harmonic = Strategy(
    Index("harmonic"),
    about="Refresh where it buys most; a change missed counts, a second one half.",
    paper="Kolobov et al. 2019, NeurIPS, solved for even spacing",
    schedule=BestSchedule("harmonic"),
)
freshness = Strategy(
    Index("freshness"),
    about="Refresh where it buys most current copies; gives up on hopeless pages.",
    paper="Cho and Garcia-Molina 2003, TODS",
    schedule=BestSchedule("freshness"),
)
age = Strategy(
    Index("age"),
    about="Refresh where it saves most time that copies are out of date.",
    paper="Cho and Garcia-Molina 2003, TODS, s. 4",
    schedule=BestSchedule("age"),
)
