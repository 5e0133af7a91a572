"""What the planner hands out whole: sources that any worker may read."""

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

POLL = 0.1  # seconds between two looks whether a source was read
LOST = f"{DEATHS} workers were lost while they read it; see their logs"


class SourceHandout:
    """Hands sources out, and brings back what workers report of them.

    Args:
        queue: Where they are handed out.

    """

    def __init__(self, queue: SourceQueue) -> None:
        self._queue = queue
        self._waiting: dict[str, asyncio.Future[Report]] = {}

    def under_way(self, known: Collection[str]) -> Mapping[str, float]:
        """Return the sources that were handed out, and what was paid for each.

        What is not known any more is taken back, unless a worker is at it.
        """
        found = self._queue.under_way()
        self._queue.withdraw([name for name in found if name not in known])
        return {name: paid for name, paid in found.items() if name in known}

    async def read(self, source: SourceConfig, grant: WorkGrant) -> Report:
        """Let a worker read a source; return what it reports.

        With a grant of no requests, what was handed out before is waited for. What
        cannot be handed out because another plans is not read, and that is all.
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
        found: asyncio.Future[Report] = asyncio.get_running_loop().create_future()
        self._waiting[name] = found
        try:
            return await found
        finally:
            del self._waiting[name]

    def ease(self) -> None:
        """Take back what no worker is at."""
        with suppress(HalflifeError):  # whoever plans next does
            withdrawn = self._queue.withdraw(list(self._waiting))
            for name, wasted in withdrawn.items():
                self._tell(name, Report((name,), wasted))

    async def watch(self) -> None:
        """Take in what workers report, as long as this process plans.

        A connection that is lost is noticed by whoever watches over the election.
        """
        while True:
            with suppress(StoreError):
                self._take_in()
            await asyncio.sleep(POLL if self._waiting else 10.0 * POLL)

    def _take_in(self) -> None:
        ended = self._queue.ended()
        if not ended:
            return
        # Also what nobody waits for: it is in no settings any more.
        self._queue.take_out([one.source for one in ended])
        for one in ended:
            self._tell(one.source, _report(one))

    def _tell(self, name: str, report: Report) -> None:
        found = self._waiting.get(name)
        if found is not None and not found.done():
            found.set_result(report)


def _report(ended: EndedSource) -> Report:
    """Return what a worker reports; what lost workers have sent counts as well."""
    names = (ended.source,)
    if ended.report is None:
        found = replace(broken_work.said(names, LOST), heard=True)
    else:
        try:
            found = report_codec.unpack(ended.report)
        except StoreError as error:
            found = broken_work.said(names, str(error))
    return replace(found, requests=found.requests + ended.wasted)


def _host(source: SourceConfig) -> str:
    """Return the host that a source is read from; empty if nobody can say."""
    try:
        return parse_url(source.addresses[0]).raw_host or ""
    except (UsageError, IndexError):
        return ""
