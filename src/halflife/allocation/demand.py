"""What items ask for at a price, and the price at which that meets the budget."""

from typing import NamedTuple, Self

import numpy as np

from halflife.allocation import curves
from halflife.allocation.search import Search
from halflife.core.arrays import Floats, Ints

BLOCK = 8192  # items at a time: what one step needs stays in the processor's cache
STAND_INS = 32768
CLOSE = 1e-11  # relative; how nearly the budget is met before the last scaling
_SHAPES = 64  # of the stand-ins' cells lie side by side where shapes differ
_NEAR = 3e-6  # in ln(price); so close, frequencies follow their slopes
_STRAIGHT = 1e-5  # the most that ln(frequency) may move along its slope
_NO_PRICE = 1e-290  # a price of nothing would ask for infinitely many looks
_LESS, _MORE = 0.98, 1.02  # of a price, by which demand is compared
_STEPS = 200


class Demand(NamedTuple):
    """What the items would ask for at any price.

    ``first`` is the price at which an item's first look stops being worth it, or,
    for losses without a limit, the unit in which the curve counts the price. An item
    with a ``floor`` pays no less than that; ``limits`` are the fewest and the most
    looks a day, one row each.
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
        """Return a few thousand stand-ins that ask for nearly the same at any price.

        Items of like ``first`` and ``shape`` become one, at their mean and with
        their ``pace * cost`` added up. There must be no floor and no limits.
        """
        log, mass = np.log(self.first), self.pace * self.cost
        rows = 1 if np.ptp(self.shape) == 0 else _SHAPES
        each = STAND_INS // rows
        cell = _cells(self.shape, rows) * each + _cells(log, each)
        total = np.bincount(cell, mass, minlength=STAND_INS)
        some = total > 0
        log_first = np.bincount(cell, mass * log, minlength=STAND_INS)
        shape = np.bincount(cell, mass * self.shape, minlength=STAND_INS)
        return self._replace(
            first=np.exp(log_first[some] / total[some]),
            pace=np.asarray(total[some], dtype=np.float64),
            cost=np.ones(int(some.sum())),
            shape=shape[some] / total[some],
        )

    def at(
        self, price: float, frequency: Floats, slope: Floats | None = None
    ) -> tuple[float, float]:
        """Fill in the frequencies; return requests a day, and their d / d ln price.

        ``slope``, if given, is filled with -d ln(frequency) / d ln(price).
        """
        total = change = 0.0
        for start in range(0, self.first.size, BLOCK):
            rows = slice(start, start + BLOCK)
            bend = None if slope is None else slope[rows]
            asked, falls = self._block(price, rows, frequency[rows], bend)
            total += asked
            change -= falls
        return total, change

    def near(
        self, price: float, known: "DemandPoint", frequency: Floats
    ) -> tuple[float, float]:
        """Do the same as ``at`` close to a price for which it was done.

        Items about to be given up or taken on are computed anew, the others follow
        their slopes: what is left out is of the order of the step's square.
        """
        moved = known.slope * float(np.log(known.price / price))
        straight = np.clip(moved, -_STRAIGHT, _STRAIGHT)
        np.multiply(known.frequency, np.exp(straight), out=frequency)
        steep = np.flatnonzero(np.abs(moved) > _STRAIGHT)
        part = self.take(steep)
        some = np.empty(steep.size)
        part.at(price, some)
        frequency[steep] = some
        spent = frequency * self.cost
        return float(spent.sum()), -float(spent @ known.slope)

    def take(self, rows: Ints) -> Self:
        """Return the demand of some items alone."""
        return self._replace(
            first=self.first[rows],
            pace=self.pace[rows],
            cost=self.cost[rows],
            shape=self.shape[rows],
        )

    def slope(self, price: float) -> float | None:
        """Return d ln(requests) / d ln(price) across a small range of prices."""
        scratch = np.empty(self.first.size)
        more, less = (self.at(price * by, scratch)[0] for by in (_LESS, _MORE))
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
        if slope is not None:  # who was given up counts as steep up to its own price
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
    """What is asked for at one price after another; close to the last it is quick."""

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
    near the price at which an item is given up are steeper than floats can follow;
    the last of the budget is then handed out between the two ends of the bracket,
    between which every item's worth lies.
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
    """Return in which of ``n`` equal parts of their range the values lie."""
    low, high = float(values.min()), float(values.max())
    scale = (n - 1) / (high - low) if high > low else 0.0
    return np.asarray((values - low) * scale + 0.5).astype(np.intp)
