"""Convert the date formats of the web to and from days since the epoch."""

import re
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

SECONDS = 86400.0  # a day
_PARTIAL = re.compile(r"(\d{4})(?:-(\d\d))?")
_LONGEST = 100  # characters of a date
# Zones of RFC 822 and others that feeds use. Python knows the American ones of RFC 822,
# and silently reads a date with any other as UTC.
_ZONES = {  # minutes
    "ut": 0, "utc": 0, "gmt": 0, "z": 0, "wet": 0, "west": 60, "bst": 60,
    "met": 60, "mez": 60, "cet": 60, "mest": 120, "mesz": 120, "cest": 120,
    "eet": 120, "eest": 180, "msk": 180, "ist": 330, "jst": 540, "kst": 540,
    "aest": 600, "aedt": 660, "nzst": 720, "nzdt": 780,
    "adt": -180, "ast": -240, "at": -240, "edt": -240, "est": -300, "et": -300,
    "cdt": -300, "cst": -360, "ct": -360, "mdt": -360, "mst": -420, "mt": -420,
    "pdt": -420, "pst": -480, "pt": -480, "akdt": -480, "akst": -540, "hst": -600,
}  # fmt: skip
_ZONE = re.compile(
    r"(?<=[0-9\s])(?:(?P<name>[A-Za-z]{1,5})"
    r"|(?:GMT|UTC?|)(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d))"
    r"(?:\s*\([^()]*\))?\s*\Z"
)


def from_http(text: str) -> float | None:
    """Read an HTTP date; return None for anything else.

    >>> from_http("Thu, 01 Jan 1970 12:00:00 GMT")
    0.5
    """
    if len(text) > _LONGEST:
        return None
    try:
        return _days(parsedate_to_datetime(text))
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def from_mail(text: str) -> float | None:
    """Read a date of RFC 822, with any time zone that feeds are known to use.

    >>> from_mail("Thu, 01 Jan 1970 12:00:00 MET"), from_mail("1 Jan 70 06:00 +06:00")
    (0.4583333333333333, 0.0)
    """
    text = text.strip()
    zone = _ZONE.search(text) if len(text) <= _LONGEST else None
    if zone is None:
        return from_http(text)
    if zone["name"]:
        minutes = _ZONES.get(zone["name"].lower())
        if minutes is None:
            return from_http(text)
    else:
        minutes = int(zone["hours"]) * 60 + int(zone["minutes"])
        minutes = -minutes if zone["sign"] == "-" else minutes
    local = from_http(f"{text[: zone.start()].rstrip()} +0000")
    return None if local is None else local - minutes / 1440.0


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


def to_iso(days: float) -> str:
    """Write a time as ISO 8601 in UTC, to the second.

    >>> to_iso(19722.75)
    '2023-12-31T18:00:00Z'
    """
    moment = datetime.fromtimestamp(round(days * SECONDS), UTC)
    return moment.isoformat().replace("+00:00", "Z")


def _days(moment: datetime) -> float:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp() / SECONDS
