"""Whether it is a source that does not answer, or our own network that is gone."""

import asyncio
import errno
import socket
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit

from halflife.core.budget import Purse
from halflife.core.observation import Looks, Seen
from halflife.core.request import Request
from halflife.core.source import Source
from halflife.net.wire import NO_NETWORK

PATIENCE = 5.0  # seconds that a name may take to be found
ASKED = 3  # hosts that are tried
_UNROUTED = frozenset({errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH})


def is_lost(trouble: str) -> bool:
    """Say whether a complaint is about our network, not about the source."""
    return trouble.endswith(NO_NETWORK)


class OfflineSource:
    """A source that says nothing of its items while there is no network.

    What could not be sent is no failure of the page; the first such look ends the
    errand.

    Args:
        source: What is asked.

    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.lost = 0  # looks that could not be sent
        self.heard = 0  # looks that were answered, or failed for another reason

    async def perform(
        self, requests: Sequence[Request], now: float, purse: Purse
    ) -> AsyncGenerator[Looks]:
        """Carry out requests; leave out what our network kept from being sent."""
        batches = self._source.perform(requests, now, purse)
        async with aclosing(batches) as batches:  # type: ignore[type-var]
            async for looks in batches:
                kept = _sent(looks)
                self.lost += len(looks) - len(kept)
                self.heard += len(kept)
                if len(kept):
                    yield kept
                if len(kept) < len(looks):
                    return


def _sent(looks: Looks) -> Looks:
    if not (looks.seen == Seen.FAILED).any():
        return looks
    failed = (o.seen is Seen.FAILED and is_lost(o.note) for o in looks)
    rows = [i for i, lost in enumerate(failed) if not lost]
    return looks if len(rows) == len(looks) else looks.take(rows)


async def reachable(addresses: Iterable[str]) -> bool:
    """Say whether there is a way to any of these hosts; nothing is sent to them.

    A name must be found, and this machine must know where to send what is meant for
    it. Whether anybody answers there, only a request can tell.
    """
    hosts = [urlsplit(address).hostname for address in addresses]
    found = list(dict.fromkeys(host for host in hosts if host))[:ASKED]
    tries = [_way_to(host) for host in found]
    return not tries or any(await asyncio.gather(*tries))


async def _way_to(host: str) -> bool:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(PATIENCE):
            known = await loop.getaddrinfo(host, 443, type=socket.SOCK_DGRAM)
    except TimeoutError:
        return False
    except socket.gaierror as error:
        return error.errno != socket.EAI_AGAIN
    return any(_routed(family, address) for family, *_, address in known)


def _routed(family: int, address: tuple[Any, ...]) -> bool:
    """Say whether there is a route; a datagram socket that connects sends nothing."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(address)
        except OSError as error:
            return error.errno not in _UNROUTED
    return True
