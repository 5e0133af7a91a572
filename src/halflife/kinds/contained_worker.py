"""The worker of a kind, contained: its exceptions become reports."""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from math import inf
from traceback import walk_tb
from typing import Any

from halflife.config import SourceConfig
from halflife.core.budget import Account
from halflife.core.errors import HalflifeError, SourceError
from halflife.engine import logs
from halflife.kinds import laws
from halflife.kinds.protocol import Desk, Errand, Kind, Report, Worker
from halflife.readers.containment import MARK, failure, is_own_state
from halflife.stores import Store

GROWN = 2.0  # times a grant that work may send: what it fetches may have grown
SPARE = 10  # requests beyond that, for redirects and robots.txt
_OURS = "halflife.kinds.contain"  # modules that stand between a kind and the engine


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

    async def enter(
        self, kind: Kind[Any, Any], desk: Desk, stack: AsyncExitStack
    ) -> None:
        """Open the worker of the kind until the stack ends; keep its failure."""
        try:
            held = kind.open(desk, self._group)
            self._worker = await held.__aenter__()
        except Exception as error:
            if is_meant(error):
                raise
            self._closed = str(failure(error, self._group[0].where))
            return

        async def leave(*why: Any) -> bool:  # noqa: ANN401  (type, error, traceback)
            try:
                return bool(await held.__aexit__(*why))
            except Exception as error:
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
            report: object = await work
        except Exception as error:
            if is_meant(error):
                raise
            trouble = str(failure(error, self._group[0].where))
            return self._report(trouble, self._account.sent - before)
        sent = self._account.sent - before
        trouble = laws.bad_report(report, self._names, sent)
        if not isinstance(report, Report) or report.group != self._names:
            return self._report(f"{MARK}: {trouble}", sent)
        if not trouble:
            return report
        log(self._group, "report", trouble)
        return replace(report, requests=sent)

    def _report(self, trouble: str, sent: int = 0) -> Report:
        """Return the report on work that ended in an error of its kind."""
        log(self._group, "work", trouble)
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
        except Exception as error:  # noqa: BLE001  (code of any plug-in)
            log(self._group, "ease", blame(error))

    async def keep(self) -> None:
        """Keep the leases; return only if our own state says they are lost."""
        try:
            if self._worker is not None:
                await self._worker.keep()
        except Exception as error:
            if is_meant(error):
                raise
            log(self._group, "keep", blame(error))
        await asyncio.Event().wait()


def is_meant(error: Exception) -> bool:
    """Say whether an error is meant for the caller, or is one of our own state."""
    purpose = isinstance(error, HalflifeError) and not isinstance(error, SourceError)
    return purpose or is_own_state(error)


def charged(store: Store, names: frozenset[str]) -> int:
    """Return the requests charged to the ledger for any of these sources."""
    return sum(n for run, n in store.charged_here.items() if not names.isdisjoint(run))


def blame(error: Exception) -> str:
    """Return an exception in a line: its name, and where the kind raised it."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    lines = [line for _, line in walk_tb(error.__traceback__)]
    names = [str(frame.f_globals.get("__name__", "?")) for frame in frames]
    own = [i for i, name in enumerate(names) if name.startswith(_OURS)]
    place = min((own[-1] if own else -1) + 1, len(frames) - 1)
    return f"{type(error).__name__} in {names[place]}, line {lines[place]}"


def log(group: Sequence[SourceConfig], method: str, trouble: str) -> None:
    """Log how a kind failed."""
    names = "+".join(source.name for source in group)
    fields = {"source": names, "kind": group[0].kind, "trouble": f"{method}: {trouble}"}
    logs.event("kind failed", level=logging.ERROR, fields=fields)
