"""Visits: a source is held, asked and paid for, and then let go."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, TypeVar

from halflife.config import Config
from halflife.engine import network
from halflife.engine.loop import LEASE, Clock
from halflife.engine.wallet import Wallet, WindowPurse, spent
from halflife.net.gate import Gate
from halflife.stores import Run, Store

Result = TypeVar("Result")

STOPPING = 0.2  # seconds that a thread which was stopped is waited for


class Visit(NamedTuple):
    """What is needed to ask a source.

    Attributes:
        run: Holds the lease on the source.
        gate: The way out.
        purse: Pays for it.

    """

    run: Run
    gate: Gate
    purse: WindowPurse


class Visitor(NamedTuple):
    """Asks sources, one at a time.

    Attributes:
        config: The settings.
        store: Where spending is written down.
        clock: The time in days.
        gate: The way out, if it is shared with others.

    """

    config: Config
    store: Store
    clock: Clock
    gate: Gate | None = None

    @asynccontextmanager
    async def visit(self, name: str, most: int | None = None) -> AsyncIterator[Visit]:
        """Hold on to a source, with ``most`` requests or all that the budget has left.

        Raise ``BudgetSpent`` if nothing can be spent.
        """
        config, store, clock = self.config, self.store, self.clock
        wallet = Wallet(store, config.budget)
        room = wallet.room(clock())
        if not room:
            raise spent(config.budget, wallet.refill(clock()))
        run = store.begin([name], clock(), lease=LEASE)
        purse = WindowPurse(wallet, run, min(room, most or room), clock=clock)
        way_out = network.way_out(config, store, clock, self.gate)
        try:
            async with lease_kept(store, run, clock), way_out as gate:
                yield Visit(run, gate, purse)
        finally:
            purse.close()
            store.finish(run, clock())


@asynccontextmanager
async def lease_kept(store: Store, run: Run, clock: Clock) -> AsyncIterator[None]:
    """Hold on to the source, however long its pages take."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(LEASE * 86400.0 / 3.0)
            store.renew(run, clock(), lease=LEASE)

    task = asyncio.create_task(renew())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def in_thread(work: Callable[[], Result], stop: Callable[[], None]) -> Result:
    """Work in a thread of its own; if we are cancelled, it is stopped first.

    Once stopped it can send nothing more. What it computes meanwhile nobody waits for.
    """
    task = asyncio.create_task(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop()
        task.add_done_callback(_overlook)
        await asyncio.wait({task}, timeout=STOPPING)
        raise


def _overlook(task: "asyncio.Task[Any]") -> None:
    """Take note of an error that nobody waits for."""
    if not task.cancelled():
        task.exception()
