"""Plans: the next requests in order, each with its reason."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from halflife.core import notebook
from halflife.core.arrays import Floats, Ints
from halflife.core.request import Fetch, Request
from halflife.core.wording import number

SHOWN = 20  # steps that a notebook shows


@dataclass(frozen=True, slots=True)
class PlannedFetch:
    """One planned request, with the reason it was chosen.

    Attributes:
        request: The request.
        gain: Its expected gain, in the policy's objective per request.
        why: The reason in one line, as shown by ``halflife plan``.

    """

    request: Request
    gain: float
    why: str


@dataclass(frozen=True, slots=True)
class Plan(Sequence[PlannedFetch]):
    """An ordered set of steps, kept as columns; a step is made when it is read.

    Attributes:
        keys: The items to fetch, best first.
        rows: Their rows in the view the plan was made from.
        gain: The expected gain of each fetch.
        reason: Returns in one line why the item at a view's row was chosen.

    """

    keys: tuple[str, ...]
    rows: Ints
    gain: Floats
    reason: Callable[[int], str]

    @overload
    def __getitem__(self, at: int) -> PlannedFetch: ...
    @overload
    def __getitem__(self, at: slice) -> "Plan": ...
    def __getitem__(self, at: int | slice) -> "PlannedFetch | Plan":
        if isinstance(at, slice):
            return Plan(self.keys[at], self.rows[at], self.gain[at], self.reason)
        row = int(self.rows[at])
        return PlannedFetch(
            Fetch(self.keys[at]), float(self.gain[at]), self.reason(row)
        )

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[PlannedFetch]:
        return (self[i] for i in range(len(self)))

    def _repr_html_(self) -> str:
        """Return the first steps as a table, and the number of the rest."""
        head = ["request", "gain", "why"]
        rows = [(s.request.key, f"{number(s.gain, 3)}", s.why) for s in self[:SHOWN]]
        more = len(self) - len(rows)
        return notebook.table(head, rows) + (f"<p>and {more} more</p>" if more else "")


def no_plan() -> Plan:
    """Return the empty plan."""
    return Plan((), np.zeros(0, dtype=np.intp), np.zeros(0), str)
