"""The environment of a service: its rhythm, its clock, and its callbacks."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from halflife.engine import bootstrap, notifications
from halflife.engine.loop import Clock
from halflife.engine.offline import reachable
from halflife.engine.workers import FleetTerms
from halflife.kinds.protocol import Report
from halflife.net.wire import Transport

DAY = 86400.0
CATCH_UP = 900.0  # seconds between turns, at most, with an hour's budget left over
SHORTEST_NAP, LONGEST_NAP = 5.0, 300.0  # seconds between two turns
SLICE = 5.0  # seconds after which the settings file is checked again
CHECK = 1.0 / 1440.0  # days between two judgements of the sources' health


@dataclass(frozen=True, slots=True)
class ServiceRhythm:
    """The intervals of a service, in seconds.

    Attributes:
        shortest: The least time between two turns.
        longest: The longest time between two turns, while no income is left over.
        catch_up: The same while more income is left over than an hour brings.
        slice: The time after which the settings are checked again.
        judged: The least time between two judgements of the sources' health.
        messages: The time between two rounds of message delivery.

    """

    shortest: float = SHORTEST_NAP
    longest: float = LONGEST_NAP
    catch_up: float = CATCH_UP
    slice: float = SLICE
    judged: float = CHECK * DAY
    messages: float = notifications.POLL


@dataclass(slots=True)
class ServiceEnvironment:
    """The environment of a service; the defaults are those of a live one.

    Attributes:
        clock: The time in days.
        on_report: Receives every report that has a result.
        audits: Whether a share of requests checks the forecasts.
        reach: Says whether any of some addresses can be reached.
        rhythm: Its intervals; a clock that runs fast needs fewer turns a day.
        transport: Sends requests; a replay answers them from a recording.
        fleet: Hands pages out to workers; None if they are fetched here.
        busy: Receives whether work is under way, when it begins and ends.

    """

    clock: Clock = bootstrap.clock
    on_report: Callable[[Report], None] = lambda _: None
    audits: bool = False
    rhythm: ServiceRhythm = ServiceRhythm()
    transport: Transport | None = None
    fleet: FleetTerms | None = None
    busy: Callable[[bool], None] = lambda _: None
    reach: Callable[[Iterable[str]], "asyncio.Future[bool]"] = field(
        default=lambda addresses: asyncio.ensure_future(reachable(addresses))
    )
