"""The demand of items at a price, and the price at which it meets the budget."""

from typing import NamedTuple, Self

import numpy as np

from halflife.allocation import curves
from halflife.allocation.search import Search
from halflife.core.arrays import Floats, Ints

BLOCK = 8192  # items at a time, so that one step stays in the processor's cache
STAND_INS = 32768
CLOSE = 1e-11  # relative error of the budget before the last scaling
_SHAPES = 64  # rows of the stand-ins' cells, one for each range of shapes
_NEAR = 3e-6  # in ln(price); up to this distance frequencies follow their slopes
_STRAIGHT = 1e-5  # largest change of ln(frequency) along its slope
_NO_PRICE = 1e-290  # at a price of 0 the frequency would be infinite
_LESS, _MORE = 0.98, 1.02  # factors of a price at which demand is compared
_STEPS = 200


class Demand(NamedTuple):
    """The demand of items as a function of the price.

    ``first`` is the price above which an item is not fetched at all, or, for losses
    without a limit, the unit of the curve's price. An item with a ``floor`` pays no
    less than that; ``limits`` are the fewest and the most fetches a day, one row each.
    """

    curve: curves.Curve
    first: Floats
    pace: Floats
    cost: Floats
    shape: Floats
    limited: bool
    floor: Floats | None = None
    limits: Floats | None = None

    def summary(self) -> Self:
        """Return a few thousand stand-ins with nearly the same demand at any price.

        Items of similar ``first`` and ``shape`` become one, at their mean and with
        their ``pace * cost`` summed. There must be no floor and no limits.
        """
        log, mass = np.log(self.first), self.pace * self.cost
        rows = 1 if np.ptp(self.shape) == 0 else _SHAPES
        columns_ = STAND_INS // rows
        cell = _cells(self.shape, rows) * columns_ + _cells(log, columns_)
        total = np.bincount(cell, mass, minlength=STAND_INS)
        filled = total > 0
        log_first = np.bincount(cell, mass * log, minlength=STAND_INS)
        shape = np.bincount(cell, mass * self.shape, minlength=STAND_INS)
        return self._replace(
            first=np.exp(log_first[filled] / total[filled]),
            pace=np.asarray(total[filled], dtype=np.float64),
            cost=np.ones(int(filled.sum())),
            shape=shape[filled] / total[filled],
        )

    def at(
        self, price: float, frequency: Floats, slope: Floats | None = None
    ) -> tuple[float, float]:
        """Write the frequencies; return requests a day, and their d / d ln price.

        ``slope``, if given, receives -d ln(frequency) / d ln(price).
        """
        total = change = 0.0
        for start in range(0, self.first.size, BLOCK):
            rows = slice(start, start + BLOCK)
            bend = None if slope is None else slope[rows]
            requests, fall = self._block(price, rows, frequency[rows], bend)
            total += requests
            change -= fall
        return total, change

    def near(
        self, price: float, known: "DemandPoint", frequency: Floats
    ) -> tuple[float, float]:
        """Do the same as ``at`` close to a price at which demand is known.

        Items near their first price are computed again, the others follow their slopes:
        the error is of the order of the step's square.
        """
        change = known.slope * float(np.log(known.price / price))
        limited_change = np.clip(change, -_STRAIGHT, _STRAIGHT)
        np.multiply(known.frequency, np.exp(limited_change), out=frequency)
        steep = np.flatnonzero(np.abs(change) > _STRAIGHT)
        steep_items = self.take(steep)
        steep_frequency = np.empty(steep.size)
        steep_items.at(price, steep_frequency)
        frequency[steep] = steep_frequency
        spent = frequency * self.cost
        return float(spent.sum()), -float(spent @ known.slope)

    def take(self, rows: Ints) -> Self:
        """Return the demand of the items at these rows."""
        return self._replace(
            first=self.first[rows],
            pace=self.pace[rows],
            cost=self.cost[rows],
            shape=self.shape[rows],
        )

    def slope(self, price: float) -> float | None:
        """Return d ln(requests) / d ln(price) across a small range of prices."""
        scratch = np.empty(self.first.size)
        more, less = (self.at(price * factor, scratch)[0] for factor in (_LESS, _MORE))
        return float(np.log(less / more) / np.log(_MORE / _LESS)) if less > 0 else None

    def _block(
        self, price: float, rows: slice, out: Floats, slope: Floats | None = None
    ) -> tuple[float, float]:
        paid = price if self.floor is None else np.maximum(price, self.floor[rows])
        y = np.maximum(paid / self.first[rows], _NO_PRICE)
        spacing, bend = self.curve(y, self.shape[rows])
        out[:] = self.pace[rows] / spacing
        if self.limited:
            out[y >= 1.0] = 0.0
        if self.floor is not None:
            bend = np.where(self.floor[rows] < price, bend, 0.0)
        if self.limits is not None:
            fewest, most = self.limits[:, rows]
            bend = np.where((out > fewest) & (out < most), bend, 0.0)
            np.clip(out, fewest, most, out=out)
        if slope is not None:  # unfetched items count as steep up to their first price
            given_up = _STRAIGHT / np.log(np.maximum(y, 1.0 + 1e-15))
            slope[:] = np.where(y < 1.0, bend, given_up) if self.limited else bend
        spent = out * self.cost[rows]
        return float(spent.sum()), float(spent @ bend)


class DemandPoint(NamedTuple):
    """Frequencies and their slopes at a price."""

    price: float
    frequency: Floats
    slope: Floats


class _Trials:
    """The demand at successive prices; close to the previous one it is fast."""

    def __init__(self, demand: Demand) -> None:
        self._demand = demand
        self._known: DemandPoint | None = None

    def at(self, price: float) -> tuple[Floats, float, float]:
        """Return frequencies, requests a day, and their d / d ln price."""
        frequency, known = np.empty(self._demand.first.size), self._known
        if known and abs(np.log(price / known.price)) < _NEAR:
            return frequency, *self._demand.near(price, known, frequency)
        slope = np.empty_like(frequency)
        total, change = self._demand.at(price, frequency, slope)
        if self._demand.floor is None and self._demand.limits is None:
            self._known = DemandPoint(price, frequency, slope)
        return frequency, total, change


def spend_budget(
    demand: Demand, budget: float, start: float, slope: float | None = None
) -> tuple[Floats, float]:
    """Return the frequencies that spend exactly the budget, and their price.

    Newton's method on ln(requests), kept inside a bracket that shrinks. Frequencies
    near an item's first price are steeper than floats can resolve; the rest of the
    budget is then shared between the two ends of the bracket, between which every
    item's worth lies.
    """
    top = float(demand.first.max()) if demand.limited else np.inf
    search = Search(start, top, slope)
    trials = _Trials(demand)
    for _ in range(_STEPS):
        frequency, total, change = trials.at(search.price)
        if abs(total - budget) <= CLOSE * budget:
            return frequency * (budget / total), search.price
        search.move(total, change, budget)
        if search.tight:
            break
    frequency, fewer = (np.empty(demand.first.size) for _ in range(2))
    most, _ = demand.at(search.price_at(search.low), frequency)
    least, _ = demand.at(search.price_at(search.high), fewer)
    share = (budget - least) / (most - least)
    return fewer + share * (frequency - fewer), search.price_at(search.low)


def _cells(values: Floats, n: int) -> Ints:
    """Return which of ``n`` equal parts of their range each value lies in."""
    low, high = float(values.min()), float(values.max())
    scale = (n - 1) / (high - low) if high > low else 0.0
    return np.asarray((values - low) * scale + 0.5).astype(np.intp)
