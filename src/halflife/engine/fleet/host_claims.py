"""Hosts that a worker holds on lease, as the gate asks for them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from halflife.core.errors import StoreError
from halflife.net.wire import Blameless
from halflife.stores.postgres.work_queue import HostLease, WorkQueue

POLL = 0.5  # seconds between two tries to get a host that another worker holds
PATIENCE = 60.0  # seconds after which the page that needs it is given up for now
IDLE = 5.0  # seconds after which a host that no page needs is given back
# Of a lease: the part in which requests are sent. What was sent must have arrived
# before another worker may ask the host.
USABLE = 2.0 / 3.0


@dataclass(slots=True)
class _Claim:
    lease: HostLease
    until: float  # by the clock that nobody can set: when nothing more is sent
    used: float
    news: float | None  # what the gate has not been told yet; see ``HostLease.ago``
    pages: bool  # whether pages were leased with it
    busy: int = 0  # requests that are being sent


class LeasedHosts:
    """The hosts that this worker may ask, and until when.

    Args:
        queue: Who hands them out.
        rest: Says when a host was asked, and when it may be asked again, in seconds.

    """

    def __init__(
        self, queue: WorkQueue, rest: Callable[[str], tuple[float, float]]
    ) -> None:
        self._queue, self.rest = queue, rest
        self._held: dict[str, _Claim] = {}

    def add(self, lease: HostLease, asked: float) -> None:
        """Take in a lease that was asked for at a moment."""
        pages = bool(lease.pages)
        claim = _Claim(lease, self._end(asked), monotonic(), lease.ago, pages)
        self._held[lease.host] = claim

    def _end(self, asked: float) -> float:
        return asked + USABLE * self._queue.lease

    async def claim(self, host: str) -> float | None:
        """Hold a host; see ``net.claims``."""
        given_up = monotonic() + PATIENCE
        while not self._is_held(host):
            asked = monotonic()
            try:
                lease = self._queue.lease_host(host)
            except StoreError as error:
                raise Blameless(f"{host}: {error}") from None
            if lease is not None:
                self.add(lease, asked)
            elif monotonic() > given_up:
                raise Blameless(f"{host}: another worker holds it")
            else:
                await asyncio.sleep(POLL)
        claim = self._held[host]
        claim.used = monotonic()
        ago, claim.news = claim.news, None
        return ago

    def enter(self, host: str) -> None:
        """Keep a host while a request is sent; see ``net.claims``."""
        if not self._is_held(host):
            raise Blameless(f"{host}: its lease ran out before the request was sent")
        self._held[host].busy += 1

    def leave(self, host: str) -> None:
        """Let go of a host."""
        claim = self._held.get(host)
        if claim is not None:
            claim.used, claim.busy = monotonic(), max(claim.busy - 1, 0)

    def _is_held(self, host: str) -> bool:
        claim = self._held.get(host)
        return claim is not None and monotonic() < claim.until

    def is_lost(self, lease: HostLease) -> bool:
        """Say whether a lease has ended, or been replaced by another."""
        claim = self._held.get(lease.host)
        return claim is None or claim.lease.token != lease.token

    def __len__(self) -> int:
        return len(self._held)

    def renew(self, requests: int) -> None:
        """Renew all leases; give back what nobody needs, forget what was lost."""
        for claim in list(self._held.values()):
            if not claim.pages and monotonic() - claim.used > IDLE:
                self.release(claim.lease)
        asked = monotonic()
        held = [(host, one.lease.token) for host, one in self._held.items()]
        kept = self._queue.beat(held, requests)
        for host, claim in list(self._held.items()):
            if host not in kept:
                del self._held[host]
            else:
                claim.until = self._end(asked)
                if kept[host] and not claim.pages:
                    self.release(claim.lease)

    def release(self, lease: HostLease, least: float = 0.0) -> None:
        """Give a host back, with when it may be asked again, in ``least`` seconds.

        One that is being asked for a page of another host is given back later.
        """
        if self.is_lost(lease):
            return
        claim = self._held[lease.host]
        claim.pages = False
        if not claim.busy:
            del self._held[lease.host]
            ago, wait = self.rest(lease.host)
            self._queue.release(lease, (ago, max(wait, least)))

    def release_all(self) -> None:
        """Give back all that is held."""
        for claim in list(self._held.values()):
            claim.busy = 0
            self.release(claim.lease)
