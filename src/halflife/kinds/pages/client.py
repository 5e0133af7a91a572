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
from halflife.core.observation import MOVED, Content, Observation, Observations, Seen
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

_LARGE = 1 << 18  # bytes whose reading takes more than a few milliseconds
MOMENT = 2.0  # seconds between two fetches that reveal noise such as clocks
LATELY = 1.0 / 24.0  # days for which a page seen is not fetched again by a redirect


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """Settings for fetching and reading the pages of a source.

    Attributes:
        access: How requests to its hosts are sent.
        text: The compared part of a page: ``visible`` text, ``main`` content, ``raw``.
        keep: Whether new content is passed on.
        scope: URL prefixes; of the pages listed by a map only those below are used.
        weight: The weight of the pages listed by a map.
        follow: Adds the links of a page to its observation; None in no crawl.
        limits: Admits pages listed by maps; None admits all.
        rules: Which parts of a page count.
        memory: How pages were read before; None: each reading stands alone.
        moment: Seconds between two fetches that reveal noise.
        validators: Which hosts' "not modified" is believed; None: all.
        hubs: Which hubs pages name; None: no subscriptions.
        promises: How long pages promise not to change, and which hosts keep that.
        spell: Returns the key of a URL in a crawl.
        exclude: Patterns of addresses that are ignored in maps.
        render: Returns an answer as a browser renders it; None: no rendering.

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
        """Which part of a page is compared."""
        return PageReading(self.text, self.rules)


@dataclass(frozen=True, slots=True)
class _Visit:
    """One page to fetch."""

    fetch: Fetch
    url: URL
    source: str
    site: SiteSettings


class PageClient:
    """Fetches pages through the gate and returns observations.

    A sitemap or a feed also yields hints about the pages it lists.
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
        self._seen: dict[str, float] = {}  # when pages of crawls were last seen

    @property
    def promises(self) -> dict[str, PromiseMemory]:
        """The promises of the pages of each source, where they are stored."""
        found = {name: site.promises for name, site in self._sites.items()}
        return {n: p for n, p in found.items() if isinstance(p, PromiseMemory)}

    async def perform(
        self, requests: Sequence[Request], now: float, purse: Purse
    ) -> AsyncGenerator[Observations]:
        """Fetch pages, many hosts at a time; yield observations as they arrive."""
        visits, failed = self._visits(requests)
        if failed:
            yield Observations.of(failed)
        self._seen = {k: at for k, at in self._seen.items() if now - at < LATELY}
        jobs = _FetchJobs(self._gate, now, purse, self._seen)
        turn = JobRound(visits, jobs, self._concurrency)
        async with aclosing(turn.batches()) as batches:
            async for batch in batches:
                if batch:
                    yield Observations.of(batch)
        self.save({visit.source for visit in visits})

    def save(self, sources: Iterable[str] = ()) -> None:
        """Store what was learned about the given sources, or about all."""
        for name in sources or self._sites:
            site = self._sites[name]
            memories = site.memory, site.validators, site.hubs, site.promises
            for memory in memories:
                if memory is not None:
                    memory.save()

    def count_sent(self, requests: int) -> None:
        """Count requests that other processes sent for these pages."""
        self._gate.count_sent(requests)

    def site_of(self, key: str) -> SiteSettings:
        """Return the settings of the source that a page belongs to."""
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


