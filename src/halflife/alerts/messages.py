"""What is said to whom: many sources in one letter, and not too often."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from math import floor

from halflife.alerts import AlarmKind
from halflife.alerts.machine import AlarmTurn
from halflife.alerts.rules import INFORMATION

RAISED, REPEATED, RECOVERED, TEST = "raised", "repeated", "recovered", "test"
GATHER = 2.0 / 1440.0  # days that a letter waits for more of the same
MOST = 200  # sources named in one letter; of the others only the number is told


@dataclass(frozen=True, slots=True)
class Recipient:
    """Somebody who wants to be told.

    Attributes:
        name: The target's name; never an address.
        kinds: What it wants to hear of.
        every: Days after which an alarm that still stands is told again.
        gather: Days that a letter waits for more of the same.

    """

    name: str
    kinds: frozenset[str] = frozenset(AlarmKind)
    every: float = 1.0
    gather: float = GATHER


@dataclass(frozen=True, slots=True)
class Event:
    """Something to be told of one source.

    Attributes:
        source: The source; empty for what concerns all of them.
        since: When the alarm was raised; or ended, if it has.
        text: What is wrong, or was.
        advice: What to do about it.

    """

    source: str
    since: float
    text: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Letter:
    """What one target is to be told, all of one kind.

    Attributes:
        target: The target's name.
        kind: What it is about.
        news: ``raised``, ``repeated``, ``recovered`` or ``test``.
        made: When it was written, in days.
        due: Not to be sent before: until then it takes in more of the same.
        events: What there is to tell.

    """

    target: str
    kind: str
    news: str
    made: float
    due: float
    events: tuple[Event, ...]

    @property
    def body(self) -> str:
        """What it tells, as text to be kept."""
        return _written(self.events)

    @staticmethod
    def events_in(body: str) -> list[Event]:
        """Return what a kept text tells."""
        return [Event(**event) for event in json.loads(body)]


def letters(
    turns: Sequence[AlarmTurn], targets: Iterable[Recipient], now: float
) -> list[Letter]:
    """Return what each target is to be told of these judgements."""
    return [
        Letter(target.name, kind, news, now, now + target.gather, tuple(events))
        for target in targets
        for kind, news, events in _groups(turns, target, now)
    ]


def _groups(
    turns: Sequence[AlarmTurn], target: Recipient, now: float
) -> list[tuple[str, str, list[Event]]]:
    told = [(turn, news) for turn in turns if (news := _news(turn, target, now))]
    told.sort(key=lambda pair: (pair[0].after.kind, pair[1], pair[0].after.source))
    return [
        (kind, news, [_event(turn) for turn, _ in group])
        for (kind, news), group in groupby(told, lambda p: (p[0].after.kind, p[1]))
    ]


def _news(turn: AlarmTurn, target: Recipient, now: float) -> str:
    """Return what kind of news a judgement is to a target; empty if it is none."""
    alarm, before = turn.after, turn.before
    if alarm.kind not in target.kinds:
        return ""
    if turn.changed:
        if alarm.raised:
            return RAISED
        return (
            "" if turn.quiet or AlarmKind.RECOVERED not in target.kinds else RECOVERED
        )
    mild = alarm.text.startswith(INFORMATION)
    if not alarm.raised or mild or before is None or target.every <= 0:
        return ""
    times = floor((now - alarm.since) / target.every)
    return REPEATED if times > floor((before.seen - alarm.since) / target.every) else ""


def _event(turn: AlarmTurn) -> Event:
    alarm, before = turn.after, turn.before
    if alarm.raised:
        return Event(alarm.source, alarm.since, alarm.text, turn.advice)
    text = before.text if before else ""
    return Event(alarm.source, alarm.since, f"has recovered; told before: {text}")


def gathered(body: str, more: Iterable[Event]) -> str:
    """Return a kept text with more events in it; of each source the latest counts.

    >>> one = _written([Event("a", 1.0, "x")])
    >>> [e.text for e in Letter.events_in(gathered(one, [Event("a", 2.0, "y")]))]
    ['y']
    """
    events = {event.source: event for event in Letter.events_in(body)}
    events |= {event.source: event for event in more}
    return _written([events[source] for source in sorted(events)])


def _written(events: Sequence[Event]) -> str:
    return json.dumps([asdict(event) for event in events], separators=(",", ":"))


def headline(kind: str, news: str, events: Sequence[Event]) -> str:
    """Return a letter in one line.

    >>> headline("held", "raised", [Event("a", 1.0, "an answer waits")])
    'a: an answer waits'
    >>> headline("missed", "recovered", [Event("a", 1.0, ""), Event("b", 1.0, "")])
    'missed, recovered: a, b'
    """
    if len(events) == 1:
        return f"{events[0].source or 'halflife'}: {events[0].text}"
    names = [event.source or "halflife" for event in events]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    again = "" if news == RAISED else f", {news}"
    return f"{kind}{again}: {', '.join(names[:5])}{more}"


def shortened(events: Sequence[Event]) -> tuple[list[Event], int]:
    """Return as many events as a letter names, and how many it leaves out."""
    return [replace(e) for e in events[:MOST]], max(len(events) - MOST, 0)
