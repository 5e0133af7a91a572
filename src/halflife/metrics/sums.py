"""The sums of a replay, by group."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class GroupSums:
    """Sums over the items of each group, such as a site, and over the scored time.

    Ratios of these sums are the scores; groups are what intervals resample.

    Attributes:
        names: The groups.
        weight: Weight of the items, times days.
        fresh: The part of that for current copies.
        age: Weight, times days out of date, times days.
        harmonic: Weight, times the harmonic number of changes missed, times days.
        looks: The number of fetches.
        changed: Fetches that found a change.

    """

    names: tuple[str, ...]
    weight: Floats
    fresh: Floats
    age: Floats
    harmonic: Floats
    looks: Floats
    changed: Floats

    @property
    def freshness(self) -> float:
        """The weighted share of copies that were current; 1 without items."""
        return ratio(self.fresh, self.weight, 1.0)

    @property
    def mean_age(self) -> float:
        """The weighted mean time that copies had been out of date, in days."""
        return ratio(self.age, self.weight, 0.0)

    @property
    def harmonic_delay(self) -> float:
        """The weighted mean of 1 + 1/2 + ... + 1/k, with k the changes missed.

        The loss that the ``harmonic`` objective minimises: Kolobov et al.,
        "Staying up to date with online content changes", NeurIPS 2019.
        """
        return ratio(self.harmonic, self.weight, 0.0)

    @property
    def change_ratio(self) -> float:
        """The share of fetches that found a change; 0 without fetches."""
        return ratio(self.changed, self.looks, 0.0)


def ratio(top: Floats, bottom: Floats, otherwise: float) -> float:
    """Return sum(top) / sum(bottom), or ``otherwise`` when that is 0 / 0.

    >>> ratio(np.array([1.0, 2.0]), np.array([2.0, 4.0]), 0.0)
    0.5
    """
    total = float(bottom.sum())
    return float(top.sum()) / total if total > 0 else otherwise


def group_codes(group: Sequence[str], items: int) -> tuple[tuple[str, ...], Ints]:
    """Return the names of groups and each item's index among them.

    Without groups all items are in one.

    >>> group_codes(("b", "a", "b"), 3)
    (('b', 'a'), array([0, 1, 0]))
    """
    given = group or ("",) * items
    code = {name: i for i, name in enumerate(dict.fromkeys(given))}
    return tuple(code), np.array([code[name] for name in given], dtype=np.intp)


def sum_by_group(code: Ints, values: Floats, groups: int) -> Floats:
    """Return the sum of values in each group.

    >>> sum_by_group(np.array([0, 1, 0]), np.array([1.0, 2.0, 3.0]), 2)
    array([4., 2.])
    """
    sums: Floats = np.bincount(code, values, groups).astype(np.float64)
    return sums


def average_runs(runs: Sequence[GroupSums]) -> GroupSums:
    """Return the mean of several repetitions over the same groups."""
    names = runs[0].names
    columns = ("weight", "fresh", "age", "harmonic", "looks", "changed")
    means = {c: np.mean([getattr(r, c) for r in runs], axis=0) for c in columns}
    return GroupSums(names=names, **means)
