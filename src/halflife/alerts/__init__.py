"""Alerts: what is wrong, whether it is news, and which recipients are notified.

``rules`` judges the state of a source, ``machine`` decides whether a problem has lasted
long enough to raise an alarm, ``messages`` gathers the notifications.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf, nan


class AlarmKind(StrEnum):
    """The kinds of alarms."""

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
    AlarmKind.RECOVERED: "A problem is over.",
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
    """How well a source meets a target on the age of its copy; times are days.

    A part whose last fetch is longer ago than ``interval`` is late: at that interval
    the target is missed.

    Attributes:
        target: The target in words, such as ``age p95 <= 6 h``.
        interval: The longest time between two fetches that meets it.
        late: The share of parts that are late.
        most: The share that may be late.
        age: Days since the last fetch of the part that decides.
        wait: Days until more than that share is late, without further fetches.

    """

    target: str
    interval: float
    late: float
    most: float
    age: float
    wait: float


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a source that alerts are judged by; times are days.

    Fields that are not known keep their defaults and raise no alarm.

    Attributes:
        source: Its name; empty for what concerns all of them.
        mean: The quality of the copy now, between 0 and 1.
        low: Its lower bound.
        high: Its upper bound.
        target: The target quality.
        measure: The measure of quality, such as ``recall``.
        sure: The confidence with which the target is to be met; nan if on average.
        first_below: Days until the quality falls below the target without further
            fetches: its mean, or its lower bound if a confidence is set.
        lateness: How it meets a target on the age of its copy, if it has one.
        relief: Days until the next fetch is expected; ``inf`` if none is.
        blocked: What prevents fetches; empty if nothing is known to.
        held: Why its answer waits for a decision; empty if none does.
        failures: Failed fetches since the last good one.
        silent: Days since the last good fetch.
        trouble: The last error; empty if none is known.
        moved_to: Where it has moved permanently; empty if it has not.
        drift: Differences of its records that lose data.
        novelty: Differences of its records that lose nothing.
        left: The share of the budget that is left.
        refill: Days until some of a spent budget is available again.
        offline: Whether no host could be reached; None if that was not tried.
        settings: Why the settings on disk are not in use, empty if they are; None if
            that was not checked.
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
