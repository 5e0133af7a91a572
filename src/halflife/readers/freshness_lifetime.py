"""The freshness lifetime that an answer states.

``Cache-Control: max-age``, less the ``Age`` it already has, else ``Expires`` less
``Date`` (RFC 9111, section 4.2). A feed may state its own: ``<ttl>`` of RSS 2.0, in
minutes, or ``sy:updatePeriod`` and ``sy:updateFrequency`` of RSS 1.0.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from halflife.net.dates import from_http

MAX_AGE, TTL = "max-age", "ttl"
LONGEST = 365.0  # days: longer lifetimes are not meant
_HEAD = 1 << 14  # bytes in which a feed states how often it is updated
_TTL = re.compile(rb"<ttl>\s{0,20}(\d{1,7})\s{0,20}</ttl>", re.IGNORECASE)
_PERIOD = re.compile(rb"<sy:updatePeriod>\s{0,20}([a-z]{4,8})\s{0,20}</", re.IGNORECASE)
_FREQUENCY = re.compile(
    rb"<sy:updateFrequency>\s{0,20}(\d{1,5})\s{0,20}</", re.IGNORECASE
)
_ENTRY = re.compile(rb"<(?:item|entry)[\s>]", re.IGNORECASE)
_PERIODS = {
    b"hourly": 1.0 / 24.0,
    b"daily": 1.0,
    b"weekly": 7.0,
    b"monthly": 30.0,
    b"yearly": 365.0,
}


class Lifetime(NamedTuple):
    """The days for which an answer stays fresh, and what states them."""

    days: float
    kind: str


def freshness_lifetime(
    headers: Mapping[str, str], body: bytes, now: float
) -> Lifetime | None:
    """Return the freshness lifetime of an answer; None if it states none.

    A lifetime in a feed takes precedence over a header.

    >>> freshness_lifetime({"Cache-Control": "public, max-age=86400"}, b"", 0.0)
    Lifetime(days=1.0, kind='max-age')
    """
    days, kind = _feed(body), TTL
    if days is None:
        days, kind = _header(headers, now), MAX_AGE
    return None if days is None or days <= 0 else Lifetime(min(days, LONGEST), kind)


def _header(headers: Mapping[str, str], now: float) -> float | None:
    control = _get(headers, "Cache-Control").lower()
    directives = dict(_directive(part) for part in control.split(",")[:50])
    if "no-store" in directives or "no-cache" in directives:
        return None
    if "max-age" in directives:
        seconds = _whole(directives["max-age"])
        age = _whole(_get(headers, "Age")) or 0
        return None if seconds is None else (seconds - age) / 86400.0
    until = from_http(_get(headers, "Expires"))
    since = from_http(_get(headers, "Date"))
    return None if until is None else until - (now if since is None else since)


def _feed(body: bytes) -> float | None:
    """Return the days between two updates of a feed; None if it does not state them."""
    head = body[:_HEAD]
    if b"<ttl>" not in head.lower() and b"<sy:" not in head:
        return None
    first = _ENTRY.search(head)
    head = head[: first.start()] if first else head
    if ttl := _TTL.search(head):
        return int(ttl[1]) / 1440.0
    period = _PERIOD.search(head)
    often = _FREQUENCY.search(head)
    days = _PERIODS.get(period[1].lower()) if period else None
    return None if days is None else days / max(int(often[1]) if often else 1, 1)


def _directive(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip(), value.strip().strip('"')


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None


def _get(headers: Mapping[str, str], name: str) -> str:
    return headers.get(name) or headers.get(name.lower(), "")
