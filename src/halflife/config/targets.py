"""Settings values for quality targets, time spans and fetch windows."""

import re
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field

from halflife.config.values import Line
from halflife.market.targets import days_of, parse

_HOURS = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})\s+(\S+)")


def _targets(text: str | tuple[str, ...]) -> str | tuple[str, ...]:
    for target in (text,) if isinstance(text, str) else text:
        parse(target)
    return text


def _span(text: str) -> str:
    if text and days_of(text) <= 0:
        raise ValueError("must be longer than 0")
    return text


def _hours(text: str) -> str:
    if text:
        hours_of(text)
    return text


def hours_of(text: str) -> tuple[float, float, str]:
    """Return when a window opens and closes, in days, and its time zone.

    >>> hours_of("22:00-06:00 Europe/Berlin")
    (0.9166666666666666, 0.25, 'Europe/Berlin')
    """
    match = _HOURS.fullmatch(text.strip())
    if not match:
        raise ValueError("must be hours and a time zone: 22:00-06:00 Europe/Berlin")
    minutes = [int(match[i]) * 60 + int(match[i + 1]) for i in (1, 3)]
    if int(match[2]) > 59 or int(match[4]) > 59 or max(minutes) > 1440:
        raise ValueError("hours must be from 00:00 to 24:00")
    if minutes[0] % 1440 == minutes[1] % 1440:
        raise ValueError("a window must not open and close at the same time")
    try:
        ZoneInfo(match[5])
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"no time zone is named {match[5]!r}") from None
    return minutes[0] % 1440 / 1440, minutes[1] / 1440, match[5]


Targets = Annotated[
    str | Annotated[tuple[Line, ...], Field(strict=False)], AfterValidator(_targets)
]
Span = Annotated[Line, AfterValidator(_span)]
Hours = Annotated[Line, AfterValidator(_hours)]
