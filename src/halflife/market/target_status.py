"""The status of a source with a target, and its memory between turns."""

from dataclasses import dataclass, field
from math import inf

import numpy as np

from halflife.core.arrays import Floats
from halflife.market.target_rule import LossHistory

TURN = 900.0 / 86400.0  # days between two turns while there are requests left
ROUND = 1.0  # most days of a round
SOONEST = 5.0 / 1440.0  # least days between two fetches of a source read whole
FIRST = 1.0 / 24.0  # most days between the first two fetches
LATEST = 7.0  # most days between two fetches: beliefs must be checked
NOTHING: Floats = np.zeros(0)


@dataclass(frozen=True)
class TargetMemory:
    """The memory of a source with a target between turns; stored by field name.

    Attributes:
        past: The loss history learned from its rounds and fetches.
        began: The start of the present round, in days.
        length: The days that it lasts.
        unwatched: The mean age of pages at the start of the round, in days.
        chances: The believed chance of each page to be out of date at that time.
        told: The time up to which outcomes of forecasts were learned from.
        needed: Requests a day needed in the long run; ``inf`` if none are enough.
        found: When ``needed`` was computed.
        level: The level for which it was computed.
        ages: The days since each page was fetched, at the start of the round.

    """

    past: LossHistory = field(default_factory=LossHistory)
    began: float = -inf
    length: float = ROUND
    unwatched: float = ROUND
    chances: Floats = field(default_factory=lambda: NOTHING, compare=False)
    told: float = -inf
    needed: float = 0.0
    found: float = -inf
    level: float = 0.0
    ages: Floats = field(default_factory=lambda: NOTHING, compare=False)


@dataclass(frozen=True, slots=True)
class TargetStatus:
    """The status of a source with a target.

    Attributes:
        source: Its name.
        requests: Requests that it needs now.
        needed: Requests a day that keep the level in the long run; ``inf`` if none do.
        reason: Why it needs them, in a few words.
        recheck_in: Most days until the status must be computed again.

    """

    source: str
    requests: float
    needed: float
    reason: str
    recheck_in: float = inf
