"""Pages that other processes fetch: what the planner hands out, and what workers bring.

A worker reads a page as always: with the same client, the same rules, and the notes of
the source. What takes all pages of a source to decide it leaves to the planner: which
pages of a map become known, who keeps promises, which hubs are named, what is believed.
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
from halflife.core.observation import Looks, Observation, Seen
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
from halflife.stores.look_codec import Head, SeenPages, unpack
from halflife.stores.work import PageHandout

MOST = 500  # answers that are filed at once
SOONEST, LATEST = 0.02, 0.2  # seconds between two looks whether something came
READ_ANEW = 5.0  # seconds after which a worker reads what others have learned
CHECKED = 2.0  # seconds between two looks whether anything is still to come
HEADERS = ("Cache-Control", "Expires", "Date", "Age", "Link")
_BROKEN = (LookupError, TypeError, ValueError, zlib.error)


class AnswerNotes:
    """What answers said besides, kept for the planner: here nothing is decided."""

    def __init__(self) -> None:
        self.maps: dict[str, str] = {}
        self.heads: dict[str, Head] = {}

    def admit(
        self, key: str, kind: str, hints: Sequence[Observation]
    ) -> list[Observation]:
        """Let all pages of a map pass, and note that it is one."""
        self.maps[key] = kind
        return list(hints)

    def learn(
        self, held: Observation | None, look: Observation, answer: Answer
    ) -> None:
        """Note what an answer says of how long it holds, and of hubs."""
        del held
        said = {n: answer.headers[n] for n in HEADERS if n in answer.headers}
        self.heads[look.key] = (answer.status, answer.url, said)

    def save(self) -> None:
        """Do nothing: it goes with the observations."""

    def take(self, looks: Sequence[Observation]) -> SeenPages:
        """Return observations with what is noted of their pages."""
        keys = {look.key for look in looks}
        maps = {key: self.maps.pop(key) for key in keys & self.maps.keys()}
        heads = {key: self.heads.pop(key) for key in keys & self.heads.keys()}
        return SeenPages(tuple(looks), maps, heads)


class LeasedSites:
    """The sources of pages on lease, as a worker asks them.

    What was learned of a source is read anew every few seconds: other workers learn,
    too. What this one has learned it writes down after each batch of pages.

    Args:
        gate: The way out.
        store: Where what was learned is kept.
        shown: Whose pages are whose, and the browser.
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
        self._known = {source.name: source for source in sources}
        self.notes = AnswerNotes()
        self._sites: dict[str, tuple[float, SiteSettings]] = {}

    def unknown(self, sources: Iterable[str]) -> set[str]:
        """Return those of the sources that the settings do not have."""
        return set(sources) - self._known.keys()

    def client(self, pages: Mapping[str, str], concurrency: int) -> PageClient:
        """Return what fetches pages, so many at once; each has its source's name."""
        owner = self._shown.owner
        owner.know(pages.items())
        return PageClient(
            self._gate,
            {name: self._site(self._known[name]) for name in sorted({*pages.values()})},
            source_of=owner,
            url_of=owner.url_of,
            concurrency=concurrency,
        )

    def _site(self, source: PagesConfig) -> SiteSettings:
        made, known = self._sites.get(source.name, (-inf, None))
        if known is None or monotonic() - made > READ_ANEW:
            known = self._read(source)
            self._sites[source.name] = monotonic(), known
        return known

    def _read(self, source: PagesConfig) -> SiteSettings:
        site, store = page_sources.shown_site(source, self._shown.renderer), self._store
        read = page_sources.memory(source, site, store, self._gate.clock)
        trust = ValidatorMemory(store, source.name)
        site = replace(site, memory=read, validators=trust, promises=self.notes)
        if source.crawls:
            return crawl.following(source, site)
        return replace(site, limits=self.notes)


