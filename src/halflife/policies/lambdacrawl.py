"""LambdaCrawl, the schedule of least harmonic loss for fetches at random times.

Kolobov et al., "Staying up to date with online content changes using reinforcement
learning for scheduling", NeurIPS 2019.

The rates are optimal for the harmonic loss if fetches come at random times. As
published, change rates are maximum-likelihood estimates with two pseudo-observations:
an interval of half a day with a change and one without.
"""

from functools import partial

from halflife.allocation import (
    lambdacrawl as best_rates,
    lambdacrawl_approx as rough_rates,
)
from halflife.belief.rates import EstimatedRates
from halflife.belief.schedule import Scheduled
from halflife.core.arrays import Floats
from halflife.core.view import View
from halflife.models.rates.likelihood import MaximumLikelihood
from halflife.policies import Strategy
from halflife.policies.dates import due_by_chance, due_first


def rates(view: View, budget: float) -> Floats:
    """Return the fetches a day with the least harmonic loss if they come at random."""
    allocation = best_rates(view.rate, budget, weight=view.weight, cost=view.cost)
    return allocation.frequency


def approx(view: View, budget: float) -> Floats:
    """Return fetches a day in proportion to the weights (LambdaCrawlApprox)."""
    allocation = rough_rates(view.rate, budget, weight=view.weight, cost=view.cost)
    return allocation.frequency


def as_published() -> Scheduled:
    """Return the belief with the paper's own estimator of change rates."""
    return Scheduled(rates, EstimatedRates(partial(MaximumLikelihood, pretend=0.5)))


lambdacrawl = Strategy(
    due_by_chance,
    partial(Scheduled, rates),
    "LambdaCrawl's rates, fetches at random times.",
    "Kolobov et al. 2019, NeurIPS",
    schedule=rates,
    at_random=True,
)
lambdacrawl_even = Strategy(
    due_first,
    partial(Scheduled, rates),
    "LambdaCrawl's rates, fetches evenly spaced.",
    "Kolobov et al. 2019, NeurIPS, evenly spaced",
    schedule=rates,
)
lambdacrawl_published = Strategy(
    due_by_chance,
    as_published,
    "LambdaCrawl with its own estimator of change rates, as published.",
    "Kolobov et al. 2019, NeurIPS, s. 5",
    schedule=rates,
    at_random=True,
)
lambdacrawl_approx = Strategy(
    due_by_chance,
    partial(Scheduled, approx),
    "LambdaCrawlApprox: fetches at random times, in proportion to weights.",
    "Kolobov et al. 2019, NeurIPS, prop. 9",
    schedule=approx,
    at_random=True,
)
