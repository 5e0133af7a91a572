"""Rules that choose the queries to keep known tuples fresh.

A rule gets the present estimates (``KnownEstimates``) and returns candidates with their
expected gains, best first or in the order to be sent. Rules that work in rounds store
their progress (``RemembersKnown``); other rules have no state.
``halflife.queries.policies`` has their names in settings.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Bools, Floats, Ints
from halflife.queries.known.frequency import frequencies
from halflife.queries.known.gains import Gains
from halflife.queries.known.greedy import (
    ProbeOffers,
    Reading,
    choose,
    greedy_probes,
    offers,
)
from halflife.queries.known.keywords import Pool

_LEAST = 1e-12  # the value of covering a tuple that is not stale
_ROUNDS = 300  # of the solver: the value then has four correct digits


class KnownChoice(NamedTuple):
    """A candidate that was chosen.

    Attributes:
        number: Its place in the pool.
        pages: Requests that it is expected to take.
        gain: Its expected gain.
        why: Why it was chosen.
        firm: Whether it is carried out even if it costs more than expected.
        most: Pages to read at most; all if None.

    """

    number: int
    pages: int
    gain: float
    why: str
    firm: bool = False
    most: int | None = None


@dataclass(frozen=True)
class KnownEstimates:
    """The estimates at one moment; arrays have a row for each tuple or candidate.

    Attributes:
        now: The moment, in days.
        budget: Requests that may be spent.
        gains: The candidates.
        weight: How much each tuple matters; 0 if it is gone.
        age: Days since each tuple was seen.
        rate: How much each changes a day.
        learned: Which tuples have a rate of their own, from two versions.
        stale: Expected staleness of each, D(age).
        worth: The value of refreshing each, U(age).
        hits: Records on the server that answer each candidate, as estimated.
        open: Which candidates were not sent in this turn.
        page_size: Records on a page.
        cap: Results of a query that can be reached.
        power: k of D(t) = b t**k.
        truth: The true differences, for the oracle.

    """

    now: float
    budget: float
    gains: Gains
    weight: Floats
    age: Floats
    rate: Floats
    learned: Bools
    stale: Floats
    worth: Floats
    hits: Floats
    open: Bools
    page_size: int
    cap: int | None = None
    power: float = 1.0
    truth: Floats | None = None

    @property
    def lookup(self) -> Bools:
        """Which candidates are look-ups."""
        return self.gains.pool.lookup

    def costs(self) -> tuple[Floats, Floats]:
        """Return the requests that each candidate takes, and the share it reaches.

        Candidates sent in this turn cost infinitely many: they would show nothing new.
        """
        offered = offers(self.hits, page_size=self.page_size, cap=self.cap)
        return np.where(self.open, offered.pages, np.inf), offered.reach


class KnownRule(Protocol):
    """Chooses the next candidates."""

    def __call__(self, standing: KnownEstimates, rng: Generator) -> list[KnownChoice]:
        """Return candidates in the order to be sent; empty if none is worth it."""
        ...


class QueryPace(NamedTuple):
    """How often a candidate is sent.

    Attributes:
        number: Its place in the pool.
        frequency: Times a day.
        sent: When it was last sent, or was due.

    """

    number: int
    frequency: float
    sent: float


@dataclass(frozen=True)
class RuleMemory:
    """The state that a rule with rounds keeps between turns.

    Attributes:
        choices: The queries of the round still to be sent, in order.
        paces: How often each candidate is sent.
        began: When the round began, in days.
        interval: Days between two queries of it.
        sent: Queries of it that were sent.
        turns: Turns so far.
        last: The time of the last turn.

    """

    choices: tuple[KnownChoice, ...] = ()
    paces: tuple[QueryPace, ...] = ()
    began: float = 0.0
    interval: float = 0.0
    sent: int = 0
    turns: int = 0
    last: float = 0.0


@runtime_checkable
class RemembersKnown(Protocol):
    """A rule that works in rounds, and keeps its progress between turns."""

    def __call__(self, standing: KnownEstimates, rng: Generator) -> list[KnownChoice]:
        """Return candidates in the order to be sent."""
        ...

    def so_far(self, unsent: Sequence[KnownChoice]) -> RuleMemory:
        """Return the state to keep; ``unsent`` was returned and not sent."""
        ...

    def go_on(self, memory: RuleMemory) -> None:
        """Restore the state."""
        ...


@dataclass
class Naive:
    """Look up all tuples cyclically, except those known to change too fast."""

    below: float = np.inf

    def __call__(self, standing: KnownEstimates, rng: Generator) -> list[KnownChoice]:
        """Return look-ups, the tuple seen longest ago first."""
        del rng
        wanted = (standing.rate < self.below) | ~standing.learned
        wanted &= standing.weight > 0
        rows = np.flatnonzero(wanted & (standing.age > 0))
        rows = rows[np.argsort(-standing.age[rows], kind="stable")]
        return _looked_up(standing, rows, "its turn")


@dataclass
class LookupIndex:
    """Look up the tuple with the largest gain."""

    def __call__(self, standing: KnownEstimates, rng: Generator) -> list[KnownChoice]:
        """Return look-ups, best first."""
        del rng
        value = standing.weight * standing.worth
        rows = np.argsort(-value, kind="stable")
        return _looked_up(standing, rows[value[rows] > 0], "buys most")


@dataclass
class GreedyRounds:
    """Cover all tuples greedily, send the queries in ascending a_i, and begin again.

    Algorithms 1 and 2 with the order of section 4.3; queries that do not fit in a turn
    wait for the next. With ``keywords``, queries are made of so many of the most
    frequent keywords of each attribute among the tuples not covered (5.3).
    """

    reading: Reading = "all"
    by_hits: bool = True
    keywords: int | None = None
    _queue: list[KnownChoice] = field(default_factory=list)

    def __call__(self, standing: KnownEstimates, rng: Generator) -> list[KnownChoice]:
        """Return the rest of the round, or a new one."""
        del rng
        if not self._queue:
            self._queue, _ = self.plan(standing)
        spent, chosen = 0.0, []
        while self._queue and spent < standing.budget:
            chosen.append(self._queue.pop(0))
            spent += chosen[-1].pages
        return chosen

    def so_far(self, unsent: Sequence[KnownChoice]) -> RuleMemory:
        """Return the rest of the round."""
        return RuleMemory(choices=(*unsent, *self._queue))

    def go_on(self, memory: RuleMemory) -> None:
        """Restore the rest of a round."""
        self._queue = list(memory.choices)

    def plan(self, standing: KnownEstimates) -> tuple[list[KnownChoice], Floats]:
        """Return a round in the order to be sent, and the a_i of its queries."""
        pool = standing.gains.pool
        # A look-up reaches the maximum of Eq. 2, so look-ups are excluded from it.
        keep = standing.open & (~pool.lookup | (not self.by_hits))
        numbers = np.flatnonzero(keep)
        offered = offers(
            standing.hits[keep],
            page_size=standing.page_size,
            cap=standing.cap,
            reading=self.reading,
            by="hits" if self.by_hits else "requests",
        )
        value = standing.weight * standing.stale
        if not value.any() or not keep.any():
            return [], np.zeros(0)
        # A round covers all tuples, also those that were just seen.
        value = np.where(standing.weight > 0, np.maximum(value, _LEAST), 0.0)
        sent, pages = self._chosen(pool.only(keep), value, offered)
        gain, a = _own(standing, numbers[sent])
        order = np.argsort(a, kind="stable")
        queries, each = numbers[sent].tolist(), pages.tolist()
        why, most = "its turn in the round", 1 if self.reading == "first" else None
        choices = [
            KnownChoice(queries[i], each[i], float(gain[i]), why, firm=True, most=most)
            for i in order.tolist()
        ]
        return choices, a[order]

    def _chosen(
        self, pool: Pool, value: Floats, offered: ProbeOffers
    ) -> tuple[Ints, Ints]:
        """Return the queries of a round and the pages of each."""
        if self.keywords is None:
            sent = choose(pool, value, offered)
            return sent.queries, sent.pages
        queries = greedy_probes(pool, value, offered.cost, k=self.keywords)
        return queries, offered.pages[queries]


@dataclass
class Timetable:
    """Send each query at its own best frequency (cube root; square root for drifts).

    Frequencies are computed again after 1, 2, 4, 8 ... turns, as rates and costs
    become known.
    """

    _turns: int = 0
    _frequency: Floats = field(default_factory=lambda: np.zeros(0))
    _sent: Floats = field(default_factory=lambda: np.zeros(0))
    _last: float = -np.inf
    _unsent: list[KnownChoice] = field(default_factory=list)
    _kept: tuple[QueryPace, ...] = ()

    def so_far(self, unsent: Sequence[KnownChoice]) -> RuleMemory:
        """Return the timetable, and the due queries that were not sent."""
        rows = np.flatnonzero(self._frequency > 0).tolist()
        paces = tuple(
            QueryPace(row, float(self._frequency[row]), float(self._sent[row]))
            for row in rows
        )
        choices = (*unsent, *self._unsent)
        return RuleMemory(choices, paces, turns=self._turns, last=max(self._last, 0.0))

    def go_on(self, memory: RuleMemory) -> None:
        """Restore a timetable."""
        self._turns, self._last = memory.turns, memory.last
        self._unsent, self._kept = list(memory.choices), memory.paces

    def __call__(self, standing: KnownEstimates, rng: Generator) -> list[KnownChoice]:
        """Return the most overdue candidates."""
        if self._kept:
            self._restore(len(standing.gains.pool), standing.now)
        if self._unsent:
            unsent, self._unsent = self._unsent, []
            return unsent
        cost, share = standing.costs()
        if standing.now > self._last:
            self._last, self._turns = standing.now, self._turns + 1
            if self._turns & (self._turns - 1) == 0:
                each, reach = replace(standing, open=standing.open | True).costs()
                self._solve(standing, each / reach, rng)
        due = (standing.now - self._sent) * self._frequency * standing.open
        value = standing.weight * standing.stale
        sums = standing.gains.sums(value)
        order = np.argsort(-due, kind="stable")
        chosen, left = [], standing.budget
        for number in order[due[order] > 0].tolist():
            if left <= 0:
                break
            # The delay is kept, or frequent queries would be sent too rarely.
            every = 1.0 / self._frequency[number]
            due_at = max(self._sent[number] + every, standing.now - every)
            self._sent[number] = min(due_at, standing.now)
            left -= float(cost[number])
            gain = float(sums[number] * share[number])
            pages = int(cost[number])
            chosen.append(
                KnownChoice(number, pages, gain, f"due {due[number]:.1f} times")
            )
        return chosen

    def _restore(self, n: int, now: float) -> None:
        """Use the stored timetable; new candidates wait until it is computed again."""
        self._frequency, self._sent = np.zeros(n), np.full(n, now)
        for number, frequency, sent in self._kept:
            self._frequency[number], self._sent[number] = frequency, sent
        self._kept = ()

    def _solve(self, standing: KnownEstimates, cost: Floats, rng: Generator) -> None:
        b = standing.weight * standing.rate
        found = frequencies(
            standing.gains,
            b,
            cost,
            standing.budget,
            power=standing.power,
            rounds=_ROUNDS,
        )
        never = found.frequency < 1e-4 * found.frequency.max(initial=0.0)
        self._frequency = np.where(never, 0.0, found.frequency)
        every = 1.0 / np.maximum(self._frequency, 1e-12)
        if not self._sent.size:
            self._sent = standing.now - rng.random(cost.size) * every
        self._sent = np.maximum(self._sent, standing.now - 2.0 * every)


@dataclass
class KnownIndex:
    """Send the query with the largest gain for each request: sum(w U(age)) / requests.

    Under the best fixed frequencies U(1 / f) / c is the same for all queries
    (``halflife.queries.known.frequency``); sending the largest one keeps it so, handles
    tuples that several queries return, and uses a look-up where it is cheaper.
    """

    def __call__(self, standing: KnownEstimates, rng: Generator) -> list[KnownChoice]:
        """Return candidates, best first."""
        del rng
        return _best(standing, standing.weight * standing.worth, "buys most")


@dataclass
class KnownOracle:
    """Send the query that reduces the true staleness most for each request."""

    def __call__(self, standing: KnownEstimates, rng: Generator) -> list[KnownChoice]:
        """Return candidates, best first."""
        del rng
        if standing.truth is None:
            raise ValueError("the oracle needs the true differences")
        return _best(standing, standing.weight * standing.truth, "is most stale")


def _best(standing: KnownEstimates, value: Floats, why: str) -> list[KnownChoice]:
    cost, share = standing.costs()
    found = standing.gains.pick(value, cost, standing.budget, share=share)
    sizes = standing.gains.pool.held
    return [
        KnownChoice(
            number, int(cost[number]), gain, f"{why}; {sizes[number]} known tuples"
        )
        for number, gain in found
    ]


def _looked_up(standing: KnownEstimates, rows: Ints, why: str) -> list[KnownChoice]:
    """Return look-ups of some tuples, as many as there are requests."""
    first = np.flatnonzero(standing.lookup)
    if not first.size:
        return []
    gain = standing.weight * standing.stale
    chosen = rows[: int(min(standing.budget, rows.size))].tolist()
    return [KnownChoice(int(first[row]), 1, float(gain[row]), why) for row in chosen]


def _own(standing: KnownEstimates, numbers: Ints) -> tuple[Floats, Floats]:
    """Return sum(w D) and a = sum(w rate) / 2 of the tuples first returned by each.

    Duplicates are removed from the later groups (section 4.3).
    """
    owner = np.full(standing.weight.size, -1, dtype=np.intp)
    for place in range(numbers.size - 1, -1, -1):
        owner[standing.gains.pool.matches.of(int(numbers[place]))] = place
    own = owner >= 0

    def over(value: Floats) -> Floats:
        found = np.bincount(owner[own], weights=value[own], minlength=numbers.size)
        return found.astype(np.float64)

    weight = standing.weight
    return over(weight * standing.stale), over(weight * standing.rate / 2.0)
