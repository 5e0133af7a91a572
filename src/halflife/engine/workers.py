"""Those who do the work: one for each group of sources, all through one gate."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from halflife.config import Config, SourceConfig
from halflife.core.errors import AlreadyRunning, BudgetSpent
from halflife.engine import audit, bootstrap, faults, network, scheduler, targets
from halflife.engine.loop import Clock
from halflife.engine.offline import Steady, is_lost
from halflife.kinds.form import audit as form_audit, client as form_client
from halflife.kinds.form.settings import FormConfig
from halflife.kinds.listing import runner as listing_runner
from halflife.kinds.listing.settings import ListingConfig
from halflife.kinds.pages.audit import spare
from halflife.kinds.pages.crawl import HOPS
from halflife.kinds.pages.interval_limits import Punctual, Spaced
from halflife.kinds.pages.random_share import HalfDrawn
from halflife.kinds.pages.runner import LONGEST_NAP, Keeper, Outcome, keeping
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.search import (
    check as search_check,
    runner as search_runner,
    selection as search_selection,
)
from halflife.kinds.search.settings import SearchConfig
from halflife.net.gate import Gate
from halflife.net.wire import Transport
from halflife.policies.shortlist import Shortlist
from halflife.stores import summaries
from halflife.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from halflife.kinds.form.runner import Turned
    from halflife.kinds.listing.runner import Looked
    from halflife.kinds.search.check import Checked
    from halflife.kinds.search.runner import Summarized

Group: TypeAlias = tuple[str, ...]
Result: TypeAlias = "Outcome | Looked | Turned | Summarized | Checked"
Extra: TypeAlias = Callable[[Keeper, int], Awaitable[int]]
"""Spends up to so many requests on looks of its own; returns how many it spent."""


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a piece of work.

    Attributes:
        group: The sources that were worked at.
        spent: Requests sent.
        result: What was seen; None if nothing could be done.
        trouble: What went wrong; empty if nothing did, or only with single pages.
        held: Why the answer waits for a decision; empty if it does not.
        lost: Whether our own network kept something from being sent.
        heard: Whether anything was answered, or failed for another reason.

    """

    group: Group
    spent: int = 0
    result: "Result | None" = None
    trouble: str = ""
    held: str = ""
    lost: bool = False
    heard: bool = False


