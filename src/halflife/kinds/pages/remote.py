"""Pages fetched by worker processes: the planner hands them out and takes answers in.

A worker reads a page with the same client, rules and notes of the source. Decisions
that need all pages of a source are left to the planner: which pages of a map become
known, which hosts keep promises, which hubs are named, and the belief.
"""

import asyncio
import logging
import zlib
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import accumulate
from math import inf, isnan
from time import monotonic

from halflife.config import SourceConfig
from halflife.core.budget import Purse
from halflife.core.errors import LeaseLost, StoreError, UsageError
from halflife.core.observation import Observation, Observations, Seen
from halflife.core.request import Fetches, Request
from halflife.engine import bootstrap, logs
from halflife.engine.wallet import GrantPurse, Wallet
from halflife.kinds.pages import crawl, page_sources
from halflife.kinds.pages.client import PageClient, SiteSettings
from halflife.kinds.pages.learners import by_page
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.pages.validators import ValidatorMemory
from halflife.net.access import Answer
from halflife.net.addresses import parse_url
from halflife.net.gate import Gate
from halflife.stores import Run, Store
from halflife.stores.observation_codec import Head, SeenPages, unpack
from halflife.stores.work import PageHandout

MOST = 500  # answers taken in at once
SOONEST, LATEST = 0.02, 0.2  # seconds between two polls for answers
READ_AGAIN = 5.0  # seconds after which a worker reads what others have learned
CHECKED = 2.0  # seconds between two checks of the budget
HEADERS = ("Cache-Control", "Expires", "Date", "Age", "Link")
_BROKEN = (LookupError, TypeError, ValueError, zlib.error)


class AnswerNotes:
    """Maps and headers of answers, collected for the planner to decide on."""

    def __init__(self) -> None:
        self.maps: dict[str, str] = {}
        self.heads: dict[str, Head] = {}

    def admit(
        self, key: str, kind: str, hints: Sequence[Observation]
    ) -> list[Observation]:
        """Return all pages of a map, and note that it is one."""
        self.maps[key] = kind
        return list(hints)

    def learn(self, held: Observation | None, o: Observation, answer: Answer) -> None:
        """Note the headers of an answer about its lifetime and hubs."""
        del held
        headers = {n: answer.headers[n] for n in HEADERS if n in answer.headers}
        self.heads[o.key] = (answer.status, answer.url, headers)

    def save(self) -> None:
        """Do nothing: the notes are sent with the observations."""

    def take(self, observations: Sequence[Observation]) -> SeenPages:
        """Return observations with the notes about their pages."""
        keys = {o.key for o in observations}
        maps = {key: self.maps.pop(key) for key in keys & self.maps.keys()}
        heads = {key: self.heads.pop(key) for key in keys & self.heads.keys()}
        return SeenPages(tuple(observations), maps, heads)


class LeasedSites:
    """The leased sources of pages, as a worker fetches them.

    The notes of a source are read again every few seconds because other workers learn
    too. This worker stores what it has learned after each batch of pages.

    Args:
        gate: The gate to the network.
        store: Where notes are stored.
        shown: The owners of pages, and the browser.
        sources: The settings of the sources.

    """

    def __init__(
        self,
        gate: Gate,
        store: Store,
        shown: page_sources.PageContext,
        sources: Iterable[PagesConfig],
    ) -> None:
        self._gate, self._store, self._shown = gate, store, shown
        self._configs = {source.name: source for source in sources}
        self.notes = AnswerNotes()
        self._sites: dict[str, tuple[float, SiteSettings]] = {}

    def unknown(self, sources: Iterable[str]) -> set[str]:
        """Return the sources that are not in the settings."""
        return set(sources) - self._configs.keys()

    def client(self, pages: Mapping[str, str], concurrency: int) -> PageClient:
        """Return a client for pages, given with the names of their sources."""
        owner = self._shown.owner
        owner.know(pages.items())
        return PageClient(
            self._gate,
            {
                name: self._site(self._configs[name])
                for name in sorted({*pages.values()})
            },
            source_of=owner,
            url_of=owner.url_of,
            concurrency=concurrency,
        )

    def _site(self, source: PagesConfig) -> SiteSettings:
        read_at, site = self._sites.get(source.name, (-inf, None))
        if site is None or monotonic() - read_at > READ_AGAIN:
            site = self._read(source)
            self._sites[source.name] = monotonic(), site
        return site

    def _read(self, source: PagesConfig) -> SiteSettings:
        site, store = page_sources.shown_site(source, self._shown.renderer), self._store
        reading = page_sources.memory(source, site, store, self._gate.clock)
        trust = ValidatorMemory(store, source.name)
        site = replace(site, memory=reading, validators=trust, promises=self.notes)
        if source.crawls:
            return crawl.following(source, site)
        return replace(site, limits=self.notes)


