"""Web pages as a source."""

from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from math import inf

from yarl import URL

from halflife.core.budget import Purse
from halflife.core.errors import SourceError
from halflife.core.observation import MOVED, Content, Looks, Observation, Seen
from halflife.core.request import Fetch, Request
from halflife.kinds.pages.cache_promises import PromiseMemory
from halflife.kinds.pages.hubs import HubMemory
from halflife.kinds.pages.learners import Admission, PromiseLearner, hint
from halflife.kinds.pages.links import matches, spelled
from halflife.kinds.pages.noise_probe import NoiseProbe
from halflife.kinds.pages.reading_memory import Lens, ReadingMemory
from halflife.kinds.pages.validators import (
    UNCONDITIONAL,
    Conditions,
    ValidatorMemory,
    conditions,
)
from halflife.net.access import Access, Answer
from halflife.net.addresses import host_of, parse_url, shown
from halflife.net.answer_head import head_of
from halflife.net.gate import Gate
from halflife.net.rounds import JobRound
from halflife.readers.containment import contained, read_in_thread
from halflife.readers.maps import may_be_map, read_map
from halflife.readers.page_text import PageReading
from halflife.readers.part_rules import PartRules
from halflife.readers.script_pages import needs_script
from halflife.readers.text import check_mode, fingerprint, is_html, media_type

_LARGE = 1 << 18  # bytes that take more than a few milliseconds to read
MOMENT = 2.0  # seconds between two fetches that show what is noise: clocks move on
LATELY = 1.0 / 24.0  # days for which a redirect shows nothing new of a page seen


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """What a source of pages is, and how it is asked.

    Attributes:
        access: On what terms its hosts are asked.
        text: What of a page matters: ``visible`` text, ``main`` content, ``raw``.
        keep: Whether the content itself is handed on when it is new.
        scope: URL prefixes; pages that a map names are taken only below them.
        weight: How much the pages that a map names matter.
        follow: Adds to a look where the page leads, if that is wanted.
        limits: Which of the pages that maps name may become known; all if None.
        rules: Which parts of a page count.
        memory: How pages were read before; without one each reading stands alone.
        moment: Seconds between two fetches that show what is noise.
        validators: Whose "not modified" is believed; everyone's without it.
        hubs: Which hubs pages name; None if nobody subscribes.
        promises: For how long pages say to stay as they are, and who keeps that.
        spell: Returns the key under which a crawl knows a URL.
        exclude: Patterns of addresses; what a map names and they fit is left out.
        render: Returns an answer as a browser shows it; None takes it as it came.

    """

    access: Access = field(default_factory=Access)
    text: str = "visible"
    keep: bool = True
    scope: tuple[str, ...] = ()
    weight: float = 1.0
    follow: Callable[[Observation, Answer], list[Observation]] | None = None
    limits: Admission | None = None
    rules: PartRules = field(default_factory=PartRules)
    memory: ReadingMemory | None = None
    moment: float = field(default_factory=lambda: MOMENT)
    validators: ValidatorMemory | None = None
    hubs: HubMemory | None = None
    promises: PromiseLearner | None = None
    spell: Callable[[str], str] = spelled
    exclude: tuple[str, ...] = ()
    render: Callable[[Answer, Purse, Access], Awaitable[Answer]] | None = None

    def __post_init__(self) -> None:
        check_mode(self.text)

    @property
    def reading(self) -> PageReading:
        """What of a page matters."""
        return PageReading(self.text, self.rules)


@dataclass(frozen=True, slots=True)
class _Visit:
    """One page to look at."""

    fetch: Fetch
    url: URL
    source: str
    site: SiteSettings


