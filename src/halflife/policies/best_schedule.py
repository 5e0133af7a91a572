"""The optimal schedule of a budget, for one loss."""

from dataclasses import dataclass

from halflife.allocation import Objective, allocate
from halflife.core.arrays import Floats
from halflife.core.view import View


@dataclass(frozen=True, slots=True)
class BestSchedule:
    """The fetches a day of each item that minimise a loss.

    An index rule fetches at the same rates in the long run.
    """

    objective: Objective

    def __call__(self, view: View, requests: float) -> Floats:
        """Return the fetches a day of each item, given the requests a day."""
        return allocate(
            view.rate,
            requests,
            weight=view.weight,
            cost=view.cost,
            objective=self.objective,
        ).frequency


FRESHEST = BestSchedule("freshness")