class Crew:
    """Works at sources, each group by itself.

    Args:
        config: The settings.
        store: What is known.
        gate: The way out.
        clock: The time in days.
        extra: What gets the audit's share of each turn of pages; nothing is audited
            without.

    """

    def __init__(
        self,
        config: Config,
        store: SqliteStore,
        gate: Gate,
        clock: Clock,
        extra: Extra | None = None,
    ) -> None:
        self.config, self.store, self.gate, self.clock = config, store, gate, clock
        self.groups: list[tuple[SourceConfig, ...]] = []
        self.keepers: dict[Group, Keeper] = {}
        self._steady: dict[Group, Steady] = {}
        self._extra = extra
        self._owed = 0.0
        self._owed_forms: dict[str, float] = {}
        self._short: dict[Group, int] = {}
        self._debt: dict[Group, int] = {}  # what redirects took beyond what was granted
        self._eases: dict[Group, Callable[[], None]] = {}

    def add(self, group: tuple[SourceConfig, ...], keeper: Keeper) -> None:
        """Let a keeper work at a group of pages."""
        names = scheduler.names(group)
        self._steady[names] = Steady(keeper.loop.source)
        keeper.loop = replace(keeper.loop, source=self._steady[names])
        keeper.pace(LONGEST_NAP)
        if targets.is_on(self.config) and targets.level(group[0]) is not None:
            mixed = HalfDrawn(keeper.loop.policy)
            keeper.loop = replace(keeper.loop, policy=mixed, shortlist=None)
        _keep_intervals(keeper, group[0], targets.latest(self.config, group[0]))
        self.keepers[names] = keeper

    def ease(self) -> None:
        """Begin nothing more."""
        for ease in self._eases.values():
            ease()

    def work(
        self, group: tuple[SourceConfig, ...], requests: int
    ) -> Coroutine[Any, Any, Done]:
        """Return the work that spends up to so many requests on a group."""
        source = group[0]
        if source.has_pages:
            return self._pages(scheduler.names(group), requests)
        if source.kind == "listing":
            return self._alone(
                source, self._listing(ListingConfig.of(source), requests)
            )
        if source.kind == "search":
            return self._alone(source, self._search(SearchConfig.of(source), requests))
        return self._alone(source, self._form(FormConfig.of(source), requests))

    async def _pages(self, group: Group, granted: int) -> Done:
        repaid = min(self._debt.get(group, 0), granted)
        self._debt[group] = self._debt.get(group, 0) - repaid
        if repaid and repaid == granted:
            return Done(group)
        keeper, steady = self.keepers[group], self._steady[group]
        requests = max(granted - repaid, self._short.pop(group, 0))
        self._eases[group] = keeper.ease
        lost, heard = steady.lost, steady.heard
        # Checked first: after the turn the copy is better than it mostly is.
        evidence = self.store.evidence(keeper.run.sources)
        audited = min(self._audited(requests), spare(evidence, requests))
        checked = 0
        if audited and self._extra is not None:
            checked = await self._extra(keeper, audited)
        outcome = await keeper.turn(requests - audited)
        outcome.requests += checked
        self._debt[group] += max(outcome.requests + repaid - granted, 0)
        cut = steady.lost > lost
        if outcome.requests and steady.heard == heard and not cut:
            # All of it went into redirects: next time, see where they end.
            self._short[group] = outcome.requests + HOPS
        trouble = "; ".join(outcome.sources[name].trouble for name in outcome.silent)
        return Done(
            group,
            outcome.requests,
            outcome,
            trouble,
            lost=cut,
            heard=steady.heard > heard,
        )

    def _audited(self, requests: int) -> int:
        """Return the audit's share of a turn; fractions add up."""
        if self._extra is None:
            return 0
        self._owed += self.config.audit.share * requests
        whole = min(int(self._owed), requests)
        self._owed -= whole
        return whole

    async def _alone(
        self, source: SourceConfig, work: Coroutine[Any, Any, Result]
    ) -> Done:
        """Work at one source; that another does, or that all is spent, is no harm."""
        group = (source.name,)
        try:
            result = await work
        except (AlreadyRunning, BudgetSpent):
            return Done(group)
        finally:
            self._eases.pop(group, None)
        if isinstance(result, search_runner.Summarized):
            trouble, held = ("" if result.kept else result.ending), ""
        elif isinstance(result, search_check.Checked):
            trouble, held = result.trouble, ""
        else:
            assert not isinstance(result, Outcome)
            trouble, held = result.trouble, result.held
        faults.note(self.store, source.name, trouble)
        if self._extra is not None:
            audit.score(self.store, source, result)
        lost = is_lost(trouble)
        return Done(group, result.requests, result, trouble, held, lost, not lost)

    async def _listing(self, source: ListingConfig, requests: int) -> "Looked":
        most = int(scheduler.SLACK * requests) + 2
        config, store, clock, gate = self.config, self.store, self.clock, self.gate
        return await listing_runner.sync(
            config, store, source, most=most, clock=clock, gate=gate
        )

    async def _search(
        self, source: SearchConfig, requests: int
    ) -> "Summarized | Checked":
        """Check a summary if that is what is due, or make it."""
        kept = summaries.current(self.store, source.name)
        config, store, clock, gate = self.config, self.store, self.clock, self.gate
        if kept and search_selection.look_requests(store, source, kept) < kept.requests:
            checker = search_check.Checker(config, store, clock, gate)
            self._eases[(source.name,)] = checker.ease
            return await checker.check(source, kept, most=requests)
        wish = search_runner.again(kept) if kept else search_runner.Wish()
        worker = search_runner.Summarizer(config, store, wish, clock, gate)
        self._eases[(source.name,)] = worker.ease
        return await worker.summarize(source, most=requests)

    async def _form(self, source: FormConfig, requests: int) -> "Turned":
        former = form_client.Former(self.config, self.store, self.clock, self.gate)
        self._eases[(source.name,)] = former.ease
        requests = max(requests, self._short.pop((source.name,), 0))
        share = 0.0 if self._extra is None else self.config.audit.share
        owed = self._owed_forms.get(source.name, 0.0) + share * requests
        self._owed_forms[source.name] = owed
        turned, checked = await form_audit.turn(former, source, requests, int(owed))
        self._owed_forms[source.name] -= checked
        seen = turned.looked.listed or turned.kept.absent or turned.trouble
        if turned.requests and not seen:
            # All of it went into redirects: next time, go one further.
            self._short[(source.name,)] = turned.requests + 1
        return turned


def _keep_intervals(keeper: Keeper, source: SourceConfig, latest: float) -> None:
    """Let a keeper heed the intervals of a source that is kept by itself."""
    loop = keeper.loop
    if source.soonest > 0:
        belief = Spaced(loop.belief, source.soonest)
        short = None if loop.shortlist is None else Shortlist(belief, loop.policy)
        loop = replace(loop, belief=belief, shortlist=short)
    if latest < inf:  # who has waited longest is not told from a short list
        policy = Punctual(loop.policy, latest)
        loop = replace(loop, policy=policy, shortlist=None)
    keeper.loop = loop


@asynccontextmanager
async def gathered(
    config: Config,
    store: SqliteStore,
    chosen: Sequence[SourceConfig],
    clock: Clock,
    extra: Extra | None = None,
    transport: Transport | None = None,
) -> AsyncIterator[tuple[Crew, list["asyncio.Task[None]"]]]:
    """Hold the leases on all pages, and all it takes to work, during the block.

    The tasks that come with the crew keep the leases; one that ends has lost its own.
    """
    bootstrap.names(chosen)
    async with AsyncExitStack() as stack:
        gate = await stack.enter_async_context(
            network.gate(config, store, clock, transport)
        )
        crew = Crew(config, store, gate, clock, extra)
        crew.groups = scheduler.grouped(chosen, apart=targets.is_on(config))
        leases: list[asyncio.Task[None]] = []
        for group in crew.groups:
            if group[0].has_pages:
                kept = keeping(config, store, PagesConfig.among(group), clock, gate)
                keeper = await stack.enter_async_context(kept)
                crew.add(group, keeper)
                leases.append(asyncio.create_task(keeper.keep_lease()))
                stack.push_async_callback(_ended, leases[-1])
        yield crew, leases


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
