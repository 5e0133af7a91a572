"""The workers of the service: one for each group of sources, all through one gate."""

import asyncio
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Coroutine,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple, Protocol

from halflife.config import Config, SourceConfig
from halflife.engine import bootstrap, network, scheduler, targets
from halflife.engine.loop import Clock
from halflife.kinds.protocol import Desk, Group, Report, Worker
from halflife.kinds.registry import kind_of
from halflife.net.gate import Gate
from halflife.net.wire import Transport
from halflife.stores import Store


class WorkGrant(NamedTuple):
    """The grant of a piece of work.

    Attributes:
        requests: Requests that it may send.
        paid: How many of them are paid from the income.
        value: The expected gain of each; None if that was not computed.

    """

    requests: int
    paid: float = 0.0
    value: float | None = None


class FleetTerms(Protocol):
    """How work is handed out to the workers of a fleet."""

    def join(self, gate: Gate) -> Callable[..., Any]:
        """Let a gate lease its hosts; return what hands pages out."""
        ...

    def under_way(self, known: Collection[str]) -> Mapping[str, float]:
        """Return the sources that were handed out, and the payment for each.

        A source that is not ``known`` is taken back, unless a worker is reading it.
        """
        ...

    def read(
        self, source: SourceConfig, grant: WorkGrant
    ) -> Coroutine[Any, Any, Report]:
        """Return the work of a worker that reads a source whole."""
        ...

    def ease(self) -> None:
        """Take back the sources that no worker has begun."""
        ...


class CrewTerms(NamedTuple):
    """The terms of a crew.

    Attributes:
        audits: Whether a share of requests checks the forecasts.
        transport: Sends requests; None: the network.
        fleet: Hands work out to other processes; None: all is done here.

    """

    audits: bool = False
    transport: Transport | None = None
    fleet: FleetTerms | None = None


class Crew:
    """The workers of all groups of sources.

    Args:
        desk: What all workers share.
        groups: The groups of sources.
        workers: The worker of each group that this process reads.
        fleet: Hands out the groups that other processes read.

    """

    def __init__(
        self,
        desk: Desk,
        groups: Sequence[tuple[SourceConfig, ...]],
        workers: Mapping[Group, Worker],
        fleet: FleetTerms | None = None,
    ) -> None:
        self._desk, self._fleet = desk, fleet
        self.groups, self.workers = groups, workers

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
        if self._fleet is not None:
            self._fleet.ease()

    def under_way(self) -> list[tuple[tuple[SourceConfig, ...], float]]:
        """Return the groups that other processes are reading, and their payments."""
        if self._fleet is None:
            return []
        names = map(scheduler.names, self.groups)
        others = {group[0] for group in names if group not in self.workers}
        out = self._fleet.under_way(others)
        return [(g, out[g[0].name]) for g in self.groups if g[0].name in out]

    def begin(
        self, group: Sequence[SourceConfig], grant: WorkGrant
    ) -> Coroutine[Any, Any, Report]:
        """Return the work of a group's grant, here or in the fleet."""
        if self._fleet is None or scheduler.names(group) in self.workers:
            return self.work(group, grant.requests)
        return self._fleet.read(group[0], grant)

    def work(
        self, group: Sequence[SourceConfig], requests: int
    ) -> Coroutine[Any, Any, Report]:
        """Return the work that spends up to so many requests on a group."""
        return self.workers[scheduler.names(group)].work(requests)


@asynccontextmanager
async def open_crew(
    config: Config,
    store: Store,
    chosen: Sequence[SourceConfig],
    clock: Clock,
    terms: CrewTerms,
) -> AsyncIterator[tuple[Crew, list["asyncio.Task[None]"]]]:
    """Open the crew and hold the leases on all pages during the block.

    The tasks that come with the crew renew the leases; a task that ends has lost its
    lease.
    """
    bootstrap.names(chosen or config.source)  # all of them may be paused
    async with AsyncExitStack() as stack:
        gate = await stack.enter_async_context(
            network.gate(config, store, clock, terms.transport)
        )
        remote = None if terms.fleet is None else terms.fleet.join(gate)
        desk = Desk(config, store, gate, clock, terms.audits, remote)
        workers: dict[Group, Worker] = {}
        leases: list[asyncio.Task[None]] = []
        groups = _groups(config, chosen)
        for group in groups:
            if terms.fleet is not None and is_handed_out(group):
                continue
            opened = kind_of(group[0]).open(desk, group)
            worker = await stack.enter_async_context(opened)
            workers[scheduler.names(group)] = worker
            leases.append(asyncio.create_task(worker.keep()))
            stack.push_async_callback(_ended, leases[-1])
        yield Crew(desk, groups, workers, terms.fleet), leases


def is_handed_out(group: Sequence[SourceConfig]) -> bool:
    """Say whether workers of a fleet read a group whole.

    A kind that holds its lease between two pieces of work stays with the planner.
    """
    return len(group) == 1 and not kind_of(group[0]).terms.holds_lease


def _groups(
    config: Config, chosen: Sequence[SourceConfig]
) -> list[tuple[SourceConfig, ...]]:
    apart, usual = targets.is_on(config), config.policy.name
    return scheduler.grouped(chosen, apart=apart, usual=usual)


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
