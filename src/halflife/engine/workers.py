"""Those who do the work: one for each group of sources, all through one gate."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple, Protocol

from halflife.config import Config, SourceConfig
from halflife.engine import bootstrap, network, scheduler, targets
from halflife.engine.loop import Clock
from halflife.kinds.protocol import Desk, Report, Worker
from halflife.kinds.registry import kind_of
from halflife.net.gate import Gate
from halflife.net.wire import Transport
from halflife.stores import Store


class FleetTerms(Protocol):
    """How pages are handed out to the workers of a fleet."""

    def join(self, gate: Gate) -> Callable[..., Any]:
        """Let a gate ask hosts on lease; return what hands pages out."""
        ...


class CrewTerms(NamedTuple):
    """How a crew works.

    Attributes:
        audits: Whether a share of requests checks what is believed.
        transport: What carries requests; None: the network.
        fleet: Hands pages out to other processes; None: they are fetched here.

    """

    audits: bool = False
    transport: Transport | None = None
    fleet: FleetTerms | None = None


class Crew:
    """Works at sources, each group by itself.

    Args:
        desk: What all workers share.
        workers: Who works at which group.

    """

    def __init__(
        self, desk: Desk, workers: Sequence[tuple[tuple[SourceConfig, ...], Worker]]
    ) -> None:
        self._desk = desk
        self.groups = [group for group, _ in workers]
        self.workers = {scheduler.names(group): worker for group, worker in workers}

    @property
    def config(self) -> Config:
        """The settings."""
        return self._desk.config

    @property
    def gate(self) -> Gate:
        """The way out."""
        return self._desk.gate

    def ease(self) -> None:
        """Begin nothing more."""
        for worker in self.workers.values():
            worker.ease()

    def work(
        self, group: Sequence[SourceConfig], requests: int
    ) -> Coroutine[Any, Any, Report]:
        """Return the work that spends up to so many requests on a group."""
        return self.workers[scheduler.names(group)].work(requests)


@asynccontextmanager
async def gathered(
    config: Config,
    store: Store,
    chosen: Sequence[SourceConfig],
    clock: Clock,
    terms: CrewTerms,
) -> AsyncIterator[tuple[Crew, list["asyncio.Task[None]"]]]:
    """Hold the leases on all pages, and all it takes to work, during the block.

    The tasks that come with the crew keep the leases; one that ends has lost its own.
    """
    bootstrap.names(chosen or config.source)  # all of them may be paused
    async with AsyncExitStack() as stack:
        gate = await stack.enter_async_context(
            network.gate(config, store, clock, terms.transport)
        )
        remote = None if terms.fleet is None else terms.fleet.join(gate)
        desk = Desk(config, store, gate, clock, terms.audits, remote)
        workers: list[tuple[tuple[SourceConfig, ...], Worker]] = []
        leases: list[asyncio.Task[None]] = []
        for group in _groups(config, chosen):
            opened = kind_of(group[0]).open(desk, group)
            worker = await stack.enter_async_context(opened)
            workers.append((group, worker))
            leases.append(asyncio.create_task(worker.keep()))
            stack.push_async_callback(_ended, leases[-1])
        yield Crew(desk, workers), leases


def _groups(
    config: Config, chosen: Sequence[SourceConfig]
) -> list[tuple[SourceConfig, ...]]:
    apart, usual = targets.is_on(config), config.policy.name
    return scheduler.grouped(chosen, apart=apart, usual=usual)


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
