"""Rules for what to ask next, to keep known tuples fresh.

A rule gets what is believed (``Standing``) and returns candidates with what each is
expected to buy, best first or in the order to be sent. Rules that go round keep their
place; nothing else is remembered.

naive1         every tuple by look-up, round and round (section 5.2)
naive2         the same, only tuples with fewer than one update a day
greedy         GreedyProbes by Eq. 2, all pages (Method 1), ascending a_i, again
method-2       the same, first page only (Method 2)
page-greedy    the same, by requests in place of |R_S(q)|, look-ups allowed
cube-root      fixed frequencies that minimise the mean staleness
index          at each turn what buys most for a request: searches and look-ups
lookup-index   the same, look-ups only
oracle         what reduces staleness most now, true differences known
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Bools, Floats, Ints
from halflife.queries.known.frequency import frequencies
from halflife.queries.known.gains import Gains
from halflife.queries.known.greedy import Reading, choose, offers

_LEAST = 1e-12  # what covering a tuple is worth that is not stale at all
_ROUNDS = 300  # of the solver; by then the value is right to four digits


class Choice(NamedTuple):
    """A candidate that is to be asked.

    Attributes:
        number: Its place in the pool.
        pages: Requests that it is expected to take.
        gain: What it is expected to buy.
        why: Why it was chosen.
        firm: Whether it is carried out also if it turns out dearer than expected.
        most: Pages to read at most; all if None.

    """

    number: int
    pages: int
    gain: float
    why: str
    firm: bool = False
    most: int | None = None


@dataclass(frozen=True)
class Standing:
    """What is believed at one moment; a row a tuple, or a row a candidate.

    Attributes:
        now: The moment, in days.
        budget: Requests that may be spent.
        gains: The candidates.
        weight: How much each tuple matters; 0 if it is gone.
        age: Days since each tuple was seen.
        rate: What each moves a day.
        learned: Of which tuples two versions were compared, so that the rate is theirs.
        stale: Expected staleness of each, D(age).
        worth: What a look at each buys, U(age).
        hits: Records on the server that answer each candidate, as far as is known.
        open: Which candidates were not asked in this turn.
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

        What was asked in this turn would show nothing new at any price.
        """
        offered = offers(self.hits, page_size=self.page_size, cap=self.cap)
        return np.where(self.open, offered.pages, np.inf), offered.reach


class Rule(Protocol):
    """Says what to ask next."""

    def __call__(self, standing: Standing, rng: Generator) -> list[Choice]:
        """Return candidates in the order to be asked; none when nothing is worth it."""
        ...


@dataclass
class Naive:
    """Look tuples up round and round, unless they are known to move too fast."""

    below: float = np.inf

    def __call__(self, standing: Standing, rng: Generator) -> list[Choice]:
        """Return look-ups, the tuple seen longest ago first."""
        del rng
        wanted = (standing.rate < self.below) | ~standing.learned
        wanted &= standing.weight > 0
        rows = np.flatnonzero(wanted & (standing.age > 0))
        rows = rows[np.argsort(-standing.age[rows], kind="stable")]
        return _looked_up(standing, rows, "its turn")


@dataclass
class LookupIndex:
    """Look up the tuple for which that buys most."""

    def __call__(self, standing: Standing, rng: Generator) -> list[Choice]:
        """Return look-ups, best first."""
        del rng
        value = standing.weight * standing.worth
        rows = np.argsort(-value, kind="stable")
        return _looked_up(standing, rows[value[rows] > 0], "buys most")


@dataclass
class Rounds:
    """Cover all tuples greedily, send that in ascending a_i, and begin again.

    Algorithms 1 and 2 with the order of section 4.3; what does not fit in a turn
    waits for the next.
    """

    reading: Reading = "all"
    by_hits: bool = True
    _queue: list[Choice] = field(default_factory=list)

    def __call__(self, standing: Standing, rng: Generator) -> list[Choice]:
        """Return the rest of the round, or a new one."""
        del rng
        if not self._queue:
            self._queue = self._round(standing)
        spent, some = 0.0, []
        while self._queue and spent < standing.budget:
            some.append(self._queue.pop(0))
            spent += some[-1].pages
        return some

    def _round(self, standing: Standing) -> list[Choice]:
        pool = standing.gains.pool
        # Eq. 2 is never above what a look-up reaches, so look-ups are kept from it.
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
            return []
        # A round covers all tuples, also those that were seen a moment ago.
        value = np.where(standing.weight > 0, np.maximum(value, _LEAST), 0.0)
        sent = choose(pool.only(keep), value, offered)
        gain, a = _own(standing, numbers[sent.queries])
        order = np.argsort(a, kind="stable").tolist()
        queries, pages = numbers[sent.queries].tolist(), sent.pages.tolist()
        why, most = "its turn in the round", 1 if self.reading == "first" else None
        return [
            Choice(queries[i], pages[i], float(gain[i]), why, firm=True, most=most)
            for i in order
        ]


@dataclass
class Timetable:
    """Send each query at its own best frequency (cube root; square root for drifts).

    Frequencies are solved for anew after 1, 2, 4, 8 ... turns, as rates and costs
    become known.
    """

    _turns: int = 0
    _frequency: Floats = field(default_factory=lambda: np.zeros(0))
    _sent: Floats = field(default_factory=lambda: np.zeros(0))
    _last: float = -np.inf

    def __call__(self, standing: Standing, rng: Generator) -> list[Choice]:
        """Return what is most overdue."""
        cost, share = standing.costs()
        if standing.now > self._last:
            self._last, self._turns = standing.now, self._turns + 1
            if self._turns & (self._turns - 1) == 0:
                self._solve(standing, cost / share, rng)
        due = (standing.now - self._sent) * self._frequency * standing.open
        value = standing.weight * standing.stale
        sums = standing.gains.sums(value)
        order = np.argsort(-due, kind="stable")
        chosen, left = [], standing.budget
        for number in order[due[order] > 0].tolist():
            if left <= 0:
                break
            # What it was late by is kept, or frequent queries would be sent too rarely.
            every = 1.0 / self._frequency[number]
            late = max(self._sent[number] + every, standing.now - every)
            self._sent[number] = min(late, standing.now)
            left -= float(cost[number])
            gain = float(sums[number] * share[number])
            pages = int(cost[number])
            chosen.append(Choice(number, pages, gain, f"due {due[number]:.1f} times"))
        return chosen

    def _solve(self, standing: Standing, cost: Floats, rng: Generator) -> None:
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
class Index:
    """Ask what buys most for each request: sum(w U(age)) / requests.

    Under the best fixed frequencies U(1 / f) / c is the same for all queries
    (``halflife.queries.known.frequency``); asking where it is largest keeps to that,
    handles tuples that several queries bring, and takes a look-up where it is cheaper.
    """

    def __call__(self, standing: Standing, rng: Generator) -> list[Choice]:
        """Return candidates, best first."""
        del rng
        return _best(standing, standing.weight * standing.worth, "buys most")


@dataclass
class Oracle:
    """Ask what reduces the true staleness most for each request."""

    def __call__(self, standing: Standing, rng: Generator) -> list[Choice]:
        """Return candidates, best first."""
        del rng
        if standing.truth is None:
            raise ValueError("the oracle has to be told the true differences")
        return _best(standing, standing.weight * standing.truth, "is most stale")


RULES: Mapping[str, Callable[[], Rule]] = {
    "naive1": Naive,
    "naive2": lambda: Naive(below=1.0),
    "greedy": Rounds,
    "method-1": Rounds,
    "method-2": lambda: Rounds(reading="first"),
    "page-greedy": lambda: Rounds(by_hits=False),
    "cube-root": Timetable,
    "index": Index,
    "lookup-index": LookupIndex,
    "oracle": Oracle,
}


def _best(standing: Standing, value: Floats, why: str) -> list[Choice]:
    cost, share = standing.costs()
    found = standing.gains.picked(value, cost, standing.budget, share=share)
    sizes = standing.gains.pool.held
    return [
        Choice(number, int(cost[number]), gain, f"{why}; {sizes[number]} known tuples")
        for number, gain in found
    ]


def _looked_up(standing: Standing, rows: Ints, why: str) -> list[Choice]:
    """Return look-ups of some tuples, as many as there are requests."""
    first = np.flatnonzero(standing.lookup)
    if not first.size:
        return []
    gain = standing.weight * standing.stale
    some = rows[: int(min(standing.budget, rows.size))]
    return [Choice(int(first[row]), 1, float(gain[row]), why) for row in some.tolist()]


def _own(standing: Standing, numbers: Ints) -> tuple[Floats, Floats]:
    """Return sum(w D) and a = sum(w rate) / 2 of the tuples first brought by each.

    Duplicates are taken off the later groups (section 4.3).
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
