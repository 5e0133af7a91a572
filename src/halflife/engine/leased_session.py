"""Leased sessions: lease a source, pay for its requests, release it."""

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

STOPPING = 0.2  # seconds to wait for a thread that was stopped


class Visit(NamedTuple):
    """A leased session with a source.

    Attributes:
        run: The run that holds the lease on the source.
        gate: The gate for its requests.
        purse: Pays for its requests.

    """

    run: Run
    gate: Gate
    purse: WindowPurse


class Visitor(NamedTuple):
    """Opens sessions with sources, one at a time.

    Attributes:
        config: The settings.
        store: The store with the ledger.
        clock: The time in days.
        gate: The gate, if it is shared with others.

    """

    config: Config
    store: Store
    clock: Clock
    gate: Gate | None = None

    @asynccontextmanager
    async def visit(self, name: str, most: int | None = None) -> AsyncIterator[Visit]:
        """Lease a source, with ``most`` requests or all that the budget has left.

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
    """Renew the lease on a source while the block runs."""

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
    """Run work in a thread; on cancellation, stop it first.

    Once stopped it can send nothing more; its computation is not waited for.
    """
    task = asyncio.create_task(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop()
        task.add_done_callback(_retrieve)
        await asyncio.wait({task}, timeout=STOPPING)
        raise


def _retrieve(task: "asyncio.Task[Any]") -> None:
    """Retrieve an exception, so that asyncio does not warn."""
    if not task.cancelled():
        task.exception()
