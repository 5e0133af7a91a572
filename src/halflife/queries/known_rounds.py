"""The plan of a rule for known records, and how far it was carried out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats
from halflife.core.errors import BudgetSpent, SourceError
from halflife.queries.known import progress
from halflife.queries.known.copies import Copy
from halflife.queries.known.coverage import ReportedCoverage
from halflife.queries.known.guess import Guess, is_learned, learn
from halflife.queries.known.progress import KnownRound
from halflife.queries.known.refresh import DOUBTED, Probe, Refresher
from halflife.queries.known.rules import RemembersKnown
from halflife.queries.known.word_counts import WordCounts
from halflife.queries.ledger import Ledger
from halflife.queries.policies import KnownPolicy

AHEAD = 20.0  # requests that are planned for at a time


class KnownPlan:
    """The next probes of a policy, in a turn.

    The plan of a rule that works in rounds is followed, at most one round a turn;
    other rules decide again each time.

    Args:
        policy: The policy.
        copy: The known records.
        now: The time, in days.
        truth: How far each record is off, for an oracle in a replay.
        corpus: What ``corpus`` policies scale; the copy if None.

    """

    def __init__(
        self,
        policy: KnownPolicy,
        copy: Copy,
        now: float,
        truth: Floats | None = None,
        corpus: WordCounts | None = None,
    ) -> None:
        self._policy, self._copy, self._now = policy, copy, now
        self._corpus = corpus
        self._truth = truth
        self._planned: list[Probe] = []
        self._begun = False  # whether a round began in this turn
        self.guess: Guess | None = None

    @property
    def taken(self) -> int:
        """How many known records were refreshed so far."""
        return self._copy.taken

    def believe(self, known: Refresher, guess: Guess | None) -> None:
        """Use what is known of the server beside the copy."""
        self.guess = guess
        if guess is not None:
            copy = self._copy
            records = dict(zip(copy.keys, copy.held, strict=True))
            hits = guess.hits(known.interface, records, known.pool, self._corpus)
            known.reported = ReportedCoverage(known.pool, hits)

    @property
    def lacks_guess(self) -> bool:
        """Whether the server must be queried before the rule can plan."""
        return not is_learned(self._policy.coverage, self.guess, self._now)

    def learn(self, known: Refresher, ledger: Ledger, rng: Generator) -> None:
        """Send the queries from which hit counts are estimated."""
        copy, context = self._copy, (ledger, self._now, rng)
        records = {**dict(zip(copy.keys, copy.held, strict=True)), **ledger.seen}
        method, before = self._policy.coverage, self.guess
        guess = learn(method, before, known.pool, records, context, self._corpus)
        self.believe(known, guess)

    def next(self, known: Refresher, budget: float, rng: Generator) -> Sequence[Probe]:
        """Return the next probe, if any is worth a request."""
        rule, when = known.rule, (self._now, budget, rng)
        if not isinstance(rule, RemembersKnown):
            return known.next(self._copy, *when, truth=self._off())[:1]
        if not self._planned:
            begins = self._policy.rounds and not rule.so_far(()).choices
            if begins and self._begun:
                return ()
            self._planned = list(known.next(self._copy, *when))
            doubt = bool(self._planned) and self._planned[0].why == DOUBTED
            self._begun |= begins and not doubt
        return self._planned[:1]

    def _off(self) -> Floats | None:
        """Return the true staleness of records; those shown now have none."""
        if self._truth is None:
            return None
        return np.where(self._copy.seen < self._now, self._truth, 0.0)

    def carry_out(self, known: Refresher, step: Probe, ledger: Ledger) -> int:
        """Carry out a probe; return how many known records it refreshed."""
        before = ledger.requests
        try:
            refreshed = known.carry_out(step, self._copy, ledger, self._now)
        except (BudgetSpent, SourceError):
            # A probe longer than a turn counts as sent, or it would block all others.
            if ledger.requests > before:
                self._planned = self._planned[1:]
            raise
        self._planned = self._planned[1:]
        return refreshed

    def gain(self, known: Refresher, probe: Probe) -> float:
        """Return the gain of a probe in records times days, for any policy."""
        if self._policy.weighs:
            return probe.gain
        rows, copy = known.gains.tuples_of(probe.number), self._copy
        here = ~copy.gone[rows] & ~copy.doubted[rows]
        worth = copy.growth().worth(copy.age(self._now))[rows]
        return float(np.sum(np.where(here, copy.weight[rows] * worth, 0.0)))

    def so_far(self, known: Refresher) -> KnownRound | None:
        """Return the progress of the rule's round; None if it has no rounds."""
        state = progress.so_far(known, self._planned)
        return state and replace(state, guess=self.guess)


class RefreshTurn(NamedTuple):
    """The probes of a turn, and the number of known records each refreshed."""

    probes: tuple[Probe, ...]
    refreshed: tuple[int, ...]


def refresh(
    plan: KnownPlan, known: Refresher, ledger: Ledger, rng: Generator
) -> RefreshTurn:
    """Send probes as planned until the budget is spent or nothing is worth a request.

    This is a turn of a form with the purpose ``known`` (``Upkeep``), without the search
    for records that are reported and missing.
    """
    done: list[Probe] = []
    refreshed: list[int] = []
    try:
        if plan.lacks_guess:
            plan.learn(known, ledger, rng)
        while ledger.left is None or ledger.left > 0:
            left = AHEAD if ledger.left is None else min(float(ledger.left), AHEAD)
            step = next(iter(plan.next(known, left, rng)), None)
            if step is None or step in done[-1:]:  # it would be repeated for ever
                break
            done.append(step)
            before = plan.taken
            try:
                plan.carry_out(known, step, ledger)
            finally:
                refreshed.append(plan.taken - before)
    except BudgetSpent:
        return RefreshTurn(tuple(done), tuple(refreshed))
    return RefreshTurn(tuple(done), tuple(refreshed))
