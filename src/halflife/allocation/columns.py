"""Validated input: every number finite, in range, and one row for each item."""

from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from halflife.core.arrays import Bools, Floats

Objective: TypeAlias = Literal["freshness", "age", "harmonic"]

TINY, HUGE = 1e-30, 1e30  # limits within which squares and cubes are floats
SHAPES = (0.1, 10.0)


@dataclass(frozen=True, slots=True)
class Columns:
    """The parameters of the items, one row each.

    Attributes:
        rate: ``rate`` as given; survival is exp(-rate * t**shape).
        weight: Weights divided by the largest.
        cost: Requests that one fetch costs.
        shape: Weibull shapes; 1 is Poisson.
        pace: rate ** (1 / shape), the rate in units of 1 / day.
        scale: The largest weight.

    """

    rate: Floats
    weight: Floats
    cost: Floats
    shape: Floats
    pace: Floats
    scale: float

    @property
    def useful(self) -> Bools:
        """Whether fetching the item can gain anything."""
        return (self.weight > 0) & (self.pace > 0)

    @property
    def is_weibull(self) -> bool:
        """Whether any item is not Poisson."""
        return bool(np.any(self.shape != 1.0))

    def take(self, rows: Bools) -> Self:
        """Return the items at these rows."""
        return replace(
            self,
            rate=self.rate[rows],
            weight=self.weight[rows],
            cost=self.cost[rows],
            shape=self.shape[rows],
            pace=self.pace[rows],
        )


def columns(
    rate: ArrayLike,
    weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
    shape: ArrayLike | None = None,
) -> Columns:
    """Validate the arguments and broadcast them to one length.

    Rates below 1e-30 count as zero, and so do weights below 1e-30 of the largest.
    """
    rates = np.asarray(rate, dtype=np.float64)
    if rates.ndim != 1:
        raise ValueError(
            f"rate must be one number an item, got {rates.ndim} dimensions"
        )
    rates = non_negative("rate", rates)
    weights = _match("weight", 1.0 if weight is None else weight, rates)
    costs = _match("cost", 1.0 if cost is None else cost, rates)
    shapes = _match("shape", 1.0 if shape is None else shape, rates)
    _refuse("cost", costs, (costs < TINY) | (costs > HUGE), "between 1e-30 and 1e30")
    outside = (shapes < SHAPES[0]) | (shapes > SHAPES[1])
    _refuse("shape", shapes, outside, f"between {SHAPES[0]} and {SHAPES[1]}")
    scale = float(weights.max(initial=0.0))
    pace = rates if shape is None else rates ** (1.0 / shapes)
    _refuse("rate", rates, pace > HUGE, "so small that rate**(1/shape) is below 1e30")
    return Columns(
        rate=rates,
        weight=flush_tiny(weights / scale) if scale > 0 else weights,
        cost=costs,
        shape=shapes,
        pace=flush_tiny(pace),
        scale=scale,
    )


def non_negative(name: str, values: ArrayLike) -> Floats:
    """Return the values as floats; raise ``ValueError`` if one cannot be used."""
    array = np.asarray(values, dtype=np.float64)
    bad = ~(np.isfinite(array) & (array >= 0))
    _refuse(name, array, bad, "finite and not negative")
    return array


def amount(name: str, value: float) -> float:
    """Return one finite number from 0 to 1e30; below 1e-30 it counts as zero."""
    number = float(value)
    if not 0 <= number <= HUGE:
        raise ValueError(f"{name} must be between 0 and 1e30, got {number}")
    return number if number >= TINY else 0.0


def _match(name: str, values: ArrayLike, like: Floats) -> Floats:
    array = non_negative(name, values)
    if array.shape not in {(), like.shape}:
        raise ValueError(
            f"{name} must be one number, or one for each of the {like.size} rates, "
            f"got shape {array.shape}"
        )
    return np.broadcast_to(array, like.shape)


def _refuse(name: str, values: Floats, bad: Bools, must: str) -> None:
    if np.any(bad):
        first = int(np.flatnonzero(bad)[0])
        where = f" at index {first}" if values.ndim else ""
        got = float(values.flat[first])
        raise ValueError(f"{name} must be {must}, got {got}{where}")


def flush_tiny(values: Floats) -> Floats:
    """Return values with 0 in place of what is too small to count."""
    return np.where(values < TINY, 0.0, values)
