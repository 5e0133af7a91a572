"""The schedule that makes the most of a budget, for one loss to keep low."""

from dataclasses import dataclass

from halflife.allocation import Objective, allocate
from halflife.core.arrays import Floats
from halflife.core.view import View


@dataclass(frozen=True, slots=True)
class BestSchedule:
    """Looks a day at each item, as often as keeps a loss lowest.

    An index rule comes to look as often as that in the long run, too.
    """

    objective: Objective

    def __call__(self, view: View, requests: float) -> Floats:
        """Return the looks a day at each item with so many requests a day."""
        return allocate(
            view.rate,
            requests,
            weight=view.weight,
            cost=view.cost,
            objective=self.objective,
        ).frequency


FRESHEST = BestSchedule("freshness")
