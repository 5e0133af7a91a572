"""When somebody has to be told: what is wrong, whether it is news, who hears of it.

``rules`` judges how a source is, ``machine`` decides whether that has changed for long
enough to matter, ``messages`` gathers what is to be said.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf, nan


class AlarmKind(StrEnum):
    """What somebody may be told of."""

    WILL_MISS = "will-miss"
    MISSED = "missed"
    RECOVERED = "recovered"
    HELD = "held"
    DEAD = "dead"
    MOVED = "moved"
    DRIFT = "schema-drift"
    SPENT = "budget-spent"
    OFFLINE = "offline"
    SETTINGS = "settings"
    SINK = "sink"


ALARM_MEANINGS: Mapping[AlarmKind, str] = {
    AlarmKind.WILL_MISS: "The forecast falls below the target soon.",
    AlarmKind.MISSED: "The copy is below its target.",
    AlarmKind.RECOVERED: "Something that was wrong is well again.",
    AlarmKind.HELD: "An answer waits for a decision.",
    AlarmKind.DEAD: "A source has not answered for a long time.",
    AlarmKind.MOVED: "A source answers from another address.",
    AlarmKind.DRIFT: "The records of a source look different.",
    AlarmKind.SPENT: "No request is left in the budget.",
    AlarmKind.OFFLINE: "No host answers: this machine is offline.",
    AlarmKind.SETTINGS: "The settings on disk cannot be used.",
    AlarmKind.SINK: "A sink does not get the changes.",
}
WATCHED = tuple(kind for kind in AlarmKind if kind is not AlarmKind.RECOVERED)


@dataclass(frozen=True, slots=True)
class Lateness:
    """How a source stands to a target on the age of its copy; times are days.

    A part whose last look is longer ago than ``interval`` is late: whoever looks that
    seldom does not keep the target.

    Attributes:
        asked: The target in words, such as ``age p95 <= 6 h``.
        interval: The longest time between two looks that keeps it.
        late: The share of parts that are late.
        most: The share that may be.
        age: Days since the last look at the part that decides.
        wait: Days until more than that are late, if nobody looks.

    """

    asked: str
    interval: float
    late: float
    most: float
    age: float
    wait: float


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
        measure: What the quality is.
        sure: How surely it is to be kept; nan if on average.
        first_below: Days until it falls below the target if nobody looks: its mean,
            or its lower bound if it is to be kept surely.
        lateness: How it stands to a target on the age of its copy, if it has one.
        relief: Days until the next look is expected; ``inf`` if none is.
        blocked: Why none is; empty if nothing is known to keep it from being looked at.
        held: Why its answer waits for a decision; empty if none does.
        failures: Looks that failed since the last good one.
        silent: Days since the last good look.
        trouble: What went wrong last; empty if that is not known.
        moved_to: Where it has moved for good; empty if it has not.
        drift: What is different about its records so that something is lost.
        novelty: What is different about its records though nothing is lost.
        left: The share of the budget that is left.
        refill: Days until some of a spent budget is there again.
        offline: Whether no host could be reached; None if nobody tried.
        settings: Why the settings on disk are not in use; None if nobody looked.
        sinks: What is wrong with sinks, in a line each; None if there are none.

    """

    source: str = ""
    mean: float = nan
    low: float = nan
    high: float = nan
    target: float = nan
    measure: str = "quality"
    sure: float = nan
    first_below: float = inf
    lateness: Lateness | None = None
    relief: float = inf
    blocked: str = ""
    held: str = ""
    failures: int = 0
    silent: float = 0.0
    trouble: str = ""
    moved_to: str = ""
    drift: tuple[str, ...] = ()
    novelty: tuple[str, ...] = ()
    left: float = nan
    refill: float = nan
    offline: bool | None = None
    settings: str | None = None
    sinks: tuple[str, ...] | None = None
