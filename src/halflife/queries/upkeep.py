"""One turn of keeping the copy of a database behind a form.

A copy that is empty is crawled whole. One that is not is kept by the queries that put
most right for a request: those that bring records the copy lacks, those that refresh
records it has, or whichever of the two is worth more at the moment.
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
from halflife.queries.doubt import DoubtCheck, Doubts
from halflife.queries.first_crawl import crawl_ahead, crawling, first_crawl
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.fresh import Choice, Ranks
from halflife.queries.fresh.harvest import HarvestRound
from halflife.queries.fresh.prior import GROWTH
from halflife.queries.fresh.rotation import InTurn, Rotation
from halflife.queries.fresh.simple import Newest
from halflife.queries.known import progress
from halflife.queries.known.copies import Copy
from halflife.queries.known.refresh import Probe, Refresher, working
from halflife.queries.known.rules import RemembersKnown
from halflife.queries.known_rounds import AHEAD, KnownPlan
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords, Origin
from halflife.queries.new_rounds import NewRounds, round_ahead, sample_ahead
from halflife.queries.policies import EXPECTED, INDEX, SURE, Outset
from halflife.queries.recovery import NOTHING_MORE, SPENT, Recovery, search_ahead
from halflife.queries.split_crawl import Crawling
from halflife.queries.turn_result import PlannedQuery, QueryOutcome, TurnResult

BRIEF = 1e-6  # days
SAMPLED = 0.5  # of a turn's requests may go into a sample if others wait
LONG_AGO = 0.95  # the quantile of ages that counts as the longest: some have gone
TRIES = 3  # pages that try whether the newest first are all that is new


Step: TypeAlias = Choice | Probe | DoubtCheck
Sums: TypeAlias = tuple[int, int, int]  # requests, records returned, new ones


class Upkeep:
    """Chooses between looking for new records and refreshing known ones.

    Both are weighed in records times days. A record that came with rate r among those
    that a query brings is missed for half of the time t since the last look, so E new
    records are worth E t / 2: that is U(t) = t D(t) - integral of D for D(t) = r t.
    A known record that goes stale by D is worth its own U(age), and one that may be
    gone as much as a new one.

    A round may take many turns: ``gap`` is the mean of the days since records were
    seen, and those seen later than halfway since the longest ago count as shown in
    this round. How many new records there are by now goes by how many came so far,
    until the round shows more. Whoever may ask for less than all there is asks for one
    value after another (``Rotation``), where there are values to choose. That is so by
    default; what is asked goes by the policies of the wish.

    Args:
        held: The copy.
        interface: What the form can do.
        wish: What the copy is kept for.
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
        self._tries: int | None = None  # pages that dates are tried with, still
        self._known = 0
        # Whether values are asked for one after the other.
        self._in_turn = isinstance(self.fresh, InTurn)
        self.wants_new = wish.purpose != "known" and (dated or policy.newest != "only")
        self._learned = False  # whether the server was asked what guesses go by
        self._free: set[Step] = set()  # steps that took no request
        self._silent: set[type] = set()  # kinds of steps that lead nowhere

    def _outset(self) -> Outset:
        held, since = self._held, self._held.last - self.gap
        where = self.now, self.gap, self._wish.date, held.unfound
        return Outset(since, *where, lambda: self.values)

    @property
    def records(self) -> Collection[str]:
        """The keys of the copy as it was held before the turn."""
        return self._held.records.keys()

    @cached_property
    def doubts(self) -> Doubts:
        """What may be gone."""
        return Doubts(self._interface, self._held.records)

    @cached_property
    def local(self) -> LocalRecords:
        """The copy as those who look for new records see it."""
        if self._round is not None:
            return self._round.local(self._interface)
        local, held = self._held.local(self._interface), self._held
        ages = [self.now - seen for seen in held.seen.values()]
        lately = float(np.quantile(ages, LONG_AGO)) / 2.0 if ages else 0.0
        for key, record in held.records.items():
            if self.now - held.seen[key] < lately:
                local.note(key, record, Origin.HISTORY)
        return local

    @cached_property
    def values(self) -> Rotation:
        """What each value that can be chosen is likely to bring; empty if none can."""
        held = self._held
        came = {key for key, moment in held.came.items() if moment > held.since}
        copy = held.records, held.seen
        return Rotation(self._interface, *copy, came, held.arrival[1])

    @cached_property
    def copy(self) -> Copy:
        """The copy as those who refresh known records see it."""
        return self._held.copy(self._wish, self.now)

    @cached_property
    def _plan(self) -> KnownPlan:
        wish = self._wish
        return KnownPlan(wish.known, self.copy, self.now, corpus=wish.corpus)

    @cached_property
    def known(self) -> Refresher | None:
        """What refreshes known records, if that is wanted."""
        if self._wish.purpose == "new" or not len(self.copy):
            return None
        wish, before = self._wish, self._held.known_round
        rule = wish.known.make(wish.max_staleness)
        worker = working(self.copy, self._interface, rule)
        if before is not None:
            progress.go_on(worker, before)
            self._plan.believe(worker, before.guess)
        return worker

    def next(self, ledger: Ledger, rng: Generator) -> Step | None:
        """Return what to ask next; None if nothing is worth a request."""
        self.doubts.hear(ledger)
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
            if step in self._free:  # it would be taken again and again
                self._silent.add(type(step))
        some = [s for s in steps if s is not None and type(s) not in self._silent]
        return max(some, key=self.worth, default=None)

    def took_nothing(self, step: Step) -> None:
        """Note that a step took no request: it may not be taken a second time."""
        self._free.add(step)

    def _next_new(self, ledger: Ledger, rng: Generator) -> Choice | None:
        """Return where to look for new records.

        A form that shows the newest first is asked for these, and nothing comes near
        that. Whether dates can be trusted is then tried with a few other pages: if
        these bring nothing that was missing, nothing more is looked for.
        """
        if self._round is not None:
            return self._round.next(self.local, ledger, rng)
        if self._dated is not None:
            choice = self._dated.next(self.local, ledger, rng)
            if choice is not None:
                page, known = float(ledger.interface.page_size), choice.expected
                likely = max(self.coming, known if isfinite(known) else 1.0)
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

    def looked_for(self, most: int) -> list[Choice]:
        """Return where new records would be looked for, a little at a time."""
        if self._wish.new.in_turn:
            self._in_turn = bool(self.values)
            if self._in_turn:
                return self.values.ranked(self.now, self.gap)[:most]
        rule = self.fresh
        if self._round is None and isinstance(rule, Ranks):
            return rule.ranked(self.local, most)
        return []

    @property
    def foresees(self) -> bool:
        """Whether the rule for new records says what it would ask."""
        return self._round is None and isinstance(self.fresh, Ranks)

    def round_ahead(self, most: int) -> list[PlannedQuery]:
        """Return a round of which only the end is foreseen: what has come is found."""
        name, pages = self._wish.new.name, self._interface.pages(len(self.records))
        return round_ahead(name, self.coming, max(pages, 1), self._usual())[:most]

    def _usual(self) -> float:
        """Return what a request buys in a round that finds all that has come."""
        whole = max(self._interface.pages(len(self._held.records)), 1)
        return self.coming * max(self.gap, 0.0) / 2.0 / whole

    def _next_value(self, ledger: Ledger) -> Choice | None:
        """Return the value to read whole, for those who cannot read all of them."""
        if self._dated is not None or self._tries is not None or ledger.left is None:
            return None
        if not self._wish.new.in_turn:
            return None
        if not self._in_turn:
            self._in_turn = ledger.left < self.values.pages()
        asked = set(ledger.asked)
        fits = (
            choice
            for choice in self.values.ranked(self.now, self.gap)
            if _requests(choice) <= ledger.left and choice.query not in asked
        )
        return next(fits, None) if self._in_turn else None

    def worth(self, step: Step) -> float:
        """Return what a step buys for each request."""
        return self._gain(step) / _requests(step)

    def _gain(self, step: Step) -> float:
        if isinstance(step, Probe):
            return self._plan.gain(self.known, step) if self.known else step.gain
        if isinstance(step, DoubtCheck):
            return step.settles * self.gap / 2.0
        if self._round is not None or not isfinite(step.expected):
            # A round says how many there are at times, and never since when.
            return self._usual() * _requests(step) if self._round else 0.0
        if step.newest:
            return step.expected * self.gap / 2.0
        if self._in_turn and step.query in self.values:
            days = self.values.waited(step.query, self.now, self.gap)
            return step.expected * days / 2.0
        days = self._waited(step.query)
        return step.expected * self._credible() * days**2 / max(self.gap, BRIEF) / 2.0

    def _credible(self) -> float:
        """Return the share of what a round expects at first that is likely to come.

        A round begins with GROWTH new records for each old one, whatever the time.
        """
        if len(self.local) - self.local.old > max(self.coming, 1.0):
            return 1.0
        return min(self.coming / max(GROWTH * self.local.old, 1.0), 1.0)

    def _waited(self, query: Query) -> float:
        """Return the days since the records of a query were seen, in the mean."""
        seen = self._held.seen
        days = [self.now - seen[k] for k in self.local.matching(query) if k in seen]
        return max(sum(days) / len(days), 0.0) if days else max(self.gap, 0.0)

    def told(self, step: Step) -> PlannedQuery:
        """Return a step as people are told of it."""
        lookup = isinstance(step, Probe) and step.query is None
        what = step.key if isinstance(step, Probe) and lookup else str(step.query)
        why = f"are {step.settles} gone?" if isinstance(step, DoubtCheck) else step.why
        policy = self._wish.known if isinstance(step, Probe) else self._wish.new
        if not isinstance(step, DoubtCheck) and policy not in (EXPECTED, INDEX):
            why = f"{policy.name}: {why}"
        return PlannedQuery(what, _requests(step), self.worth(step), why)

    def carry_out(self, step: Step, turn: HarvestRound, ledger: Ledger) -> int:
        """Ask; return how many known records were shown."""
        if isinstance(step, Probe) and self.known is not None:
            refreshed = self._plan.carry_out(self.known, step, ledger)
            turn.overhear(self._latest(ledger))
            return refreshed
        asked = Choice(step.query, pages=None) if isinstance(step, DoubtCheck) else step
        assert isinstance(asked, Choice)
        if self._tries and asked is step:
            self._tries -= 1
        try:
            turn.carry_out(asked)
        finally:
            refreshed = self.copy.take(self._latest(ledger), self.now)
        if self._round is not None:
            self._round.done(asked)
        return refreshed

    @property
    def lacks_sample(self) -> bool:
        """Whether a sample is to be drawn before new records are looked for."""
        if self._round is None or not self.wants_new:
            return False
        return self._round.lacks_sample

    def sample_ahead(self, ledger: Ledger) -> PlannedQuery:
        """Return the drawing of a sample as people are told of it."""
        return sample_ahead(self._wish.new, ledger, self._usual())

    def draw(self, turn: HarvestRound, ledger: Ledger, rng: Generator) -> int:
        """Draw the sample; return how many known records it has shown.

        Known records have to be refreshed meanwhile, if that is wanted too.
        """
        assert self._round is not None
        share = 1.0 if self._wish.purpose == "new" else SAMPLED
        try:
            self._round.draw(turn, ledger, rng, share)
        finally:
            refreshed = self.copy.take(self._latest(ledger), self.now)
        return refreshed

    def leave_off(self, done: TurnResult) -> None:
        """Write down where rounds have come to that are to go on."""
        if self._round is not None and self.wants_new:
            done.new_round = self._round.so_far(self.local)
        if self.known is not None:
            done.known_round = self._plan.so_far(self.known)

    def _latest(self, ledger: Ledger) -> dict[str, Attributes]:
        """Return the records that were shown and not yet taken in."""
        fresh = {k: r for k, r in ledger.seen.items() if k not in self._taken}
        self._taken.update(fresh)
        return fresh


