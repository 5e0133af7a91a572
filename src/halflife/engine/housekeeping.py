"""Removal of expired data, once a day, in the background."""

import asyncio
import logging

from halflife.config import Config
from halflife.core.errors import HalflifeError
from halflife.engine import logs
from halflife.stores import NoteBook, location, retention
from halflife.stores.notes.cleanup import TIDIED_AT

EVERY = 1.0  # days
ENDING = 0.2  # seconds that the end of the program waits for it


class Tidier:
    """Clears the state file once a day, in a thread and with a connection of its own.

    Args:
        store: The store that records when that was done.

    """

    def __init__(self, store: NoteBook) -> None:
        self._store = store
        self._task: asyncio.Task[retention.RemovedRows] | None = None

    def tidy(self, config: Config, now: float) -> None:
        """Begin, if it is time; log the result of the last time."""
        if self._task is not None:
            if not self._task.done():
                return
            self._log(self._task)
            self._task = None
        last = TIDIED_AT.load(self._store)
        if last is None or not 0 <= now - last < EVERY:
            TIDIED_AT.save(self._store, now)
            # On its first day there is nothing to remove, nor is there without a file.
            if last is not None and location.is_there(config.store_place):
                work = asyncio.to_thread(clear, config, now)
                self._task = asyncio.create_task(work)

    async def end(self) -> None:
        """Wait briefly for a removal under way; the rest is done tomorrow."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=ENDING)
            if self._task.done():
                self._log(self._task)
            self._task = None

    def _log(self, task: "asyncio.Task[retention.RemovedRows]") -> None:
        error = task.exception()
        if error is None:
            fields = {
                n: getattr(task.result(), n) for n in retention.RemovedRows.__slots__
            }
            logs.event("tidied", fields=fields)
        elif isinstance(error, HalflifeError):
            trouble = {"trouble": str(error)}
            logs.event("not tidied", level=logging.WARNING, fields=trouble)
        else:
            raise error


def limits(config: Config) -> retention.RetentionLimits:
    """Return the retention limits of the settings."""
    keep = config.keep
    return retention.RetentionLimits(
        observations=keep.observations_days,
        ledger=keep.ledger_days,
        runs=keep.runs_days,
        messages=keep.messages_days,
        summaries=keep.summaries,
        changes=keep.changes_days,
        page_versions=keep.page_versions,
    )


def clear(config: Config, now: float) -> retention.RemovedRows:
    """Remove data older than the settings allow."""
    with location.open_store(config.store_place) as store:
        return retention.clear(store, limits(config), now)
