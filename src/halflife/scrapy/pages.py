"""The pages of a spider as a source: the loop chooses them, Scrapy fetches them."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence

from halflife.core.budget import Purse
from halflife.core.errors import SourceError
from halflife.core.observation import Observation, Observations, Seen
from halflife.core.request import Fetch, Request
from halflife.kinds.pages.client import SiteSettings, observe
from halflife.net.access import Answer
from halflife.readers.containment import contained

LINGER = 0.02  # seconds in which answers are collected for one write


class SpiderPages:
    """Passes pages to Scrapy, and their observations to the loop.

    A page that answered well counts once the spider's callback has read it to the end
    (``finish``): what the spider did not get to see is fetched again.

    Args:
        name: The source that the pages belong to.
        site: How they are read.
        send: Passes a page to Scrapy; raises ``SourceError`` if that fails.
        concurrency: The limit of pages that are under way or not yet written.
        clock: The time in days.

    """

    def __init__(
        self,
        name: str,
        site: SiteSettings,
        send: Callable[[str], None],
        *,
        concurrency: int,
        clock: Callable[[], float],
    ) -> None:
        self._name, self._site, self._send = name, site, send
        self._concurrency, self._clock = concurrency, clock
        self._held: dict[str, Observation | None] = {}  # pages requested by the loop
        self._expected: set[str] = set()  # pages without a result yet
        self._shown: dict[str, list[Observation]] = {}  # not yet read by the spider
        self._ready: list[Observation] = []
        self._wake = asyncio.Event()
        self.purse: Purse | None = None

    async def perform(
        self, requests: Sequence[Request], now: float, purse: Purse
    ) -> AsyncGenerator[Observations]:
        """Have pages fetched; yield observations as they come in, in small groups."""
        del now
        self.purse = purse
        rest = deque(requests)
        while rest or self._held or self._ready:
            self._send_next(rest, purse)
            if observations := await self._gather():
                yield Observations.of(observations)

    def _send_next(self, rest: deque[Request], purse: Purse) -> None:
        """Send as many pages as may be under way."""
        if purse.left <= 0:
            rest.clear()
        while rest and len(self._held) < self._concurrency:
            fetch = rest.popleft()
            self._held[fetch.key] = fetch.held
            self.expect(fetch.key)
            try:
                self._send(fetch.key)
            except SourceError as error:
                self.fail(fetch.key, str(error))

    async def _gather(self) -> list[Observation]:
        """Return the observations since the last call; wait for some if needed."""
        if self._held and not self._ready:
            self._wake.clear()
            await self._wake.wait()
        if self._held:
            await asyncio.sleep(LINGER)
        observations, self._ready = self._ready, []
        return observations

    def expect(self, key: str) -> None:
        """Register a page that is under way; its result counts once."""
        self._expected.add(key)

    def is_under_way(self, key: str) -> bool:
        """Return whether the loop requested this page and waits for it."""
        return key in self._held

    async def show(
        self, key: str, answer: Answer, held: Callable[[], Observation | None]
    ) -> Observation:
        """Read an answer; return what it shows of the page.

        ``held`` returns the last good observation of a page not requested by the loop.
        """
        before = self._held[key] if key in self._held else held()
        try:
            with contained(key):
                fetch = Fetch(key, before)
                observations = await observe(
                    fetch, self._name, self._site, answer, self._clock()
                )
        except SourceError as error:
            return self.fail(key, str(error))
        self._shown[key] = observations
        if observations[0].seen is not Seen.PRESENT:  # nothing for a callback to read
            self.finish(key)
        return observations[0]

    def finish(self, key: str) -> None:
        """Pass on the observations of a page; nothing if it was dropped on the way."""
        self._expected.discard(key)
        self._held.pop(key, None)
        self._ready += self._shown.pop(key, [])
        self._wake.set()

    def fail(self, key: str, why: str) -> Observation:
        """Record that a page could not be fetched, or not be read by the spider."""
        failed = Observation(key, self._clock(), Seen.FAILED, note=why)
        if key in self._expected:  # Scrapy reports a failure more than once
            self._shown[key] = [failed]
            self.finish(key)
        return failed

    def drop(self, key: str) -> None:
        """Drop a page that was not requested after all."""
        self._shown.pop(key, None)
        self.finish(key)

    def finish_all(self) -> None:
        """Finish all pages: Scrapy has nothing under way any more."""
        for key in [*self._expected]:
            self.finish(key)
