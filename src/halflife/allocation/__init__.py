"""Optimal fetch frequencies of items, and the gain of one more fetch.

With D(t) the expected loss t days after a sync, one fetch gains the index U(t) = t
D(t) - integral of D over 0..t. The best fixed schedule equalises weight * U / cost over
all items that are fetched; that common value is the price of a request. See
docs/allocation.md.
"""

from halflife.allocation.bounds import (
    blind_bound,
    hindsight_bound,
    hindsight_bound_on_trace,
    signal_bound,
)
from halflife.allocation.checks import allocate_checks
from halflife.allocation.columns import Objective
from halflife.allocation.hosts import PoliteAllocation, allocate_polite
from halflife.allocation.objectives import (
    index,
    marginal,
    mean_age,
    mean_freshness,
    mean_harmonic,
)
from halflife.allocation.random_schedules import (
    NewsAllocation,
    azar,
    lambdacrawl,
    lambdacrawl_approx,
)
from halflife.allocation.solver import Allocation, allocate, kkt_residual

__all__ = [
    "Allocation",
    "NewsAllocation",
    "Objective",
    "PoliteAllocation",
    "allocate",
    "allocate_checks",
    "allocate_polite",
    "azar",
    "blind_bound",
    "hindsight_bound",
    "hindsight_bound_on_trace",
    "index",
    "kkt_residual",
    "lambdacrawl",
    "lambdacrawl_approx",
    "marginal",
    "mean_age",
    "mean_freshness",
    "mean_harmonic",
    "signal_bound",
]
