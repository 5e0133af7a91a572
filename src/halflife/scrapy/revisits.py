"""A crawl: opens the store, takes turns of the loop, and closes everything again.

The start requests come first and are always sent. Once no request is under way any
more, the loop takes a turn as in ``halflife sync``: its policy chooses the pages that
are worth a request, among the known ones and those that the spider has just found.
"""

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from halflife.core.errors import BudgetSpent, ConfigError, HalflifeError
from halflife.core.observation import Observation, Observations, Seen
from halflife.engine import bootstrap
from halflife.engine.loop import LEASE, Loop
from halflife.engine.wallet import WindowPurse
from halflife.kinds.pages import belief_notes, crawl, guard, page_sources, topics
from halflife.kinds.pages.client import SiteSettings
from halflife.kinds.pages.map_limits import MapLimits
from halflife.kinds.pages.runner import Keeper
from halflife.net.access import Answer
from halflife.policies.shortlist import MANY, Shortlist
from halflife.scrapy.pages import SpiderPages
from halflife.scrapy.requests import KEY, RequestBook
from halflife.scrapy.settings import config_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

STATS = ("fetched", "changed", "gone", "failed", "saved", "unpaid", "requests")
_LOG = logging.getLogger("halflife")


class Revisits:
    """The extension: one for each crawl, from its beginning to its end."""

    def __init__(self, crawler: "Crawler") -> None:
        if crawler.spider is None or crawler.stats is None:
            raise ConfigError("the add-on needs a crawl with a spider")
        self._crawler, self._stats = crawler, crawler.stats
        self._config, self._source = config_of(crawler.settings, crawler.spider.name)
        self._name = self._source.name
        self._store = bootstrap.writing(self._config, _LOG.warning)
        self._run = self._store.begin([self._name], self.clock(), lease=LEASE)
        self._evidence = self._store.evidence(self._run.sources)
        self._belief = bootstrap.belief(self._config, self._store, [self._source])
        self._requests = RequestBook(
            crawler.spider,
            self._store,
            self._name,
            weight=self._source.weight,
            is_followed=self._is_followed,
        )
        self._pages = SpiderPages(
            self._name,
            self._site(),
            self._send,
            concurrency=crawler.settings.getint("CONCURRENT_REQUESTS"),
            clock=self.clock,
        )
        self._keeper = self._make_keeper()
        wallet = self._keeper.wallet
        self._purse = WindowPurse(  # for requests that the loop did not make
            wallet, self._run, wallet.room(self.clock()), clock=self.clock, block=1
        )
        self._turning: asyncio.Task[None] | None = None
        self._lease: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._began = self.clock()
        self._counted, self._whole = -1, False
        for name in STATS:
            self._stats.set_value(f"halflife/{name}", 0)

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> Self:
        """Open the store for a crawl; an error here keeps it from beginning."""
        from scrapy import signals  # noqa: PLC0415
        from scrapy.utils.asyncio import is_asyncio_available  # noqa: PLC0415

        if not is_asyncio_available():
            raise ConfigError("the halflife add-on needs Scrapy's asyncio reactor")
        revisits = cls(crawler)
        crawler.signals.connect(revisits.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(revisits.spider_idle, signal=signals.spider_idle)
        crawler.signals.connect(revisits.spider_closed, signal=signals.spider_closed)
        return revisits

    def clock(self) -> float:
        """Return the time in days."""
        return bootstrap.clock()

    def _site(self) -> SiteSettings:
        """Return how pages are read; a sitemap adds no pages that are not known."""

        def is_known(key: str) -> bool:
            return self._store.source_of(key) == self._name

        limits = MapLimits((), is_known, lambda: 0, most=0)
        return replace(page_sources.site(self._source), limits=limits)

    def _make_keeper(self) -> Keeper:
        """Return the runner of the loop, with Scrapy in place of the network."""
        chosen = [self._source]
        strategy = bootstrap.strategy(self._config, chosen)
        owner = page_sources.Ownership(self._store)
        policy = crawl.policy(strategy.policy, chosen, owner)
        believed = topics.with_topics(
            self._belief, strategy, self._store, self._run.sources
        )
        source = guard.GuardedPages(self._pages, self._store, self._run, self.clock)
        shortlist = None
        if len(self._evidence) >= MANY:
            shortlist = Shortlist(believed, policy)
        loop = Loop(source, self._store, believed, policy, shortlist)
        config, store, run = self._config, self._store, self._run
        return Keeper(config, store, run, loop, self.clock, self._belief)

    # Called by the middlewares.

    def start(self, request: "Request") -> None:
        """Mark a start request with its page, if it is for one."""
        if key := self._requests.key_of(request, start=True):
            self._requests.write()
            request.meta[KEY] = key
            self._pages.expect(key)

    def hold(self, request: "Request") -> bool:
        """Hold a request of the spider back if it is for a page; return whether."""
        request.meta.pop(KEY, None)  # a spider may copy the meta of another request
        key = self._requests.key_of(request)
        if key:
            self._requests.keep(key, request)
        return bool(key)

    def pay(self, key: str) -> None:
        """Pay for a request; raise ``BudgetSpent``."""
        purse = self._pages.purse if self._pages.is_under_way(key) else None
        (purse or self._purse).pay(1)
        self._stats.inc_value("halflife/requests")

    async def show(self, key: str, answer: Answer) -> None:
        """Read the answer of a page."""

        def held() -> Observation | None:
            return self._store.held([key])[0]

        await self._pages.show(key, answer, held)

    def finish(self, key: str) -> None:
        """Count a page as fetched: the spider has read it, and its links."""
        self._requests.write()  # first, or a crash could lose the page's links
        if key:
            self._pages.finish(key)

    def fail(self, key: str, error: Exception) -> None:
        """Count a page as not fetched."""
        self._requests.write()
        if isinstance(error.__cause__, BudgetSpent):
            self._stats.inc_value("halflife/unpaid")
            self._pages.drop(key)
        elif key:
            self._pages.fail(key, f"{type(error).__name__}: {error}"[:500])

    # Called by Scrapy.

    async def spider_opened(self) -> None:
        """Keep the lease for as long as the crawl takes."""
        self._lease = asyncio.create_task(self._keeper.keep_lease())

    def spider_idle(self) -> None:
        """Take a turn of the loop, and another if pages were added since."""
        from scrapy.exceptions import DontCloseSpider  # noqa: PLC0415

        self._pages.finish_all()
        if self._turning is None or (
            self._turning.done() and len(self._evidence) != self._counted
        ):
            self._turning = asyncio.create_task(self._turn())
        if not self._turning.done():
            raise DontCloseSpider

    async def spider_closed(self) -> None:
        """Write what is left, and give the lease back."""
        for task in (self._turning, self._lease):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        self._requests.write()
        self._pages.finish_all()
        try:
            await self._keep_rest()
            belief_notes.remember(self._store, self._belief)
            self._stats.set_value("halflife/saved", self._saved())
        finally:
            self._purse.close()
            self._store.finish(self._run, self.clock(), done=self._whole)
            self._store.close()

    async def _turn(self) -> None:
        """Spend the budget on the pages that are worth it."""
        engine = self._crawler.engine
        assert engine is not None
        self._whole = False
        try:
            await self._keep_rest()
            wallet, now = self._keeper.wallet, self.clock()
            wallet.use(self._purse.spent, now)
            allowed = self._keeper.allowance()
            began = self._run.began
            await crawl.turns(self._keeper, allowed, on_batch=self._count, since=began)
            self._whole = True
        except HalflifeError as error:
            _LOG.error("the crawl ends: %s", error)
            ending = engine.close_spider_async(reason="halflife_error")
            self._ending = asyncio.create_task(ending)  # which waits for this task
        finally:
            self._counted = len(self._evidence)
        # Otherwise Scrapy would notice only at its next heartbeat, after seconds.
        if (slot := getattr(engine, "_slot", None)) is not None:
            slot.nextcall.schedule()

    async def _keep_rest(self) -> None:
        """Write the observations of pages that the loop did not request."""
        source = self._keeper.loop.source
        async for batch in source.perform([], self.clock(), self._purse):
            self._store.append(self._run, batch)
            self._count(batch)

    def _count(self, batch: Observations) -> None:
        for o in batch:
            if o.seen is Seen.FAILED:
                self._stats.inc_value("halflife/failed")
            elif o.seen is not Seen.HINT:
                row = self._evidence.row(o.key)
                changed = row is not None and bool(self._evidence.changed[row])
                gone = o.seen is Seen.ABSENT
                self._stats.inc_value("halflife/fetched")
                self._stats.inc_value("halflife/changed", int(changed))
                self._stats.inc_value("halflife/gone", int(gone))

    def _saved(self) -> int:
        """Return how many held pages were not requested in this crawl."""
        known = self._evidence
        return int(np.count_nonzero((known.looks > 0) & (known.tried_at < self._began)))

    def _send(self, key: str) -> None:
        engine = self._crawler.engine
        assert engine is not None
        engine.crawl(self._requests.request(key))

    def _is_followed(self, request: "Request") -> bool:
        """Return whether Scrapy's filter of other sites lets a request through."""
        engine, spider = self._crawler.engine, self._crawler.spider
        assert engine is not None
        for part in engine.downloader.middleware.middlewares:
            follows = getattr(part, "should_follow", None)
            if follows is not None and not request.meta.get("allow_offsite"):
                return bool(follows(request, spider))
        return True
