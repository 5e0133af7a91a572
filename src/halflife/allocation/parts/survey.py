"""The first pass: how many items are given up at which price."""

from typing import NamedTuple, Self

import numpy as np

from halflife.allocation.columns import SHAPES, Objective, columns
from halflife.allocation.demand import Demand
from halflife.allocation.parts.items import ItemColumns, ItemPart, stand_ins
from halflife.allocation.solver import check_objective, first_of
from halflife.core.arrays import Floats

_FINE = 8192  # cells for each unit of ln(first); 2048 would take one more pass
_COARSE, _ROWS = 32, 48  # the same, and cells of ln(shape), where shapes differ
_LOG_SHAPE = float(np.log(SHAPES[0])), float(np.log(SHAPES[1]))


class PartSurvey(NamedTuple):
    """What a part's items come to.

    ``cells`` has for each cell of ln(shape) and ln(first) the sum of pace * cost, and
    the sums of that times ln(first) and times shape; the first column is cell ``low``.
    """

    items: int
    useful: int
    bent: bool
    heaviest: float
    top: float
    low: int
    cells: Floats

    def add(self, other: Self) -> "PartSurvey":
        """Return what both come to together."""
        both = [one for one in (self, other) if one.useful] or [self]
        low = min(one.low for one in both)
        end = max(one.low + one.cells.shape[2] for one in both)
        rows = max(one.cells.shape[1] for one in both)
        cells = np.zeros((3, rows, end - low))
        for one in both:
            at = one.low - low
            _, tall, wide = one.cells.shape
            cells[:, :tall, at : at + wide] += one.cells
        return PartSurvey(
            self.items + other.items,
            self.useful + other.useful,
            self.bent or other.bent,
            max(self.heaviest, other.heaviest),
            max(self.top, other.top),
            low,
            cells,
        )

    def demand(self, objective: Objective, scale: float) -> Demand:
        """Return an item for each cell; together they ask for nearly the same."""
        mass, log, shape = self.cells
        some = mass > 0
        total = mass[some]
        shapes = shape[some] / total if self.bent else np.ones(total.size)
        first = np.exp(log[some] / total - np.log(scale))
        return stand_ins(np.stack([first, total, shapes]), objective)


NOTHING = PartSurvey(0, 0, False, 0.0, -np.inf, 0, np.zeros((3, 1, 0)))  # noqa: FBT003


def survey_part(objective: Objective, part: ItemPart) -> PartSurvey:
    """Check the items of a part, and return what they come to."""
    total = NOTHING
    for block in part.blocks():
        try:
            total = total.add(_surveyed(block, objective))
        except ValueError as error:
            later = f", counted from row {total.items}" if total.items else ""
            raise ValueError(f"{part.name}: {error}{later}") from None
    return total


def _surveyed(block: ItemColumns, objective: Objective) -> PartSurvey:
    given = columns(*block)
    check_objective(given, objective)
    some = given.take(given.useful)
    bent = block.shape is not None
    seen = PartSurvey(
        given.rate.size, some.rate.size, given.bent, given.scale, -np.inf, 0,
        np.zeros((3, _ROWS if bent else 1, 0)),
    )  # fmt: skip
    if not some.rate.size:
        return seen
    log = np.log(first_of(some, objective)) + np.log(given.scale)
    mass = some.pace * some.cost
    cell = np.floor(log * (_COARSE if bent else _FINE)).astype(np.int64)
    low = int(cell.min())
    cell -= low
    wide = int(cell.max()) + 1
    if bent:
        start, end = _LOG_SHAPE
        row = (np.log(some.shape) - start) * ((_ROWS - 1) / (end - start))
        cell += wide * np.clip(row, 0, _ROWS - 1).astype(np.int64)
    n = wide * (_ROWS if bent else 1)
    sums = (mass, mass * log, mass * some.shape) if bent else (mass, mass * log)
    cells = np.zeros((3, n))
    for row_of, weights in zip(cells, sums, strict=False):
        row_of[:] = np.bincount(cell, weights, minlength=n)
    return seen._replace(
        top=float(log.max()), low=low, cells=cells.reshape(3, -1, wide)
    )
