"""Notifications: many sources in one message, and not too often."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from math import floor

from halflife.alerts import AlarmKind
from halflife.alerts.machine import AlarmTurn
from halflife.alerts.rules import INFORMATION

RAISED, REPEATED, RECOVERED, TEST = "raised", "repeated", "recovered", "test"
GATHER = 2.0 / 1440.0  # days that a message waits for more of the same kind
MOST = 200  # sources named in one message; the others are only counted


@dataclass(frozen=True, slots=True)
class Recipient:
    """A recipient of notifications.

    Attributes:
        name: The recipient's name; never an address.
        kinds: The kinds of alarms it is notified of.
        every: Days after which an alarm that still stands is repeated.
        gather: Days that a message waits for more of the same kind.

    """

    name: str
    kinds: frozenset[str] = frozenset(AlarmKind)
    every: float = 1.0
    gather: float = GATHER


@dataclass(frozen=True, slots=True)
class Event:
    """One event of one source in a message.

    Attributes:
        source: The source; empty for what concerns all of them.
        since: When the alarm was raised; or ended, if it has.
        text: What is or was wrong.
        advice: What to do about it.

    """

    source: str
    since: float
    text: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Letter:
    """A message to one recipient, all of one kind.

    Attributes:
        target: The recipient's name.
        kind: The kind of alarm.
        news: ``raised``, ``repeated``, ``recovered`` or ``test``.
        made: When it was written, in days.
        due: When it may be sent; until then it takes in more events of its kind.
        events: The events.

    """

    target: str
    kind: str
    news: str
    made: float
    due: float
    events: tuple[Event, ...]

    @property
    def body(self) -> str:
        """The events as JSON."""
        return _json(self.events)

    @staticmethod
    def events_in(body: str) -> list[Event]:
        """Return the events of a stored body."""
        return [Event(**event) for event in json.loads(body)]


def letters(
    turns: Sequence[AlarmTurn], recipients: Iterable[Recipient], now: float
) -> list[Letter]:
    """Return the messages to each recipient about these judgements."""
    return [
        Letter(recipient.name, kind, news, now, now + recipient.gather, tuple(events))
        for recipient in recipients
        for kind, news, events in _groups(turns, recipient, now)
    ]


def _groups(
    turns: Sequence[AlarmTurn], recipient: Recipient, now: float
) -> list[tuple[str, str, list[Event]]]:
    reported = [(turn, news) for turn in turns if (news := _news(turn, recipient, now))]
    reported.sort(key=lambda pair: (pair[0].after.kind, pair[1], pair[0].after.source))
    return [
        (kind, news, [_event(turn) for turn, _ in group])
        for (kind, news), group in groupby(reported, lambda p: (p[0].after.kind, p[1]))
    ]


def _news(turn: AlarmTurn, recipient: Recipient, now: float) -> str:
    """Return what kind of news a judgement is to a recipient; empty if it is none."""
    alarm, before = turn.after, turn.before
    if alarm.kind not in recipient.kinds:
        return ""
    if turn.changed:
        if alarm.raised:
            return RAISED
        silent = turn.quiet or AlarmKind.RECOVERED not in recipient.kinds
        return "" if silent else RECOVERED
    mild = alarm.text.startswith(INFORMATION)
    if not alarm.raised or mild or before is None or recipient.every <= 0:
        return ""
    told, times = (
        floor((at - alarm.since) / recipient.every) for at in (before.seen, now)
    )
    return REPEATED if times > told else ""


def _event(turn: AlarmTurn) -> Event:
    alarm, before = turn.after, turn.before
    if alarm.raised:
        return Event(alarm.source, alarm.since, alarm.text, turn.advice)
    text = before.text if before else ""
    return Event(alarm.source, alarm.since, f"has recovered; reported before: {text}")


def merge_events(body: str, more: Iterable[Event]) -> str:
    """Return a stored body with more events in it; of each source the latest counts.

    >>> body = _json([Event("a", 1.0, "x")])
    >>> [e.text for e in Letter.events_in(merge_events(body, [Event("a", 2.0, "y")]))]
    ['y']
    """
    events = {event.source: event for event in Letter.events_in(body)}
    events |= {event.source: event for event in more}
    return _json([events[source] for source in sorted(events)])


def _json(events: Sequence[Event]) -> str:
    return json.dumps([asdict(event) for event in events], separators=(",", ":"))


def headline(kind: str, news: str, events: Sequence[Event]) -> str:
    """Return a message in one line.

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


def limit_events(events: Sequence[Event]) -> tuple[list[Event], int]:
    """Return as many events as a message names, and how many it leaves out."""
    return list(events[:MOST]), max(len(events) - MOST, 0)
