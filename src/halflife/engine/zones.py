"""Time zones as tables of offsets."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from halflife.config import SourceConfig
from halflife.config.targets import hours_of
from halflife.market.windows import ALWAYS, Window, Zone

AROUND = 400.0  # days before and after now that a table covers
_STEP = 7.0  # days; no zone changes its offset twice within
_SECOND = 1.0 / 86400.0


def zone(name: str, now: float) -> Zone:
    """Return the offsets of a time zone around now, to the second."""
    place = ZoneInfo(name)
    since, offset = [-np.inf], [_offset(place, now - AROUND)]
    for day in np.arange(now - AROUND, now + AROUND, _STEP).tolist():
        after = _offset(place, day + _STEP)
        if after != offset[-1]:
            since.append(_change(place, day, day + _STEP))
            offset.append(after)
    return Zone(np.array(since), np.array(offset))


def _offset(place: ZoneInfo, at: float) -> float:
    moment = datetime.fromtimestamp(round(at * 86400.0), UTC).astimezone(place)
    return (moment.utcoffset() or timedelta()).total_seconds() / 86400.0


def _change(place: ZoneInfo, before: float, after: float) -> float:
    """Return the first second with the later offset."""
    low, high = round(before * 86400.0), round(after * 86400.0)
    new = _offset(place, after)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if _offset(place, middle * _SECOND) == new else (middle, high)
        )
    return high / 86400.0


def window_of(source: SourceConfig, now: float) -> Window:
    """Return the hours in which a source may be fetched."""
    if not source.window:
        return ALWAYS
    begin, end, name = hours_of(source.window)
    return Window(begin, end, zone(name, now))