class PageClient:
    """Fetches pages through the gate and says what it saw.

    A page that is a sitemap or a feed also gives hints of the pages it names.
    """

    def __init__(
        self,
        gate: Gate,
        sites: Mapping[str, SiteSettings],
        *,
        source_of: Callable[[str], str],
        url_of: Callable[[str], str] = str,
        concurrency: int = 16,
    ) -> None:
        self._gate = gate
        self._sites = sites
        self._source_of = source_of
        self._url_of = url_of
        self._concurrency = concurrency
        self._seen: dict[str, float] = {}  # of sites: when pages were last seen

    @property
    def promises(self) -> dict[str, PromiseMemory]:
        """What the pages of each source promise, where that is written down."""
        sites = self._sites.items()
        found = {name: one.promises for name, one in sites}
        return {n: one for n, one in found.items() if isinstance(one, PromiseMemory)}

    async def perform(
        self, requests: Sequence[Request], now: float, purse: Purse
    ) -> AsyncGenerator[Looks]:
        """Look at pages, many hosts at a time; yield what was seen as it comes in."""
        visits, failed = self._visits(requests)
        if failed:
            yield Looks.of(failed)
        self._seen = {k: at for k, at in self._seen.items() if now - at < LATELY}
        errand = _Errand(self._gate, now, purse, self._seen)
        turn = JobRound(visits, errand, self._concurrency)
        async with aclosing(turn.batches()) as batches:
            async for batch in batches:
                if batch:
                    yield Looks.of(batch)
        self.save({visit.source for visit in visits})

    def save(self, sources: Iterable[str] = ()) -> None:
        """Write down what was learned of sources, or of all."""
        for name in sources or self._sites:
            site = self._sites[name]
            known = site.memory, site.validators, site.hubs, site.promises
            for memory in known:
                if memory is not None:
                    memory.save()

    def count_sent(self, requests: int) -> None:
        """Count requests that others sent for these pages."""
        self._gate.count_sent(requests)

    def site_of(self, key: str) -> SiteSettings:
        """Return the site that a page belongs to."""
        return self._sites[self._source_of(key)]

    def _visits(
        self, requests: Iterable[Request]
    ) -> tuple[list[_Visit], list[Observation]]:
        visits, failed = [], []
        for fetch in requests:
            source = self._source_of(fetch.key)
            try:
                with contained(fetch.key):
                    url = parse_url(self._url_of(fetch.key))
            except SourceError as error:
                failed.append(_failed(fetch.key, self._gate.clock(), str(error)))
            else:
                visits.append(_Visit(fetch, url, source, self._sites[source]))
        return visits, failed


