"""Many prices at once, each found by halving the interval that holds it."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from halflife.core.arrays import Floats

_HALVINGS = 70  # from 600 apart to neighbouring floats
CHEAPEST = -300.0  # ln of a price at which everyone asks for more than any budget


class Ends(NamedTuple):
    """Two neighbouring prices, one at which too much is asked, one at which too little.

    Attributes:
        low: ln of the lower price, one for each budget.
        high: ln of the higher price.
        share: How much of what is asked at the lower price, and how little of what is
            asked at the higher, adds up to exactly the budget.

    """

    low: Floats
    high: Floats
    share: Floats

    def mix(self, at_low: Floats, at_high: Floats, of: Floats) -> Floats:
        """Return frequencies between the two ends; ``of`` is each row's share."""
        return at_high + of * (at_low - at_high)


def find_prices(
    asked: Callable[[Floats], Floats], budget: Floats, low: Floats, high: Floats
) -> Ends:
    """Return the prices at which what is asked meets each budget.

    ``asked`` takes the logarithms of the prices and returns the requests asked for
    under each; they fall as prices rise. Where an item is given up they fall faster
    than floats can follow, so what is left is shared between the two ends.

    >>> two, nine = np.array([2.0]), np.array([9.0])
    >>> find_prices(lambda m: np.exp(-m), two, -nine, nine).low
    array([-0.69314718])
    """
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        over = asked(middle) > budget
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    most, least = asked(low), asked(high)
    apart = np.maximum(most - least, 1e-300)
    return Ends(low, high, np.clip((budget - least) / apart, 0.0, 1.0))
