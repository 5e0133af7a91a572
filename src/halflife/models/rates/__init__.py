"""Estimators of change rates that learn look by look, over many items at once.

Each keeps a few numbers an item and takes in gaps as they come; none goes through
its items one by one. Rates are changes a day. docs/estimators.md compares them.
"""

from typing import Protocol, runtime_checkable

from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.poisson import GammaSurvival


class RateEstimator(Protocol):
    """Anything that learns the change rates of many items from gaps between looks."""

    def grow(self, n: int) -> None:
        """Make room for ``n`` items in all."""
        ...

    def add(
        self, item: Ints, length: Floats, changed: Bools, tally: Floats | None = None
    ) -> None:
        """Learn from gaps in the order in which they were seen.

        A row stands for ``tally`` gaps of its length; an item may come repeatedly.
        """
        ...

    def rate(self) -> Floats:
        """Return the changes a day of each item; 0 where nothing says otherwise."""
        ...


@runtime_checkable
class UncertainRates(Protocol):
    """An estimator that also knows how unsure it is of each rate."""

    def survival(self) -> GammaSurvival:
        """Return the survival of the items, uncertainty about the rates included."""
        ...