def _requests(step: Step) -> int:
    """Return the requests that a step is expected to take: one if nobody says."""
    return step.pages or 1


def _gap(held: FormCopy, now: float, *, whole: bool) -> float:
    """Return the mean of the days since records were seen.

    Where the newest come first every look shows all that is new: since the last look.
    """
    last = now - held.last
    if whole or not held.seen:
        return min(last, now)
    return min(max(now - fmean(held.seen.values()), last), now)


def keep(  # noqa: PLR0913  (what a turn goes by, and who is told)
    ledger: Ledger,
    held: FormCopy,
    wish: FormWish,
    now: float,
    rng: Generator,
    told: Callable[[PlannedQuery], None] = lambda _: None,
    *,
    begins: Callable[[Crawling], None] = lambda _: None,
) -> TurnResult:
    """Ask until the budget is spent or nothing is worth a request.

    Records that the form reports beyond what is held are then looked for; ``begins``
    is told of the crawl that does so.
    """
    if not held.records or not held.begun:
        return first_crawl(crawling(ledger, held), now)
    work = Upkeep(held, ledger.interface, wish, now)
    done = TurnResult(ledger.seen, stop=NOTHING_MORE)
    recovery = Recovery(ledger, held, wish, now, begins)
    try:
        recovery.go_on()
        _ask_all(work, done, ledger, rng, told)
    except BudgetSpent:
        done.stop = SPENT
    except SourceError as error:  # what was shown until then is true all the same
        done.stop = done.trouble = str(error)
    work.leave_off(done)
    work.doubts.hear(ledger)
    done.absent = work.doubts.absent()
    recovery.finish(done)
    work.doubts.hear(ledger)
    done.absent = work.doubts.absent()
    return done


