"""Fetching a page a second time, a moment later, to see what of it is noise."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from yarl import URL

from halflife.core.errors import BudgetSpent, SourceError
from halflife.core.observation import Content, Observation, Seen
from halflife.kinds.pages.reading_memory import ReadingMemory, TwoFetches
from halflife.net.access import Answer
from halflife.readers.containment import read_in_thread
from halflife.readers.maps import may_be_map
from halflife.readers.noise_masks import Mask
from halflife.readers.page_text import PageReading


@dataclass(frozen=True, slots=True)
class NoiseProbe:
    """Fetches pages twice where that shows what is noise.

    Attributes:
        again: Fetches the page once more; the purse of the first fetch pays.
        clock: The time in days.
        memory: What is known of noise.
        moment: Seconds between the two fetches.

    """

    again: Callable[[], Awaitable[Answer]]
    clock: Callable[[], float]
    memory: ReadingMemory
    moment: float

    async def learn(
        self, url: URL, answer: Answer, look: Observation, held: Observation | None
    ) -> bool:
        """Say whether pages like this one are read otherwise now.

        ``look`` is what the ``answer`` showed. A second fetch that fails, or that the
        budget does not reach, teaches nothing.
        """
        memory, key = self.memory, look.key
        memory.earn()
        known = held is not None and held.seen is Seen.PRESENT
        changed = known and held is not None and look.digest != held.digest
        if look.seen is not Seen.PRESENT:
            return False
        if not answer.body or (held is not None and held.raw == look.raw):
            await self._check_masks(key)
            return False
        first = Content(answer.content_type, answer.body)
        if may_be_map(answer.body) or not memory.reading.has_text(first):
            return False
        if not memory.wants_probe(key, changed=changed):
            return False
        second = await self._again(url)
        if second is None:
            return False
        before, days = None, 0.0
        if known and held is not None:
            before, days = memory.copy(key), self.clock() - held.at
        versions, when = (first, second, before), (days, self.clock())
        masks = await read_in_thread(
            key, _judged, memory.reading, versions, when, memory.masks(key)
        )
        return memory.learn(key, masks)

    async def _check_masks(self, key: str) -> None:
        """Learn that a page needed no mask for days: not one byte of it changed."""
        copy = self.memory.copy(key) if self.memory.is_check_due(key) else None
        if copy is not None:
            same, reading = (copy, copy, None), self.memory.reading
            known = self.memory.masks(key)
            when = 0.0, self.clock()
            masks = await read_in_thread(key, _judged, reading, same, when, known)
            self.memory.learn(key, masks)

    async def _again(self, url: URL) -> Content | None:
        await asyncio.sleep(self.moment)
        try:
            answer = await self.again()
        except (SourceError, BudgetSpent):
            return None
        if answer.status != 200 or answer.url != str(url):
            return None
        return Content(answer.content_type, answer.body)


def _judged(
    reading: PageReading,
    versions: tuple[Content, Content, Content | None],
    when: tuple[float, float],
    masks: Mapping[Mask, int],
) -> dict[Mask, int]:
    """Return the masks that versions of a page leave and ask for."""
    first, second, held = versions
    fetches = TwoFetches(
        tuple(reading.blocks(first)),
        tuple(reading.blocks(second)),
        tuple(reading.blocks(held)) if held is not None else (),
        *when,
    )
    return fetches.judge(masks)
