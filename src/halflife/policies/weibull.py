"""The optimal intervals for copies with Weibull survival.

Ipeirotis, Ntoulas, Cho and Gravano, "Modeling and managing changes in text
databases", TODS 2007, Eq. 4: with S(t) = exp(-rate t**shape) the Lagrangian optimum
has intervals T with weight times (integral of S - T S(T)) the same for all items.
"""

from halflife.allocation import allocate
from halflife.belief.schedule import Scheduled
from halflife.belief.weibull import Weibull, WeibullBelief
from halflife.core.arrays import Floats
from halflife.core.view import View
from halflife.policies import Strategy
from halflife.policies.dates import due_first


def best_intervals(view: View, budget: float) -> Floats:
    """Return the fetches a day that keep most copies current."""
    rate, shape = view.rate, 1.0
    if isinstance(view.survival, Weibull):
        rate, shape = view.survival.rate, view.survival.shape
    bent = None if shape == 1 else shape
    return allocate(
        rate, budget, weight=view.weight, cost=view.cost, shape=bent
    ).frequency


def scheduled(shape: float | None = None) -> Scheduled:
    """Return the belief with one shape for all items, learned unless it is given."""
    return Scheduled(best_intervals, WeibullBelief(shape))


weibull = Strategy(
    due_first,
    scheduled,
    "The best intervals for Weibull survival with a learned shape.",
    "Ipeirotis et al. 2007, TODS, Eq. 4",
    schedule=best_intervals,
)
