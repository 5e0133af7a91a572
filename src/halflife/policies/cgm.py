"""Cho and Garcia-Molina's optimal intervals for their estimated rates.

"Effective page refresh policies for web crawlers", TODS 2003, with the estimator of
"Estimating frequency of change", TOIT 2003: evenly spaced fetches at the rates that
maximise freshness or minimise age. The longest overdue item comes first.
"""

from functools import partial

from halflife.allocation import Objective
from halflife.belief.rates import EstimatedRates
from halflife.belief.schedule import Scheduled
from halflife.models.rates.counts import Counted, bias_reduced
from halflife.policies import Strategy
from halflife.policies.best_schedule import BestSchedule
from halflife.policies.dates import due_first


def scheduled(objective: Objective) -> Scheduled:
    """Return the belief with the optimal intervals."""
    rates = EstimatedRates(partial(Counted, bias_reduced))
    return Scheduled(BestSchedule(objective), rates)


freshness = Strategy(
    due_first,
    partial(scheduled, "freshness"),
    "Cho and Garcia-Molina's intervals that keep most copies current.",
    "Cho and Garcia-Molina 2003, TODS and TOIT",
    schedule=BestSchedule("freshness"),
)
age = Strategy(
    due_first,
    partial(scheduled, "age"),
    "Cho and Garcia-Molina's intervals that keep copies least out of date.",
    "Cho and Garcia-Molina 2003, TODS and TOIT",
    schedule=BestSchedule("age"),
)
