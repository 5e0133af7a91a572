"""One turn of maintaining the copy of a database behind a form.

An empty copy is filled by a full crawl. A filled one is maintained by the queries with
the largest gain for each request: those that find new records, those that refresh
known ones, or whichever of the two gains more at the moment.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from math import ceil, isfinite
from statistics import fmean
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from halflife.core.errors import BudgetSpent, SourceError
from halflife.core.forms import Interface, Query
from halflife.core.object_store import Attributes
from halflife.queries.doubt import AbsenceCheck, AbsenceTracker
from halflife.queries.first_crawl import crawl_ahead, first_crawl, start_crawl
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.fresh import Choice, Ranks
from halflife.queries.fresh.harvest import HarvestRound
from halflife.queries.fresh.prior import GROWTH
from halflife.queries.fresh.rotation import Rotation, RotationRule
from halflife.queries.fresh.simple import Newest
from halflife.queries.known import progress
from halflife.queries.known.copies import Copy
from halflife.queries.known.refresh import Probe, Refresher, make_refresher
from halflife.queries.known.rules import RemembersKnown
from halflife.queries.known_rounds import AHEAD, KnownPlan
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords, Origin
from halflife.queries.new_rounds import NewRounds, round_ahead, sample_ahead
from halflife.queries.policies import EXPECTED, INDEX, SURE, RuleContext
from halflife.queries.recovery import NOTHING_MORE, SPENT, Recovery, search_ahead
from halflife.queries.split_crawl import CrawlRun
from halflife.queries.turn_result import PlannedQuery, QueryOutcome, TurnResult
from halflife.queries.value_reads import rotation

BRIEF = 1e-6  # days
SAMPLED = 0.5  # share of a turn's requests for a sample if records are refreshed too
LONG_AGO = 0.95  # the quantile of ages taken as the longest: some records have gone
TRIES = 3  # pages that check whether newest first showed all new records


Step: TypeAlias = Choice | Probe | AbsenceCheck
Sums: TypeAlias = tuple[int, int, int]  # requests, records returned, new ones


class Upkeep:
    """Chooses between queries for new records and for known ones.

    Both gains are in records times days. A new record has been missing for half of the
    time t since the last observation, in the mean, so E new records are worth E t / 2:
    that is U(t) = t D(t) - integral of D for D(t) = r t. A known record that becomes
    stale by D is worth its own U(age), and one that may be gone as much as a new one.

    A round may take many turns: ``gap`` is the mean of the days since records were
    seen. Records seen in the later half of the longest age count as shown in this
    round. The number of new records is estimated from those that came so far, until
    the round shows more. A budget below one full read is spent on one value after
    another (``Rotation``), if there are values to choose. That is the default; the
    policies of the wish may choose otherwise.

    Args:
        held: The copy.
        interface: What the form can do.
        wish: What the copy is for.
        now: The time, in days.

    """

    def __init__(
        self, held: FormCopy, interface: Interface, wish: FormWish, now: float
    ) -> None:
        self.now = now
        self._held, self._interface, self._wish = held, interface, wish
        self._taken: set[str] = set()
        policy = wish.new
        shows = interface.newest and interface.everything
        self.dated = dated = shows and policy.newest != "no"
        self.gap = _gap(held, now, whole=dated)
        self.fresh = policy.make(self._outset())
        self._round = None
        if policy.rounds:
            self._round = NewRounds(policy, self.fresh, held, now)
        self.coming = held.arrival[0] * max(self.gap, 0.0)
        newest = Newest(margin=SURE, date=wish.date, unfound=held.unfound)
        self._dated = newest if dated else None
        self._tries: int | None = None  # pages left that check newest-first order
        self._known = 0
        self._in_turn = isinstance(self.fresh, RotationRule)  # one value at a time
        self.wants_new = wish.purpose != "known" and (dated or policy.newest != "only")
        self._learned = False  # whether the server was queried to estimate hits
        self._free: set[Step] = set()  # steps that took no request
        self._silent: set[type] = set()  # types of steps that take no request

    def _outset(self) -> RuleContext:
        held, since = self._held, self._held.last - self.gap
        context = self.now, self.gap, self._wish.date, held.unfound
        return RuleContext(since, *context, lambda: self.values)

    @property
    def records(self) -> Collection[str]:
        """The keys of the copy as it was before the turn."""
        return self._held.records.keys()

    @cached_property
    def doubts(self) -> AbsenceTracker:
        """The records that may be gone."""
        return AbsenceTracker(self._interface, self._held.records)

    @cached_property
    def local(self) -> LocalRecords:
        """The copy as policies for new records see it."""
        if self._round is not None:
            return self._round.local(self._interface)
        local, held = self._held.local(self._interface), self._held
        ages = [self.now - seen for seen in held.seen.values()]
        recent = float(np.quantile(ages, LONG_AGO)) / 2.0 if ages else 0.0
        for key, record in held.records.items():
            if self.now - held.seen[key] < recent:
                local.note(key, record, Origin.HISTORY)
        return local

    @cached_property
    def values(self) -> Rotation:
        """What each value of a choice is likely to bring; empty without choices."""
        return rotation(self._held, self._interface)

    @cached_property
    def copy(self) -> Copy:
        """The copy as policies for known records see it."""
        return self._held.copy(self._wish, self.now)

    @cached_property
    def _plan(self) -> KnownPlan:
        wish = self._wish
        return KnownPlan(wish.known, self.copy, self.now, corpus=wish.corpus)

    @cached_property
    def known(self) -> Refresher | None:
        """The refresher of known records, if these are to be refreshed."""
        if self._wish.purpose == "new" or not len(self.copy):
            return None
        wish, before = self._wish, self._held.known_round
        rule = wish.known.make(wish.max_staleness)
        worker = make_refresher(self.copy, self._interface, rule)
        if before is not None:
            progress.go_on(worker, before)
            self._plan.believe(worker, before.guess)
        return worker

    def next(self, ledger: Ledger, rng: Generator) -> Step | None:
        """Return the next step; None if nothing is worth a request."""
        self.doubts.update(ledger)
        left = float(ledger.left) if ledger.left is not None else np.inf
        steps: list[Step | None] = [self.doubts.check()]
        if self.wants_new:
            steps.append(self._next_new(ledger, rng))
        if self.known is not None:
            if self._plan.lacks_guess and not self._learned:
                self._learned = True
                self._plan.learn(self.known, ledger, rng)
            steps += self._plan.next(self.known, min(left, AHEAD), rng)
        for step in steps:
            if step in self._free:  # it would be repeated for ever
                self._silent.add(type(step))
        useful = [s for s in steps if s is not None and type(s) not in self._silent]
        return max(useful, key=self.worth, default=None)

    def note_free(self, step: Step) -> None:
        """Note that a step took no request: it must not be taken again."""
        self._free.add(step)

    def _next_new(self, ledger: Ledger, rng: Generator) -> Choice | None:
        """Return the next query for new records.

        A form that can sort newest first is read in that order: no other query finds
        as many. A few other pages then check whether the order can be trusted: if they
        bring no new record, the search for new ones ends.
        """
        if self._round is not None:
            return self._round.next(self.local, ledger, rng)
        if self._dated is not None:
            choice = self._dated.next(self.local, ledger, rng)
            if choice is not None:
                page, expected = float(ledger.interface.page_size), choice.expected
                likely = max(self.coming, expected if isfinite(expected) else 1.0)
                return replace(choice, expected=min(page, likely))
            if self._wish.new.newest == "only":
                return None
            self._dated, self._tries = None, TRIES
            self._known = len(self.local)
        if self._tries is not None:
            if len(self.local) > self._known:
                self._tries = None
            elif self._tries == 0:
                return None
        return self._next_value(ledger) or self.fresh.next(self.local, ledger, rng)

    def next_choices(self, most: int) -> list[Choice]:
        """Return the next queries for new records, best first."""
        if self._wish.new.in_turn:
            self._in_turn = bool(self.values)
            if self._in_turn:
                return self.values.ranked(self.now, self.gap)[:most]
        rule = self.fresh
        if self._round is None and isinstance(rule, Ranks):
            return rule.ranked(self.local, most)
        return []

    @property
    def ranks_ahead(self) -> bool:
        """Whether the rule for new records can rank its queries in advance."""
        return self._round is None and isinstance(self.fresh, Ranks)

    def round_ahead(self, most: int) -> list[PlannedQuery]:
        """Return a round that finds all new records, its queries still unknown."""
        name, pages = self._wish.new.name, self._interface.pages(len(self.records))
        return round_ahead(name, self.coming, max(pages, 1), self._usual())[:most]

    def _usual(self) -> float:
        """Return the gain of a request in a round that finds all new records."""
        whole = max(self._interface.pages(len(self._held.records)), 1)
        return self.coming * max(self.gap, 0.0) / 2.0 / whole

    def _next_value(self, ledger: Ledger) -> Choice | None:
        """Return the next value to read whole, if the budget does not cover all."""
        if self._dated is not None or self._tries is not None or ledger.left is None:
            return None
        if not self._wish.new.in_turn:
            return None
        if not self._in_turn:
            self._in_turn = ledger.left < self.values.pages()
        sent = set(ledger.asked)
        fits = (
            choice
            for choice in self.values.ranked(self.now, self.gap)
            if _requests(choice) <= ledger.left and choice.query not in sent
        )
        return next(fits, None) if self._in_turn else None

    def worth(self, step: Step) -> float:
        """Return the gain of a step for each request."""
        return self._gain(step) / _requests(step)

    def _gain(self, step: Step) -> float:
        if isinstance(step, Probe):
            return self._plan.gain(self.known, step) if self.known else step.gain
        if isinstance(step, AbsenceCheck):
            return step.settles * self.gap / 2.0
        if self._round is not None or not isfinite(step.expected):
            # A round may estimate how many records are new, but never since when.
            return self._usual() * _requests(step) if self._round else 0.0
        if step.newest:
            return step.expected * self.gap / 2.0
        if self._in_turn and step.query in self.values:
            days = self.values.days_since_read(step.query, self.now, self.gap)
            return step.expected * days / 2.0
        days = self._waited(step.query)
        return step.expected * self._credible() * days**2 / max(self.gap, BRIEF) / 2.0

    def _credible(self) -> float:
        """Return the share of the new records expected at first that is likely.

        A round begins with GROWTH new records for each old one, whatever the time.
        """
        if len(self.local) - self.local.old > max(self.coming, 1.0):
            return 1.0
        return min(self.coming / max(GROWTH * self.local.old, 1.0), 1.0)

    def _waited(self, query: Query) -> float:
        """Return the mean of the days since the records of a query were seen."""
        seen = self._held.seen
        days = [self.now - seen[k] for k in self.local.matching(query) if k in seen]
        return max(sum(days) / len(days), 0.0) if days else max(self.gap, 0.0)

    def describe(self, step: Step) -> PlannedQuery:
        """Return a step as reports show it."""
        lookup = isinstance(step, Probe) and step.query is None
        what = step.key if isinstance(step, Probe) and lookup else str(step.query)
        why = (
            f"are {step.settles} gone?" if isinstance(step, AbsenceCheck) else step.why
        )
        policy = self._wish.known if isinstance(step, Probe) else self._wish.new
        if not isinstance(step, AbsenceCheck) and policy not in (EXPECTED, INDEX):
            why = f"{policy.name}: {why}"
        return PlannedQuery(what, _requests(step), self.worth(step), why)

    def carry_out(self, step: Step, turn: HarvestRound, ledger: Ledger) -> int:
        """Carry out a step; return how many known records it refreshed."""
        if isinstance(step, Probe) and self.known is not None:
            refreshed = self._plan.carry_out(self.known, step, ledger)
            turn.note_shown(self._latest(ledger))
            return refreshed
        checks = isinstance(step, AbsenceCheck)
        choice = Choice(step.query or Query(), pages=None) if checks else step
        assert isinstance(choice, Choice)
        if self._tries and choice is step:
            self._tries -= 1
        try:
            turn.carry_out(choice)
        finally:
            refreshed = self.copy.take(self._latest(ledger), self.now)
        if self._round is not None:
            self._round.done(choice)
        return refreshed

    @property
    def lacks_sample(self) -> bool:
        """Whether a sample must be drawn before the search for new records."""
        if self._round is None or not self.wants_new:
            return False
        return self._round.lacks_sample

    def sample_ahead(self, ledger: Ledger) -> PlannedQuery:
        """Return the drawing of a sample as reports show it."""
        return sample_ahead(self._wish.new, ledger, self._usual())

    def draw(self, turn: HarvestRound, ledger: Ledger, rng: Generator) -> int:
        """Draw the sample; return how many known records it refreshed.

        If known records are to be refreshed too, a share of the requests is left.
        """
        assert self._round is not None
        share = 1.0 if self._wish.purpose == "new" else SAMPLED
        try:
            self._round.draw(turn, ledger, rng, share)
        finally:
            refreshed = self.copy.take(self._latest(ledger), self.now)
        return refreshed

    def save_rounds(self, done: TurnResult) -> None:
        """Save the progress of unfinished rounds in the result."""
        if self._round is not None and self.wants_new:
            done.new_round = self._round.so_far(self.local)
        if self.known is not None:
            done.known_round = self._plan.so_far(self.known)

    def _latest(self, ledger: Ledger) -> dict[str, Attributes]:
        """Return the records shown since the last call."""
        latest = {k: r for k, r in ledger.seen.items() if k not in self._taken}
        self._taken.update(latest)
        return latest


def _requests(step: Step) -> int:
    """Return the requests that a step is expected to take: one if unknown."""
    return step.pages or 1


def _gap(held: FormCopy, now: float, *, whole: bool) -> float:
    """Return the mean of the days since records were seen.

    In newest-first order every sync finds all new records: days since the last one.
    """
    last = now - held.last
    if whole or not held.seen:
        return min(last, now)
    return min(max(now - fmean(held.seen.values()), last), now)


def maintain(  # noqa: PLR0913  (the input of a turn, and two listeners)
    ledger: Ledger,
    held: FormCopy,
    wish: FormWish,
    now: float,
    rng: Generator,
    on_query: Callable[[PlannedQuery], None] = lambda _: None,
    *,
    begins: Callable[[CrawlRun], None] = lambda _: None,
) -> TurnResult:
    """Send queries until the budget is spent or nothing is worth a request.

    Then search for records that the form reports and that are not held; ``begins``
    receives the crawl that does so.
    """
    if not held.records or not held.begun:
        return first_crawl(start_crawl(ledger, held), now)
    work = Upkeep(held, ledger.interface, wish, now)
    done = TurnResult(ledger.seen, stop=NOTHING_MORE)
    recovery = Recovery(ledger, held, wish, now, begins)
    try:
        recovery.go_on()
        _ask_all(work, done, ledger, rng, on_query)
    except BudgetSpent:
        done.stop = SPENT
    except SourceError as error:  # what was shown until then is true all the same
        done.stop = done.trouble = str(error)
    work.save_rounds(done)
    work.doubts.update(ledger)
    done.absent = work.doubts.absent()
    recovery.finish(done)
    work.doubts.update(ledger)
    done.absent = work.doubts.absent()
    return done


def _ask_all(
    work: Upkeep,
    done: TurnResult,
    ledger: Ledger,
    rng: Generator,
    on_query: Callable[[PlannedQuery], None],
) -> None:
    """Take step after step; one that needs no request is not repeated."""
    turn, known = HarvestRound(work.fresh, work.local, ledger), work.records
    if work.lacks_sample:
        _draw(work, done, turn, ledger, rng, on_query)
    while (chosen := work.next(ledger, rng)) is not None:
        ledger.check_stop()
        done.asked.append(work.describe(chosen))
        on_query(done.asked[-1])
        before, query = _sums(ledger, known), chosen.query
        try:
            done.refreshed += work.carry_out(chosen, turn, ledger)
        finally:
            after, what = _sums(ledger, known), done.asked[-1].what
            total = None if query is None else ledger.totals.get(query)
            done.tried.append(QueryOutcome(what, *_change(before, after), total))
        if ledger.requests == before[0]:
            work.note_free(chosen)


def _draw(
    work: Upkeep,
    done: TurnResult,
    turn: HarvestRound,
    ledger: Ledger,
    rng: Generator,
    on_query: Callable[[PlannedQuery], None],
) -> None:
    """Draw a sample as a step of its own."""
    planned = work.sample_ahead(ledger)
    done.asked.append(planned)
    on_query(planned)
    before = _sums(ledger, work.records)
    try:
        done.refreshed += work.draw(turn, ledger, rng)
    finally:
        change = _change(before, _sums(ledger, work.records))
        done.tried.append(QueryOutcome(planned.what, *change))


def _change(before: Sums, after: Sums) -> Sums:
    return after[0] - before[0], after[1] - before[1], after[2] - before[2]


def _sums(ledger: Ledger, known: Collection[str]) -> Sums:
    """Return the requests so far, the records returned, and the new ones."""
    return ledger.requests, ledger.returned, len(ledger.seen.keys() - known)


def plan_ahead(
    held: FormCopy,
    interface: Interface,
    wish: FormWish,
    now: float,
    rng: Generator,
    most: int,
) -> list[PlannedQuery]:
    """Return the next queries, best first, without sending any.

    Each answer changes the queries after it, so the real ones may differ.
    """
    if not held.records:
        return []
    if not held.begun:
        return crawl_ahead(held, interface)[:most]
    work = Upkeep(held, interface, wish, now)
    choices: list[Step] = []
    if work.wants_new and work.dated:
        pages = ceil(work.coming / interface.page_size) + SURE + TRIES
        why = f"newest first, until nothing is new: about {work.coming:.1f} records"
        choices.append(Choice(Query(), 0, pages, work.coming, why, newest=True))
    elif work.wants_new:
        choices += work.next_choices(most)
    steps = [work.describe(chosen) for chosen in choices]
    ranks = [step.gain for step in steps]
    if work.known is not None:
        plan = work.known.next(work.copy, now, float(most), rng)
        steps += (probes := [work.describe(probe) for probe in plan])
        gains = [step.gain for step in probes]
        # A rule that works in rounds keeps the order of its plan.
        ordered = isinstance(work.known.rule, RemembersKnown)
        ranks += accumulate(gains, min) if ordered else gains
    if work.wants_new:
        rest = search_ahead(held, interface)
        if not (work.dated or work.ranks_ahead):
            rest += work.round_ahead(most)
        steps, ranks = steps + rest, ranks + [step.gain for step in rest]
    order = sorted(range(len(steps)), key=lambda place: -ranks[place])
    return [steps[place] for place in order[:most]]
