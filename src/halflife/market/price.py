"""The price of a request in the long run, and when to save requests."""

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.view import Survival

QUICKEST = 5.0 / 86400.0  # least days between two turns of the service
AGES: Floats = np.geomspace(QUICKEST, 1000.0, 52)  # ages of the gains, in days
_GROWTH: Floats = AGES[1:] / AGES[:-1]
_HALVINGS = 40
_LEAST = 1e-12
_TINY = 1e-300  # stands for a gain of 0, which has no logarithm


def gains(survival: Survival, n: int) -> Floats:
    """Return the gain of renewing copies at ``AGES`` (n x ages), in quality-days.

    U(t) = integral of S over 0..t - t S(t), per unit of weight.

    >>> from halflife.models.poisson import Exponential
    >>> gains(Exponential(np.array([0.1])), 1)[0, -1].round(3)
    np.float64(10.0)
    """
    age = np.broadcast_to(AGES[:, None], (AGES.size, n))
    gain: Floats = survival.lasting(age) - age * survival.alive(age)
    return np.maximum(gain, 0.0).T


def long_run(gain: Floats, cost: Floats, budget: float, many: Floats) -> float:
    """Return the price: the gain per request at which renewals use up the budget.

    A unit is renewed when its gain reaches the price times its cost, so every T days
    with U(T) = price cost, and all together use sum(many cost / T) requests a day.
    That falls with the price, which is found by bisection. 0 if the budget is enough
    to renew everything at the least age.

    Args:
        gain: The weighted gain of renewing each unit at ``AGES`` (units x ages).
        cost: Requests to renew each.
        budget: Requests a day.
        many: The number of units that each stands for.

    """
    intervals = _Intervals(np.maximum.accumulate(gain, axis=1) / cost[:, None])
    total_cost = cost * many
    low, high = _LEAST, float(intervals.per_request.max(initial=_LEAST))
    if intervals.spent(total_cost, low) <= budget:
        return 0.0
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(low * high))
        if intervals.spent(total_cost, middle) > budget:
            low = middle
        else:
            high = middle
    return high


class _Intervals:
    """The intervals at which units are renewed, for any price.

    ``per_request`` is the gain per request at ``AGES`` (units x ages), non-decreasing.
    """

    def __init__(self, per_request: Floats) -> None:
        self.per_request = per_request
        self._log = np.log(np.maximum(per_request, _TINY))
        self._step = np.maximum(np.diff(self._log, axis=1), _LEAST)

    def at(self, price: float) -> tuple[Ints, Floats]:
        """Return the units whose gain reaches a price, and after how many days."""
        units = np.flatnonzero(self.per_request[:, -1] >= price)
        first = (self.per_request >= price).argmax(axis=1)[units]
        below = np.maximum(first, 1) - 1
        more = np.log(max(price, _TINY)) - self._log[units, below]
        part = np.maximum(more, 0.0) / self._step[units, below]
        return units, AGES[below] * _GROWTH[below] ** part

    def spent(self, cost: Floats, price: float) -> float:
        """Return the requests a day that renewals use at a price."""
        units, every = self.at(price)
        return float(np.sum(cost[units] / every))


def interval_at(per_request: Floats, price: float) -> Floats:
    """Return the days after which each unit's gain reaches a price; ``inf`` if never.

    ``per_request`` is the gain per request at ``AGES`` (units x ages), non-decreasing.
    Between two ages it is interpolated as a power of the age, which is exact at small
    ages (its square) and at large ones (proportional).

    >>> interval_at(np.array([AGES**2, 0.0 * AGES]), 2.0).round(3)
    array([1.414,   inf])
    """
    units, after = _Intervals(per_request).at(price)
    every = np.full(per_request.shape[0], np.inf)
    every[units] = after
    return every


def reserve_price(price: float, saved: float, most: float) -> float:
    """Return the gain per request below which requests are saved.

    Offers below the long-run price can wait: just after everything was fetched nothing
    gains much, and requests spent then are missing when a summary fails. The more is
    saved, the lower the price, down to 0 once no more can be saved:
    price (1 - saved / most).

    >>> reserve_price(0.02, 10.0, 40.0)
    0.015
    """
    return price * min(max(1.0 - saved / most, 0.0), 1.0) if most > 0 else 0.0