@asynccontextmanager
async def leased_sites(
    gate: Gate, store: Store, sources: Iterable[SourceConfig]
) -> AsyncIterator[LeasedSites]:
    """Keep open what leased pages need, a browser included."""
    pages = PagesConfig.among(sources)
    async with page_sources.rendering(gate, pages) as browser:
        context = page_sources.PageContext(page_sources.Ownership(store), browser)
        yield LeasedSites(gate, store, context, pages)


class RemotePages:
    """Pages fetched by workers, as a source: requested pages are handed out.

    Args:
        pages: The client that learns from the answers of workers.
        queue: The queue of handed out pages and of answers.
        run: Holds the lease on the sources.
        wallet: The budget.

    """

    def __init__(
        self, pages: PageClient, queue: PageHandout, run: Run, wallet: Wallet
    ) -> None:
        self._pages, self._queue, self._run = pages, queue, run
        self._wallet, self._store = wallet, wallet.store

    async def perform(
        self, requests: Sequence[Request], now: float, purse: Purse
    ) -> AsyncGenerator[Observations]:
        """Hand pages out; yield the observations of workers as they arrive.

        Answers to pages of an earlier planner are included.
        """
        del now
        if not isinstance(purse, GrantPurse):
            raise UsageError("workers pay by themselves; give a grant")
        sources, queue = self._run.sources, self._queue
        queue.hand_out(self._run.id, _rows(requests)[: purse.left])
        withdrawn, pause, checked = False, SOONEST, 0.0
        try:
            while True:
                answers = queue.answers(sources, MOST)
                if answers:
                    self._settle(purse, sum(answer.requests for answer in answers))
                    observations = [
                        o for answer in answers for o in self._seen(answer.answer)
                    ]
                    if observations:
                        yield Observations.of(observations)
                    queue.file([answer.item for answer in answers])
                    pause = SOONEST
                elif not queue.is_open(sources):
                    break
                else:
                    await asyncio.sleep(pause)
                    checked += pause
                    pause = min(2.0 * pause, LATEST)
                if not withdrawn and (purse.left <= 0 or self._is_over(checked)):
                    withdrawn = True
                    queue.withdraw(sources)
        finally:
            with suppress(LeaseLost, StoreError):  # the next planner withdraws them
                if not withdrawn:
                    queue.withdraw(sources)
                self._pages.save()

    def _settle(self, purse: GrantPurse, requests: int) -> None:
        """Count the requests that workers have sent and paid for."""
        purse.settle(requests)
        self._store.charged_here[self._run.sources] += requests
        self._pages.count_sent(requests)

    def _is_over(self, checked: float) -> bool:
        return checked >= CHECKED and self._wallet.room(bootstrap.clock()) <= 0

    def _seen(self, answer: bytes) -> list[Observation]:
        if not answer:
            return []
        try:
            return take_in(self._pages, unpack(answer))
        except _BROKEN as error:
            fields = {"trouble": f"what a worker brought cannot be read: {error}"}
            logs.event("answer dropped", level=logging.WARNING, fields=fields)
            return []


def take_in(pages: PageClient, seen: SeenPages) -> list[Observation]:
    """Return the admitted observations of a worker, and learn from its notes."""
    observations: list[Observation] = []
    for page, hints in by_page(seen.observations):
        if page.key in seen.heads:
            _learn(pages.site_of(page.key), page, seen.heads[page.key])
        limits = pages.site_of(page.key).limits if page.key in seen.maps else None
        if limits is not None:
            admitted = limits.admit(page.key, seen.maps[page.key], hints)
            observations += (page, *admitted)
        else:
            observations += (page, *hints)
    return observations


def _learn(site: SiteSettings, o: Observation, head: Head) -> None:
    """Learn from the headers of an answer that a worker has read.

    An answer without content counts as not modified.
    """
    status, url, headers = head
    body = o.content.body if o.content else b""
    answer = Answer(304 if o.content is None else status, url, body, headers=headers)
    if site.promises and site.memory:
        held = site.memory.held(o.key)
        is_there = held is not None and held.seen is Seen.PRESENT
        site.promises.learn(held if is_there else None, o, answer)
    if site.hubs and o.content is not None:
        site.hubs.learn(o.key, answer)


def _rows(requests: Sequence[Request]) -> list[tuple[str, str, float, int]]:
    """Return the rows to hand out: key, host, gain, and 1 if the copy is of no use.

    A plan has the best page first. Where a later page gains more, the order counts.
    """
    if isinstance(requests, Fetches):  # made of keys: workers read the copies
        keys, gains, whole = requests.keys, requests.gain, [0] * len(requests)
    else:
        keys = [request.key for request in requests]
        gains = [request.gain for request in requests]
        whole = [int(request.held is None) for request in requests]
    gained = [0.0 if isnan(gain) else float(gain) for gain in gains]
    ordered = list(accumulate(reversed(gained), max))[::-1]
    rows = zip(keys, map(_host, keys), ordered, whole, strict=True)
    return [row for row in rows if row[1]]


def _host(key: str) -> str:
    try:
        return parse_url(key).raw_host or ""
    except UsageError:
        return ""
