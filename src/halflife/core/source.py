"""What a remote source must be able to do."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from halflife.core.budget import Purse
from halflife.core.observation import Looks
from halflife.core.request import Request


class Source(Protocol):
    """Something remote that answers requests."""

    def perform(
        self, requests: Sequence[Request], now: float, purse: Purse
    ) -> AsyncIterator[Looks]:
        """Carry out requests and yield what was seen, as the answers come in.

        Whatever is sent is paid for first; when the purse is empty the rest of
        the requests is left undone. A look that fails is an observation too
        (``Seen.FAILED``). The source asks for nothing more in place of an answer
        until the caller, having taken it, asks for the next: what is in flight
        or not yet written down is never more than the source's concurrency.
        """
        ...
