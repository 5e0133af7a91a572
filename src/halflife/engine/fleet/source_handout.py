"""Sources that the planner hands out whole, for any worker to read."""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace

from halflife.config import SourceConfig
from halflife.core.errors import HalflifeError, StoreError, UsageError
from halflife.engine import broken_work
from halflife.engine.fleet import report_codec
from halflife.engine.workers import WorkGrant
from halflife.kinds.protocol import NEVER_SEEN, Report
from halflife.net.addresses import parse_url
from halflife.stores.postgres.work_sources import (
    DEATHS,
    EndedSource,
    SourceQueue,
    SourceTask,
)

POLL = 0.1  # seconds between two checks whether a source was read
LOST = f"{DEATHS} workers were lost while they read it; see their logs"


class SourceHandout:
    """Hands sources out, and returns the reports of workers.

    Args:
        queue: The queue of sources.

    """

    def __init__(self, queue: SourceQueue) -> None:
        self._queue = queue
        self._waiting: dict[str, asyncio.Future[Report]] = {}

    def under_way(self, known: Collection[str]) -> Mapping[str, float]:
        """Return the sources that were handed out, and the payment for each.

        A source that is not ``known`` is taken back, unless a worker is reading it.
        """
        found = self._queue.under_way()
        self._queue.withdraw([name for name in found if name not in known])
        return {name: paid for name, paid in found.items() if name in known}

    async def read(self, source: SourceConfig, grant: WorkGrant) -> Report:
        """Let a worker read a source; return its report.

        With a grant of no requests, wait for a source that was handed out before. If
        the source cannot be handed out, because another process plans, return an empty
        report.
        """
        name = source.name
        if grant.requests:
            usual = NEVER_SEEN * source.weight / grant.requests
            gain = usual if grant.value is None else grant.value
            try:
                self._queue.hand_out(
                    SourceTask(name, _host(source), gain, grant.requests, grant.paid)
                )
            except HalflifeError:
                return Report((name,))
        report: asyncio.Future[Report] = asyncio.get_running_loop().create_future()
        self._waiting[name] = report
        try:
            return await report
        finally:
            del self._waiting[name]

    def ease(self) -> None:
        """Take back the sources that no worker is reading."""
        with suppress(HalflifeError):  # the next planner does it
            withdrawn = self._queue.withdraw(list(self._waiting))
            for name, wasted in withdrawn.items():
                self._finish(name, Report((name,), wasted))

    async def watch(self) -> None:
        """Receive the reports of workers, as long as this process plans.

        The election notices a lost connection.
        """
        while True:
            with suppress(StoreError):
                self._receive()
            await asyncio.sleep(POLL if self._waiting else 10.0 * POLL)

    def _receive(self) -> None:
        ended = self._queue.ended()
        if not ended:
            return
        # Also sources without a waiting caller: no settings name them any more.
        self._queue.take_out([source.source for source in ended])
        for source in ended:
            self._finish(source.source, _report(source))

    def _finish(self, name: str, report: Report) -> None:
        waiting = self._waiting.get(name)
        if waiting is not None and not waiting.done():
            waiting.set_result(report)


def _report(ended: EndedSource) -> Report:
    """Return the report of a worker, with the requests of lost workers added."""
    names = (ended.source,)
    if ended.report is None:
        found = replace(broken_work.failed_report(names, LOST), heard=True)
    else:
        try:
            found = report_codec.unpack(ended.report)
        except StoreError as error:
            found = broken_work.failed_report(names, str(error))
    return replace(found, requests=found.requests + ended.wasted)


def _host(source: SourceConfig) -> str:
    """Return the host that a source is read from; empty if it is not known."""
    try:
        return parse_url(source.addresses[0]).raw_host or ""
    except (UsageError, IndexError):
        return ""
