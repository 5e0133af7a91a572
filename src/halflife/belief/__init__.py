"""From what we saw to what we believe."""

from typing import Protocol

import numpy as np

from halflife.arrays import Bools, Floats
from halflife.evidence import Evidence
from halflife.view import Survival, View

FIRST_PAUSE = 5.0 / 1440.0  # days to leave an item alone after one failed look
LONGEST_PAUSE = 1.0


class Belief(Protocol):
    """Anything that turns evidence into a view."""

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        ...


def view_of(
    evidence: Evidence, now: float, since: float, rate: Floats, survival: Survival
) -> View:
    """Return the view that follows from the evidence and from what rates we believe."""
    age = np.where(evidence.looks > 0, np.maximum(now - evidence.last_at, 0.0), np.inf)
    return View(
        now=now,
        keys=evidence.keys,
        weight=evidence.weight.copy(),
        cost=evidence.cost.copy(),
        group=evidence.group.copy(),
        rate=rate,
        survival=survival,
        age=age,
        looks=evidence.looks.copy(),
        changes=evidence.changes.copy(),
        # A look stamped later than now was made before the clock was set back.
        looked=(evidence.tried_at >= since) & (evidence.tried_at <= now),
        changed=evidence.changed.copy(),
        ready=_ready(evidence, now),
        due=np.zeros(0),
        exposure=age.copy(),
        doubt=np.zeros(len(evidence)),
        room=np.full(len(evidence), np.inf),
    )


def _ready(evidence: Evidence, now: float) -> Bools:
    """Return which items may be asked for: the pause doubles with each failure."""
    doublings = np.minimum(evidence.failures, 20) - 1.0
    pause = np.minimum(FIRST_PAUSE * np.exp2(doublings), LONGEST_PAUSE)
    ready: Bools = (evidence.failures == 0) | (now >= evidence.tried_at + pause)
    return ready
