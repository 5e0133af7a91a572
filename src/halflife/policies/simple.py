"""Rules of thumb that every better rule must beat."""

import numpy as np

from halflife.belief.plain import PlainRates
from halflife.core.arrays import Floats
from halflife.core.budget import Budget
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.core.wording import count, span
from halflife.policies import Strategy
from halflife.policies.choose import best

_LONG_AGO = 1e9  # days; an item never seen has waited for that long


def oldest_first(view: View, budget: Budget, rng: np.random.Generator) -> Plan:
    """Look at every item in turn: whatever was left alone the longest."""
    del rng
    waited = np.minimum(view.age, _LONG_AGO)
    return best(view, budget, view.age, waited, lambda row: _unseen(view, row))


def oldest_first_by_chance(
    view: View, budget: Budget, rng: np.random.Generator
) -> Plan:
    """Look at every item equally often, evenly spaced, in an order left to chance.

    Among all ways to give each item the same frequency, even spacing keeps the
    copy freshest (Coffman, Liu and Weber 1998), so this is uniform at its best.
    """
    order = rng.permutation(len(view))
    # Ages in one turn differ by whole turns, so a jitter this small only breaks ties.
    waited = np.minimum(view.age, _LONG_AGO)
    age = waited * (1.0 + 1e-9 * order / max(len(view), 1))
    return best(view, budget, age, waited, lambda row: _unseen(view, row))


def most_missed(view: View, budget: Budget, rng: np.random.Generator) -> Plan:
    """Look at items in proportion to how often they change.

    The intuitive rule, and a bad one: it spends most requests on items that no
    budget can keep fresh. Cho and Garcia-Molina, TODS 2003, s. 5.
    """
    del rng
    missed = view.rate * np.minimum(view.age, _LONG_AGO)
    return best(
        view,
        budget,
        missed,
        missed,
        lambda row: f"{count(missed[row], 'change')} missed",
    )


def heaviest_unseen(view: View, budget: Budget, rng: np.random.Generator) -> Plan:
    """Look at items in proportion to how much they matter, evenly spaced.

    The best rule if weight / rate were the same for all (Kolobov et al., "Optimal
    freshness crawl under politeness constraints", SIGIR 2019).
    """
    del rng
    waited = view.weight * np.minimum(view.age, _LONG_AGO)
    return best(view, budget, waited, waited, lambda row: _unseen(view, row))


def equally(view: View) -> Floats:
    """Return that every item is looked at equally often."""
    return np.ones(len(view))


def by_rate(view: View) -> Floats:
    """Return that items are looked at as often as they change."""
    return view.rate


def by_weight(view: View) -> Floats:
    """Return that items are looked at as often as they matter."""
    return view.weight


def _unseen(view: View, row: int) -> str:
    if not view.held[row]:
        return "never seen yet"
    return f"not seen for {span(view.age[row])}"


round_robin = Strategy(
    oldest_first,
    PlainRates,
    "Look at every page in turn, whatever it does.",
    "sampling with correlation, s. 2.1",
    pace=equally,
)
uniform = Strategy(
    oldest_first_by_chance,
    PlainRates,
    "Look at every page equally often.",
    "Coffman, Liu and Weber 1998",
    pace=equally,
)
proportional = Strategy(
    most_missed,
    about="Look at pages as often as they change; intuitive, and bad.",
    paper="Cho and Garcia-Molina 2003, TODS, s. 5",
    pace=by_rate,
)
weight_proportional = Strategy(
    heaviest_unseen,
    PlainRates,
    "Look at pages as often as they matter.",
    "Kolobov et al. 2019, SIGIR",
    pace=by_weight,
)
