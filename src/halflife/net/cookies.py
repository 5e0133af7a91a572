"""Cookies of sources, each kept apart from the others and forgotten at the end."""

from collections.abc import Mapping

import aiohttp
from multidict import CIMultiDict
from yarl import URL

MOST = 50  # cookies of a source; a server that sets more is up to no good
_LONGEST = 4096  # characters of one


class CookieBook:
    """The cookies of each source.

    They are secrets: they live in memory alone and go back to where they came from.
    """

    def __init__(self) -> None:
        self._jars: dict[str, aiohttp.CookieJar] = {}

    def header(self, source: str, url: URL) -> str:
        """Return what a source sends along to an address; empty if nothing."""
        jar = self._jars.get(source)
        if jar is None:
            return ""
        found = jar.filter_cookies(url)
        return "; ".join(f"{name}={one.coded_value}" for name, one in found.items())

    def take(self, source: str, url: URL, headers: Mapping[str, str]) -> None:
        """Keep what an answer sets."""
        if "Set-Cookie" not in headers:
            return
        jar = self._jars.get(source)
        if jar is None:  # addresses without a name have cookies, too
            jar = self._jars[source] = aiohttp.CookieJar(unsafe=True)
        every = CIMultiDict(headers).getall("Set-Cookie")
        fine = [line for line in every if len(line) <= _LONGEST]
        if fine and len(jar) + len(fine) <= MOST:
            jar.update_cookies_from_headers(fine, url)
