"""The loop: read the evidence, plan, fetch, record."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from halflife.belief import Belief
from halflife.core.budget import Budget, Purse
from halflife.core.errors import BudgetSpent
from halflife.core.evidence import Evidence
from halflife.core.observation import Observations, Seen
from halflife.core.plan import Plan
from halflife.core.request import Fetches
from halflife.core.source import Source
from halflife.core.view import View
from halflife.core.wording import count
from halflife.policies import Policy
from halflife.policies.shortlist import Shortlist
from halflife.stores import Run, Store

Clock: TypeAlias = Callable[[], float]

LEASE = 5.0 / 1440.0  # days a lease lasts unless it is renewed


@dataclass(slots=True)
class LoopTurn:
    """The counts of one turn of the loop.

    Attributes:
        requests: Requests paid for, redirects and robots.txt included.
        observations: Good fetches.
        changed: Good fetches that found a change.
        failed: Failed fetches.
        found: Items discovered.

    """

    requests: int = 0
    observations: int = 0
    changed: int = 0
    failed: int = 0
    found: int = 0

    def count(self, observations: Observations, evidence: Evidence) -> None:
        """Add a batch of observations that the evidence already includes."""
        good = observations.seen <= Seen.ABSENT
        rows = list(map(evidence.row, observations.keys))
        changed = evidence.changed[[-1 if r is None else r for r in rows]]
        self.observations += int(np.count_nonzero(good))
        self.changed += int(np.count_nonzero(changed & good))
        self.failed += int(np.count_nonzero(observations.seen == Seen.FAILED))


@dataclass(frozen=True, slots=True)
class Loop:
    """The four replaceable parts of a running system.

    With a shortlist, the policy plans over all items only from time to time.

    The live program and the replay both run this loop, so the policy that won a replay
    is the policy that runs.
    """

    source: Source
    store: Store
    belief: Belief
    policy: Policy
    shortlist: Shortlist | None = None

    def plan(
        self, run: Run, now: float, since: float, budget: Budget, rng: Generator
    ) -> Plan:
        """Return the next requests; of very many items, a shortlist is planned."""
        evidence = self.store.evidence(run.sources)
        if self.shortlist is not None:
            return self.shortlist.plan(evidence, now, since, budget, rng)
        return self.policy(self.belief(evidence, now, since), budget, rng)

    def view(self, run: Run, now: float, since: float) -> View:
        """Return the view of the run's sources at ``now``."""
        return self.belief(self.store.evidence(run.sources), now, since)

    async def turn(
        self,
        run: Run,
        purse: Purse,
        rng: np.random.Generator,
        *,
        clock: Clock,
        since: float | None = None,
        on_batch: Callable[[Observations], None] = lambda _: None,
    ) -> LoopTurn:
        """Fetch until the policy plans nothing more, or the purse is empty.

        The policy is called again after each plan with the new evidence, so it can
        sample first and decide later without any memory of its own. Items fetched from
        ``since`` on (by default: from now on) are done for this turn; a run that goes
        on after a crash passes its beginning. ``on_batch`` receives every batch once it
        is stored.
        """
        began = clock() if since is None else since
        turn, before = LoopTurn(), purse.left
        evidence = self.store.evidence(run.sources)
        known = len(evidence)
        while purse.left > 0:
            plan = self.plan(run, clock(), began, Budget(purse.left), rng)
            if not plan or not await self._carry_out(
                run, plan, purse, clock, turn, on_batch
            ):
                break
        turn.requests = before - purse.left
        turn.found = len(evidence) - known
        return turn

    async def _carry_out(
        self,
        run: Run,
        plan: Plan,
        purse: Purse,
        clock: Clock,
        turn: LoopTurn,
        on_batch: Callable[[Observations], None],
    ) -> bool:
        """Carry out a plan; return whether it brought any observation."""
        evidence = self.store.evidence(run.sources)
        requests = Fetches(plan.keys, self.store.held, plan.gain.tolist())
        renewed, progress = clock(), False
        async for observations in self.source.perform(requests, renewed, purse):
            self.store.append(run, observations)
            turn.count(observations, evidence)
            progress = True
            on_batch(observations)
            now = clock()
            if now - renewed > LEASE / 3:
                self.store.renew(run, now, lease=LEASE)
                renewed = now
        return progress


class Allowance:
    """A purse with a fixed number of requests, for replays."""

    def __init__(self, requests: int) -> None:
        self._left = requests

    @property
    def left(self) -> int:
        """Requests that can still be paid for."""
        return self._left

    def pay(self, requests: int = 1) -> None:
        """Pay for requests about to be sent; raise ``BudgetSpent`` if too few."""
        if requests > self._left:
            raise BudgetSpent(f"{count(requests, 'request')} needed, {self._left} left")
        self._left -= requests
