"""Items that come in parts, and the demand of some of them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from halflife.allocation.columns import TINY, Columns, Objective
from halflife.allocation.demand import Demand
from halflife.allocation.solver import demand_of
from halflife.core.arrays import Floats

BLOCK = 8192  # items at a time: what one step needs stays in the processor's cache


class ItemColumns(NamedTuple):
    """Some items, one row each; ``None`` stands for 1."""

    rate: Floats
    weight: Floats | None = None
    cost: Floats | None = None
    shape: Floats | None = None

    def cut(self) -> "Iterator[ItemColumns]":
        """Yield the items, a cacheful at a time."""
        for start in range(0, self.rate.size, BLOCK):
            rows = slice(start, start + BLOCK)
            others = (c if c is None else c[rows] for c in self[1:])
            yield ItemColumns(self.rate[rows], *others)


class ItemPart(Protocol):
    """A part of the items: a file, a table's partition, or some rows of an array."""

    @property
    def name(self) -> str:
        """What to call it in a message."""
        ...

    def blocks(self) -> Iterator[ItemColumns]:
        """Yield its items, in their order, some at a time."""
        ...

    def write(self, frequencies: Iterator[Floats]) -> None:
        """Keep the looks a day; they come block by block, as ``blocks`` yields."""
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
        """Keep the looks a day in ``frequency``."""
        self.frequency = np.concatenate(list(frequencies))


class Problem(NamedTuple):
    """What every part has to know: the objective, and the largest weight of all."""

    objective: Objective
    bent: bool
    scale: float

    def columns(self, block: ItemColumns) -> Columns:
        """Return items that were checked before, weights as shares of the largest."""
        one = np.broadcast_to(1.0, block.rate.size)
        shape = block.shape if self.bent and block.shape is not None else one
        weight = one if block.weight is None else block.weight
        pace = block.rate if shape is one else block.rate ** (1.0 / shape)
        return Columns(
            rate=block.rate,
            weight=_no_dust(weight / self.scale),
            cost=one if block.cost is None else block.cost,
            shape=shape,
            pace=_no_dust(pace),
            scale=self.scale,
        )

    def useful(self, block: ItemColumns) -> Columns:
        """Return those of the items that are worth a look at some price."""
        given = self.columns(block)
        useful = given.useful
        return given if useful.all() else given.take(useful)


def stand_ins(rows: Floats, objective: Objective) -> Demand:
    """Return the demand of items of which little is known.

    The rows are the price at which each is given up, its pace * cost, and its shape.
    """
    first, mass, shape = rows
    one = np.ones(first.size)
    few = Columns(one, one, one, shape, mass, 1.0)
    return demand_of(few, objective)._replace(first=first)


def _no_dust(values: Floats) -> Floats:
    return np.where(values < TINY, 0.0, values)
