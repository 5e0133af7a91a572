"""Alarms as state machines: one for each source and kind.

An alarm is raised when all judgements were bad for as long as its kind requires, and
ends when all were good for as long. A judgement in between, or one that points the
other way, restarts the wait. So the same alarm is raised again only after both waits:
no source can make it flap.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from halflife.alerts import AlarmKind, Health
from halflife.alerts.rules import INFORMATION, AlarmFinding, Severity, judge

MINUTES = 1.0 / 1440.0
HOUR = 1.0 / 24.0


class Dwell(NamedTuple):
    """How long judgements must agree, in days: to raise an alarm, and to end it."""

    bad: float
    good: float


DWELLS = {
    # Short, or the target would be missed before the alarm.
    AlarmKind.WILL_MISS: Dwell(5 * MINUTES, HOUR),
    AlarmKind.MISSED: Dwell(10 * MINUTES, HOUR),
    AlarmKind.HELD: Dwell(0.0, 10 * MINUTES),
    AlarmKind.DEAD: Dwell(0.0, HOUR),
    AlarmKind.MOVED: Dwell(0.0, HOUR),
    AlarmKind.DRIFT: Dwell(0.0, HOUR),
    AlarmKind.SPENT: Dwell(0.0, HOUR),
    AlarmKind.OFFLINE: Dwell(10 * MINUTES, 10 * MINUTES),
    AlarmKind.SETTINGS: Dwell(2 * MINUTES, 2 * MINUTES),
    AlarmKind.SINK: Dwell(0.5 * HOUR, 10 * MINUTES),  # most troubles pass by themselves
}


@dataclass(frozen=True, slots=True)
class Alarm:
    """Whether something is wrong with a source; times are days since the epoch.

    Attributes:
        source: The source; empty for what concerns all of them.
        kind: The kind of problem.
        raised: Whether the problem stands.
        since: When it was raised or ended last; when it was first judged, if never.
        turning: Since when all judgements point to the other state; None if the last
            one does not.
        seen: When it was last judged.
        text: What is wrong.

    """

    source: str
    kind: str
    raised: bool
    since: float
    turning: float | None
    seen: float
    text: str = ""


@dataclass(frozen=True, slots=True)
class AlarmTurn:
    """One judgement of one alarm: its state before and after.

    Attributes:
        before: The state before; None if it was never judged.
        after: The state after.
        advice: What to do about it.
        quiet: Whether its end is not reported.

    """

    before: Alarm | None
    after: Alarm
    advice: str = ""
    quiet: bool = False

    @property
    def changed(self) -> bool:
        """Whether the alarm was raised or ended."""
        was = self.before is not None and self.before.raised
        return self.after.raised != was


def step(
    alarms: Iterable[Alarm], healths: Iterable[Health], now: float
) -> list[AlarmTurn]:
    """Judge sources, and return the transitions of their alarms.

    ``alarms`` are the stored ones; an alarm that is not among them is not raised.
    """
    known = {(alarm.source, alarm.kind): alarm for alarm in alarms}
    return [
        _turn(known.get((health.source, finding.kind)), health.source, finding, now)
        for health in healths
        for finding in judge(health)
    ]


def _turn(
    alarm: Alarm | None, source: str, finding: AlarmFinding, now: float
) -> AlarmTurn:
    kind, bad = finding.kind, finding.level is Severity.BAD
    mild = alarm is not None and alarm.text.startswith(INFORMATION)
    if alarm is not None and mild and bad and not finding.text.startswith(INFORMATION):
        alarm, mild = replace(alarm, raised=False), False  # it got worse
    old = alarm or Alarm(source, kind, raised=False, since=now, turning=None, seen=now)
    after = replace(advance(old, finding.level, now, DWELLS[kind]), seen=now)
    if after.raised:
        after = replace(after, text=finding.text if bad else old.text)
    return AlarmTurn(alarm, after, finding.advice, finding.quiet or mild)


def advance(alarm: Alarm, level: Severity, now: float, dwell: Dwell) -> Alarm:
    """Return an alarm after one more judgement."""
    away = Severity.GOOD if alarm.raised else Severity.BAD
    if level is not away:
        return replace(alarm, turning=None, since=min(alarm.since, now))
    # A clock that was set back must not make a wait longer than it is.
    turning = now if alarm.turning is None else min(alarm.turning, now)
    wait = dwell.good if alarm.raised else dwell.bad
    if now - turning < wait:
        return replace(alarm, turning=turning, since=min(alarm.since, now))
    return replace(alarm, raised=not alarm.raised, since=now, turning=None)


def raised_alarms(alarms: Iterable[Alarm]) -> Iterator[Alarm]:
    """Return the alarms that stand."""
    return (alarm for alarm in alarms if alarm.raised)