def _ask_all(
    work: Upkeep,
    done: TurnResult,
    ledger: Ledger,
    rng: Generator,
    told: Callable[[PlannedQuery], None],
) -> None:
    """Take step after step; each takes a request, or is never taken again."""
    turn, known = HarvestRound(work.fresh, work.local, ledger), work.records
    if work.lacks_sample:
        _draw(work, done, turn, ledger, rng, told)
    while (chosen := work.next(ledger, rng)) is not None:
        ledger.heed()
        done.asked.append(work.told(chosen))
        told(done.asked[-1])
        before, query = _sums(ledger, known), chosen.query
        try:
            done.refreshed += work.carry_out(chosen, turn, ledger)
        finally:
            after, what = _sums(ledger, known), done.asked[-1].what
            total = None if query is None else ledger.totals.get(query)
            done.tried.append(QueryOutcome(what, *_risen(before, after), told=total))
        if ledger.requests == before[0]:
            work.took_nothing(chosen)


def _draw(
    work: Upkeep,
    done: TurnResult,
    turn: HarvestRound,
    ledger: Ledger,
    rng: Generator,
    told: Callable[[PlannedQuery], None],
) -> None:
    """Draw a sample as a step of its own."""
    asked = work.sample_ahead(ledger)
    done.asked.append(asked)
    told(asked)
    before = _sums(ledger, work.records)
    try:
        done.refreshed += work.draw(turn, ledger, rng)
    finally:
        risen = _risen(before, _sums(ledger, work.records))
        done.tried.append(QueryOutcome(asked.what, *risen))


