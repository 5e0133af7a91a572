"""The worker of a kind, contained: its exceptions become reports."""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from math import inf
from typing import Any, TypeVar

from halflife.config import SourceConfig
from halflife.core.budget import Account
from halflife.core.errors import (
    HalflifeError,
    Mishandled,
    NotFitted,
    PolicyError,
    SourceError,
)
from halflife.core.wording import count
from halflife.engine import logs
from halflife.kinds import laws
from halflife.kinds.protocol import Desk, Errand, Kind, Report, Worker
from halflife.net.hops import in_words
from halflife.readers.containment import MARK, describe, failure, is_own_state
from halflife.stores import Store

GROWN = 2.0  # times a grant that work may send: what it fetches may have grown
SPARE = 10  # requests beyond that, for redirects and robots.txt
# Seconds without a request after which work is stopped: far longer than anything that a
# kind of ours computes between two requests. Waiting for a host does not count.
LONGEST_SILENCE = 1800.0
# What a kind may raise. ``sys.exit`` in a plug-in must not end the program, and outside
# of a generator ``GeneratorExit`` is an error like any other.
RAISED = (Exception, SystemExit, GeneratorExit)
_ITS_OWN = (SourceError, NotFitted, PolicyError)
Found = TypeVar("Found")


class ContainedWorker:
    """Works at a group of sources; exceptions become its report.

    Args:
        group: The sources.
        account: Counts the requests sent for them.

    """

    def __init__(self, group: Sequence[SourceConfig], account: Account) -> None:
        self._group, self._account = group, account
        self._worker: Worker | None = None
        self._closed = ""  # why it could not be opened
        self._patience: float | None = None

    async def enter(
        self, kind: Kind[Any, Any], desk: Desk, stack: AsyncExitStack
    ) -> None:
        """Open the worker of the kind until the stack ends; keep its failure."""
        if desk.remote is None:  # else others send its requests
            self._patience = LONGEST_SILENCE + desk.config.fetch.delay
        try:
            held = kind.open(desk, self._group)
            self._worker = await self._in_time(held.__aenter__())
        except RAISED as error:
            if is_meant(error):
                raise
            self._closed = str(failure(error, self._group[0].where))
            return

        async def leave(*why: Any) -> bool:  # noqa: ANN401  (type, error, traceback)
            try:
                return bool(await held.__aexit__(*why))
            except RAISED as error:
                if error is why[1] or is_meant(error):
                    raise
                log(self._group, "close", blame(error))
                return False

        stack.push_async_exit(leave)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(source.name for source in self._group)

    async def sync(self, errand: Errand) -> Report:
        """Fetch the sources once."""
        if self._worker is None:
            return self._report(self._closed)
        return await self._done(self._worker.sync(errand), self._account.sent)

    async def work(self, requests: int) -> Report:
        """Spend up to ``requests`` requests."""
        if self._worker is None:
            return self._report(self._closed)
        before = self._account.sent
        self._account.limit = before + GROWN * requests + SPARE
        try:
            return await self._done(self._worker.work(requests), before)
        finally:
            self._account.limit = inf

    async def _done(self, work: Awaitable[Report], before: int) -> Report:
        """Return the report, with the number of requests really sent."""
        try:
            report: object = await self._in_time(work)
            sent = self._account.sent - before
            trouble = laws.bad_report(report, self._names)
        except RAISED as error:
            if is_meant(error):
                raise
            trouble = str(failure(error, self._group[0].where))
            return self._report(trouble, self._account.sent - before)
        if trouble or not isinstance(report, Report):
            return self._report(f"{MARK}: {trouble}", sent)
        if report.requests == sent:
            return report
        said = count(report.requests, "request")
        log(self._group, "report", f"it reports {said}, and {sent} were sent")
        return replace(report, requests=sent)

    async def _in_time(self, work: Awaitable[Found]) -> Found:
        """Return the result of work; stop it if it sends nothing for too long."""
        loop, patience = asyncio.get_running_loop(), self._patience
        limit = asyncio.timeout(patience)

        def watch(under_way: int) -> None:
            if patience is not None and not limit.expired():
                limit.reschedule(None if under_way else loop.time() + patience)

        try:
            async with limit:
                self._account.watch = watch
                return await work
        except TimeoutError:
            if patience is None or not limit.expired():
                raise
            waited = in_words(patience)
            raise Mishandled(f"{MARK}: it sent nothing for {waited}") from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise Mishandled(f"{MARK}: it cancelled itself") from None
        finally:
            self._account.watch = lambda _: None

    def _report(self, trouble: str, sent: int = 0) -> Report:
        """Return the report on work that ended in an error of its kind."""
        log(self._group, "work", trouble, logging.WARNING)
        text, names = f"{trouble}; kind {self._group[0].kind!r}", self._names
        return Report(
            names,
            sent,
            trouble=text,
            heard=True,
            mishandled=dict.fromkeys(names, text),
            failures=dict.fromkeys(names, 1),
            troubles=dict.fromkeys(names, f"could not be worked at: {text}"),
        )

    def ease(self) -> None:
        """Start nothing more."""
        try:
            if self._worker is not None:
                self._worker.ease()
        except RAISED as error:
            if not is_meant(error):  # a full disk ends the work itself, with its reason
                log(self._group, "ease", blame(error))

    async def keep(self) -> None:
        """Keep the leases; return only if our own state says they are lost."""
        try:
            if self._worker is not None:
                await self._worker.keep()
        except RAISED as error:
            if is_meant(error):
                raise
            log(self._group, "keep", blame(error))
        await asyncio.Event().wait()


def is_meant(error: BaseException) -> bool:
    """Say whether an error is meant for the caller, or is one of our own state."""
    purpose = isinstance(error, HalflifeError) and not isinstance(error, _ITS_OWN)
    return purpose or is_own_state(error)


def charged(store: Store, names: frozenset[str]) -> int:
    """Return the requests charged to the ledger for any of these sources."""
    return sum(n for run, n in store.charged_here.items() if not names.isdisjoint(run))


def blame(error: BaseException) -> str:
    """Return an exception in a line: its name, and where the kind raised it.

    An error of halflife was raised on purpose: its text says what is wrong.
    """
    on_purpose = isinstance(error, HalflifeError)
    return " ".join(str(error).split()) if on_purpose else describe(error)


def log(
    group: Sequence[SourceConfig],
    method: str,
    trouble: str,
    level: int = logging.ERROR,
) -> None:
    """Log how a kind failed; as a warning what a report says as well."""
    names = "+".join(source.name for source in group)
    fields = {"source": names, "kind": group[0].kind, "trouble": f"{method}: {trouble}"}
    logs.event("kind failed", level=level, fields=fields)


def log_kind(kind: str, method: str, trouble: str) -> None:
    """Log how a kind failed at what concerns no source in the settings."""
    fields = {"kind": kind, "trouble": f"{method}: {trouble}"}
    logs.event("kind failed", level=logging.ERROR, fields=fields)
