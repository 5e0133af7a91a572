"""Keep copies of pages: one turn of the loop, or turn after turn."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from halflife.belief import LengthAware, pause_left
from halflife.belief.room import CapacityBelief
from halflife.config import Config
from halflife.core.errors import StoreError
from halflife.core.observation import Observations, Seen
from halflife.core.wording import count
from halflife.engine import bootstrap, network
from halflife.engine.loop import LEASE, Clock, Loop
from halflife.engine.wallet import GrantPurse, Wallet, WindowPurse
from halflife.kinds.pages import (
    belief_notes,
    crawl,
    guard,
    map_discovery,
    page_sources,
    pushed_hints,
    topics,
)
from halflife.kinds.pages.cache_promises import PromiseBelief, PromiseMemory, save_all
from halflife.kinds.pages.client import PageClient
from halflife.kinds.pages.host_capacity import HostCapacity
from halflife.kinds.pages.hours import WeekLearner
from halflife.kinds.pages.hubs import HubSubscriber, announced_first
from halflife.kinds.pages.map_rounds import MapRounds, maps_first
from halflife.kinds.pages.settings import PagesConfig
from halflife.net.gate import Gate
from halflife.net.troubles import with_address
from halflife.policies import Policy
from halflife.policies.shortlist import MANY, Shortlist
from halflife.readers.containment import is_mishandled
from halflife.stores import Run, Store

if TYPE_CHECKING:
    from halflife.kinds.pages.key_files import KeyFileChecker

LONGEST_NAP = 3600.0


@dataclass(slots=True)
class SourceTally:
    """Counts of a sync for one source."""

    looks: int = 0
    changed: int = 0
    failed: int = 0
    trouble: str = ""
    mishandled: str = ""  # the last answer that our own code failed to handle


@dataclass(slots=True)
class SyncOutcome:
    """The outcome of a sync.

    Attributes:
        requests: Requests sent, redirects and robots.txt included.
        found: Items discovered.
        sources: The counts of each source.

    """

    requests: int = 0
    found: int = 0
    sources: dict[str, SourceTally] = field(default_factory=dict)

    @property
    def silent(self) -> list[str]:
        """The sources that failed at every fetch."""
        tallies = self.sources.items()
        return [name for name, t in tallies if t.failed and not t.looks]

    def add(self, other: "SyncOutcome") -> None:
        """Add the outcome of another turn of the same sync."""
        self.requests += other.requests
        self.found += other.found
        for name, more in other.sources.items():
            tally = self.sources.setdefault(name, SourceTally())
            tally.looks += more.looks
            tally.changed += more.changed
            tally.failed += more.failed
            tally.trouble = more.trouble or tally.trouble
            tally.mishandled = more.mishandled or tally.mishandled

    def total(self, column: str) -> int:
        """Return the sum of a column over all sources."""
        return sum(getattr(tally, column) for tally in self.sources.values())

    def words(self, *, trouble: bool = True) -> str:
        """Return the outcome in a line; troubles are reported for each source."""
        del trouble
        fetched = count(self.total("looks"), "fetch", "fetches")
        return (
            f"{count(self.requests, 'request')}: {fetched}, "
            f"{self.total('changed')} found a change, {self.total('failed')} failed, "
            f"{count(self.found, 'new item')}"
        )

    def row(self) -> dict[str, object]:
        """Return the row for programs."""
        totals = {name: self.total(name) for name in ("looks", "changed", "failed")}
        rows = [
            {
                "source": name,
                "looks": tally.looks,
                "changed": tally.changed,
                "failed": tally.failed,
                "trouble": tally.trouble,
            }
            for name, tally in sorted(self.sources.items())
        ]
        head = {"requests": self.requests, "found": self.found}
        return {**head, **totals, "results": rows}


class Keeper:
    """Keeps the sources of one run: opened once, runs many turns."""

    def __init__(
        self,
        config: Config,
        store: Store,
        run: Run,
        loop: Loop,
        clock: Clock,
        belief: object = None,
    ) -> None:
        self.clock = clock
        self.wallet = Wallet(store, config.budget)
        self.run = run
        self.loop = loop
        self._config = config
        self._kept = [one for one in config.source if one.name in run.sources]
        self._delay = config.fetch.delay
        self._owner = page_sources.Ownership(store)
        self._evidence = store.evidence(run.sources)
        self.hours = WeekLearner(store, self._evidence)
        self._rng = np.random.default_rng(run.id)
        self._checks = SyncOutcome()  # what audits fetched and nobody has counted yet
        self._since = run.began if run.resumed else None
        self._purse: GrantPurse | WindowPurse | None = None
        self.is_remote = False  # whether workers fetch the pages, and pay for them
        self._shares_income = False  # whether other keepers get some of the income
        self.eased = False
        finders = {source.name for source in crawl.find_pages(config.source)}
        self.crawls = not finders.isdisjoint(run.sources)
        self.unread: set[str] = set()  # pages to fetch for their links
        self.maps = MapRounds({})  # maps to fetch again
        self.hubs: HubSubscriber | None = None  # subscribes to pages, if enabled
        self.keys: KeyFileChecker | None = (
            None  # checks key files of pushes, if enabled
        )
        self.promised: PromiseBelief | None = None  # pages that promise not to change
        # The belief that uses the lengths of pages.
        self._measured = belief if isinstance(belief, LengthAware) else None

    @property
    def since(self) -> float:
        """The start of an interrupted turn that continues now; else the time."""
        return self.clock() if self._since is None else self._since

    def pace(self, seconds: float) -> None:
        """Limit the requests of a turn to each host by the seconds of the turn."""
        capacity = HostCapacity(self.wallet.store, self._delay, seconds)
        belief, policy = CapacityBelief(self.loop.belief, capacity), self.loop.policy
        shortlist = None if self.loop.shortlist is None else Shortlist(belief, policy)
        self.loop = replace(self.loop, belief=belief, shortlist=shortlist)

    def allowance(self, *, everything: bool = False, income: int | None = None) -> int:
        """Return the requests that a turn may spend now; this uses up the income.

        ``income`` is this keeper's part of the income; None: all. It gets a part once.
        """
        income = 0 if self._shares_income else income
        self._shares_income = income is not None
        now, evidence = self.clock(), self._evidence
        if self.promised is not None:
            self.promised.is_on = not everything
        if everything:
            first = len(evidence) + np.unique(evidence.group).size
        else:
            first = map_discovery.first_requests(
                self._config, self.wallet.store, self._kept, evidence, now
            )
        requests = self.wallet.offer(now, first)
        if income is not None:
            requests = min(max(income, first), self.wallet.room(now))
        if self.unread:  # and one request for the robots.txt of each
            wanted = min(2 * len(self.unread), self.wallet.room(now))
            requests = max(requests, wanted)
        if income is None:
            self.wallet.take_income(now)
        else:
            self.wallet.use(income, now)
        return requests

    def untried(self, since: float) -> int:
        """Return how many tried pages were not requested since a moment."""
        tried = self._evidence.tried_at
        return int(((tried < since) & np.isfinite(tried)).sum())

    def drawn(self) -> int:
        """Return the requests drawn in advance because a user is waiting."""
        wanted = len(self._evidence) + np.unique(self._evidence.group).size
        return self.wallet.draw(self.clock(), wanted)

    async def turn(
        self,
        requests: int,
        on_batch: Callable[[Observations], None] = lambda _: None,
        *,
        since: float | None = None,
    ) -> SyncOutcome:
        """Spend up to so many requests; return the outcome.

        Items fetched from ``since`` on (default: now) are done.
        """
        outcome, known = SyncOutcome(), len(self._evidence)

        def observe(batch: Observations) -> None:
            self._count(batch, outcome)
            self._measure(batch)
            on_batch(batch)

        granted = requests - await self._serve_callers(requests)
        purse = self.purse(granted)
        self._purse = purse
        try:
            pushed_hints.take(self.wallet.store, self.run)
            self.hours.begin_turn()
            self.maps.begin_turn(self._evidence, self.clock())
            await self._loop().turn(
                self.run,
                purse,
                self._rng,
                clock=self.clock,
                since=self._since if since is None else since,
                on_batch=observe,
            )
        finally:
            purse.close()
        self.hours.end_turn(self.clock())
        sent = purse.spent + requests - granted
        outcome.requests, outcome.found = sent, len(self._evidence) - known
        self._since = None
        return outcome

    def purse(self, requests: int) -> GrantPurse | WindowPurse:
        """Return the purse that pays for some work."""
        if self.is_remote:
            return GrantPurse(requests)
        return WindowPurse(self.wallet, self.run, requests, clock=self.clock)

    async def _serve_callers(self, requests: int) -> int:
        """Send the requests for hubs and pushes; return how many were sent."""
        desks = [desk for desk in (self.hubs, self.keys) if desk is not None]
        if not desks:
            return 0
        purse = WindowPurse(self.wallet, self.run, requests, clock=self.clock)
        self._purse = purse
        try:
            for desk in desks:
                await desk.begin_turn(purse, self.clock())
        finally:
            purse.close()
        return purse.spent

    def _loop(self) -> Loop:
        """Return the loop, without the short list if maps or announcements are due."""
        announced = self.maps.due or (self.hubs is not None and self.hubs.first)
        return replace(self.loop, shortlist=None) if announced else self.loop

    def note_checks(self, batch: Observations) -> None:
        """Count the fetches of an audit, for ``take_checks``."""
        self._count(batch, self._checks)

    def take_checks(self) -> SyncOutcome:
        """Return what audits fetched since the last call; their requests are not in it.

        A page that failed in an audit waits, so that no turn fetches it again: its
        failure is known from here alone.
        """
        checks, self._checks = self._checks, SyncOutcome()
        return checks

    def _count(self, batch: Observations, outcome: SyncOutcome) -> None:
        for o in batch:
            if o.seen is Seen.HINT:
                continue
            tally = outcome.sources.setdefault(self._owner(o.key), SourceTally())
            if o.note.startswith(guard.NOTE):
                continue  # held answers are reported separately
            if o.seen is Seen.FAILED:
                tally.failed += 1
                tally.trouble = with_address(o.note, o.key)
                if is_mishandled(o.note):
                    tally.mishandled = o.note
            else:
                row = self._evidence.row(o.key)
                tally.looks += 1
                changed = row is not None and bool(self._evidence.changed[row])
                tally.changed += int(changed)
                if self.hubs is not None and outcome is not self._checks:
                    self.hubs.learn(o.key, o.at, changed=changed)

    def _measure(self, batch: Observations) -> None:
        """Pass the lengths of fetched pages to the belief."""
        sent = ((o.key, o.content) for o in batch.details)
        lengths = {key: float(len(c.body)) for key, c in sent if c is not None}
        if self._measured is not None and lengths:
            self._measured.measure(lengths)

    def remember(self, promises: Mapping[str, PromiseMemory]) -> None:
        """Store what is not stored at every turn, at the end of the run."""
        save_all(promises)
        self.hours.save()

    def paused(self) -> tuple[int, float]:
        """Return how many items pause after a failure, and the days until one resumes.

        The days are 0 if none pauses.
        """
        evidence = self._evidence
        wait = pause_left(evidence.failures, evidence.tried_at, self.clock())
        waiting = wait[wait > 0.0]
        return int(waiting.size), float(
            waiting.min(initial=1.0)
        ) if waiting.size else 0.0

    def ease(self) -> None:
        """Start no further request in this turn."""
        self.eased = True
        if self._purse is not None:
            self._purse.stop()

    async def keep_lease(self) -> None:
        """Renew the lease on the sources until cancelled."""
        while True:
            await asyncio.sleep(LEASE * 86400.0 / 3.0)
            self.wallet.store.renew(self.run, self.clock(), lease=LEASE)


def _here(pages: PageClient, run: Run) -> guard.PageSource:
    """Fetch pages in this process."""
    del run
    return pages


@asynccontextmanager
async def keeping(
    config: Config,
    store: Store,
    chosen: Sequence[PagesConfig],
    clock: Clock = bootstrap.clock,
    shared: Gate | None = None,
    remote: Callable[[PageClient, Run], guard.PageSource] = _here,
) -> AsyncIterator[Keeper]:
    """Hold the lease on sources during the block; with ``remote`` workers fetch."""
    strategy, done = bootstrap.strategy(config, chosen), True
    run = store.begin(bootstrap.names(chosen), clock(), lease=LEASE)
    belief = bootstrap.belief(config, store, chosen)
    try:
        async with (
            network.way_out(config, store, clock, shared) as gate,
            page_sources.rendering(gate, chosen if remote is _here else ()) as browser,
        ):
            owner, context = page_sources.Ownership(store), (gate, config, chosen)
            pages = page_sources.pages(*context, owner, store=store, renderer=browser)
            crawled = crawl.crawl(remote(pages, run), store, chosen, owner)
            credible = guard.GuardedPages(crawled, store, run, clock)
            allowance = map_discovery.DiscoveryAllowance(config, store, chosen, clock)
            callers = page_sources.callers(gate, config, store, chosen)
            unread, maps = crawl.unread(store, chosen), MapRounds.of(config, chosen)
            policy = crawl.policy(strategy.policy, chosen, owner, allowance)
            policy = _with_urgent_pages(policy, maps, unread, callers[0])
            inner = crawl.belief(belief, chosen)
            inner = topics.with_topics(inner, strategy, store, run.sources)
            promised = PromiseBelief(inner, pages.promises)
            loop = Loop(credible, store, promised, policy)
            keeper = Keeper(config, store, run, _shortened(loop, run), clock, belief)
            keeper.unread, keeper.promised, keeper.maps = unread, promised, maps
            (keeper.hubs, keeper.keys), keeper.is_remote = callers, remote is not _here
            yield keeper
            keeper.remember(pages.promises)
        belief_notes.remember(store, belief)
    except StoreError:
        done = False  # the run continues when the disk works again
        raise
    finally:
        store.finish(run, clock(), done=done)


def _with_urgent_pages(
    policy: Policy, maps: MapRounds, unread: set[str], hubs: HubSubscriber | None
) -> Policy:
    """Return a policy that starts with announced, unread and due pages."""
    first = crawl.read_first(maps_first(policy, maps), unread)
    return announced_first(first, hubs)


def _shortened(loop: Loop, run: Run) -> Loop:
    """Return the loop, with a short list if there are many pages."""
    if len(loop.store.evidence(run.sources)) < MANY:
        return loop
    return replace(loop, shortlist=Shortlist(loop.belief, loop.policy))
