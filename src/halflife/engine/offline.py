"""Tell a source that does not answer from a loss of our own network."""

import asyncio
import errno
import socket
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit

from halflife.core.budget import Purse
from halflife.core.observation import Observations, Seen
from halflife.core.request import Request
from halflife.core.source import Source
from halflife.net.wire import NO_NETWORK

PATIENCE = 5.0  # seconds for the lookup of a name
TRIED = 3  # hosts that are tried
_UNROUTED = frozenset({errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH})


def is_lost(trouble: str) -> bool:
    """Say whether an error is about our network, not about the source."""
    return trouble.endswith(NO_NETWORK)


class OfflineSource:
    """A source that yields no observations while there is no network.

    A request that could not be sent is no failure of the page; the first one ends the
    fetching.

    Args:
        source: The source that sends the requests.

    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.lost = 0  # requests that could not be sent
        self.answered = 0  # requests that were answered, or failed otherwise

    async def perform(
        self, requests: Sequence[Request], now: float, purse: Purse
    ) -> AsyncGenerator[Observations]:
        """Carry out requests; leave out those that could not be sent."""
        batches = self._source.perform(requests, now, purse)
        async with aclosing(batches) as batches:  # type: ignore[type-var]
            async for observations in batches:
                kept = _sent(observations)
                self.lost += len(observations) - len(kept)
                self.answered += len(kept)
                if len(kept):
                    yield kept
                if len(kept) < len(observations):
                    return


def _sent(observations: Observations) -> Observations:
    if not (observations.seen == Seen.FAILED).any():
        return observations
    failed = (o.seen is Seen.FAILED and is_lost(o.note) for o in observations)
    rows = [i for i, lost in enumerate(failed) if not lost]
    return observations if len(rows) == len(observations) else observations.take(rows)


async def reachable(addresses: Iterable[str]) -> bool:
    """Say whether any of these hosts has a route; nothing is sent to them.

    A name must resolve, and this machine must have a route to its address. Only a
    request can show whether the host answers.
    """
    hosts = [urlsplit(address).hostname for address in addresses]
    found = list(dict.fromkeys(host for host in hosts if host))[:TRIED]
    tries = [_has_route(host) for host in found]
    return not tries or any(await asyncio.gather(*tries))


async def _has_route(host: str) -> bool:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(PATIENCE):
            addresses = await loop.getaddrinfo(host, 443, type=socket.SOCK_DGRAM)
    except TimeoutError:
        return False
    except socket.gaierror as error:
        return error.errno != socket.EAI_AGAIN
    return any(_is_routed(family, address) for family, *_, address in addresses)


def _is_routed(family: int, address: tuple[Any, ...]) -> bool:
    """Say whether there is a route; a datagram socket that connects sends nothing."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(address)
        except OSError as error:
            return error.errno not in _UNROUTED
    return True
