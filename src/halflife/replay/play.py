"""Run the service on a recorded world, in virtual time."""

import asyncio
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from halflife.config import Config
from halflife.core.errors import UsageError
from halflife.engine.reload import Settings
from halflife.engine.service import Service, ServiceEnvironment, ServiceRhythm
from halflife.engine.signals import Stop
from halflife.kinds.protocol import Report
from halflife.net.access import GateSettings
from halflife.net.wire import Transport, Wire
from halflife.replay import virtual_loop
from halflife.replay.virtual_loop import VirtualLoop
from halflife.replay.world import (
    RecordedTransport,
    Responder,
    SentRequest,
    VirtualTimeTransport,
)
from halflife.stores import Store

DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Play:
    """How long a service is run, and what observes it.

    Attributes:
        began: When it begins, in days since the epoch.
        days: How long it lasts.
        every: Days between two calls of ``watch``.
        watch: Called with the time and the store.
        on_report: Called with every report of work that was done.
        audits: Whether a share of the requests checks the copies.
        rhythm: How often the service takes its turns.

    """

    began: float
    days: float
    every: float = 1.0
    watch: Callable[[float, Store], None] = lambda _, __: None
    on_report: Callable[[Report], None] = lambda _: None
    audits: bool = False
    rhythm: ServiceRhythm = field(default_factory=ServiceRhythm)

    def __post_init__(self) -> None:
        if not (self.days > 0 and self.every > 0):
            raise UsageError("a replay lasts longer than no time")


class VirtualClock:
    """The time of a virtual loop, in days."""

    def __init__(self, began: float) -> None:
        self.began = began
        self.loop: VirtualLoop | None = None

    def __call__(self) -> float:
        """Return the time, in days since the epoch."""
        passed = 0.0 if self.loop is None else self.loop.time()
        return self.began + passed / DAY


def play_recorded(
    config: Config, store: Store, sources: Mapping[str, Responder], play: Play
) -> list[SentRequest]:
    """Run the service on recorded sources; return the requests that it sent."""
    clock = VirtualClock(play.began)
    return _play(config, store, RecordedTransport(sources, clock), play, clock)


def play_over_http(
    config: Config, store: Store, play: Play, clock: VirtualClock
) -> list[SentRequest]:
    """Run the service on sources over HTTP in virtual time; return what it sent.

    The server of the sources must answer for the time of ``clock``.
    """
    return _play(config, store, None, play, clock)


def _play(
    config: Config,
    store: Store,
    carrier: Transport | None,
    play: Play,
    clock: VirtualClock,
) -> list[SentRequest]:
    sent: list[SentRequest] = []

    async def main(loop: VirtualLoop) -> None:
        clock.loop = loop
        inner = carrier or Wire(GateSettings(contact="replay"), clock, None)
        transport = VirtualTimeTransport(inner, loop, clock, sent)
        environment = ServiceEnvironment(
            clock,
            on_report=play.on_report,
            audits=play.audits,
            rhythm=play.rhythm,
            transport=transport,
        )
        stop = Stop()
        service = Service(Settings(config), store, stop, environment)
        ended = asyncio.create_task(_end(loop, stop, play.days))
        watched = asyncio.create_task(_watch(loop, play, store, clock))
        try:
            await service.run()
        finally:
            for task in (ended, watched):
                task.cancel()
            await asyncio.gather(ended, watched, return_exceptions=True)

    virtual_loop.run(main)
    return sent


async def _end(loop: VirtualLoop, stop: Stop, days: float) -> None:
    await asyncio.sleep(days * DAY)
    await loop.settle()
    stop.ask(signal.SIGTERM)


async def _watch(
    loop: VirtualLoop, play: Play, store: Store, clock: VirtualClock
) -> None:
    while True:
        await asyncio.sleep(play.every * DAY)
        await loop.settle()
        play.watch(clock(), store)
