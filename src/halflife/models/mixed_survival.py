"""Copies that are believed to survive in different ways, in one column."""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.view import Survival


class Parted:
    """The survival of items of which each part survives after a law of its own.

    Args:
        rows: The rows of each part; together they are all rows, each once.
        laws: How the items of each part survive, in the order of its rows.

    >>> from halflife.models.poisson import Exponential
    >>> one, two = Exponential(np.array([0.0])), Exponential(np.array([1.0]))
    >>> both = Parted([np.array([1]), np.array([0])], [one, two])
    >>> both.alive(np.array([1.0, 1.0])).round(3)
    array([0.368, 1.   ])

    """

    def __init__(self, rows: Sequence[Ints], laws: Sequence[Survival]) -> None:
        self.rows, self.laws = tuple(rows), tuple(laws)
        self._n = sum(each.size for each in self.rows)

    def alive(self, t: Floats) -> Floats:
        """Return S(t), the chance that the item has not changed ``t`` later."""
        return self._each(t, [law.alive for law in self.laws])

    def lasting(self, t: Floats) -> Floats:
        """Return the integral of S(u) over 0..t: expected true days out of ``t``."""
        return self._each(t, [law.lasting for law in self.laws])

    def moment(self, t: Floats) -> Floats:
        """Return the integral of u S(u) over 0..t."""
        return self._each(t, [law.moment for law in self.laws])

    def some(self, rows: Ints) -> "Parted":
        """Return how the items at these rows survive, in their order."""
        place = np.full(self._n, -1, dtype=np.intp)
        place[rows] = np.arange(rows.size)
        parts, laws = [], []
        for mine, law in zip(self.rows, self.laws, strict=True):
            kept = np.flatnonzero(place[mine] >= 0)
            parts.append(place[mine[kept]])
            laws.append(law_of(law, kept, mine.size))
        return Parted(parts, laws)

    def _each(self, t: Floats, ask: Sequence[Callable[[Floats], Floats]]) -> Floats:
        t = np.broadcast_to(t, np.broadcast_shapes(np.shape(t), (self._n,)))
        found = np.empty(t.shape)
        for rows, told in zip(self.rows, ask, strict=True):
            if rows.size:
                found[..., rows] = told(t[..., rows])
        return found


class PickedSurvival:
    """How some of many items survive, by a law that speaks of all of them only.

    Args:
        law: How all items survive.
        rows: The rows of the items.
        n: How many items there are in all.

    """

    def __init__(self, law: Survival, rows: Ints, n: int) -> None:
        self._law, self._rows, self._n = law, rows, n

    def alive(self, t: Floats) -> Floats:
        """Return S(t), the chance that the item has not changed ``t`` later."""
        return self._law.alive(self._among_all(t))[..., self._rows]

    def lasting(self, t: Floats) -> Floats:
        """Return the integral of S(u) over 0..t: expected true days out of ``t``."""
        return self._law.lasting(self._among_all(t))[..., self._rows]

    def moment(self, t: Floats) -> Floats:
        """Return the integral of u S(u) over 0..t."""
        return self._law.moment(self._among_all(t))[..., self._rows]

    def _among_all(self, t: Floats) -> Floats:
        times = np.zeros((*np.shape(t)[:-1], self._n))
        times[..., self._rows] = t
        return times


def law_of(law: Survival, rows: Ints, n: int) -> Survival:
    """Return how some of ``n`` items survive; what is the same for all stays."""
    if isinstance(law, Parted):
        return law.some(rows)
    if not is_dataclass(law):
        return PickedSurvival(law, rows, n)
    some = {one.name: _of(getattr(law, one.name), rows, n) for one in fields(law)}
    return cast("Survival", replace(cast("Any", law), **some))


def _of(column: Any, rows: Ints, n: int) -> Any:  # noqa: ANN401  (whatever a law has)
    """Return the part of a column, or of a law inside a law, that is of these rows."""
    if hasattr(column, "alive"):
        return law_of(column, rows, n)
    return column[rows] if np.shape(column) == (n,) else column
