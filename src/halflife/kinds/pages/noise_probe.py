"""Second fetches of pages, a moment later, that reveal noise."""

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
    """Fetches a page a second time where that reveals noise.

    Attributes:
        again: Fetches the page once more, paid from the purse of the first fetch.
        clock: The time in days.
        memory: The noise known so far.
        moment: Seconds between the two fetches.

    """

    again: Callable[[], Awaitable[Answer]]
    clock: Callable[[], float]
    memory: ReadingMemory
    moment: float

    async def learn(
        self,
        url: URL,
        answer: Answer,
        observation: Observation,
        held: Observation | None,
    ) -> bool:
        """Return whether the masks of pages like this one have changed.

        ``observation`` is that of the ``answer``. A second fetch that fails, or
        that the budget does not allow, changes nothing.
        """
        memory, key = self.memory, observation.key
        memory.earn()
        has_copy = held is not None and held.seen is Seen.PRESENT
        changed = has_copy and held is not None and observation.digest != held.digest
        if observation.seen is not Seen.PRESENT:
            return False
        if not answer.body or (held is not None and held.raw == observation.raw):
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
        if has_copy and held is not None:
            before, days = memory.copy(key), self.clock() - held.at
        versions, timing = (first, second, before), (days, self.clock())
        masks = await read_in_thread(
            key, _judge, memory.reading, versions, timing, memory.masks(key)
        )
        return memory.learn(key, masks)

    async def _check_masks(self, key: str) -> None:
        """Record that an unchanged page needed no masks since the last check."""
        copy = self.memory.copy(key) if self.memory.is_check_due(key) else None
        if copy is not None:
            same, reading = (copy, copy, None), self.memory.reading
            masks_before = self.memory.masks(key)
            timing = 0.0, self.clock()
            masks = await read_in_thread(
                key, _judge, reading, same, timing, masks_before
            )
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


def _judge(
    reading: PageReading,
    versions: tuple[Content, Content, Content | None],
    when: tuple[float, float],
    masks: Mapping[Mask, int],
) -> dict[Mask, int]:
    """Return the masks after a check of versions of a page."""
    first, second, held = versions
    fetches = TwoFetches(
        tuple(reading.blocks(first)),
        tuple(reading.blocks(second)),
        tuple(reading.blocks(held)) if held is not None else (),
        *when,
    )
    return fetches.judge(masks)
