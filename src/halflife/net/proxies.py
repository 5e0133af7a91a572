"""Requests through an HTTP proxy, and the checks of their hosts.

The proxy makes the connection, so the rule that only public addresses may be requested
cannot be enforced at the socket. Names are resolved here before the proxy receives
them, and a name with an address that is not allowed is refused. The proxy may resolve
the name differently; that cannot be checked.
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
from halflife.net.addresses import AddressInfo, Blocked, Network, check_address

_LOCAL = ("localhost", ".localhost", ".local", ".internal")  # the proxy's own network
MOST = 10_000  # names whose addresses are cached


class Unresolved(OSError):  # noqa: N818  (the wire turns it into a failure)
    """A name cannot be resolved here."""


def open_socket(info: AddressInfo) -> socket.socket:
    """Return a socket to the proxy itself, at any address."""
    family, kind, protocol, _, _ = info
    return socket.socket(family, kind, protocol)


class Proxies:
    """Checks requests through proxies.

    Args:
        resolver: Resolves names; the system's resolver if None.
        remember: Seconds for which the addresses of a name are cached.

    """

    def __init__(self, resolver: AbstractResolver | None, remember: int) -> None:
        self._given = resolver
        self._own: AbstractResolver | None = None
        self._remember = remember
        self._cache: dict[str, tuple[float, tuple[str, ...]]] = {}

    async def close(self) -> None:
        """Close the resolver, if it was opened here."""
        if self._own is not None:
            await self._own.close()
            self._own = None

    async def options(
        self, url: URL, allow: tuple[Network, ...], route: Route
    ) -> dict[str, Any]:
        """Return the options of a request for its route.

        Raise ``Blocked`` if the host is not allowed, ``Unresolved`` if its name cannot
        be resolved.
        """
        if not route.proxy:
            return {}
        for address in await self._addresses(url, route):
            check_address(address, allow)
        if route.login is None:
            return {"proxy": route.proxy}
        coded = b64encode(":".join(route.login).encode()).decode()
        login = {"Proxy-Authorization": f"Basic {coded}"}
        # Through a tunnel it must not reach the source: it is sent to open the tunnel.
        place = "proxy_headers" if url.scheme == "https" else "headers"
        return {"proxy": route.proxy, place: login}

    async def _addresses(self, url: URL, route: Route) -> tuple[str, ...]:
        host = url.raw_host or ""
        try:
            return (str(ip_address(host)),)
        except ValueError:
            pass  # it is a name
        if not route.remote_names:
            return await self._resolve(host, url.port or 0)
        if host.rstrip(".").endswith(_LOCAL):
            raise Blocked("the name is of the proxy's own network")
        return ()

    async def _resolve(self, host: str, port: int) -> tuple[str, ...]:
        now = asyncio.get_running_loop().time()
        until, addresses = self._cache.get(host, (0.0, ()))
        if now < until:
            return addresses
        try:
            rows = await self._resolver().resolve(host, port, socket.AF_UNSPEC)
        except OSError:
            raise Unresolved(
                'no such host here; write dns = "proxy" under [source.proxy] '
                "if only the proxy knows it"
            ) from None
        addresses = tuple(str(row["host"]) for row in rows)
        if len(self._cache) >= MOST:
            self._cache.clear()
        self._cache[host] = now + self._remember, addresses
        return addresses

    def _resolver(self) -> AbstractResolver:
        if self._given is not None:
            return self._given
        if self._own is None:
            self._own = aiohttp.ThreadedResolver()
        return self._own