class _Errand:
    """Carries out the visits of one call of ``perform``.

    Where it matters what leads where, no page is asked for twice: a redirect to a page
    that was begun, or seen lately, is not followed, and a page that a redirect has
    shown, or is about to show, is not asked for again.
    """

    def __init__(
        self, gate: Gate, now: float, purse: Purse, seen: dict[str, float]
    ) -> None:
        self._gate = gate
        self._now = now
        self._purse = purse
        self._seen = seen  # when pages were last seen
        self._begun: set[str] = set()
        self._led: set[str] = set()  # pages that redirects lead to

    def host(self, visit: _Visit) -> str:
        return visit.url.raw_host or ""

    def pause(self, visit: _Visit) -> float:
        return self._gate.pause(visit.url)

    def alone(self, visit: _Visit) -> bool:
        return self._gate.alone(visit.url, visit.site.access)

    async def run(self, visit: _Visit) -> list[Observation]:
        if visit.site.follow is None:
            return await self._look(visit, visit.site.access)
        if visit.fetch.key in self._led:
            return []
        self._begun.add(visit.fetch.key)
        mine: set[str] = set()

        def within(url: str) -> bool:
            key, scope = visit.site.spell(url), visit.site.access.within
            if scope is not None and not scope(url):
                return False
            if key == visit.fetch.key or key in mine:
                return True
            lately = self._gate.clock() - self._seen.get(key, -inf) < LATELY
            if key in self._begun or key in self._led or lately:
                return False
            mine.add(key)
            self._led.add(key)
            return True

        found = await self._look(visit, replace(visit.site.access, within=within))
        self._led -= mine - {look.key for look in found}  # what was not reached
        self._seen.update((k.key, k.at) for k in found if k.seen is Seen.PRESENT)
        return found

    async def _look(self, visit: _Visit, access: Access) -> list[Observation]:
        """Return what one page shows; whatever goes wrong is a failure of that page."""
        memory = visit.site.memory
        try:
            with contained(visit.fetch.key):
                asked, answer = await self._answer(visit, access)
                _check_unchanged(visit.url, answer, conditional=bool(asked.headers))
                found = await _seen(visit, answer, self._gate.clock())
                if memory is not None and await self._learns(visit, answer, found):
                    found = await _seen(visit, answer, self._gate.clock())
                _learn(visit, asked, answer, found)
                return found
        except SourceError as error:
            return [_failed(visit.fetch.key, self._gate.clock(), str(error))]

    async def _answer(self, visit: _Visit, access: Access) -> tuple[Conditions, Answer]:
        """Return an answer and what was asked; one that is caught lying is not it."""
        asked = self._conditions(visit)
        answer = await self._get(visit, access, asked.headers)
        trust = visit.site.validators
        if trust is None or not asked.check or answer.status != 304:
            return asked, answer
        if is_direct(visit.url, answer):
            trust.caught(asked, visit.fetch.key, self._gate.clock())
        return UNCONDITIONAL, await self._get(visit, access)

    async def _get(
        self, visit: _Visit, access: Access, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Return an answer; of a page that a browser renders, as that shows it."""
        answer = await self._gate.get(
            visit.url, self._purse, access=access, headers=headers
        )
        if visit.site.render is None or answer.status != 200:
            return answer
        if not is_html(answer.content_type, answer.body):
            return answer
        return await visit.site.render(answer, self._purse, access)

    def _conditions(self, visit: _Visit) -> Conditions:
        fetch, site = visit.fetch, visit.site
        if site.render is not None:
            return UNCONDITIONAL  # a page may be as it was, and its data not
        if site.memory and not site.memory.is_current(fetch.key, fetch.held):
            return UNCONDITIONAL  # it is read anew, so all of it is needed
        if site.validators is None:
            return Conditions(conditions(fetch, self._now))
        return site.validators.conditions(fetch, self._now)

    async def _learns(
        self, visit: _Visit, answer: Answer, found: Sequence[Observation]
    ) -> bool:
        """Say whether another fetch showed noise, so that the page is read anew."""
        site = visit.site
        if site.memory is None or not (site.memory.share and found):
            return False
        if not is_direct(visit.url, answer):
            return False

        async def again() -> Answer:
            return await self._get(visit, site.access)

        probe = NoiseProbe(again, self._gate.clock, site.memory, site.moment)
        return await probe.learn(visit.url, answer, found[0], visit.fetch.held)


def _learn(
    visit: _Visit, asked: Conditions, answer: Answer, found: Sequence[Observation]
) -> None:
    """Learn from an answer what it offers, and whether what was said before held."""
    site, held = visit.site, visit.fetch.held
    if not found or not is_direct(visit.url, answer):
        return
    if held is not None and held.seen is not Seen.PRESENT:
        held = None
    if site.promises and answer.status in {200, 304}:
        site.promises.learn(held, found[0], answer)
    if answer.status != 200:
        return
    if site.hubs:
        site.hubs.learn(visit.fetch.key, answer)
    if site.validators and held is not None:
        site.validators.learn(asked, held, found[0], found[0].at)


def _check_unchanged(url: URL, answer: Answer, *, conditional: bool) -> None:
    """Raise ``SourceError`` for a 304 that nothing we sent asked for."""
    if answer.status == 304 and not (conditional and is_direct(url, answer)):
        why = "it answered 304, which nothing that was sent asked for"
        raise SourceError(f"{URL(answer.url).raw_host}: {why}")


def is_direct(url: URL, answer: Answer) -> bool:
    """Say whether an answer came from the URL that was asked for.

    Only then are its validators that URL's, and only then does "not modified" speak
    of what we hold.
    """
    return answer.url == str(url)


async def _seen(visit: _Visit, answer: Answer, at: float) -> list[Observation]:
    """Return what an answer shows: of the page, and of the pages it names."""
    key, held = visit.fetch.key, visit.fetch.held
    if answer.status in {404, 410}:
        return [Observation(key, at, Seen.ABSENT)]
    if answer.status == 304 and held is not None and held.seen is Seen.PRESENT:
        return [_same(visit, held, answer, at)]
    if visit.site.follow and 300 <= answer.status < 400:
        return _looks(visit, answer, at, fingerprint(answer.url.encode()))
    if answer.status not in {200, 203}:
        return [_failed(key, at, f"{visit.url.raw_host}: it answered {answer.status}")]
    raw, memory = fingerprint(answer.body), visit.site.memory
    current = memory is None or memory.is_current(key, held)
    if held is not None and held.raw == raw and current:
        return [_same(visit, held, answer, at)]
    landed = _landed(visit, answer)
    lens = _lens(visit, landed)
    found = await _new(visit, answer, at, raw, lens)
    if memory is not None and found:
        memory.keep(landed, lens, found[-1 if landed != key else 0].digest)
        if visit.site.text != "raw" and (held is None or memory.is_empty(landed)):
            empty = needs_script(answer.content_type, answer.body)
            memory.note_script(landed, needed=empty)
    return found


def _landed(visit: _Visit, answer: Answer) -> str:
    """Return the key of the page that an answer shows."""
    if visit.site.follow is None or is_direct(visit.url, answer):
        return visit.fetch.key
    return visit.site.spell(answer.url) or visit.fetch.key


def _lens(visit: _Visit, key: str) -> Lens:
    """Return how a page is read."""
    memory = visit.site.memory
    if memory is None:
        return Lens(visit.site.reading)
    held = visit.fetch.held if key == visit.fetch.key else memory.held(key)
    return memory.lens(key, held)


async def observe(
    fetch: Fetch, source: str, site: SiteSettings, answer: Answer, at: float
) -> list[Observation]:
    """Return what an answer shows that others have fetched; the page itself is first.

    Of the pages that a map names, those follow that its limits admit.
    """
    return await _seen(_Visit(fetch, parse_url(fetch.key), source, site), answer, at)


async def _new(
    visit: _Visit, answer: Answer, at: float, raw: str, lens: Lens
) -> list[Observation]:
    """Return what a body shows that we do not hold; slow work leaves the loop."""
    key = visit.fetch.key
    if may_be_map(answer.body):
        kind, looks = await read_in_thread(key, _read, visit, answer, at, raw, lens)
        limits = visit.site.limits
        if not kind or limits is None:
            return looks
        return [looks[0], *limits.admit(key, kind, looks[1:])]
    slow = visit.site.text == "main" or bool(visit.site.rules or lens.masks)
    slow = slow or answer.body[:5] == b"%PDF-"
    if slow or len(answer.body) > _LARGE:
        return await read_in_thread(key, _looks, visit, answer, at, raw, lens)
    return _looks(visit, answer, at, raw, lens)


def _looks(
    visit: _Visit, answer: Answer, at: float, raw: str, lens: Lens | None = None
) -> list[Observation]:
    """Return a look at a page, with where it leads if that is wanted."""
    page = _page(visit, answer, at, raw, lens)
    return visit.site.follow(page, answer) if visit.site.follow else [page]


def _same(visit: _Visit, held: Observation, answer: Answer, at: float) -> Observation:
    """Return a look that showed what we hold."""
    etag, modified = "", None
    if is_direct(visit.url, answer):
        etag = answer.etag or held.etag
        modified = held.modified if answer.modified is None else answer.modified
    return Observation(
        key=held.key,
        at=at,
        seen=Seen.PRESENT,
        digest=held.digest,
        raw=held.raw,
        etag=etag,
        modified=modified,
        note=_moved(answer),
    )


def _page(
    visit: _Visit,
    answer: Answer,
    at: float,
    raw: str,
    lens: Lens | None = None,
    listed: str | None = None,
) -> Observation:
    """Return a look at a page; ``listed`` is what matters of one that is a map."""
    if listed is None or visit.site.text == "raw":
        lens = lens or Lens(visit.site.reading)
        matters = lens.digest(Content(answer.content_type, answer.body), raw)
    else:
        matters = fingerprint(listed.encode())
    kind, head = media_type(answer.content_type), head_of(answer)
    content = Content(kind, answer.body, head) if visit.site.keep else None
    direct = is_direct(visit.url, answer)
    return Observation(
        key=visit.fetch.key,
        at=at,
        seen=Seen.PRESENT,
        digest=matters,
        raw=raw,
        etag=answer.etag if direct else "",
        modified=answer.modified if direct else None,
        note=_moved(answer),
        content=content,
    )


def _read(
    visit: _Visit, answer: Answer, at: float, raw: str, lens: Lens
) -> tuple[str, list[Observation]]:
    """Return the kind of a map and a look at it, with hints of the pages it names.

    What is no map has no kind, and is looked at as a page.
    """
    found = read_map(answer.body, answer.url, hosts=(host_of(visit.fetch.key),))
    if found is None:
        return "", _looks(visit, answer, at, raw, lens)
    page = _page(visit, answer, at, raw, listed=found.text())
    if found.trouble:
        page = replace(page, note=f"not all of this map can be read: {found.trouble}")
    scope, out = visit.site.scope, visit.site.exclude
    kind = "feed" if found.kind == "feed" else ""
    hints = [
        hint(entry, visit.source, visit.site.weight, at, kind)
        for entry in found.entries
        if (not scope or entry.key.startswith(scope))
        and not any(matches(pattern, entry.key) for pattern in out)
    ]
    return found.kind, [page, *hints]


def _failed(key: str, at: float, why: str) -> Observation:
    return Observation(key, at, Seen.FAILED, note=why)


def _moved(answer: Answer) -> str:
    if answer.moved_to:
        return f"{MOVED}{shown(answer.moved_to)}"
    return f"redirected to {shown(answer.url)}" if answer.hops > 1 else ""
