"""Azar et al., "Tractable near-optimal policies for crawling", PNAS 2018.

The rates are optimal for fetches at random times, as in the paper; the same rates with
even spacing do better.
"""

from functools import partial

from halflife.allocation import azar as best_rates
from halflife.belief.schedule import Scheduled
from halflife.core.arrays import Floats
from halflife.core.view import View
from halflife.policies import Strategy
from halflife.policies.dates import due_by_chance, due_first


def rates(view: View, budget: float) -> Floats:
    """Return the fetches a day that keep copies freshest if they come at random."""
    allocation = best_rates(view.rate, budget, weight=view.weight, cost=view.cost)
    return allocation.frequency


azar = Strategy(
    due_by_chance,
    partial(Scheduled, rates),
    "Azar's rates for freshness, fetches at random times as published.",
    "Azar et al. 2018, PNAS",
    schedule=rates,
    at_random=True,
)
azar_even = Strategy(
    due_first,
    partial(Scheduled, rates),
    "Azar's rates for freshness, fetches evenly spaced.",
    "Azar et al. 2018, PNAS, evenly spaced",
    schedule=rates,
)
