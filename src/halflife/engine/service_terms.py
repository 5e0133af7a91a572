"""What a service may be given: its rhythm, its clock, and who hears of results."""

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
CHECK = 1.0 / 1440.0  # days between two judgements of how sources are


@dataclass(frozen=True, slots=True)
class ServiceRhythm:
    """How often a service turns, in seconds.

    Attributes:
        shortest: Between two turns, at least.
        longest: Between two turns, at most, while nothing is left over.
        catch_up: Between two turns while more is left over than an hour brings.
        slice: After which settings are looked at again.
        judged: Between two judgements of how sources are, at least.
        messages: Between two rounds in which messages are delivered.

    """

    shortest: float = SHORTEST_NAP
    longest: float = LONGEST_NAP
    catch_up: float = CATCH_UP
    slice: float = SLICE
    judged: float = CHECK * DAY
    messages: float = notifications.POLL


@dataclass(slots=True)
class Outside:
    """What a service may be given in place of the usual.

    Attributes:
        clock: The time in days.
        told: Hears of every report that something came of.
        audits: Whether a share of requests checks what is believed.
        reach: Says whether there is a way to any of some addresses.
        rhythm: How often it turns; a clock that runs fast wants fewer turns a day.
        transport: What carries requests; a replay answers them from a recording.
        fleet: Hands pages out to workers; None if they are fetched here.
        busy: Hears whether there is work under way, when it begins and ends.

    """

    clock: Clock = bootstrap.clock
    told: Callable[[Report], None] = lambda _: None
    audits: bool = False
    rhythm: ServiceRhythm = ServiceRhythm()
    transport: Transport | None = None
    fleet: FleetTerms | None = None
    busy: Callable[[bool], None] = lambda _: None
    reach: Callable[[Iterable[str]], "asyncio.Future[bool]"] = field(
        default=lambda addresses: asyncio.ensure_future(reachable(addresses))
    )
