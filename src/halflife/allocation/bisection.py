"""Many prices at once, by bisection."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from halflife.core.arrays import Floats

_HALVINGS = 70  # from 600 apart to neighbouring floats
CHEAPEST = -300.0  # ln of a price at which demand exceeds any budget


class Ends(NamedTuple):
    """Two adjacent prices: demand exceeds the budget at the lower, not at the higher.

    Attributes:
        low: ln of the lower price, one for each budget.
        high: ln of the higher price.
        share: The weight of the demand at the lower price in the mixture that meets the
            budget exactly.

    """

    low: Floats
    high: Floats
    share: Floats

    def mix(self, at_low: Floats, at_high: Floats, of: Floats) -> Floats:
        """Return frequencies between the two ends; ``of`` is each row's share."""
        return at_high + of * (at_low - at_high)


def find_prices(
    demand: Callable[[Floats], Floats], budget: Floats, low: Floats, high: Floats
) -> Ends:
    """Return the prices at which demand meets each budget.

    ``demand`` takes the logarithms of the prices and returns the requests at each; they
    fall as prices rise. At the first price of an item they fall faster than floats can
    resolve, so the remainder is shared between the two ends.

    >>> two, nine = np.array([2.0]), np.array([9.0])
    >>> find_prices(lambda m: np.exp(-m), two, -nine, nine).low
    array([-0.69314718])
    """
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        over = demand(middle) > budget
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    most, least = demand(low), demand(high)
    difference = np.maximum(most - least, 1e-300)
    return Ends(low, high, np.clip((budget - least) / difference, 0.0, 1.0))
