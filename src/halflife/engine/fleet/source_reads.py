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

SPREAD = 0.5  # seconds per leased source before one more: idle workers come first
AGAIN = 0.5  # seconds between two tries to hand something in
AWAY = 5.0  # seconds without a lease after the thread failed to start


class SourceReads:
    """Reads sources that are handed out, in a thread that starts with the first.

    Args:
        config: The settings.
        queue: Hands sources out.
        name: The name of the worker.
        lease: Seconds that a lease lasts.

    """

    def __init__(
        self, config: Config, queue: SourceQueue, name: str, lease: float
    ) -> None:
        self._config, self._queue = config, queue
        self._name, self._lease = name, lease
        self._known = [s.name for s in config.source if is_handed_out([s])]
        self._held: dict[int, asyncio.Task[None]] = {}
        self._thread: SourceThread | None = None
        self._next = 0.0  # when one more may be leased
        self.requests = 0
        self.is_offline = False  # whether our network failed; the worker resets it

    @property
    def tasks(self) -> "set[asyncio.Task[None]]":
        """The reads under way."""
        return set(self._held.values())

    def take(self) -> int:
        """Lease a source and begin to read it; return how many were leased."""
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
        """Collect reads that are done; one that failed ends the worker."""
        for token, task in list(self._held.items()):
            if task.done():
                del self._held[token]
                if not task.cancelled():
                    task.result()

    def renew(self) -> None:
        """Renew the leases; cancel reads whose lease was lost."""
        kept = self._queue.renew(list(self._held))
        for token in self._held.keys() - kept:
            self._held[token].cancel()

    def ease(self) -> None:
        """Let reads under way end soon."""
        if self._thread is not None:
            self._thread.ease()

    async def close(self) -> None:
        """End the thread; no read is under way any more."""
        if self._thread is not None:
            await self._thread.close()
            self._thread = None

    async def _work(self, leased: LeasedSource) -> None:
        """Read a source, and hand in the report, or give the source back."""
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
        """Return the report on a source; None if the lease or the store was lost."""
        if self._thread is None:
            self._thread = SourceThread(self._config, self._name, self._lease)
        thread = self._thread
        try:
            return await thread.read(leased)
        except (LeaseLost, StoreError) as error:
            _log(leased, str(error))
            if thread.is_broken:
                self._thread, self._next = None, monotonic() + AWAY
            return None
        except Exception as error:  # noqa: BLE001  (it is reported as the error of its source)
            where = thread.sources[leased.source].where
            return broken_work.report((leased.source,), error, where)

    def _give_back(self, leased: LeasedSource, sent: int) -> None:
        try:
            self._queue.give_back(leased, sent)
        except HalflifeError as error:  # then the lease runs out
            _log(leased, str(error))

    async def _hand_in(self, leased: LeasedSource, report: Report) -> None:
        """Hand a report in; retry a database that does not answer."""
        text = report_codec.pack(report)
        while True:
            try:
                return self._queue.hand_in(leased, text)
            except LeaseLost as error:
                return _log(leased, str(error))
            except StoreError:
                await asyncio.sleep(AGAIN)


def _log(leased: LeasedSource, trouble: str) -> None:
    """Log that a leased source is left to another worker."""
    fields = {"source": leased.source, "trouble": trouble}
    logs.event("source not read", level=logging.WARNING, fields=fields)
