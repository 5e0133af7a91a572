"""Capacity of hosts: how many requests each accepts in one turn."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from halflife.belief import Belief, PartialBelief
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.view import View


@dataclass(slots=True)
class CapacityBelief:
    """A belief that also knows how many requests each group accepts in a turn.

    Attributes:
        belief: The belief that the rest of the view comes from.
        room: Requests that a group accepts in one turn, by its name; ``inf`` if
            unlimited.

    """

    belief: Belief
    room: Callable[[str], float]

    _table: Floats = field(default_factory=lambda: np.zeros(0), init=False)

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; items fetched since ``since`` count as done."""
        self._read_capacity(evidence)
        return self._with_room(self.belief(evidence, now, since))

    def learn(self, evidence: Evidence, now: float) -> bool:
        """Learn from new evidence; return whether ``view_rows`` can use it."""
        self._read_capacity(evidence)
        return isinstance(self.belief, PartialBelief) and self.belief.learn(
            evidence, now
        )

    def view_rows(
        self, evidence: Evidence, rows: Ints, now: float, since: float
    ) -> View:
        """Return the view of the items at these rows, as of the last ``learn``."""
        belief = cast("PartialBelief", self.belief)
        return self._with_room(belief.view_rows(evidence, rows, now, since))

    def _read_capacity(self, evidence: Evidence) -> None:
        rooms = [self.room(name) for name in evidence.groups]
        self._table = np.array(rooms, dtype=np.float64)

    def _with_room(self, view: View) -> View:
        if not len(view) or np.isinf(self._table).all():
            return view
        return replace(view, room=self._table[view.group])
