"""What is remembered of how pages are read, so that only edits count as changes.

Whether a page changed is told by comparing digests, and a digest depends on how the
page is read: on the settings (``text``, ``only``, ``ignore``) and on the noise that is
masked. When that changes, digests of one and the same page differ. So a page that was
last read otherwise is fetched whole, what we hold of it is read anew, and if the two
are the same, the page keeps the digest it is known by; what that is by the new reading
is written down (``stores.notes.page_versions``). Without a copy to read anew
(``keep = false``) the first reading counts as unchanged.
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
from halflife.stores.notes.page_noise import NOISE, NoiseNote, TemplateNoise
from halflife.stores.notes.page_versions import (
    READING,
    VERSION,
    ReadingNote,
    VersionNote,
)
from halflife.stores.notes.script_pages import SCRIPT_PAGES

FIRST_PROBES = 2  # changes of pages that are made alike that are checked in any case
RECHECK = 7.0  # days after which masks are checked: noise may have ended
UNNEEDED = 3  # checks in a row that did not need a mask, after which it is dropped
MOST_EMPTY = 100  # pages without text that are remembered of a source
MOST_OWED = 20.0  # requests that may add up
_NUMBERS = re.compile(r"[0-9]+")


@dataclass(slots=True)
class Lens:
    """How one page is read this time.

    Attributes:
        reading: What of it matters.
        name: The name of the reading, masks included.
        masks: Noise that is hidden.
        known_as: The digest of the version that we hold; empty if we hold none.
        before: The digest that this reading gives that version; None if it must be
            computed.
        copy: The version itself, if it must be read anew.
        actual: The digest of the version that was fetched, once it was read.

    """

    reading: PageReading
    name: str = ""
    masks: tuple[Mask, ...] = ()
    known_as: str = ""
    before: str | None = None
    copy: Content | None = None
    actual: str = ""

    def digest(self, content: Content, raw: str) -> str:
        """Return the digest by which a page is known: the one held if it is the same.

        Raise ``SourceError`` if it takes more time or memory than any page should.
        """
        self.actual = self.reading.digest(content, raw, self.masks)
        before = self.before
        if self.known_as and before is None:
            before = self.actual  # without a copy nothing tells that it changed
            if self.copy is not None:
                held = fingerprint(self.copy.body)
                before = self.reading.digest(self.copy, held, self.masks)
        return self.known_as if before == self.actual else self.actual

    @property
    def is_current(self) -> bool:
        """Whether what we hold was read in the same way."""
        return not self.known_as or self.before is not None


class ReadingMemory:
    """How the pages of a source were read, are read, and what of them is noise.

    Args:
        store: Where it is kept.
        source: The source.
        reading: What of its pages matters now.
        clock: The time in days.
        share: Requests for fetching twice, as a share of all; 0 looks for no noise.

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
        self._checked: set[str] = set()  # templates of which something was learned
        if not share:
            self._noise.templates = {}

    def _begin(self, reading: PageReading) -> float:
        """Return since when pages are read so; write it down if that is now."""
        known = READING.load(self._store, self._source)
        if known is not None and known.name == self._name:
            return known.since
        # A state of before there were rules was read without any.
        since = 0.0 if known is None and not reading.rules else self._clock()
        READING.save(self._store, ReadingNote(self._name, since), self._source)
        return since

    def lens(self, key: str, held: Observation | None) -> Lens:
        """Return how a page is read, given the last good observation of it."""
        template = self._noise.templates.get(template_of(key))
        masks = tuple(Mask(*row) for row in template.masks) if template else ()
        name = f"{self._name} {_named(masks)}" if masks else self._name
        lens = Lens(self.reading, name, masks)
        if held is None or held.seen is not Seen.PRESENT:
            return lens
        note = VERSION.load(self._store, self._source, _number(key))
        if note is not None and (note.digest, note.reading) == (held.digest, name):
            return replace(lens, known_as=held.digest, before=note.now)
        since = max(self._since, template.since if template else -inf)
        if held.at >= since:
            return replace(lens, known_as=held.digest, before=held.digest)
        return replace(lens, known_as=held.digest, copy=self._store.content(key))

    def is_current(self, key: str, held: Observation | None) -> bool:
        """Say whether what we hold of a page was read as it would be now."""
        if held is None or held.seen is not Seen.PRESENT or held.at >= self._latest():
            return True
        return self.lens(key, held).is_current

    def _latest(self) -> float:
        each = (one.since for one in self._noise.templates.values())
        return max(self._since, max(each, default=0.0))

    def keep(self, key: str, lens: Lens, digest: str) -> None:
        """Write down what a version is by this reading, if its digest does not tell."""
        if lens.actual and digest == lens.known_as != lens.actual:
            note = VersionNote(digest, lens.name, lens.actual)
            number = _number(key)
            if VERSION.load(self._store, self._source, number) != note:
                VERSION.save(self._store, note, self._source, number)

    def is_empty(self, key: str) -> bool:
        """Say whether a page showed nothing without JavaScript."""
        return key in self._empty

    def note_script(self, key: str, *, needed: bool) -> None:
        """Remember whether a page shows nothing without JavaScript."""
        if needed == (key in self._empty):
            return
        with self._store.together():  # others may have found pages meanwhile
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
        """Return the copy that we hold of a page."""
        return self._store.content(key)

    def earn(self) -> None:
        """Count a page that was fetched: a share of it may be spent on noise."""
        self._noise.owed = min(self._noise.owed + self.share, MOST_OWED)

    def wants_probe(self, key: str, *, changed: bool) -> bool:
        """Say whether a page that was just fetched should be fetched again.

        So it should if it changed and few such changes were checked, or checks of
        pages like it often find noise; and if their masks were not checked for long.
        A page that shows no change needs no check.
        """
        one, owed = self._template(key), self._noise.owed
        worth = (one.found + 1.0) / (one.probes + 2.0)  # the chance to find noise
        new = changed and (one.probes < FIRST_PROBES or owed * worth >= 1.0)
        if owed < 1.0 or not (new or self.is_check_due(key)):
            return False
        self._noise.owed -= 1.0
        return True

    def is_check_due(self, key: str) -> bool:
        """Say whether the masks of pages like this were not checked for long."""
        one = self._template(key)
        return bool(one.masks) and self._clock() - one.probed > RECHECK

    def masks(self, key: str) -> dict[Mask, int]:
        """Return the masks of pages like this one, with checks that needed none."""
        return {Mask(*row): n for row, n in self._template(key).masks.items()}

    def learn(self, key: str, masks: Mapping[Mask, int]) -> bool:
        """Take in the masks that a check left; say whether there are others now."""
        one, now = self._template(key), self._clock()
        before = self.masks(key).keys()
        one.probes += 1
        one.probed = now
        one.found += not masks.keys() <= before
        if masks.keys() != before:
            one.since = now
        one.masks = {(m.kind, m.path, m.words): n for m, n in masks.items()}
        self._checked.add(template_of(key))
        self._save()
        return masks.keys() != before

    def save(self) -> None:
        """Write down what was counted, unless it is as it was."""
        if self.share and self._noise.owed != self._written:
            self._save()

    def _save(self) -> None:
        """Write down what was learned here; of other hosts, what others learned."""
        mine = self._noise
        with self._store.together():
            theirs = NOISE.load(self._store, self._source) or NoiseNote()
            for name, one in theirs.templates.items():
                if name not in self._checked:
                    mine.templates[name] = one
            if theirs.owed != self._written:
                more = theirs.owed + mine.owed - self._written
                mine.owed = min(max(more, 0.0), MOST_OWED)
            NOISE.save(self._store, mine, self._source)
        self._checked, self._written = set(), mine.owed

    def _template(self, key: str) -> TemplateNoise:
        return self._noise.templates.setdefault(template_of(key), TemplateNoise())