class _FetchJobs:
    """The fetches of one call of ``perform``.

    In a crawl no page is fetched twice: a redirect to a page that was requested, or
    recently seen, is not followed, and a page that a redirect leads to is not requested
    again.
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
            return await self._fetch(visit, visit.site.access)
        if visit.fetch.key in self._led:
            return []
        self._begun.add(visit.fetch.key)
        reached: set[str] = set()

        def within(url: str) -> bool:
            key, scope = visit.site.spell(url), visit.site.access.within
            if scope is not None and not scope(url):
                return False
            if key == visit.fetch.key or key in reached:
                return True
            is_recent = self._gate.clock() - self._seen.get(key, -inf) < LATELY
            if key in self._begun or key in self._led or is_recent:
                return False
            reached.add(key)
            self._led.add(key)
            return True

        observed = await self._fetch(visit, replace(visit.site.access, within=within))
        self._led -= reached - {o.key for o in observed}  # not shown after all
        self._seen.update((k.key, k.at) for k in observed if k.seen is Seen.PRESENT)
        return observed

    async def _fetch(self, visit: _Visit, access: Access) -> list[Observation]:
        """Return the observations of one page; any error makes it a failed one."""
        memory = visit.site.memory
        try:
            with contained(visit.fetch.key):
                sent, answer = await self._answer(visit, access)
                _check_unchanged(visit.url, answer, conditional=bool(sent.headers))
                observed = await _seen(visit, answer, self._gate.clock())
                if memory is not None and await self._learns(visit, answer, observed):
                    observed = await _seen(visit, answer, self._gate.clock())
                _learn(visit, sent, answer, observed)
                return observed
        except SourceError as error:
            return [_failed(visit.fetch.key, self._gate.clock(), str(error))]

    async def _answer(self, visit: _Visit, access: Access) -> tuple[Conditions, Answer]:
        """Return an answer and its conditions; fetch again if the server lied."""
        sent = self._conditions(visit)
        answer = await self._get(visit, access, sent.headers)
        trust = visit.site.validators
        if trust is None or not sent.check or answer.status != 304:
            return sent, answer
        if is_direct(visit.url, answer):
            trust.caught(sent, visit.fetch.key, self._gate.clock())
        return UNCONDITIONAL, await self._get(visit, access)

    async def _get(
        self, visit: _Visit, access: Access, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Return an answer, rendered by a browser if the settings say so."""
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
            return UNCONDITIONAL  # an unmodified page may load modified data
        if site.memory and not site.memory.is_current(fetch.key, fetch.held):
            return UNCONDITIONAL  # it is read again, so its body is needed
        if site.validators is None:
            return Conditions(conditions(fetch, self._now))
        return site.validators.conditions(fetch, self._now)

    async def _learns(
        self, visit: _Visit, answer: Answer, observed: Sequence[Observation]
    ) -> bool:
        """Return whether a second fetch showed noise, so the page is read again."""
        site = visit.site
        if site.memory is None or not (site.memory.share and observed):
            return False
        if not is_direct(visit.url, answer):
            return False

        async def again() -> Answer:
            return await self._get(visit, site.access)

        probe = NoiseProbe(again, self._gate.clock, site.memory, site.moment)
        return await probe.learn(visit.url, answer, observed[0], visit.fetch.held)


def _learn(
    visit: _Visit, sent: Conditions, answer: Answer, observed: Sequence[Observation]
) -> None:
    """Learn from an answer its promises, hub and validators."""
    site, held = visit.site, visit.fetch.held
    if not observed or not is_direct(visit.url, answer):
        return
    if held is not None and held.seen is not Seen.PRESENT:
        held = None
    if site.promises and answer.status in {200, 304}:
        site.promises.learn(held, observed[0], answer)
    if answer.status != 200:
        return
    if site.hubs:
        site.hubs.learn(visit.fetch.key, answer)
    if site.validators and held is not None:
        site.validators.learn(sent, held, observed[0], observed[0].at)


def _check_unchanged(url: URL, answer: Answer, *, conditional: bool) -> None:
    """Raise ``SourceError`` for a 304 to a request without a validator."""
    if answer.status == 304 and not (conditional and is_direct(url, answer)):
        why = "it answered 304 to a request without a validator"
        raise SourceError(f"{URL(answer.url).raw_host}: {why}")


def is_direct(url: URL, answer: Answer) -> bool:
    """Return whether the requested URL answered: then its validators are ours."""
    return answer.url == str(url)


async def _seen(visit: _Visit, answer: Answer, at: float) -> list[Observation]:
    """Return the observations of an answer: of the page, and of the pages it lists."""
    key, held = visit.fetch.key, visit.fetch.held
    if answer.status in {404, 410}:
        return [Observation(key, at, Seen.ABSENT)]
    if answer.status == 304 and held is not None and held.seen is Seen.PRESENT:
        return [_same(visit, held, answer, at)]
    if visit.site.follow and 300 <= answer.status < 400:
        return _shown(visit, answer, at, fingerprint(answer.url.encode()))
    if answer.status not in {200, 203}:
        return [_failed(key, at, f"{visit.url.raw_host}: it answered {answer.status}")]
    raw, memory = fingerprint(answer.body), visit.site.memory
    current = memory is None or memory.is_current(key, held)
    if held is not None and held.raw == raw and current:
        return [_same(visit, held, answer, at)]
    landed = _landed(visit, answer)
    lens = _lens(visit, landed)
    observed = await _new(visit, answer, at, raw, lens)
    if memory is not None and observed:
        memory.keep(landed, lens, observed[-1 if landed != key else 0].digest)
        if visit.site.text != "raw" and (held is None or memory.is_empty(landed)):
            empty = needs_script(answer.content_type, answer.body)
            memory.note_script(landed, needed=empty)
    return observed


