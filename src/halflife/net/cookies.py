"""Cookies of sources, separate for each source, in memory only."""

from collections.abc import Mapping

import aiohttp
from multidict import CIMultiDict
from yarl import URL

MOST = 50  # cookies of a source; a server that sets more is not trusted
_LONGEST = 4096  # characters of one


class CookieBook:
    """The cookies of each source.

    They are secrets: they stay in memory and are sent only to their own origin.
    """

    def __init__(self) -> None:
        self._jars: dict[str, aiohttp.CookieJar] = {}

    def header(self, source: str, url: URL) -> str:
        """Return the Cookie header for an address; empty if there are no cookies."""
        jar = self._jars.get(source)
        if jar is None:
            return ""
        found = jar.filter_cookies(url)
        return "; ".join(f"{name}={value.coded_value}" for name, value in found.items())

    def take(self, source: str, url: URL, headers: Mapping[str, str]) -> None:
        """Keep the cookies that an answer sets."""
        if "Set-Cookie" not in headers:
            return
        jar = self._jars.get(source)
        if jar is None:  # addresses without a name have cookies, too
            jar = self._jars[source] = aiohttp.CookieJar(unsafe=True)
        lines = CIMultiDict(headers).getall("Set-Cookie")
        usable = [line for line in lines if len(line) <= _LONGEST]
        if usable and len(jar) + len(usable) <= MOST:
            jar.update_cookies_from_headers(usable, url)
