"""Hours of the day in which requests to a source are allowed, in local time.

A zone is a table of offsets from UTC. Where the clock is set forward, a window in the
hour that does not exist opens right after it; where the clock is set back, an hour that
occurs twice counts only the first time.
"""

from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Floats

_DAY_BEFORE = 2.0  # a window that began yesterday may still be open
_SOON = 1e-9  # days; tolerance because hours are not exact in floating point
_AHEAD = 4.0  # days within which any window opens


@dataclass(frozen=True, slots=True)
class Zone:
    """The UTC offsets of local time.

    Attributes:
        since: The start of each offset, in days, UTC; the first is ``-inf``.
        offset: Local time less UTC, in days.

    """

    since: Floats
    offset: Floats

    def __post_init__(self) -> None:
        if self.since.size == 0 or self.since[0] != -np.inf:
            raise ValueError("the first offset of a zone must hold from -inf on")

    def reach(self, local: Floats, *, closing: bool = False) -> Floats:
        """Return when the local clock first shows a time or later, in days, UTC.

        With ``closing`` the moment at which the clock is set back counts as the local
        time that it would have shown.
        """
        until = np.append(self.since[1:], np.inf) + (_SOON if closing else -_SOON)
        at = np.maximum(self.since[:, None], local[None, :] - self.offset[:, None])
        first: Floats = np.where(at < until[:, None], at, np.inf).min(axis=0)
        return first


UTC = Zone(np.array([-np.inf]), np.zeros(1))


@dataclass(frozen=True, slots=True)
class Window:
    """Hours of each day, in local time.

    Attributes:
        begin: The time of day at which the window opens, in days: 22:00 is 22/24.
        end: The time at which it closes; on the next day if not after ``begin``.
        zone: The time zone.

    """

    begin: float
    end: float
    zone: Zone = UTC

    def __post_init__(self) -> None:
        if not (0 <= self.begin < 1 and 0 <= self.end <= 1):
            raise ValueError("a window must begin and end within a day")

    @property
    def length(self) -> float:
        """How long the window is open on an ordinary day, in days."""
        return self.end - self.begin + (self.end <= self.begin)

    def spans(self, since: float, until: float) -> tuple[Floats, Floats]:
        """Return the times of opening and closing that overlap an interval.

        A window that lies wholly in hours that the clock skips opens right after them,
        for as long as on an ordinary day.
        """
        days = np.arange(np.floor(since - _DAY_BEFORE), np.ceil(until + 1.0) + 1.0)
        opens = self.zone.reach(days + self.begin)
        closes = self.zone.reach(days + self.begin + self.length, closing=True)
        closes = np.where(closes <= opens + _SOON, opens + self.length, closes)
        touched = (closes > since) & (opens < until)
        return opens[touched], closes[touched]

    def is_open(self, now: float) -> bool:
        """Return whether the window is open."""
        opens, closes = self.spans(now - _SOON, now + _SOON)
        return bool(np.any((opens <= now) & (now < closes)))

    def next_open(self, now: float) -> float:
        """Return when the window opens next; now if it is open."""
        if self.is_open(now):
            return now
        opens, _ = self.spans(now, now + _AHEAD)
        return float(opens[opens > now].min())


ALWAYS = Window(0.0, 1.0)
