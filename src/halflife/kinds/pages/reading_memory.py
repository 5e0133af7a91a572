"""How pages were and are read, so that only edits count as changes.

Changes are detected by comparing digests, and a digest depends on how the page is read:
on the settings (``text``, ``only``, ``ignore``) and on the masked noise. When that
changes, two digests of the same page differ. So a page that was last read in another
way is fetched without conditions, its copy is read again, and if the two are equal, the
page keeps its known digest; its digest by the new reading is stored in a note
(``stores.notes.page_versions``). Without a copy (``keep = false``) the first new
reading counts as unchanged.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import inf, nan
from urllib.parse import urlsplit

from halflife.core.observation import Content, Observation, Seen
from halflife.net.addresses import host_of
from halflife.readers.noise_masks import Mask, find_clocks, find_noise, hide, is_needed
from halflife.readers.page_text import PageReading
from halflife.readers.text import fingerprint
from halflife.readers.text_blocks import Block
from halflife.stores import Store
from halflife.stores.notes import number_of
from halflife.stores.notes.page_noise import NOISE, NoiseNote, TemplateNoise
from halflife.stores.notes.page_versions import (
    READING,
    VERSION,
    ReadingNote,
    VersionNote,
)
from halflife.stores.notes.script_pages import SCRIPT_PAGES

FIRST_PROBES = 2  # changes of pages with the same template that are always probed
RECHECK = 7.0  # days after which masks are checked: the noise may have ended
UNNEEDED = 3  # checks in a row without need of a mask, after which it is dropped
MOST_EMPTY = 100  # stored pages without text of a source
MOST_OWED = 20.0  # most requests saved for probes
_NUMBERS = re.compile(r"[0-9]+")


@dataclass(slots=True)
class Lens:
    """How one page is read in one fetch.

    Attributes:
        reading: Which part of the page is compared.
        name: The name of the reading, masks included.
        masks: The masks of noise.
        known_as: The stored digest of the copy; empty if there is no copy.
        before: The digest of the copy by this reading; None if it must be computed.
        copy: The copy itself, if it must be read again.
        actual: The digest of the fetched version, after it was read.

    """

    reading: PageReading
    name: str = ""
    masks: tuple[Mask, ...] = ()
    known_as: str = ""
    before: str | None = None
    copy: Content | None = None
    actual: str = ""

    def digest(self, content: Content, raw: str) -> str:
        """Return the digest of a version: the stored one if it equals the copy.

        Raise ``SourceError`` if reading takes too much time or memory.
        """
        self.actual = self.reading.digest(content, raw, self.masks)
        before = self.before
        if self.known_as and before is None:
            before = self.actual  # without a copy it counts as unchanged
            if self.copy is not None:
                held = fingerprint(self.copy.body)
                before = self.reading.digest(self.copy, held, self.masks)
        return self.known_as if before == self.actual else self.actual

    @property
    def is_current(self) -> bool:
        """Whether the copy was read in the same way."""
        return not self.known_as or self.before is not None


class ReadingMemory:
    """How the pages of a source were read, how they are read now, and their noise.

    Args:
        store: Where the notes are stored.
        source: The source.
        reading: Which part of its pages is compared now.
        clock: The time in days.
        share: The share of fetches that are repeated to find noise; 0: none.

    """

    def __init__(
        self,
        store: Store,
        source: str,
        reading: PageReading,
        *,
        clock: Callable[[], float],
        share: float = 0.0,
    ) -> None:
        self._store, self._source, self._clock = store, source, clock
        self.share = share
        self.reading = reading
        self._name = reading.name if share else f"{reading.name} with noise"
        self._since = self._begin(reading)
        self._empty = dict.fromkeys(SCRIPT_PAGES.load(store, source) or ())
        self._noise = NOISE.load(store, source) or NoiseNote()
        self._written = self._noise.owed
        self._checked: set[str] = set()  # templates that were probed
        if not share:
            self._noise.templates = {}

    def _begin(self, reading: PageReading) -> float:
        """Return since when pages are read in this way; store it if that is now."""
        note = READING.load(self._store, self._source)
        if note is not None and note.name == self._name:
            return note.since
        # States from before there were rules were read without any.
        since = 0.0 if note is None and not reading.rules else self._clock()
        READING.save(self._store, ReadingNote(self._name, since), self._source)
        return since

    def lens(self, key: str, held: Observation | None) -> Lens:
        """Return how to read a page, given its last good observation."""
        template = self._noise.templates.get(template_of(key))
        masks = tuple(Mask(*row) for row in template.masks) if template else ()
        name = f"{self._name} {_digest_of(masks)}" if masks else self._name
        lens = Lens(self.reading, name, masks)
        if held is None or held.seen is not Seen.PRESENT:
            return lens
        note = VERSION.load(self._store, self._source, number_of(key))
        if note is not None and (note.digest, note.reading) == (held.digest, name):
            return replace(lens, known_as=held.digest, before=note.now)
        since = max(self._since, template.since if template else -inf)
        if held.at >= since:
            return replace(lens, known_as=held.digest, before=held.digest)
        return replace(lens, known_as=held.digest, copy=self._store.content(key))

    def is_current(self, key: str, held: Observation | None) -> bool:
        """Return whether the copy of a page was read as it would be now."""
        if held is None or held.seen is not Seen.PRESENT or held.at >= self._latest():
            return True
        return self.lens(key, held).is_current

    def _latest(self) -> float:
        times = (template.since for template in self._noise.templates.values())
        return max(self._since, max(times, default=0.0))

    def keep(self, key: str, lens: Lens, digest: str) -> None:
        """Store the digest of a version by this reading, if it is not the known one."""
        if lens.actual and digest == lens.known_as != lens.actual:
            note = VersionNote(digest, lens.name, lens.actual)
            number = number_of(key)
            if VERSION.load(self._store, self._source, number) != note:
                VERSION.save(self._store, note, self._source, number)

    def is_empty(self, key: str) -> bool:
        """Return whether a page had no text without JavaScript."""
        return key in self._empty

    def note_script(self, key: str, *, needed: bool) -> None:
        """Store whether a page has no text without JavaScript."""
        if needed == (key in self._empty):
            return
        with self._store.together():  # other processes may have added pages
            self._empty = dict.fromkeys(
                SCRIPT_PAGES.load(self._store, self._source) or ()
            )
            if needed and len(self._empty) < MOST_EMPTY:
                self._empty[key] = None
            elif not needed:
                self._empty.pop(key, None)
            SCRIPT_PAGES.save(self._store, tuple(self._empty), self._source)

    def held(self, key: str) -> Observation | None:
        """Return the last good observation of a page."""
        return self._store.held([key])[0]

    def copy(self, key: str) -> Content | None:
        """Return the copy of a page."""
        return self._store.content(key)

    def earn(self) -> None:
        """Count a fetch: ``share`` of it may be spent on probes."""
        self._noise.owed = min(self._noise.owed + self.share, MOST_OWED)

    def wants_probe(self, key: str, *, changed: bool) -> bool:
        """Return whether to fetch a page again now, and pay for it.

        Yes if it changed and few changes of its template were probed, or probes of the
        template often find noise; and if its masks are due for a check. An unchanged
        page needs no probe.
        """
        template, owed = self._template(key), self._noise.owed
        chance = (template.found + 1.0) / (template.probes + 2.0)  # of finding noise
        new = changed and (template.probes < FIRST_PROBES or owed * chance >= 1.0)
        if owed < 1.0 or not (new or self.is_check_due(key)):
            return False
        self._noise.owed -= 1.0
        return True

    def is_check_due(self, key: str) -> bool:
        """Return whether the masks of a page's template are due for a check."""
        template = self._template(key)
        return bool(template.masks) and self._clock() - template.probed > RECHECK

    def masks(self, key: str) -> dict[Mask, int]:
        """Return the masks of a page's template, with the checks that needed none."""
        return {Mask(*row): n for row, n in self._template(key).masks.items()}

    def learn(self, key: str, masks: Mapping[Mask, int]) -> bool:
        """Store the masks after a check; return whether they have changed."""
        template, now = self._template(key), self._clock()
        before = self.masks(key).keys()
        template.probes += 1
        template.probed = now
        template.found += not masks.keys() <= before
        if masks.keys() != before:
            template.since = now
        template.masks = {(m.kind, m.path, m.words): n for m, n in masks.items()}
        self._checked.add(template_of(key))
        self._save()
        return masks.keys() != before

    def save(self) -> None:
        """Store the counted fetches, if they have changed."""
        if self.share and self._noise.owed != self._written:
            self._save()

    def _save(self) -> None:
        """Store what this process learned, merged with what others have stored."""
        mine = self._noise
        with self._store.together():
            theirs = NOISE.load(self._store, self._source) or NoiseNote()
            for name, template in theirs.templates.items():
                if name not in self._checked:
                    mine.templates[name] = template
            if theirs.owed != self._written:
                more = theirs.owed + mine.owed - self._written
                mine.owed = min(max(more, 0.0), MOST_OWED)
            NOISE.save(self._store, mine, self._source)
        self._checked, self._written = set(), mine.owed

    def _template(self, key: str) -> TemplateNoise:
        return self._noise.templates.setdefault(template_of(key), TemplateNoise())