@asynccontextmanager
async def leased_sites(
    gate: Gate, store: Store, sources: Iterable[SourceConfig]
) -> AsyncIterator[LeasedSites]:
    """Hold what it takes to fetch pages on lease, a browser where one is needed."""
    pages = PagesConfig.among(sources)
    async with page_sources.rendering(gate, pages) as browser:
        shown = page_sources.PageContext(page_sources.Ownership(store), browser)
        yield LeasedSites(gate, store, shown, pages)


class RemotePages:
    """Pages that workers fetch, as a source: what it is asked for it hands out.

    Args:
        pages: Knows the sources, and learns from what workers bring.
        queue: Where pages are handed out and answers come back.
        run: Holds the lease on the sources.
        wallet: What the budget's window has left.

    """

    def __init__(
        self, pages: PageClient, queue: PageHandout, run: Run, wallet: Wallet
    ) -> None:
        self._pages, self._queue, self._run = pages, queue, run
        self._wallet, self._store = wallet, wallet.store

    async def perform(
        self, requests: Sequence[Request], now: float, purse: Purse
    ) -> AsyncGenerator[Looks]:
        """Hand pages out; yield what workers saw, as it comes in.

        What an earlier planner handed out comes in as well.
        """
        del now
        if not isinstance(purse, GrantPurse):
            raise UsageError("workers pay by themselves; give a grant")
        sources, queue = self._run.sources, self._queue
        queue.hand_out(self._run.id, _rows(requests)[: purse.left])
        withdrawn, pause, checked = False, SOONEST, 0.0
        try:
            while True:
                found = queue.answers(sources, MOST)
                if found:
                    self._settle(purse, sum(one.requests for one in found))
                    looks = [look for one in found for look in self._seen(one.answer)]
                    if looks:
                        yield Looks.of(looks)
                    queue.file([one.item for one in found])
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
            with suppress(LeaseLost, StoreError):  # whoever plans next takes it back
                if not withdrawn:
                    queue.withdraw(sources)
                self._pages.save()

    def _settle(self, purse: GrantPurse, requests: int) -> None:
        """Count what workers have sent and paid for."""
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
    """Return what a worker saw, as far as it may count; learn from it."""
    found: list[Observation] = []
    for page, hints in by_page(seen.looks):
        if page.key in seen.heads:
            _learn(pages.site_of(page.key), page, seen.heads[page.key])
        limits = pages.site_of(page.key).limits if page.key in seen.maps else None
        if limits is not None:
            admitted = limits.admit(page.key, seen.maps[page.key], hints)
            found += (page, *admitted)
        else:
            found += (page, *hints)
    return found


def _learn(site: SiteSettings, look: Observation, head: Head) -> None:
    """Learn from what is known of an answer that another process has read.

    An answer whose content did not come is as it was, as if it were not modified.
    """
    status, url, headers = head
    body = look.content.body if look.content else b""
    known = Answer(304 if look.content is None else status, url, body, headers=headers)
    if site.promises and site.memory:
        held = site.memory.held(look.key)
        is_there = held is not None and held.seen is Seen.PRESENT
        site.promises.learn(held if is_there else None, look, known)
    if site.hubs and look.content is not None:
        site.hubs.learn(look.key, known)


def _rows(requests: Sequence[Request]) -> list[tuple[str, str, float, int]]:
    """Return what is handed out: key, host, gain, and 1 if what is held is no use.

    A plan names the best first. Where a later page gains more, the order counts.
    """
    if isinstance(requests, Fetches):  # made of keys: what is held is read by workers
        keys, gains, whole = requests.keys, requests.gain, [0] * len(requests)
    else:
        keys = [one.key for one in requests]
        gains = [one.gain for one in requests]
        whole = [int(one.held is None) for one in requests]
    gained = [0.0 if isnan(gain) else float(gain) for gain in gains]
    ordered = list(accumulate(reversed(gained), max))[::-1]
    rows = zip(keys, map(_host, keys), ordered, whole, strict=True)
    return [row for row in rows if row[1]]


def _host(key: str) -> str:
    try:
        return parse_url(key).raw_host or ""
    except UsageError:
        return ""