def _risen(before: Sums, after: Sums) -> Sums:
    return after[0] - before[0], after[1] - before[1], after[2] - before[2]


def _sums(ledger: Ledger, known: Collection[str]) -> Sums:
    """Return the requests so far, the records returned, and those not known before."""
    return ledger.requests, ledger.returned, len(ledger.seen.keys() - known)


def ahead(
    held: FormCopy,
    interface: Interface,
    wish: FormWish,
    now: float,
    rng: Generator,
    most: int,
) -> list[PlannedQuery]:
    """Return what would be asked next, best first; nothing is asked.

    What an answer shows changes what is asked after it, so this is what is known now
    and no promise.
    """
    if not held.records:
        return []
    if not held.begun:
        return crawl_ahead(held, interface)[:most]
    work = Upkeep(held, interface, wish, now)
    found: list[Step] = []
    if work.wants_new and work.dated:
        pages = ceil(work.coming / interface.page_size) + SURE + TRIES
        why = f"newest first, until nothing is new: about {work.coming:.1f} are"
        found.append(Choice(Query(), 0, pages, work.coming, why, newest=True))
    elif work.wants_new:
        found += work.looked_for(most)
    steps = [work.told(chosen) for chosen in found]
    ranks = [step.gain for step in steps]
    if work.known is not None:
        plan = work.known.next(work.copy, now, float(most), rng)
        steps += (probes := [work.told(probe) for probe in plan])
        gains = [step.gain for step in probes]
        # The order of a rule that goes round is its plan.
        keeps = isinstance(work.known.rule, RemembersKnown)
        ranks += accumulate(gains, min) if keeps else gains
    if work.wants_new:
        rest = search_ahead(held, interface)
        if not (work.dated or work.foresees):
            rest += work.round_ahead(most)
        steps, ranks = steps + rest, ranks + [step.gain for step in rest]
    order = sorted(range(len(steps)), key=lambda place: -ranks[place])
    return [steps[place] for place in order[:most]]
