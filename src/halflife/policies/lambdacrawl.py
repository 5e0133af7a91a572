"""LambdaCrawl, the schedule of least harmonic loss for looks at random moments.

Kolobov et al., "Staying up to date with online content changes using reinforcement
learning for scheduling", NeurIPS 2019.

The rates are the best ones for the harmonic loss if looks come at random moments. As
published, change rates are the most likely ones after one pretended gap of half a
day with a change and one without.
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
    """Return the looks a day with the least harmonic loss if they come at random."""
    found = best_rates(view.rate, budget, weight=view.weight, cost=view.cost)
    return found.frequency


def approx(view: View, budget: float) -> Floats:
    """Return looks a day in proportion to the weights (LambdaCrawlApprox)."""
    found = rough_rates(view.rate, budget, weight=view.weight, cost=view.cost)
    return found.frequency


def as_published() -> Scheduled:
    """Return the belief with the paper's own estimator of change rates."""
    return Scheduled(rates, EstimatedRates(partial(MaximumLikelihood, pretend=0.5)))


lambdacrawl = Strategy(
    due_by_chance,
    partial(Scheduled, rates),
    "LambdaCrawl's rates, looks at random moments.",
    "Kolobov et al. 2019, NeurIPS",
    schedule=rates,
    at_random=True,
)
lambdacrawl_even = Strategy(
    due_first,
    partial(Scheduled, rates),
    "LambdaCrawl's rates, looks evenly spaced.",
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
    "LambdaCrawlApprox: looks at random moments, as often as pages matter.",
    "Kolobov et al. 2019, NeurIPS, prop. 9",
    schedule=approx,
    at_random=True,
)
