"""Redirects: where they lead, and what may be sent there again."""

import re

from yarl import URL

from halflife.core.errors import Refused, UsageError
from halflife.net.access import Payload
from halflife.net.addresses import origin, parse_url, resolve

_SAME_METHOD = frozenset({307, 308})
_RAW = re.compile(r"[\udc80-\udcff]")  # bytes of a header that are no UTF-8


def target(url: URL, location: str) -> URL:
    """Return where a redirect leads, if we may go there.

    A header is bytes; those that are no UTF-8 are sent back as they came.
    """
    raw = _RAW.sub(lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", location)
    try:
        return parse_url(resolve(str(url), raw))
    except UsageError:
        raise Refused(
            f"{url.raw_host}: it redirects to what must not be fetched"
        ) from None


def check_repeated(payload: Payload, status: int, url: URL, target: URL) -> None:
    """Raise unless a redirect may be followed with what was sent."""
    if status not in _SAME_METHOD:
        raise Refused(
            f"{url.raw_host}: it redirects a {payload.method} with {status}; write the "
            "address that it leads to into the settings"
        )
    if origin(url) != origin(target):
        raise Refused(
            f"{url.raw_host}: it redirects a {payload.method} to another host; write "
            "the address that it leads to into the settings"
        )


def in_words(seconds: float) -> str:
    """Return a time for people."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
