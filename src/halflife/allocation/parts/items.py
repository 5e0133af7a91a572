"""Items stored in parts, and the demand of some of them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from halflife.allocation.columns import Columns, Objective, flush_tiny
from halflife.allocation.demand import Demand
from halflife.allocation.solver import demand_of
from halflife.core.arrays import Floats

BLOCK = 8192  # items at a time, so that one step stays in the processor's cache


class ItemColumns(NamedTuple):
    """Some items, one row each; ``None`` stands for 1."""

    rate: Floats
    weight: Floats | None = None
    cost: Floats | None = None
    shape: Floats | None = None

    def cut(self) -> "Iterator[ItemColumns]":
        """Yield the items in blocks that fit in the cache."""
        for start in range(0, self.rate.size, BLOCK):
            rows = slice(start, start + BLOCK)
            others = (c if c is None else c[rows] for c in self[1:])
            yield ItemColumns(self.rate[rows], *others)


class ItemPart(Protocol):
    """A part of the items: a file, a table's partition, or some rows of an array."""

    @property
    def name(self) -> str:
        """Its name in messages."""
        ...

    def blocks(self) -> Iterator[ItemColumns]:
        """Yield its items in order, block by block."""
        ...

    def write(self, frequencies: Iterator[Floats]) -> None:
        """Store the fetches a day, in blocks as ``blocks`` yields them."""
        ...


@dataclass
class ArrayPart:
    """Items in memory; for an executor that works in this process."""

    items: ItemColumns
    name: str = "items"
    frequency: Floats = field(default_factory=lambda: np.zeros(0))

    def blocks(self) -> Iterator[ItemColumns]:
        """Yield all items at once."""
        yield self.items

    def write(self, frequencies: Iterator[Floats]) -> None:
        """Store the fetches a day in ``frequency``."""
        self.frequency = np.concatenate(list(frequencies))


class Problem(NamedTuple):
    """The parameters of all parts: the objective, and the largest weight of all."""

    objective: Objective
    is_weibull: bool
    scale: float

    def columns(self, block: ItemColumns) -> Columns:
        """Return validated items, with weights as shares of the largest."""
        ones = np.broadcast_to(1.0, block.rate.size)
        shape = block.shape if self.is_weibull and block.shape is not None else ones
        weight = ones if block.weight is None else block.weight
        pace = block.rate if shape is ones else block.rate ** (1.0 / shape)
        return Columns(
            rate=block.rate,
            weight=flush_tiny(weight / self.scale),
            cost=ones if block.cost is None else block.cost,
            shape=shape,
            pace=flush_tiny(pace),
            scale=self.scale,
        )

    def useful(self, block: ItemColumns) -> Columns:
        """Return the items that are worth a fetch at some price."""
        given = self.columns(block)
        useful = given.useful
        return given if useful.all() else given.take(useful)


def stand_ins(rows: Floats, objective: Objective) -> Demand:
    """Return the demand of summarised items.

    The rows are the first price of each, its pace * cost, and its shape.
    """
    first, mass, shape = rows
    ones = np.ones(first.size)
    items = Columns(ones, ones, ones, shape, mass, 1.0)
    return demand_of(items, objective)._replace(first=first)
