"""The protocol of a remote source."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from halflife.core.budget import Purse
from halflife.core.observation import Observations
from halflife.core.request import Request


class Source(Protocol):
    """A remote source that answers requests."""

    def perform(
        self, requests: Sequence[Request], now: float, purse: Purse
    ) -> AsyncIterator[Observations]:
        """Send requests and yield the observations, as the answers arrive.

        Each request is paid for before it is sent; when the purse is empty the
        remaining requests are not sent. A failed fetch is an observation too
        (``Seen.FAILED``). After an answer the source sends no further request until the
        caller asks for the next observation: what is in flight or not yet stored never
        exceeds the source's concurrency.
        """
        ...
