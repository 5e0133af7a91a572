"""What a request is worth in the long run, and when to keep one for later."""

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.view import Survival

QUICKEST = 5.0 / 86400.0  # days between two turns of the service, at least
AGES: Floats = np.geomspace(QUICKEST, 1000.0, 52)  # days at which gains are told
_GROWTH: Floats = AGES[1:] / AGES[:-1]
_HALVINGS = 40
_LEAST = 1e-12
_TINY = 1e-300  # the gain of what gains nothing, so that it has a logarithm


def gains(survival: Survival, n: int) -> Floats:
    """Return what it buys to renew copies at ``AGES`` (n x ages), in quality-days.

    U(t) = integral of S over 0..t - t S(t), per unit of weight.

    >>> from halflife.models.poisson import Exponential
    >>> gains(Exponential(np.array([0.1])), 1)[0, -1].round(3)
    np.float64(10.0)
    """
    age = np.broadcast_to(AGES[:, None], (AGES.size, n))
    told: Floats = survival.lasting(age) - age * survival.alive(age)
    return np.maximum(told, 0.0).T


def long_run(gain: Floats, cost: Floats, budget: float, many: Floats) -> float:
    """Return the gain per request at which what is believed takes the budget.

    A unit is renewed when its gain reaches the price times its cost, so every T days
    with U(T) = price cost, and all together take sum(many cost / T) requests a day.
    That falls with the price; the price at which it is the budget is found by halving.
    0 if the budget is enough for everything at the least age.

    Args:
        gain: What renewing each unit buys at ``AGES`` (units x ages), weighted.
        cost: Requests that each takes.
        budget: Requests a day.
        many: How many units like it there are.

    """
    asked_for = _Reached(np.maximum.accumulate(gain, axis=1) / cost[:, None])
    every_turn = cost * many
    low, high = _LEAST, float(asked_for.dense.max(initial=_LEAST))
    if asked_for.spent(every_turn, low) <= budget:
        return 0.0
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(low * high))
        if asked_for.spent(every_turn, middle) > budget:
            low = middle
        else:
            high = middle
    return high


class _Reached:
    """When units gain a price, for one price after another.

    ``dense`` is the gain per request at ``AGES`` (units x ages), which never falls.
    """

    def __init__(self, dense: Floats) -> None:
        self.dense = dense
        self._log = np.log(np.maximum(dense, _TINY))
        self._step = np.maximum(np.diff(self._log, axis=1), _LEAST)

    def at(self, price: float) -> tuple[Ints, Floats]:
        """Return the units that ever gain a price, and after how many days."""
        some = np.flatnonzero(self.dense[:, -1] >= price)
        first = (self.dense >= price).argmax(axis=1)[some]
        below = np.maximum(first, 1) - 1
        more = np.log(max(price, _TINY)) - self._log[some, below]
        part = np.maximum(more, 0.0) / self._step[some, below]
        return some, AGES[below] * _GROWTH[below] ** part

    def spent(self, cost: Floats, price: float) -> float:
        """Return the requests a day that are taken at a price."""
        some, every = self.at(price)
        return float(np.sum(cost[some] / every))


def reached(dense: Floats, price: float) -> Floats:
    """Return the days after which each unit gains a price; ``inf`` if it never does.

    ``dense`` is the gain per request at ``AGES`` (units x ages), which never falls.
    Between two of them it grows like a power of the age, as it does while few have
    changed (with its square) or once it is a share of the age.

    >>> reached(np.array([AGES**2, 0.0 * AGES]), 2.0).round(3)
    array([1.414,   inf])
    """
    some, after = _Reached(dense).at(price)
    every = np.full(dense.shape[0], np.inf)
    every[some] = after
    return every


def asked(price: float, saved: float, most: float) -> float:
    """Return the gain per request below which requests are kept for later.

    What is worth less than a request is worth in the long run can wait: just after
    everything was looked at nothing gains much, and requests spent then are missing
    when a summary fails. The more was saved the less is asked for, and nothing once
    no more can be saved: price (1 - saved / most).

    >>> asked(0.02, 10.0, 40.0)
    0.015
    """
    return price * min(max(1.0 - saved / most, 0.0), 1.0) if most > 0 else 0.0
