"""Room at hosts: how many requests each takes in one turn."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from halflife.belief import Belief, Piecemeal
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.view import View


@dataclass(slots=True)
class Roomy:
    """A belief that also knows how much each group of items takes in a turn.

    Attributes:
        belief: What is believed of the items.
        room: Requests that a group, by its name, takes in one turn; ``inf`` if any.

    """

    belief: Belief
    room: Callable[[str], float]

    _table: Floats = field(default_factory=lambda: np.zeros(0), init=False)

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        self._ask(evidence)
        return self._roomy(self.belief(evidence, now, since))

    def learn(self, evidence: Evidence, now: float) -> bool:
        """Take in what is new; return whether ``some`` can tell of this evidence."""
        self._ask(evidence)
        return isinstance(self.belief, Piecemeal) and self.belief.learn(evidence, now)

    def some(self, evidence: Evidence, rows: Ints, now: float, since: float) -> View:
        """Return what we believe of the items at these rows, as learned last."""
        belief = cast("Piecemeal", self.belief)
        return self._roomy(belief.some(evidence, rows, now, since))

    def _ask(self, evidence: Evidence) -> None:
        rooms = [self.room(name) for name in evidence.groups]
        self._table = np.array(rooms, dtype=np.float64)

    def _roomy(self, view: View) -> View:
        if not len(view) or np.isinf(self._table).all():
            return view
        return replace(view, room=self._table[view.group])
