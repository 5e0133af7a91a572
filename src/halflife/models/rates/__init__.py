"""Online estimators of change rates, for many items at once.

Each keeps a few numbers for each item and adds gaps as they arrive; none loops over
single items. Rates are changes a day. docs/estimators.md compares them.
"""

from typing import Protocol, runtime_checkable

from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.poisson import GammaSurvival


class RateEstimator(Protocol):
    """An estimator of the change rates of many items from gaps between observations."""

    def grow(self, n: int) -> None:
        """Make room for ``n`` items in all."""
        ...

    def add(
        self, item: Ints, length: Floats, changed: Bools, tally: Floats | None = None
    ) -> None:
        """Learn from gaps in the order of their observation.

        A row stands for ``tally`` gaps of its length; an item may occur repeatedly.
        """
        ...

    def rate(self) -> Floats:
        """Return the changes a day of each item; 0 without any evidence."""
        ...


@runtime_checkable
class UncertainRates(Protocol):
    """An estimator that also knows the uncertainty of each rate."""

    def survival(self) -> GammaSurvival:
        """Return the survival of the items, uncertainty about the rates included."""
        ...
