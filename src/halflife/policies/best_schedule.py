"""The schedule that keeps most copies current."""

from halflife.allocation import allocate
from halflife.core.arrays import Floats
from halflife.core.view import View


def freshest(view: View, requests: float) -> Floats:
    """Return the looks a day that keep most copies current."""
    return allocate(view.rate, requests, weight=view.weight, cost=view.cost).frequency
