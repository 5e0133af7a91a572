"""Leases of hosts that a worker holds, as the gate requests them."""

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
# The share of a lease in which requests are sent. They must have arrived before
# another worker may request from the host.
USABLE = 2.0 / 3.0


@dataclass(slots=True)
class _Claim:
    lease: HostLease
    until: float  # by the monotonic clock: when nothing more is sent
    used: float
    news: float | None  # ``HostLease.ago``, until the gate has received it
    pages: bool  # whether pages were leased with it
    busy: int = 0  # requests that are being sent


class LeasedHosts:
    """The hosts that this worker may send requests to, and until when.

    Args:
        queue: Leases the hosts.
        rest: Returns the seconds since the last request to a host, and those until
            the next one may be sent.

    """

    def __init__(
        self, queue: WorkQueue, rest: Callable[[str], tuple[float, float]]
    ) -> None:
        self._queue, self.rest = queue, rest
        self._held: dict[str, _Claim] = {}

    def add(self, lease: HostLease, requested: float) -> None:
        """Add a lease that was requested at a moment."""
        pages = bool(lease.pages)
        claim = _Claim(lease, self._end(requested), monotonic(), lease.ago, pages)
        self._held[lease.host] = claim

    def _end(self, requested: float) -> float:
        return requested + USABLE * self._queue.lease

    async def claim(self, host: str) -> float | None:
        """Hold a host; see ``net.claims``."""
        given_up = monotonic() + PATIENCE
        while not self._is_held(host):
            requested = monotonic()
            try:
                lease = self._queue.lease_host(host)
            except StoreError as error:
                raise Blameless(f"{host}: {error}") from None
            if lease is not None:
                self.add(lease, requested)
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
        """Renew all leases; give back those no longer needed, drop those lost."""
        for claim in list(self._held.values()):
            if not claim.pages and monotonic() - claim.used > IDLE:
                self.release(claim.lease)
        requested = monotonic()
        held = [(host, claim.lease.token) for host, claim in self._held.items()]
        kept = self._queue.beat(held, requests)
        for host, claim in list(self._held.items()):
            if host not in kept:
                del self._held[host]
            else:
                claim.until = self._end(requested)
                if kept[host] and not claim.pages:
                    self.release(claim.lease)

    def release(self, lease: HostLease, least: float = 0.0) -> None:
        """Give a host back; its next request may be sent in ``least`` seconds at least.

        A host that is in use for a page of another host is given back later.
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
