"""When somebody has to be told: what is wrong, whether it is news, who hears of it.

``rules`` judges how a source is, ``machine`` decides whether that has changed for long
enough to matter, ``messages`` gathers what is to be said.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import inf, nan


class Kind(StrEnum):
    """What somebody may be told of."""

    WILL_MISS = "will-miss"  # the forecast falls below the target soon
    MISSED = "missed"  # the copy is below its target
    RECOVERED = "recovered"  # something that was wrong is well again
    HELD = "held"  # an answer waits for a decision
    DEAD = "dead"  # a source has not answered for long
    MOVED = "moved"  # a source answers from elsewhere
    DRIFT = "schema-drift"  # its records look different
    SPENT = "budget-spent"  # no request is left
    OFFLINE = "offline"  # no host answers: it is us


WATCHED = tuple(kind for kind in Kind if kind is not Kind.RECOVERED)


@dataclass(frozen=True, slots=True)
class Health:
    """How a source is, as far as alerts go by it; what is not known says nothing.

    Times are days.

    Attributes:
        source: Its name; empty for what concerns all of them.
        mean: The quality of the copy now, between 0 and 1.
        low: Its lower bound.
        high: Its upper bound.
        target: The quality that was asked for.
        first_below: Days until the lower bound falls below the target.
        held: Why its answer waits for a decision; empty if none does.
        failures: Looks that failed since the last good one.
        silent: Days since the last good look.
        moved_to: Where it has moved for good; empty if it has not.
        drift: What is different about its records.
        left: The share of the budget that is left.
        offline: Whether no host could be reached; None if nobody tried.

    """

    source: str = ""
    mean: float = nan
    low: float = nan
    high: float = nan
    target: float = nan
    first_below: float = inf
    held: str = ""
    failures: int = 0
    silent: float = 0.0
    moved_to: str = ""
    drift: tuple[str, ...] = ()
    left: float = nan
    offline: bool | None = None
