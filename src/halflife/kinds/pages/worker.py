"""The worker for pages: holds the lease on a group of sources and runs its turns."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from math import inf

from halflife.core.observation import Observations
from halflife.core.wording import span
from halflife.engine import targets
from halflife.engine.offline import OfflineSource
from halflife.engine.wallet import spent
from halflife.kinds.pages import audit, crawl
from halflife.kinds.pages.interval_limits import MaxIntervalPolicy, MinIntervalBelief
from halflife.kinds.pages.random_share import HalfRandomPolicy
from halflife.kinds.pages.reading_advice import script_words
from halflife.kinds.pages.round_policy import RoundPolicy
from halflife.kinds.pages.runner import LONGEST_NAP, Keeper, SyncOutcome, keeping
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.protocol import Desk, Errand, Report, Worker
from halflife.policies.shortlist import Shortlist


@asynccontextmanager
async def opened(desk: Desk, group: Sequence[PagesConfig]) -> AsyncIterator[Worker]:
    """Hold the lease on sources and what their pages need, during the block."""
    remote = {"remote": desk.remote} if desk.remote else {}
    kept = keeping(desk.config, desk.store, group, desk.clock, desk.gate, **remote)
    async with kept as keeper:
        yield PageWorker(desk, group, keeper)


class PageWorker:
    """Fetches the pages of a group of sources where it buys most."""

    def __init__(
        self, desk: Desk, group: Sequence[PagesConfig], keeper: Keeper
    ) -> None:
        self._desk, self.keeper, self._sources = desk, keeper, group
        self._group = tuple(source.name for source in group)
        self._steady = OfflineSource(keeper.loop.source)
        keeper.loop = replace(keeper.loop, source=self._steady)
        self._paced = False
        self._owed = 0.0  # requests for audits; fractions add up
        self._short = 0  # requests of a turn that redirects used up
        self._debt = 0  # requests for redirects beyond the granted ones

    def _pace(self) -> None:
        """Apply the settings of the service: host delays, intervals and targets."""
        if self._paced:
            return
        self._paced, keeper = True, self.keeper
        keeper.pace(LONGEST_NAP)
        config, first = self._desk.config, self._sources[0]
        if targets.is_on(config) and targets.level(first) is not None:
            mixed = HalfRandomPolicy(keeper.loop.policy)
            in_rounds = RoundPolicy(mixed, self._round_began)
            keeper.loop = replace(keeper.loop, policy=in_rounds, shortlist=None)
        keep_intervals(keeper, first, targets.latest(first))

    def _round_began(self) -> float:
        return targets.round_began(self._desk.store, self._sources[0].name)

    async def sync(self, errand: Errand) -> Report:
        """Audit some random pages, then fetch where it buys most."""
        keeper, budget = self.keeper, self._desk.config.budget
        drawn = keeper.drawn() if errand.draws else 0
        requests = keeper.allowance(everything=errand.everything, income=errand.income)
        requests, note = max(requests, drawn), ""
        if not requests:
            if not keeper.wallet.room(keeper.clock()):
                raise spent(budget, keeper.wallet.refill(keeper.clock()))
            wait = span(keeper.wallet.next_income(keeper.clock()))
            note = f"nothing to spend yet: next request available in {wait}"
        requests = min(requests, errand.most or requests)
        lost = self._steady.lost
        audits = self._desk.audits and not errand.everything
        share = self._desk.config.audit.share if audits else 0.0
        evidence = self._desk.store.evidence(keeper.run.sources)
        known_before = len(evidence)
        checked = await audit.check_share(keeper, share, requests)
        found = len(evidence) - known_before
        outcome = await self._spend(errand, requests, (checked, found))
        outcome.add(keeper.take_checks())
        outcome.requests += checked
        if requests and not outcome.sources:
            note = _waiting(keeper)
        is_cut_off = self._steady.lost > lost
        report = report_on(self._group, outcome, lost=is_cut_off, heard=not is_cut_off)
        store, shown = self._desk.store, outcome.sources
        empty = [script_words(store, one) for one in self._sources if one.name in shown]
        return replace(report, note="; ".join(text for text in (note, *empty) if text))

    async def _spend(
        self, errand: Errand, requests: int, checks: tuple[int, int]
    ) -> SyncOutcome:
        """Spend what the audit left; a crawl continues while it finds pages.

        ``checks`` are the requests of the audit, and the pages that it found.
        """
        checked, found = checks

        def on_batch(batch: Observations) -> None:
            errand.told(len(batch))

        keeper, since = self.keeper, self.keeper.since
        most = None if errand.most is None else errand.most - checked
        left = requests - checked
        if keeper.crawls:
            outcome = await crawl.turns(keeper, left, most, on_batch, found=found)
        else:
            outcome = await keeper.turn(left, on_batch)
        if errand.everything:
            await self._fetch_rest(errand, outcome, since, on_batch)
        return outcome

    async def _fetch_rest(
        self,
        errand: Errand,
        outcome: SyncOutcome,
        since: float,
        on_batch: Callable[[Observations], None],
    ) -> None:
        """Fetch the remaining pages, as far as the budget allows.

        New pages, and second fetches of changed pages, may have used their requests.
        """
        keeper, last = self.keeper, outcome
        while not keeper.eased:
            used = last.found + last.total("changed")
            room = min(used, keeper.untried(since), keeper.wallet.room(keeper.clock()))
            if errand.most is not None:
                room = min(room, errand.most - outcome.requests)
            if room <= 0:
                break
            last = await keeper.turn(room, on_batch, since=since)
            outcome.add(last)

    async def work(self, requests: int) -> Report:
        """Spend up to so many requests; a share of them audits random pages."""
        self._pace()
        repaid = min(self._debt, requests)
        self._debt -= repaid
        if repaid and repaid == requests:
            return Report(self._group)
        granted = requests
        requests, self._short = max(granted - repaid, self._short), 0
        lost, heard = self._steady.lost, self._steady.answered
        # The audit comes first: after the turn the copy is fresher than usual.
        evidence = self._desk.store.evidence(self.keeper.run.sources)
        audited = min(self._audited(requests), audit.spare(evidence, requests))
        checked = await audit.check(self.keeper, audited) if audited else 0
        outcome = await self.keeper.turn(requests - audited)
        outcome.add(self.keeper.take_checks())
        outcome.requests += checked
        self._debt += max(outcome.requests + repaid - granted, 0)
        is_cut_off, answered = self._steady.lost > lost, self._steady.answered > heard
        if outcome.requests and not answered and not is_cut_off:
            # Redirects used all requests: let the next turn reach their ends.
            self._short = outcome.requests + crawl.HOPS
        return report_on(self._group, outcome, lost=is_cut_off, heard=answered)

    def _audited(self, requests: int) -> int:
        """Return the requests of a turn's audit; fractions add up."""
        if not self._desk.audits:
            return 0
        self._owed += self._desk.config.audit.share * requests
        whole = min(int(self._owed), requests)
        self._owed -= whole
        return whole

    def ease(self) -> None:
        """Start no further request."""
        self.keeper.ease()

    async def keep(self) -> None:
        """Renew the lease on the sources until cancelled."""
        await self.keeper.keep_lease()