def _landed(visit: _Visit, answer: Answer) -> str:
    """Return the key of the page that an answer shows."""
    if visit.site.follow is None or is_direct(visit.url, answer):
        return visit.fetch.key
    return visit.site.spell(answer.url) or visit.fetch.key


def _lens(visit: _Visit, key: str) -> Lens:
    """Return the lens through which a page is read."""
    memory = visit.site.memory
    if memory is None:
        return Lens(visit.site.reading)
    held = visit.fetch.held if key == visit.fetch.key else memory.held(key)
    return memory.lens(key, held)


async def observe(
    fetch: Fetch, source: str, site: SiteSettings, answer: Answer, at: float
) -> list[Observation]:
    """Return the observations of a fetched answer; the page itself comes first.

    The pages listed by a map follow, as far as the limits admit them.
    """
    return await _seen(_Visit(fetch, parse_url(fetch.key), source, site), answer, at)


async def _new(
    visit: _Visit, answer: Answer, at: float, raw: str, lens: Lens
) -> list[Observation]:
    """Return the observations of a new body; slow parsing runs in a thread."""
    key = visit.fetch.key
    if may_be_map(answer.body):
        kind, observed = await read_in_thread(key, _read, visit, answer, at, raw, lens)
        limits = visit.site.limits
        if not kind or limits is None:
            return observed
        return [observed[0], *limits.admit(key, kind, observed[1:])]
    slow = visit.site.text == "main" or bool(visit.site.rules or lens.masks)
    slow = slow or answer.body[:5] == b"%PDF-"
    if slow or len(answer.body) > _LARGE:
        return await read_in_thread(key, _shown, visit, answer, at, raw, lens)
    return _shown(visit, answer, at, raw, lens)


def _shown(
    visit: _Visit, answer: Answer, at: float, raw: str, lens: Lens | None = None
) -> list[Observation]:
    """Return the observation of a page, with its links in a crawl."""
    page = _page(visit, answer, at, raw, lens)
    return visit.site.follow(page, answer) if visit.site.follow else [page]


def _same(visit: _Visit, held: Observation, answer: Answer, at: float) -> Observation:
    """Return the observation of an unchanged page."""
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
    """Return the observation of a page; ``listed`` is the compared text of a map."""
    if listed is None or visit.site.text == "raw":
        lens = lens or Lens(visit.site.reading)
        digest = lens.digest(Content(answer.content_type, answer.body), raw)
    else:
        digest = fingerprint(listed.encode())
    kind, head = media_type(answer.content_type), head_of(answer)
    content = Content(kind, answer.body, head) if visit.site.keep else None
    direct = is_direct(visit.url, answer)
    return Observation(
        key=visit.fetch.key,
        at=at,
        seen=Seen.PRESENT,
        digest=digest,
        raw=raw,
        etag=answer.etag if direct else "",
        modified=answer.modified if direct else None,
        note=_moved(answer),
        content=content,
    )


def _read(
    visit: _Visit, answer: Answer, at: float, raw: str, lens: Lens
) -> tuple[str, list[Observation]]:
    """Return the kind of a map and its observation, with hints about its pages.

    A page that is no map has no kind.
    """
    pages = read_map(answer.body, answer.url, hosts=(host_of(visit.fetch.key),))
    if pages is None:
        return "", _shown(visit, answer, at, raw, lens)
    page = _page(visit, answer, at, raw, listed=pages.text())
    if pages.trouble:
        page = replace(page, note=f"not all of this map can be read: {pages.trouble}")
    scope, exclude = visit.site.scope, visit.site.exclude
    kind = "feed" if pages.kind == "feed" else ""
    hints = [
        hint(entry, visit.source, visit.site.weight, at, kind)
        for entry in pages.entries
        if (not scope or entry.key.startswith(scope))
        and not any(matches(pattern, entry.key) for pattern in exclude)
    ]
    return pages.kind, [page, *hints]


def _failed(key: str, at: float, why: str) -> Observation:
    return Observation(key, at, Seen.FAILED, note=why)


def _moved(answer: Answer) -> str:
    if answer.moved_to:
        return f"{MOVED}{shown(answer.moved_to)}"
    return f"redirected to {shown(answer.url)}" if answer.hops > 1 else ""
