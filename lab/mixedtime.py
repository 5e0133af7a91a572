"""The real service on a clock of its own, which its sleeps put forward.

Nothing of the service is left out: it has its gate, its store and its ledger, and its
requests are sent. While it works the clock stands still, however long that takes (live,
work that takes seconds ends long before the next turn); while it would sleep, the clock
goes on, and nobody waits. So weeks pass in minutes.
"""

import asyncio
import io
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from halflife.config import Config
from halflife.engine import bootstrap, logs, service
from halflife.engine.reload import Settings
from halflife.engine.service import Service, ServiceEnvironment, ServiceRhythm
from halflife.engine.signals import Stop
from halflife.kinds.listing.audit import audit_set
from halflife.kinds.listing.runner import ListingOutcome
from halflife.kinds.pages import client
from halflife.kinds.protocol import Report
from halflife.stores.table_store import TableStore

DAY = 86400.0
WORK = 600.0  # seconds that a turn waits for its work, at most
HOURLY = ServiceRhythm(
    shortest=3600.0, longest=3600.0, catch_up=3600.0, slice=3600.0, judged=DAY / 4.0
)  # what comes in within an hour is all that a turn may spend


@dataclass(slots=True)
class Hands:
    """A clock that is set by hand, in days."""

    now: float

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Hurried(Stop):
    """A stop whose sleeps put a clock forward instead of waiting.

    Args:
        hands: The clock.
        until: When to stop.
        every: Days between the moments that are looked at.
        each: Is called at every such moment.

    """

    def __init__(
        self, hands: Hands, until: float, every: float, each: Callable[[], None]
    ) -> None:
        super().__init__()
        self._hands, self._until = hands, until
        self._every, self._each = every, each
        self._from, self._looked = hands.now, 0

    async def sleep(self, seconds: float) -> None:
        """Put the clock forward, and look at the moments that pass."""
        hands, end = self._hands, self._hands.now + seconds / DAY
        while (moment := self._moment()) <= min(end, self._until):
            hands.now = moment
            self._each()
            self._looked += 1
        hands.now = min(end, self._until)
        if end >= self._until and not self.asked.is_set():
            self.ask(signal.SIGTERM)
        await asyncio.sleep(0)

    def _moment(self) -> float:
        return self._from + (self._looked + 1) * self._every


@dataclass(frozen=True, slots=True)
class Passing:
    """How time passes.

    Attributes:
        days: How long the service runs, by its own clock.
        every: Days between the moments that are looked at.
        rhythm: How often the service turns.

    """

    days: float
    every: float = 0.125
    rhythm: ServiceRhythm = HOURLY


@contextmanager
def _standing_still() -> Iterator[None]:
    """Let turns wait for their work, and second fetches of a page come at once.

    Else the clock would jump to the next turn while a page that has changed is fetched
    again, seconds later.
    """
    with patch.object(service, "WAIT", WORK), patch.object(client, "MOMENT", 0.0):
        yield


def passed(
    path: Path,
    hands: Hands,
    passing: Passing,
    each: Callable[[TableStore], None],
    told: Callable[[Report], None] = lambda _: None,
) -> list[str]:
    """Run the service with the settings in a file; return its events, a line each.

    ``each`` is called with the store at the moments that are looked at.
    """
    with _standing_still():
        return asyncio.run(_passed(path, hands, passing, each, told))


async def _passed(
    path: Path,
    hands: Hands,
    passing: Passing,
    each: Callable[[TableStore], None],
    told: Callable[[Report], None],
) -> list[str]:
    config, events = Config.load(path), io.StringIO()
    handler = logs.set_up(as_json=True, stream=events)
    try:
        with bootstrap.writing(config) as store:

            def hear(report: Report) -> None:
                told(report)
                if isinstance(report.result, ListingOutcome):
                    audit_set(store, report.result.source, report.result.run)

            until = hands.now + passing.days
            stop = Hurried(hands, until, passing.every, lambda: each(store))
            outside = ServiceEnvironment(
                hands, on_report=hear, audits=True, rhythm=passing.rhythm
            )
            await Service(Settings(config), store, stop, outside).run()
    finally:
        logs.end(handler)
    return events.getvalue().splitlines()
