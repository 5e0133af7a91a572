"""Times as the web writes them, to and from days since the epoch."""

import re
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

SECONDS = 86400.0  # a day
_PARTIAL = re.compile(r"(\d{4})(?:-(\d\d))?")


def from_http(text: str) -> float | None:
    """Read an HTTP date; anything else gives nothing.

    >>> from_http("Thu, 01 Jan 1970 12:00:00 GMT")
    0.5
    """
    try:
        return _days(parsedate_to_datetime(text))
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def to_http(days: float) -> str:
    """Write an HTTP date.

    >>> to_http(0.5)
    'Thu, 01 Jan 1970 12:00:00 GMT'
    """
    return format_datetime(datetime.fromtimestamp(days * SECONDS, UTC), usegmt=True)


def from_iso(text: str) -> float | None:
    """Read an ISO 8601 date or time, UTC unless it says otherwise.

    >>> from_iso("1970-01-02"), from_iso("1970-01-01T12:00:00Z"), from_iso("soon")
    (1.0, 0.5, None)
    """
    text = text.strip()
    partial = _PARTIAL.fullmatch(text)
    if partial:
        text = f"{partial[1]}-{partial[2] or '01'}-01"
    try:
        return _days(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return None


def _days(moment: datetime) -> float:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp() / SECONDS
