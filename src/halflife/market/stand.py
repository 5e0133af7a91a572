"""How a source stands to its target, and what is remembered of it between turns."""

from dataclasses import dataclass, field
from math import inf

import numpy as np

from halflife.core.arrays import Floats
from halflife.market.target_rule import Past

TURN = 900.0 / 86400.0  # days between two turns while there is something left over
ROUND = 1.0  # days of a round, at most
SOONEST = 5.0 / 1440.0  # days between two reads of what is renewed whole, at least
FIRST = 1.0 / 24.0  # days between the first read and the second, at most
LATEST = 7.0  # and at most: what we believe must be checked now and then
NOTHING: Floats = np.zeros(0)


@dataclass(frozen=True)
class TargetMemory:
    """What is remembered of a source between turns.

    Attributes:
        past: What its rounds and looks have shown.
        began: When the present round began, in days.
        length: How many days it lasts.
        unwatched: Days for which nobody had looked at pages then, in the mean.
        chances: The chance of each page to be out of date, as it was believed then.
        told: Until when outcomes of forecasts were learned from.
        needed: Requests a day that it needs in the long run; ``inf`` if none do.
        found: When that was found.
        level: For which level.

    """

    past: Past = field(default_factory=Past)
    began: float = -inf
    length: float = ROUND
    unwatched: float = ROUND
    chances: Floats = field(default_factory=lambda: NOTHING, compare=False)
    told: float = -inf
    needed: float = 0.0
    found: float = -inf
    level: float = 0.0


@dataclass(frozen=True, slots=True)
class Stand:
    """How a source with a target stands.

    Attributes:
        source: Its name.
        asked: Requests that it asks for now.
        needed: Requests a day that keep the level in the long run; ``inf`` if none do.
        said: Why it asks, in a few words.
        again: Days after which it has to be thought of again, at most.

    """

    source: str
    asked: float
    needed: float
    said: str
    again: float = inf

    def ask(self) -> float:
        """Return the requests that it asks for now."""
        return self.asked

    def why(self) -> str:
        """Say in a few words why it asks for that."""
        return self.said
