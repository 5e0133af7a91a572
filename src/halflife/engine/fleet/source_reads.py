"""The sources that a worker reads whole: leased, read, and reported to the planner."""

import asyncio
import logging
from time import monotonic

from halflife.config import Config
from halflife.core.errors import HalflifeError, LeaseLost, StoreError
from halflife.engine import broken_work, logs
from halflife.engine.fleet import report_codec
from halflife.engine.fleet.source_thread import SourceThread
from halflife.engine.workers import is_handed_out
from halflife.kinds.protocol import Report
from halflife.stores.postgres.work_sources import LeasedSource, SourceQueue

SPREAD = 0.5  # seconds for each source in hand before one more: idle workers come first
AGAIN = 0.5  # seconds between two tries to hand something in
AWAY = 5.0  # seconds without a lease after the thread could not begin


class SourceReads:
    """Reads sources that are handed out, in a thread that begins with the first.

    Args:
        config: The settings.
        queue: Hands sources out.
        name: What people call the worker.
        lease: Seconds that a lease lasts.

    """

    def __init__(
        self, config: Config, queue: SourceQueue, name: str, lease: float
    ) -> None:
        self._config, self._queue = config, queue
        self._name, self._lease = name, lease
        self._known = [one.name for one in config.source if is_handed_out([one])]
        self._held: dict[int, asyncio.Task[None]] = {}
        self._thread: SourceThread | None = None
        self._next = 0.0  # when one more may be leased
        self.requests = 0
        self.is_offline = False  # whether our own network failed since it was asked

    @property
    def tasks(self) -> "set[asyncio.Task[None]]":
        """What is being read."""
        return set(self._held.values())

    def take(self) -> int:
        """Lease a source and begin to read it; return how many were."""
        if not self._known or monotonic() < self._next:
            return 0
        leased = self._queue.lease(self._known)
        if leased is None:
            return 0
        task = asyncio.create_task(self._work(leased))
        self._held[leased.token] = task
        self._next = monotonic() + SPREAD * len(self._held)
        return 1

    def collect(self) -> None:
        """Look after what is done; what broke ends the worker."""
        for token, task in list(self._held.items()):
            if task.done():
                del self._held[token]
                if not task.cancelled():
                    task.result()

    def renew(self) -> None:
        """Renew the leases; break off what another reads."""
        kept = self._queue.renew(list(self._held))
        for token in self._held.keys() - kept:
            self._held[token].cancel()

    def ease(self) -> None:
        """Let what is read come to an end soon."""
        if self._thread is not None:
            self._thread.ease()

    async def close(self) -> None:
        """End the thread; nothing is being read any more."""
        if self._thread is not None:
            await self._thread.close()
            self._thread = None

    async def _work(self, leased: LeasedSource) -> None:
        """Read a source, and hand in what came of it, or give it back."""
        report: Report | None = None
        try:
            report = await self._read(leased)
        finally:
            if report is None or report.lost:
                sent = 0 if report is None else report.requests
                self._give_back(leased, sent)
        if report is not None:
            self.requests += report.requests
            self.is_offline |= report.lost
            if not report.lost:
                await self._hand_in(leased, report)

    async def _read(self, leased: LeasedSource) -> Report | None:
        """Return what came of it; None if that was not ours to say."""
        if self._thread is None:
            self._thread = SourceThread(self._config, self._name, self._lease)
        thread = self._thread
        try:
            return await thread.read(leased)
        except (LeaseLost, StoreError) as error:
            _say(leased, str(error))
            if thread.is_broken:
                self._thread, self._next = None, monotonic() + AWAY
            return None
        except Exception as error:  # noqa: BLE001  (it is the trouble of its source)
            where = thread.sources[leased.source].where
            return broken_work.report((leased.source,), error, where)

    def _give_back(self, leased: LeasedSource, sent: int) -> None:
        try:
            self._queue.give_back(leased, sent)
        except HalflifeError as error:  # then the lease runs out
            _say(leased, str(error))

    async def _hand_in(self, leased: LeasedSource, report: Report) -> None:
        """Hand a report in; a database that is away is tried until another reads it."""
        text = report_codec.pack(report)
        while True:
            try:
                return self._queue.hand_in(leased, text)
            except LeaseLost as error:
                return _say(leased, str(error))
            except StoreError:
                await asyncio.sleep(AGAIN)


def _say(leased: LeasedSource, trouble: str) -> None:
    """Say that what was leased is left to another."""
    fields = {"source": leased.source, "trouble": trouble}
    logs.event("source not read", level=logging.WARNING, fields=fields)
