"""A heartbeat: the service regularly writes down when it last turned.

Other processes, such as ``halflife serve``, use it to see whether the service runs.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from halflife.core.store import NoteBook
from halflife.engine.health import LATE, ServiceStatus
from halflife.engine.loop import Clock
from halflife.stores.notes.service_turn import SERVICE_TURN, ServiceTurn
from halflife.stores.owner import Owner

BEAT = 20.0  # seconds between two signs; a page that says "40 s ago" is right enough


@dataclass(frozen=True, slots=True)
class ServiceState:
    """Whether the service runs; moments in days.

    Attributes:
        state: ``running``, ``late`` (no turn for two hours), ``stopped`` or ``never``.
        since: When it was started, or its last sign of life if it does not run.
        turned: When its last turn ended; None if none did.

    """

    state: str = "never"
    since: float | None = None
    turned: float | None = None


def read(book: NoteBook, now: float) -> ServiceState:
    """Return whether the service runs, by its last heartbeat."""
    last = SERVICE_TURN.load(book)
    if last is None:
        return ServiceState()
    seen = last.began if last.turned is None else last.turned
    if last.ended is not None:
        return ServiceState("stopped", last.ended, last.turned)
    if _is_gone(last.owner):
        return ServiceState("stopped", seen, last.turned)
    state = "late" if now - seen > LATE else "running"
    return ServiceState(state, last.began, last.turned)


def _is_gone(owner: str) -> bool:
    try:
        return Owner.parse(owner).is_gone(Owner.here())
    except (ValueError, TypeError):
        return False


@asynccontextmanager
async def beating(
    status: ServiceStatus, book: NoteBook, clock: Clock, every: float = BEAT
) -> AsyncGenerator[None]:
    """Write heartbeats while the block runs, and at its end that it ended."""
    first = ServiceTurn(str(Owner.of(book)), status.began)
    SERVICE_TURN.save(book, first)

    async def beat() -> None:
        written = None
        while True:
            await asyncio.sleep(every)
            if status.turned != written:
                written = status.turned
                SERVICE_TURN.save(book, first._replace(turned=written))

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        last = first._replace(turned=status.turned, ended=clock())
        SERVICE_TURN.save(book, last)
