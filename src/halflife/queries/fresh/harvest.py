"""Carry out the choices of a policy for new records."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

from numpy.random import Generator

from halflife.core.errors import BudgetSpent
from halflife.core.forms import ResultPage
from halflife.core.object_store import Attributes
from halflife.queries.fresh import Choice, FreshPolicy
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords, Origin
from halflife.queries.sampling import Sampling, sample


class Sampler(Protocol):
    """Draws a random sample of a database through its form."""

    def __call__(self, ledger: Ledger, rng: Generator, /) -> Mapping[str, Attributes]:
        """Return the records drawn; the ledger counts their requests."""
        ...


@dataclass(frozen=True, slots=True)
class GivenSample:
    """A given sample, at the lowest possible cost.

    No form offers a random sample; one that did would still take a request for each
    full page.

    Attributes:
        records: The sample.

    """

    records: Mapping[str, Attributes]

    def __call__(self, ledger: Ledger, _rng: Generator) -> Mapping[str, Attributes]:
        """Return the sample and count its pages as requests."""
        ledger.requests += ledger.interface.pages(len(self.records))
        ledger.returned += len(self.records)
        ledger.seen.update(self.records)
        return self.records


@dataclass(frozen=True, slots=True)
class DrilledSample:
    """A sample drawn through the form, by random drill-downs that cost requests.

    Attributes:
        known: The copy; its values are queried.
        share: The share of the database to draw.
        method: See ``halflife.queries.sampling.sample``.

    """

    known: Mapping[str, Attributes]
    share: float = 0.15
    method: Sampling = "weighted"

    def __call__(self, ledger: Ledger, rng: Generator) -> Mapping[str, Attributes]:
        """Return the records that the walks ended with."""
        known = self.known.values()
        return sample(ledger, self.share, rng, known=known, method=self.method).records


@dataclass(slots=True)
class Harvest:
    """The result of a round of queries.

    Attributes:
        new: Records that the copy did not have, by key.
        absent: Records of the copy missing from a query that was read whole.
        updated: Records that were shown with other values than the copy had.
        requests: Requests it took, sample and probes included.
        returned: Records returned, repeated ones included.
        unique: Different records returned.
        curve: Requests and new records so far, after each choice.
        stop: Why it ended.

    """

    new: dict[str, Attributes] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    updated: set[str] = field(default_factory=set)
    requests: int = 0
    returned: int = 0
    unique: int = 0
    curve: list[tuple[int, int]] = field(default_factory=list)
    stop: str = ""


class HarvestRound:
    """One round of queries, choice by choice.

    Args:
        policy: Chooses the queries.
        local: The copy; it grows.
        ledger: Sends and counts the requests.

    """

    def __init__(
        self, policy: FreshPolicy, local: LocalRecords, ledger: Ledger
    ) -> None:
        self.local = local
        self.harvest = Harvest()
        self._policy = policy
        self._ledger = ledger

    def sample(self, sampler: Sampler, rng: Generator) -> None:
        """Draw a sample and note it."""
        for key, record in sampler(self._ledger, rng).items():
            self._note(key, record, Origin.SAMPLED)
            self.local.sampled.add(key)
        # Other records shown on the way are kept as well.
        for key, record in self._ledger.seen.items():
            self._note(key, record, Origin.HARVESTED)
        self._count()

    def step(self, rng: Generator) -> Choice | None:
        """Make one choice and carry it out; None if nothing is worth a request.

        ``BudgetSpent`` is not caught; records read until then are noted.
        """
        choice = self._policy.next(self.local, self._ledger, rng)
        if choice is not None:
            self.carry_out(choice)
        return choice

    def carry_out(self, choice: Choice) -> None:
        """Send the chosen query, and note its records."""
        try:
            for found in read(self._ledger, choice):
                self._take(choice, found)
        finally:
            self._count()

    def note_shown(self, records: Mapping[str, Attributes]) -> None:
        """Note records that another step of the turn has shown."""
        for key, record in records.items():
            self._note(key, record, Origin.HARVESTED)
        self._count()

    def _take(self, choice: Choice, found: ResultPage) -> None:
        local = self.local
        reading = local.newest if choice.newest else local.reading(choice.query)
        before = reading.gained
        reading.pages += 1
        reading.total = found.total
        for key, record in found.records.items():
            reading.gained += self._note(key, record, Origin.HARVESTED)
            reading.keys.add(key)
        reading.barren = 0 if reading.gained > before else reading.barren + 1
        # In newest-first order the position of each record matters, old or new.
        reading.shown += found.records if choice.newest else ()
        cap = local.interface.cap
        capped = cap is not None and local.interface.pages(cap) <= reading.pages
        if found.more and not capped:
            return
        reading.done = True
        if not choice.newest:
            self._ledger.finished.add(choice.query)
            self._miss(choice)

    def _note(self, key: str, record: Attributes, origin: Origin) -> bool:
        new = self.local.note(key, record, origin)
        if new:
            self.harvest.new[key] = record
        return new

    def _miss(self, choice: Choice) -> None:
        """Note the records that are missing from a query that was read whole."""
        reading, interface = self.local.reads[choice.query], self.local.interface
        if interface.cap is not None and len(reading.keys) >= interface.cap:
            return
        # Fewer records than the form counts: pages have shifted while they were read.
        if interface.counts == "exact" and len(reading.keys) < (reading.total or 0):
            return
        for key in self.local.matching(choice.query) - reading.keys:
            self.local.note_missing(key)

    def _count(self) -> None:
        done, ledger = self.harvest, self._ledger
        done.requests, done.returned = ledger.requests, ledger.returned
        done.unique = len(ledger.seen)
        done.absent, done.updated = self.local.gone, self.local.updated
        done.curve.append((ledger.requests, len(done.new)))


def read(ledger: Ledger, choice: Choice) -> Iterator[ResultPage]:
    """Yield the pages of a choice, each requested when it is needed."""
    interface = ledger.interface
    last = inf if interface.cap is None else interface.pages(interface.cap)
    if choice.pages is not None:
        last = min(last, choice.page + choice.pages)
    page = choice.page
    while page < last:
        if page or choice.newest:
            found = ledger.ask(choice.query, page, newest=choice.newest)
        else:
            found = ledger.first(choice.query)
        yield found
        page += 1
        if not found.more:
            return


def harvest(
    policy: FreshPolicy,
    local: LocalRecords,
    ledger: Ledger,
    rng: Generator,
    sampler: Sampler | None = None,
) -> Harvest:
    """Send queries until the policy ends, or the budget is spent.

    Args:
        policy: Chooses the queries.
        local: The copy; it grows.
        ledger: Sends and counts the requests.
        rng: For policies that choose at random, and for the sample.
        sampler: Draws the sample, for policies that need one.

    """
    turn = HarvestRound(policy, local, ledger)
    try:
        if sampler is not None and policy.samples:
            turn.sample(sampler, rng)
        while turn.step(rng) is not None:
            continue
        turn.harvest.stop = "nothing more is worth a request"
    except BudgetSpent:
        turn.harvest.stop = "the budget is spent"
    return turn.harvest
