"""Requests that go through an HTTP proxy, and what may be asked through it.

The proxy makes the connection, so the rule that only public addresses are asked cannot
be kept where it is kept otherwise, at the socket. Names are looked up here before the
proxy hears of them, and one that has an address that is not allowed is refused. What
the proxy finds when it looks up the name itself is in its hands.
"""

import asyncio
import socket
from base64 import b64encode
from ipaddress import ip_address
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from halflife.net.access import Route
from halflife.net.addresses import AddressInfo, Blocked, Network, is_public

_LOCAL = ("localhost", ".localhost", ".local", ".internal")  # of the proxy's machine
MOST = 10_000  # names whose addresses are remembered


class Unresolved(OSError):  # noqa: N818  (the wire turns it into a failure)
    """A name cannot be looked up here."""


def open_socket(info: AddressInfo) -> socket.socket:
    """Return a socket to the proxy itself, wherever that lies."""
    family, kind, protocol, _, _ = info
    return socket.socket(family, kind, protocol)


class Proxies:
    """Checks what is asked through proxies.

    Args:
        resolver: Looks up names; the system's way if None.
        remember: Seconds for which the addresses of a name are remembered.

    """

    def __init__(self, resolver: AbstractResolver | None, remember: int) -> None:
        self._given = resolver
        self._own: AbstractResolver | None = None
        self._remember = remember
        self._known: dict[str, tuple[float, tuple[str, ...]]] = {}

    async def close(self) -> None:
        """Give up what was opened here."""
        if self._own is not None:
            await self._own.close()
            self._own = None

    async def options(
        self, url: URL, allow: tuple[Network, ...], route: Route
    ) -> dict[str, Any]:
        """Return how a request is sent on its way.

        Raise ``Blocked`` if the host must not be asked, ``Unresolved`` if nobody knows.
        """
        if not route.proxy:
            return {}
        for address in await self._addresses(url, route):
            ip = ip_address(address.partition("%")[0])
            if not (any(ip in block for block in allow) or is_public(address)):
                raise Blocked("the address is not public")
        if route.login is None:
            return {"proxy": route.proxy}
        coded = b64encode(":".join(route.login).encode()).decode()
        login = {"Proxy-Authorization": f"Basic {coded}"}
        # Over a tunnel it must not reach the source, so it is said when that is made.
        place = "proxy_headers" if url.scheme == "https" else "headers"
        return {"proxy": route.proxy, place: login}

    async def _addresses(self, url: URL, route: Route) -> tuple[str, ...]:
        host = url.raw_host or ""
        try:
            return (str(ip_address(host)),)
        except ValueError:
            pass  # it is a name
        if not route.remote_names:
            return await self._looked_up(host, url.port or 0)
        if host.rstrip(".").endswith(_LOCAL):
            raise Blocked("the name is of the proxy's own network")
        return ()

    async def _looked_up(self, host: str, port: int) -> tuple[str, ...]:
        now = asyncio.get_running_loop().time()
        until, found = self._known.get(host, (0.0, ()))
        if now < until:
            return found
        try:
            every = await self._resolver().resolve(host, port, socket.AF_UNSPEC)
        except OSError:
            raise Unresolved(
                'no such host here; write dns = "proxy" under [source.proxy] '
                "if only the proxy knows it"
            ) from None
        found = tuple(str(one["host"]) for one in every)
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[host] = now + self._remember, found
        return found

    def _resolver(self) -> AbstractResolver:
        if self._given is not None:
            return self._given
        if self._own is None:
            self._own = aiohttp.ThreadedResolver()
        return self._own
