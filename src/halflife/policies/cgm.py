"""Cho and Garcia-Molina's best intervals for the rates they estimate.

"Effective page refresh policies for web crawlers", TODS 2003, with the estimator of
"Estimating frequency of change", TOIT 2003: looks evenly spaced, as often as keeps
most copies current or least out of date. The longest due comes first.
"""

from functools import partial

from halflife.allocation import Objective, allocate
from halflife.belief.rates import EstimatedRates
from halflife.belief.schedule import Scheduled
from halflife.core.arrays import Floats
from halflife.core.view import View
from halflife.models.rates.counts import Counted, bias_reduced
from halflife.policies import Strategy
from halflife.policies.best_schedule import freshest
from halflife.policies.dates import due_first


def best_intervals(view: View, budget: float, objective: Objective) -> Floats:
    """Return the looks a day that make the most of a budget a day."""
    return allocate(
        view.rate, budget, weight=view.weight, cost=view.cost, objective=objective
    ).frequency


def scheduled(objective: Objective) -> Scheduled:
    """Return the belief of whoever keeps to the best intervals."""
    rates = EstimatedRates(partial(Counted, bias_reduced))
    return Scheduled(partial(best_intervals, objective=objective), rates)


freshness = Strategy(
    due_first,
    partial(scheduled, "freshness"),
    "Cho and Garcia-Molina's intervals that keep most copies current.",
    "Cho and Garcia-Molina 2003, TODS and TOIT",
    schedule=freshest,
)
age = Strategy(
    due_first,
    partial(scheduled, "age"),
    "Cho and Garcia-Molina's intervals that keep copies least out of date.",
    "Cho and Garcia-Molina 2003, TODS and TOIT",
    schedule=partial(best_intervals, objective="age"),
)
