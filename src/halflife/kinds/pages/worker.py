"""Working at pages: a group of sources is held, and looked at turn by turn."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from math import inf

from halflife.config import SourceConfig
from halflife.engine import targets
from halflife.engine.offline import Steady
from halflife.kinds.pages.audit import spare
from halflife.kinds.pages.crawl import HOPS
from halflife.kinds.pages.interval_limits import Punctual, Spaced
from halflife.kinds.pages.random_share import HalfDrawn
from halflife.kinds.pages.runner import LONGEST_NAP, Keeper, Outcome, keeping
from halflife.kinds.protocol import Desk, Report, Worker
from halflife.policies.shortlist import Shortlist


@asynccontextmanager
async def opened(desk: Desk, group: Sequence[SourceConfig]) -> AsyncIterator[Worker]:
    """Hold the lease on pages, and all it takes to keep them, during the block."""
    kept = keeping(desk.config, desk.store, group, desk.clock, desk.gate)
    async with kept as keeper:
        yield PageWorker(desk, group, keeper)


class PageWorker:
    """Looks at the pages of a group of sources, where it buys most."""

    def __init__(
        self, desk: Desk, group: Sequence[SourceConfig], keeper: Keeper
    ) -> None:
        self._desk, self.keeper = desk, keeper
        self._group = tuple(source.name for source in group)
        self._steady = Steady(keeper.loop.source)
        keeper.loop = replace(keeper.loop, source=self._steady)
        keeper.pace(LONGEST_NAP)
        config, first = desk.config, group[0]
        if targets.is_on(config) and targets.level(first) is not None:
            mixed = HalfDrawn(keeper.loop.policy)
            keeper.loop = replace(keeper.loop, policy=mixed, shortlist=None)
        keep_intervals(keeper, first, targets.latest(config, first))
        self._owed = 0.0  # checks; fractions add up
        self._short = 0  # what all went into redirects the last time
        self._debt = 0  # what redirects took beyond what was granted

    async def work(self, requests: int) -> Report:
        """Spend up to so many requests; a share of it checks pages drawn at random."""
        repaid = min(self._debt, requests)
        self._debt -= repaid
        if repaid and repaid == requests:
            return Report(self._group)
        granted = requests
        requests, self._short = max(granted - repaid, self._short), 0
        lost, heard = self._steady.lost, self._steady.heard
        # Checked first: after the turn the copy is better than it mostly is.
        evidence = self._desk.store.evidence(self.keeper.run.sources)
        audited = min(self._audited(requests), spare(evidence, requests))
        checked = 0
        if audited and self._desk.checks is not None:
            checked = await self._desk.checks(self.keeper, audited)
        outcome = await self.keeper.turn(requests - audited)
        outcome.requests += checked
        self._debt += max(outcome.requests + repaid - granted, 0)
        cut, answered = self._steady.lost > lost, self._steady.heard > heard
        if outcome.requests and not answered and not cut:
            # All of it went into redirects: next time, see where they end.
            self._short = outcome.requests + HOPS
        return report_on(self._group, outcome, lost=cut, heard=answered)

    def _audited(self, requests: int) -> int:
        """Return the audit's share of a turn; fractions add up."""
        if self._desk.checks is None:
            return 0
        self._owed += self._desk.config.audit.share * requests
        whole = min(int(self._owed), requests)
        self._owed -= whole
        return whole

    def ease(self) -> None:
        """Begin nothing more."""
        self.keeper.ease()

    async def keep(self) -> None:
        """Hold on to the sources, also between turns."""
        await self.keeper.keep_lease()


def report_on(
    group: tuple[str, ...], outcome: Outcome, *, lost: bool, heard: bool
) -> Report:
    """Return the report on a turn of pages."""
    tallies = outcome.sources
    return Report(
        group,
        outcome.requests,
        outcome,
        "; ".join(tallies[name].trouble for name in outcome.silent),
        lost=lost,
        heard=heard,
        found=outcome.found,
        mishandled={n: one.mishandled for n, one in tallies.items() if one.mishandled},
        failures={name: one.failed for name, one in tallies.items()},
    )


def keep_intervals(keeper: Keeper, source: SourceConfig, latest: float) -> None:
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
