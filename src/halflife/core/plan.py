"""What to ask next, in order, and why."""

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
    """One request, with the reason it was chosen.

    Attributes:
        request: What to ask.
        gain: What it is expected to buy, in the policy's objective per request.
        why: One line for people; shown by ``halflife plan``.

    """

    request: Request
    gain: float
    why: str


@dataclass(frozen=True, slots=True)
class Plan(Sequence[PlannedFetch]):
    """An ordered set of steps, kept as columns; a step is made when it is asked for.

    Attributes:
        keys: The items to look at, best first.
        rows: Their rows in the view the plan was made from.
        gain: What each look is expected to buy.
        reason: Says in one line why the item at a view's row was chosen.

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
        """Return what a notebook shows: the first steps, and how many follow."""
        head = ["request", "gain", "why"]
        rows = [(s.request.key, f"{number(s.gain, 3)}", s.why) for s in self[:SHOWN]]
        more = len(self) - len(rows)
        return notebook.table(head, rows) + (f"<p>and {more} more</p>" if more else "")


def no_plan() -> Plan:
    """Return the plan that asks for nothing."""
    return Plan((), np.zeros(0, dtype=np.intp), np.zeros(0), str)