def _waiting(keeper: Keeper) -> str:
    """Describe the pages that wait after a failure; empty if none does."""
    waiting, days = keeper.paused()
    if not waiting:
        return ""
    one = "1 page failed and is"
    pages = one if waiting == 1 else f"{waiting} pages failed and are"
    return f"{pages} not fetched again yet; the next one is due in {span(days)}"


def report_on(
    group: tuple[str, ...], outcome: SyncOutcome, *, lost: bool, heard: bool
) -> Report:
    """Return the report of a turn."""
    tallies = outcome.sources
    return Report(
        group,
        outcome.requests,
        outcome,
        "; ".join(tallies[name].trouble for name in outcome.silent),
        lost=lost,
        heard=heard,
        found=outcome.found,
        mishandled={
            n: tally.mishandled for n, tally in tallies.items() if tally.mishandled
        },
        failures={name: tally.failed for name, tally in tallies.items()},
        troubles={
            name: f"did not answer: {tallies[name].trouble}" for name in outcome.silent
        },
    )


def keep_intervals(keeper: Keeper, source: PagesConfig, latest: float) -> None:
    """Apply the intervals of a source that is kept by itself."""
    loop = keeper.loop
    if source.soonest > 0:
        belief = MinIntervalBelief(loop.belief, source.soonest)
        short = None if loop.shortlist is None else Shortlist(belief, loop.policy)
        loop = replace(loop, belief=belief, shortlist=short)
    if latest < inf:  # a short list does not have the longest waiting pages
        policy = MaxIntervalPolicy(loop.policy, latest)
        loop = replace(loop, policy=policy, shortlist=None)
    keeper.loop = loop
