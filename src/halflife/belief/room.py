"""Room at hosts: how many requests each takes in one turn."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from halflife.belief import Belief
from halflife.evidence import Evidence
from halflife.view import View


@dataclass(frozen=True, slots=True)
class Roomy:
    """A belief that also knows how much each group of items takes in a turn.

    Attributes:
        belief: What is believed of the items.
        room: Requests that a group, by its name, takes in one turn; ``inf`` if any.

    """

    belief: Belief
    room: Callable[[str], float]

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        room = np.array([self.room(name) for name in evidence.groups], dtype=np.float64)
        view = self.belief(evidence, now, since)
        return replace(view, room=room[view.group] if len(view) else view.room)
