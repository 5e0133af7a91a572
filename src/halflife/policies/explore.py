"""Explore, then commit: learn rates first, then keep the intervals for them.

Upadhyay et al., "Learning to crawl", AAAI 2020: for the first share of the horizon
every item is fetched equally often; then rates are estimated once, and the optimal
intervals are used. The paper's estimate, the rate at which as many fetches would have
found a change, is infinite if every fetch found one, and the item would never be
fetched again; so the maximum-likelihood rate with one pseudo-observation of each kind
is used here.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from halflife.belief.rates import EstimatedRates
from halflife.belief.schedule import Scheduled
from halflife.models.rates.likelihood import MaximumLikelihood
from halflife.policies import Strategy
from halflife.policies.best_schedule import FRESHEST
from halflife.policies.dates import due_first

HORIZON = 90.0  # days
SHARE = 0.15


def exploring(horizon: float = HORIZON, share: float = SHARE) -> Scheduled:
    """Return the belief that explores for a share of the horizon, and then commits."""
    learned = EstimatedRates(partial(MaximumLikelihood, pretend=0.5))
    return Scheduled(FRESHEST, learned, every=np.inf, wait=share * horizon)


explore_commit = Strategy(
    due_first,
    exploring,
    "Fetch all equally often for 13.5 days, then keep the best intervals.",
    "Upadhyay et al. 2020, AAAI",
    schedule=FRESHEST,
)


def explore_commit_over(horizon: float, share: float = SHARE) -> Strategy:
    """Return the strategy for another horizon, in days."""
    return replace(explore_commit, belief=partial(exploring, horizon, share))