@dataclass(frozen=True, slots=True)
class TwoFetches:
    """The text blocks of a page that was fetched twice.

    Attributes:
        first: The first fetch.
        second: The second fetch, a moment later.
        held: The copy from before, if there is one.
        days: The age of that copy at the first fetch.
        at: The time of the first fetch, in days since the epoch.

    """

    first: tuple[Block, ...]
    second: tuple[Block, ...]
    held: tuple[Block, ...] = ()
    days: float = 0.0
    at: float = nan

    def judge(self, masks: Mapping[Mask, int]) -> dict[Mask, int]:
        """Return the masks that this check keeps, and new ones for the noise it finds.

        This is slow: a page may have thousands of blocks.
        """
        kept = {mask: self._unneeded(mask, n) for mask, n in masks.items()}
        kept = {mask: n for mask, n in kept.items() if n < UNNEEDED}
        return kept | dict.fromkeys(self._noise(tuple(kept)), 0)

    def _unneeded(self, mask: Mask, before: int) -> int:
        """Return how many checks in a row, this one included, did not need a mask."""
        needed = is_needed(mask, self.first, self.second)
        if self.held and needed is False:
            needed = mask in find_clocks(self.held, self.first, self.days, self.at)
        if needed is None:
            return before
        return 0 if needed else before + 1

    def _noise(self, known: tuple[Mask, ...]) -> list[Mask]:
        """Return masks for the differences between the fetches, and for clocks."""
        masks_found = find_noise(self.first, self.second, known, self.at)
        if not self.held:
            return masks_found
        all_masks = (*known, *masks_found)
        held, first = hide(self.held, all_masks), hide(self.first, all_masks)
        return [*masks_found, *find_clocks(held, first, self.days, self.at)]


def template_of(key: str) -> str:
    """Return the template of a page: host, folders without numbers, and depth.

    >>> template_of("https://example.org/news/2024/tea.html?x=1")
    'example.org/news/0/*'
    >>> template_of("https://example.org/")
    'example.org/'
    """
    parts = [part for part in urlsplit(key).path.split("/") if part][:8]
    folders = [_NUMBERS.sub("0", part)[:40] for part in parts[:-1]]
    return "/".join([host_of(key), *folders, "*" if parts else ""])


def _digest_of(masks: tuple[Mask, ...]) -> str:
    text = repr(sorted(masks)).encode("utf-8", "replace")
    return blake2b(text, digest_size=6).hexdigest()
