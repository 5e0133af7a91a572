"""Attributes as blocks of objects: categories, or stretches of a number."""

from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.filters import (
    AnyOf,
    Compare,
    Filter,
    In,
    Missing,
    Not,
    missing,
    numbers,
)
from halflife.core.lifetimes import Values
from halflife.grouping.cuts import Blocks, Cut
from halflife.grouping.risk import ExposureSpans, cells, dispersion, totals

OTHER = -np.inf  # stands for the rare categories, pooled


@dataclass(frozen=True, slots=True)
class Column:
    """An attribute cut into blocks: categories, or stretches of a number."""

    name: str
    label: Ints
    values: tuple[str | float | None, ...]  # a block's category or upper end
    ordered: bool

    @classmethod
    def of(
        cls,
        name: str,
        column: Values,
        risk: ExposureSpans,
        *,
        rare: float,
        stretches: int,
    ) -> "Column":
        """Return an attribute cut at quantiles if it is a number, else by value.

        Categories with fewer than ``rare`` expected ends are pooled.
        """
        gone = missing(column)
        sizes = (
            numbers(column) if column.dtype.kind != "b" else np.full(gone.shape, np.nan)
        )
        if not np.any(np.isnan(sizes) & ~gone) and not gone.all():
            return _stretches(name, sizes, stretches)
        return _categories(name, column, risk, rare)

    def blocks(self, risk: ExposureSpans) -> Blocks:
        """Return ends and days at risk by block."""
        deaths, time = totals(risk, self.label, len(self.values))
        return Blocks(deaths, time, self.ordered, self.values[-1] is None)

    def dispersion(self, risk: ExposureSpans, periods: int) -> float:
        """Return how bursty ends within blocks are, over stretches of time."""
        edges = np.linspace(risk.entry.min() - 1e-9, risk.leave.max(), periods + 1)
        return dispersion(*cells(risk, self.label, len(self.values), edges))

    def rule(self, cut: Cut, blocks: Blocks) -> Filter:
        """Return the filter of one side; new and rare values are on the other."""
        left = set(cut.left)
        right = set(range(len(self.values))) - left
        if self.ordered:
            return self._at_most(left, right)
        heavier = blocks.time[list(left)].sum() > blocks.time[list(right)].sum()
        rest = self.values.index(OTHER) in left if OTHER in self.values else heavier
        return self._among(right if rest else left)

    def _among(self, side: set[int]) -> Filter:
        values = [self.values[i] for i in sorted(side)]
        there = tuple(v for v in values if isinstance(v, str))
        parts: list[Filter] = [In(self.name, there)] if there else []
        if None in values:
            parts.append(Missing(self.name))
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _at_most(self, left: set[int], right: set[int]) -> Filter:
        """Return the filter of the side of the smaller numbers."""
        values = [self.values[i] for i in (left if 0 in left else right)]
        end = max(v for v in values if isinstance(v, float))
        if np.isinf(end):  # all numbers are on one side, missing values on the other
            return Not(Missing(self.name))
        below = Compare(self.name, "<=", end)
        return AnyOf((below, Missing(self.name))) if None in values else below


def _categories(name: str, column: Values, risk: ExposureSpans, rare: float) -> Column:
    gone = missing(column)
    texts = column.astype(str)
    found, label = np.unique(np.where(gone, "", texts), return_inverse=True)
    label = np.where(gone, found.size, label)  # missing values are a category
    rate = risk.dead.sum() / risk.time.sum()
    expected = rate * np.bincount(label, risk.time, found.size + 1)
    common = np.flatnonzero(expected >= rare)
    block = np.full(found.size + 1, common.size)
    block[common] = np.arange(common.size)
    label = block[label]
    values: list[str | float | None] = [
        None if i == found.size else str(found[i]) for i in common.tolist()
    ]
    if np.any(label == common.size):
        values.append(OTHER)
    return Column(name, label, tuple(values), ordered=False)


def _stretches(name: str, sizes: Floats, count: int) -> Column:
    gone = np.isnan(sizes)
    shares = np.arange(1, count) / count
    ends = np.unique(np.quantile(sizes[~gone], shares, method="lower"))
    label = np.searchsorted(ends, sizes)
    values: list[float | None] = [*ends.tolist(), np.inf]
    if gone.any():
        label = np.where(gone, len(values), label)
        values.append(None)
    return Column(name, label, tuple(values), ordered=True)
