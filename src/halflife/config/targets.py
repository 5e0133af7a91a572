"""Settings that say what is to be kept of a source, and when it may be asked."""

import re
from math import inf
from typing import Annotated, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, model_validator

from halflife.config.values import Line, Table
from halflife.market.targets import Target, days_of, parse

_HOURS = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})\s+(\S+)")
_MEASURES = {
    "pages": {"freshness"},
    "site": {"freshness"},
    "listing": {"recall"},
    "form": {"recall", "content"},
    "search": {"summary"},
}


def _targets(text: str | tuple[str, ...]) -> str | tuple[str, ...]:
    for one in (text,) if isinstance(text, str) else text:
        parse(one)
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
    """Return when a window opens and closes, in days, and by which clock.

    >>> hours_of("22:00-06:00 Europe/Berlin")
    (0.9166666666666666, 0.25, 'Europe/Berlin')
    """
    found = _HOURS.fullmatch(text.strip())
    if not found:
        raise ValueError("must be hours and a time zone: 22:00-06:00 Europe/Berlin")
    minutes = [int(found[i]) * 60 + int(found[i + 1]) for i in (1, 3)]
    if int(found[2]) > 59 or int(found[4]) > 59 or max(minutes) > 1440:
        raise ValueError("hours must be from 00:00 to 24:00")
    if minutes[0] % 1440 == minutes[1] % 1440:
        raise ValueError("a window must not open and close at the same time")
    try:
        ZoneInfo(found[5])
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"no time zone is named {found[5]!r}") from None
    return minutes[0] % 1440 / 1440, minutes[1] / 1440, found[5]


Targets = Annotated[
    str | Annotated[tuple[Line, ...], Field(strict=False)], AfterValidator(_targets)
]
Span = Annotated[Line, AfterValidator(_span)]
Hours = Annotated[Line, AfterValidator(_hours)]


class TargetConfig(Table):
    """What is to be kept of a source, and how it may be asked for it."""

    target: Targets = ()
    max_requests: int | None = Field(default=None, ge=1, le=10**9)
    window: Hours = ""
    min_interval: Span = ""
    max_interval: Span = ""

    @model_validator(mode="after")
    def _targets_are_of_its_kind(self) -> Self:
        kind = getattr(self, "kind", "pages")
        for target in self.targets:
            if target.measure not in {"age", *_MEASURES[kind]}:
                known = " or ".join(sorted({"age", *_MEASURES[kind]}))
                raise ValueError(
                    f"a source of kind {kind!r} has a target of {known}, "
                    f"not of {target.measure}"
                )
        if self.soonest > self.latest:
            raise ValueError("min_interval must not be longer than max_interval")
        return self

    @property
    def targets(self) -> tuple[Target, ...]:
        """What is to be kept."""
        given = (self.target,) if isinstance(self.target, str) else self.target
        return tuple(parse(one) for one in given)

    @property
    def soonest(self) -> float:
        """Days between two looks, at least."""
        return days_of(self.min_interval) if self.min_interval else 0.0

    @property
    def latest(self) -> float:
        """Days between two looks, at most."""
        return days_of(self.max_interval) if self.max_interval else inf
