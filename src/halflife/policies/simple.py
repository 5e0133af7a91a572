"""Simple baseline policies."""

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
    """Fetch every item in turn: the longest unfetched first."""
    del rng
    waited = np.minimum(view.age, _LONG_AGO)
    return best(view, budget, view.age, waited, lambda row: _unseen(view, row))


def oldest_first_by_chance(
    view: View, budget: Budget, rng: np.random.Generator
) -> Plan:
    """Fetch every item equally often, evenly spaced, in random order.

    With the same frequency for each item, even spacing keeps the copy freshest
    (Coffman, Liu and Weber 1998).
    """
    order = rng.permutation(len(view))
    # Ages in one turn differ by whole turns, so this small jitter only breaks ties.
    waited = np.minimum(view.age, _LONG_AGO)
    age = waited * (1.0 + 1e-9 * order / max(len(view), 1))
    return best(view, budget, age, waited, lambda row: _unseen(view, row))


def most_missed(view: View, budget: Budget, rng: np.random.Generator) -> Plan:
    """Fetch items in proportion to their change rates.

    Intuitive, but bad: it spends most requests on items that no budget can keep fresh.
    Cho and Garcia-Molina, TODS 2003, s. 5.
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
    """Fetch items in proportion to their weights, evenly spaced.

    Optimal if weight / rate were the same for all (Kolobov et al., "Optimal
    freshness crawl under politeness constraints", SIGIR 2019).
    """
    del rng
    waited = view.weight * np.minimum(view.age, _LONG_AGO)
    return best(view, budget, waited, waited, lambda row: _unseen(view, row))


def equally(view: View) -> Floats:
    """Return the same rate for every item."""
    return np.ones(len(view))


def by_rate(view: View) -> Floats:
    """Return fetch rates in proportion to change rates."""
    return view.rate


def by_weight(view: View) -> Floats:
    """Return fetch rates in proportion to weights."""
    return view.weight


def _unseen(view: View, row: int) -> str:
    if not view.held[row]:
        return "never seen yet"
    return f"not seen for {span(view.age[row])}"


round_robin = Strategy(
    oldest_first,
    PlainRates,
    "Fetch every page in turn.",
    "sampling with correlation, s. 2.1",
    pace=equally,
)
uniform = Strategy(
    oldest_first_by_chance,
    PlainRates,
    "Fetch every page equally often.",
    "Coffman, Liu and Weber 1998",
    pace=equally,
)
proportional = Strategy(
    most_missed,
    about="Fetch pages in proportion to their change rates; intuitive, but bad.",
    paper="Cho and Garcia-Molina 2003, TODS, s. 5",
    pace=by_rate,
)
weight_proportional = Strategy(
    heaviest_unseen,
    PlainRates,
    "Fetch pages in proportion to their weights.",
    "Kolobov et al. 2019, SIGIR",
    pace=by_weight,
)