@dataclass(frozen=True, slots=True)
class TwoFetches:
    """The blocks of a page that was fetched twice.

    Attributes:
        first: The first fetch.
        second: The second, a moment later.
        held: The version that we held before, if there is one.
        days: How long before the first fetch that was.
        at: When the first fetch was, in days since the epoch.

    """

    first: tuple[Block, ...]
    second: tuple[Block, ...]
    held: tuple[Block, ...] = ()
    days: float = 0.0
    at: float = nan

    def judge(self, masks: Mapping[Mask, int]) -> dict[Mask, int]:
        """Return the masks that this check leaves, and those for what it shows.

        It takes time, as a page may have thousands of blocks.
        """
        kept = {mask: self._unneeded(mask, n) for mask, n in masks.items()}
        kept = {mask: n for mask, n in kept.items() if n < UNNEEDED}
        return kept | dict.fromkeys(self._noise(tuple(kept)), 0)

    def _unneeded(self, mask: Mask, before: int) -> int:
        """Return how many checks in a row did not need a mask, with this one."""
        needed = is_needed(mask, self.first, self.second)
        if self.held and needed is False:
            needed = mask in find_clocks(self.held, self.first, self.days, self.at)
        if needed is None:
            return before
        return 0 if needed else before + 1

    def _noise(self, known: tuple[Mask, ...]) -> list[Mask]:
        """Return masks for what differs between the fetches, and for clocks."""
        found = find_noise(self.first, self.second, known, self.at)
        if not self.held:
            return found
        masks = (*known, *found)
        held, first = hide(self.held, masks), hide(self.first, masks)
        return [*found, *find_clocks(held, first, self.days, self.at)]


def template_of(key: str) -> str:
    """Return what pages that are made alike have in common: host, folder and depth.

    >>> template_of("https://example.org/news/2024/tea.html?x=1")
    'example.org/news/0/*'
    >>> template_of("https://example.org/")
    'example.org/'
    """
    parts = [part for part in urlsplit(key).path.split("/") if part][:8]
    folders = [_NUMBERS.sub("0", part)[:40] for part in parts[:-1]]
    return "/".join([host_of(key), *folders, "*" if parts else ""])


def _named(masks: tuple[Mask, ...]) -> str:
    said = repr(sorted(masks)).encode("utf-8", "replace")
    return blake2b(said, digest_size=6).hexdigest()


def _number(key: str) -> int:
    """Return the number of a page's note: 63 bits of a hash."""
    name = blake2b(key.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(name, "big") >> 1
