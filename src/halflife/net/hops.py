"""Redirects: their targets, and which requests may be repeated there."""

import re

from yarl import URL

from halflife.core.errors import Refused, UsageError
from halflife.net.access import Payload
from halflife.net.addresses import origin, parse_url, resolve

_SAME_METHOD = frozenset({307, 308})
_RAW = re.compile(r"[\udc80-\udcff]")  # bytes of a header that are not UTF-8


def target(url: URL, location: str) -> URL:
    """Return the target of a redirect; raise ``Refused`` if it must not be fetched.

    Bytes of the header that are not UTF-8 are sent back unchanged.
    """
    raw = _RAW.sub(lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", location)
    try:
        return parse_url(resolve(str(url), raw))
    except UsageError:
        raise Refused(
            f"{url.raw_host}: it redirects to an address that must not be fetched"
        ) from None


def check_repeated(payload: Payload, status: int, url: URL, target: URL) -> None:
    """Raise unless a redirect of a request with this payload may be followed."""
    if status not in _SAME_METHOD:
        raise Refused(
            f"{url.raw_host}: it redirects a {payload.method} with {status}; write the "
            "address that it redirects to into the settings"
        )
    if origin(url) != origin(target):
        raise Refused(
            f"{url.raw_host}: it redirects a {payload.method} to another host; write "
            "the address that it redirects to into the settings"
        )


def in_words(seconds: float) -> str:
    """Return a duration in words."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
