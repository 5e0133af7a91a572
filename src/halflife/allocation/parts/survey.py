"""The first pass: a histogram of the items' first prices."""

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
    """The summary of a part's items.

    ``cells`` has for each cell of ln(shape) and ln(first) the sum of pace * cost, and
    the sums of that times ln(first) and times shape; the first column is cell ``low``.
    """

    items: int
    useful: int
    is_weibull: bool
    heaviest: float
    top: float
    low: int
    cells: Floats

    def add(self, other: Self) -> "PartSurvey":
        """Return the summary of both together."""
        surveys = [survey for survey in (self, other) if survey.useful] or [self]
        low = min(survey.low for survey in surveys)
        end = max(survey.low + survey.cells.shape[2] for survey in surveys)
        rows = max(survey.cells.shape[1] for survey in surveys)
        cells = np.zeros((3, rows, end - low))
        for survey in surveys:
            at = survey.low - low
            _, n_rows, n_columns = survey.cells.shape
            cells[:, :n_rows, at : at + n_columns] += survey.cells
        return PartSurvey(
            self.items + other.items,
            self.useful + other.useful,
            self.is_weibull or other.is_weibull,
            max(self.heaviest, other.heaviest),
            max(self.top, other.top),
            low,
            cells,
        )

    def demand(self, objective: Objective, scale: float) -> Demand:
        """Return an item for each cell; together their demand is nearly the same."""
        mass, log, shape = self.cells
        filled = mass > 0
        total = mass[filled]
        shapes = shape[filled] / total if self.is_weibull else np.ones(total.size)
        first = np.exp(log[filled] / total - np.log(scale))
        return stand_ins(np.stack([first, total, shapes]), objective)


NOTHING = PartSurvey(0, 0, False, 0.0, -np.inf, 0, np.zeros((3, 1, 0)))  # noqa: FBT003


def survey_part(objective: Objective, part: ItemPart) -> PartSurvey:
    """Validate the items of a part, and return their summary."""
    total = NOTHING
    for block in part.blocks():
        try:
            total = total.add(_survey_block(block, objective))
        except ValueError as error:
            later = f", counted from row {total.items}" if total.items else ""
            raise ValueError(f"{part.name}: {error}{later}") from None
    return total


def _survey_block(block: ItemColumns, objective: Objective) -> PartSurvey:
    given = columns(*block)
    check_objective(given, objective)
    useful = given.take(given.useful)
    is_weibull = block.shape is not None
    survey = PartSurvey(
        given.rate.size, useful.rate.size, given.is_weibull, given.scale, -np.inf, 0,
        np.zeros((3, _ROWS if is_weibull else 1, 0)),
    )  # fmt: skip
    if not useful.rate.size:
        return survey
    log = np.log(first_of(useful, objective)) + np.log(given.scale)
    mass = useful.pace * useful.cost
    cell = np.floor(log * (_COARSE if is_weibull else _FINE)).astype(np.int64)
    low = int(cell.min())
    cell -= low
    n_columns = int(cell.max()) + 1
    if is_weibull:
        start, end = _LOG_SHAPE
        row = (np.log(useful.shape) - start) * ((_ROWS - 1) / (end - start))
        cell += n_columns * np.clip(row, 0, _ROWS - 1).astype(np.int64)
    n = n_columns * (_ROWS if is_weibull else 1)
    sums = (mass, mass * log, mass * useful.shape) if is_weibull else (mass, mass * log)
    cells = np.zeros((3, n))
    for row_of, weights in zip(cells, sums, strict=False):
        row_of[:] = np.bincount(cell, weights, minlength=n)
    return survey._replace(
        top=float(log.max()), low=low, cells=cells.reshape(3, -1, n_columns)
    )
