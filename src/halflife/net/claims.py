"""Hosts that several programs share: one of them asks a host at a time."""

from typing import Protocol


class HostClaims(Protocol):
    """Which hosts this program may ask."""

    async def claim(self, host: str) -> float | None:
        """Hold a host; wait while another program does.

        Return the seconds since another may have asked it; None if it was ours already.
        Raise ``Blameless`` if it does not become free.
        """
        ...

    def enter(self, host: str) -> None:
        """Keep a host while a request is sent; raise ``Blameless`` if it is lost."""
        ...

    def leave(self, host: str) -> None:
        """Let go of a host: the request has been answered, or has failed."""
        ...
