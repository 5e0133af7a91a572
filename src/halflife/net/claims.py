"""Claims on hosts that several programs share, one program at a time."""

from typing import Protocol


class HostClaims(Protocol):
    """The hosts that this program may send requests to."""

    async def claim(self, host: str) -> float | None:
        """Claim a host; wait while another program holds it.

        Return the seconds since another program may have sent it a request; None if it
        was ours already. Raise ``Blameless`` if it does not become free.
        """
        ...

    def enter(self, host: str) -> None:
        """Keep a host while a request is sent; raise ``Blameless`` if it is lost."""
        ...

    def leave(self, host: str) -> None:
        """Release a host: the request has been answered, or has failed."""
        ...
