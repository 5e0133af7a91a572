"""Survival of items that follow different laws, in one column."""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.view import Survival


class MixedSurvival:
    """The survival of items in several parts, each with a law of its own.

    Args:
        rows: The rows of each part; together they are all rows, each once.
        laws: The survival law of each part, in the order of its rows.

    >>> from halflife.models.poisson import Exponential
    >>> one, two = Exponential(np.array([0.0])), Exponential(np.array([1.0]))
    >>> both = MixedSurvival([np.array([1]), np.array([0])], [one, two])
    >>> both.alive(np.array([1.0, 1.0])).round(3)
    array([0.368, 1.   ])

    """

    def __init__(self, rows: Sequence[Ints], laws: Sequence[Survival]) -> None:
        self.rows, self.laws = tuple(rows), tuple(laws)
        self._n = sum(each.size for each in self.rows)

    def alive(self, t: Floats) -> Floats:
        """Return S(t), the probability that the item has not changed after ``t``."""
        return self._each(t, [law.alive for law in self.laws])

    def lasting(self, t: Floats) -> Floats:
        """Return the integral of S(u) over 0..t, the expected fresh days."""
        return self._each(t, [law.lasting for law in self.laws])

    def moment(self, t: Floats) -> Floats:
        """Return the integral of u S(u) over 0..t."""
        return self._each(t, [law.moment for law in self.laws])

    def take(self, rows: Ints) -> "MixedSurvival":
        """Return the survival of the items at these rows, in their order."""
        place = np.full(self._n, -1, dtype=np.intp)
        place[rows] = np.arange(rows.size)
        parts, laws = [], []
        for part_rows, law in zip(self.rows, self.laws, strict=True):
            kept = np.flatnonzero(place[part_rows] >= 0)
            parts.append(place[part_rows[kept]])
            laws.append(survival_rows(law, kept, part_rows.size))
        return MixedSurvival(parts, laws)

    def _each(self, t: Floats, methods: Sequence[Callable[[Floats], Floats]]) -> Floats:
        t = np.broadcast_to(t, np.broadcast_shapes(np.shape(t), (self._n,)))
        values = np.empty(t.shape)
        for rows, method in zip(self.rows, methods, strict=True):
            if rows.size:
                values[..., rows] = method(t[..., rows])
        return values


class SelectedSurvival:
    """The survival of some items, by a law that covers all items only.

    Args:
        law: The survival of all items.
        rows: The rows of the items.
        n: The number of all items.

    """

    def __init__(self, law: Survival, rows: Ints, n: int) -> None:
        self._law, self._rows, self._n = law, rows, n

    def alive(self, t: Floats) -> Floats:
        """Return S(t), the probability that the item has not changed after ``t``."""
        return self._law.alive(self._among_all(t))[..., self._rows]

    def lasting(self, t: Floats) -> Floats:
        """Return the integral of S(u) over 0..t, the expected fresh days."""
        return self._law.lasting(self._among_all(t))[..., self._rows]

    def moment(self, t: Floats) -> Floats:
        """Return the integral of u S(u) over 0..t."""
        return self._law.moment(self._among_all(t))[..., self._rows]

    def _among_all(self, t: Floats) -> Floats:
        times = np.zeros((*np.shape(t)[:-1], self._n))
        times[..., self._rows] = t
        return times


def survival_rows(law: Survival, rows: Ints, n: int) -> Survival:
    """Return the survival of the items at these rows, of ``n`` items."""
    if isinstance(law, MixedSurvival):
        return law.take(rows)
    if not is_dataclass(law):
        return SelectedSurvival(law, rows, n)
    columns = {
        field.name: _of(getattr(law, field.name), rows, n) for field in fields(law)
    }
    return cast("Survival", replace(cast("Any", law), **columns))


def _of(column: Any, rows: Ints, n: int) -> Any:  # noqa: ANN401  (whatever a law has)
    """Return these rows of a column, or of a law inside a law."""
    if hasattr(column, "alive"):
        return survival_rows(column, rows, n)
    return column[rows] if np.shape(column) == (n,) else column
