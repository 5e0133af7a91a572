"""Azar et al., "Tractable near-optimal policies for crawling", PNAS 2018.

The rates are the best ones for looks at random moments, which is how the paper makes
them; the same rates evenly spaced do better.
"""

from functools import partial

from halflife.allocation import azar as best_rates
from halflife.belief.schedule import Scheduled
from halflife.core.arrays import Floats
from halflife.core.view import View
from halflife.policies import Strategy
from halflife.policies.dates import due_by_chance, due_first


def rates(view: View, budget: float) -> Floats:
    """Return the looks a day that keep copies freshest if they come at random."""
    found = best_rates(view.rate, budget, weight=view.weight, cost=view.cost)
    return found.frequency


azar = Strategy(
    due_by_chance,
    partial(Scheduled, rates),
    "Azar's rates for freshness, looks at random moments as published.",
    "Azar et al. 2018, PNAS",
    schedule=rates,
    at_random=True,
)
azar_even = Strategy(
    due_first,
    partial(Scheduled, rates),
    "Azar's rates for freshness, looks evenly spaced.",
    "Azar et al. 2018, PNAS, evenly spaced",
    schedule=rates,
)
