"""Attributes as blocks of objects: categories, or ranges of a number."""

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

OTHER = -np.inf  # stands for the pooled rare categories


@dataclass(frozen=True, slots=True)
class Column:
    """An attribute cut into blocks: categories, or ranges of a number."""

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
        """Return an attribute cut at quantiles if it is a number, otherwise by value.

        Categories with fewer than ``rare`` expected ends are pooled.
        """
        is_missing = missing(column)
        values = (
            numbers(column)
            if column.dtype.kind != "b"
            else np.full(is_missing.shape, np.nan)
        )
        if not np.any(np.isnan(values) & ~is_missing) and not is_missing.all():
            return _ranges(name, values, stretches)
        return _categories(name, column, risk, rare)

    def blocks(self, risk: ExposureSpans) -> Blocks:
        """Return ends and days at risk by block."""
        deaths, time = totals(risk, self.label, len(self.values))
        return Blocks(deaths, time, self.ordered, self.values[-1] is None)

    def dispersion(self, risk: ExposureSpans, periods: int) -> float:
        """Return the dispersion of ends within blocks over periods of time."""
        edges = np.linspace(risk.entry.min() - 1e-9, risk.leave.max(), periods + 1)
        return dispersion(*cells(risk, self.label, len(self.values), edges))

    def rule(self, cut: Cut, blocks: Blocks) -> Filter:
        """Return the filter of one side; new and rare values go to the other."""
        left = set(cut.left)
        right = set(range(len(self.values))) - left
        if self.ordered:
            return self._at_most(left, right)
        heavier = blocks.time[list(left)].sum() > blocks.time[list(right)].sum()
        rest = self.values.index(OTHER) in left if OTHER in self.values else heavier
        return self._among(right if rest else left)

    def _among(self, side: set[int]) -> Filter:
        values = [self.values[i] for i in sorted(side)]
        texts = tuple(v for v in values if isinstance(v, str))
        parts: list[Filter] = [In(self.name, texts)] if texts else []
        if None in values:
            parts.append(Missing(self.name))
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _at_most(self, left: set[int], right: set[int]) -> Filter:
        """Return the filter of the side of the smaller numbers."""
        values = [self.values[i] for i in (left if 0 in left else right)]
        end = max(v for v in values if isinstance(v, float))
        if np.isinf(end):  # all numbers on one side, missing values on the other
            return Not(Missing(self.name))
        below = Compare(self.name, "<=", end)
        return AnyOf((below, Missing(self.name))) if None in values else below


def _categories(name: str, column: Values, risk: ExposureSpans, rare: float) -> Column:
    is_missing = missing(column)
    texts = column.astype(str)
    distinct, label = np.unique(np.where(is_missing, "", texts), return_inverse=True)
    label = np.where(is_missing, distinct.size, label)  # missing values are a category
    rate = risk.dead.sum() / risk.time.sum()
    expected = rate * np.bincount(label, risk.time, distinct.size + 1)
    common = np.flatnonzero(expected >= rare)
    block = np.full(distinct.size + 1, common.size)
    block[common] = np.arange(common.size)
    label = block[label]
    values: list[str | float | None] = [
        None if i == distinct.size else str(distinct[i]) for i in common.tolist()
    ]
    if np.any(label == common.size):
        values.append(OTHER)
    return Column(name, label, tuple(values), ordered=False)


def _ranges(name: str, sizes: Floats, count: int) -> Column:
    is_missing = np.isnan(sizes)
    shares = np.arange(1, count) / count
    ends = np.unique(np.quantile(sizes[~is_missing], shares, method="lower"))
    label = np.searchsorted(ends, sizes)
    values: list[float | None] = [*ends.tolist(), np.inf]
    if is_missing.any():
        label = np.where(is_missing, len(values), label)
        values.append(None)
    return Column(name, label, tuple(values), ordered=True)
