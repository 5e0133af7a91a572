"""What kinds of source share that are renewed whole: a listing, a form, a summary.

How the copy decays after a read tells what the next read is worth, how often the source
is to be read, and how it stands to its target. What came of its forecasts is the
measure by which the rule for targets becomes more careful, or less.
"""

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np

from halflife.config import SourceConfig
from halflife.core.arrays import Floats
from halflife.core.errors import AlreadyRunning, BudgetSpent
from halflife.core.wording import number, span
from halflife.engine import faults
from halflife.engine.offline import is_lost
from halflife.engine.renewals import POINTS, spread
from halflife.kinds.protocol import (
    Desk,
    Errand,
    Kind,
    Prospects,
    Report,
    Result,
    Source,
    Worker,
)
from halflife.market import price, target_rule
from halflife.market.curves import Decay
from halflife.market.stand import ROUND, SOONEST, TURN, Stand, TargetMemory
from halflife.market.target_rule import Goal, Past, Whole
from halflife.models.rhythm import LearnedRhythm, Rhythm
from halflife.readers.containment import is_mishandled
from halflife.readers.records import UNREADABLE
from halflife.stores.forecasts import Issued

AHEAD = 2.0 * TURN  # days until the next round, at most
SLACK = 1.5  # what a source may have grown by since it was read


class Renewed(Protocol):
    """What the state of such a source has at least."""

    @property
    def source(self) -> SourceConfig:
        """Its settings."""
        ...

    @property
    def now(self) -> float:
        """When it was read, in days."""
        ...

    @property
    def habit(self) -> LearnedRhythm:
        """What is known of the hours at which it changes."""
        ...


WholeState = TypeVar("WholeState", bound=Renewed)


class WholeResult(Result, Protocol):
    """What a read came to."""

    @property
    def run(self) -> int:
        """The run that read it; 0 if it holds nothing for a decision."""
        ...

    @property
    def requests(self) -> int:
        """Requests sent."""
        ...

    @property
    def trouble(self) -> str:
        """What went wrong; empty if nothing did."""
        ...

    @property
    def held(self) -> str:
        """Why the answer waits for a decision; empty if it does not."""
        ...

    @property
    def partly(self) -> bool:
        """Whether something came of it although not all did."""
        ...

    @property
    def section(self) -> str:
        """What a program's answer calls such results."""
        ...


class WholeKind(Kind[Source, WholeState]):
    """A kind of source that is renewed whole."""

    @abstractmethod
    def decay(self, state: WholeState) -> Decay | None:
        """Return how the copy decays after a read; None if not enough is known."""

    @abstractmethod
    def whole(self, state: WholeState) -> float:
        """Return the requests that a read of all of it takes."""

    @abstractmethod
    def shortest(self, state: WholeState) -> float:
        """Return the days between two reads that settings and politeness allow."""

    @abstractmethod
    def standing(self, state: WholeState, goal: Goal) -> tuple[Whole, float] | None:
        """Return how the source stands now, and the days that it may wait, at most."""

    def least(self, state: WholeState) -> float:
        """Return the days between two reads, at least.

        Minutes as long as nobody knows how it changes.
        """
        return SOONEST if self.decay(state) is None else self.shortest(state)

    def cost(self, state: WholeState) -> float:
        """Return the requests of the next read."""
        return self.whole(state)

    def is_due(self, now: Whole, *, late: bool) -> bool:
        """Say whether a source that is late is to be read now."""
        del now
        return late

    def way(self, state: WholeState) -> str:
        """Say how it is read next; empty if there is but one way."""
        del state
        return ""

    def prospects(self, state: WholeState) -> Prospects | None:
        """Return what a read buys, the older the copy is."""
        decay = self.decay(state)
        if decay is None:
            return None
        gain = np.array([[decay.index(age) for age in price.AGES.tolist()]])
        weight, cost = state.source.weight, np.array([self.whole(state)])
        return Prospects(weight * gain, cost, np.ones(1))

    def stand(
        self,
        state: WholeState,
        goal: Goal,
        memory: TargetMemory,
        settled: Sequence[Issued],
    ) -> tuple[Stand, TargetMemory] | None:
        """Return how the source stands to a goal, and what to remember of it."""
        found = self.standing(state, goal)
        if found is None:
            return None
        now, most = found
        memory = learned(settled, goal, now, memory, state.habit.rhythm)
        latest = min(target_rule.longest(memory.past, goal, now), most)
        late = now.age + now.step > most or target_rule.due(memory.past, now, goal)
        asked = self.cost(state) if self.is_due(now, late=late) else 0.0
        chance = now.chance(memory.past, goal.level)
        said = (
            f"{max(chance, 0.0):.1%} likely to fall below {number(goal.level, 4)}, read"
            f" {span(now.age)} ago, to be read every {span(latest)} at least"
        )
        way = self.way(state) if asked else ""
        said = f"{said}; {way}" if way else said
        name, again = state.source.name, now.step / 2.0
        return Stand(name, asked, memory.needed, said, again), memory

    @abstractmethod
    def reader(self, desk: Desk, source: Source) -> "SourceReader":
        """Return what reads a source."""

    def open(
        self, desk: Desk, group: Sequence[Source]
    ) -> AbstractAsyncContextManager[Worker]:
        """Hold all that it takes to work at a source during the block."""
        (source,) = group
        return _opened(Alone(desk, source, self.reader(desk, source)))


class SourceReader(Protocol):
    """Reads one source."""

    async def sync(self, errand: Errand) -> WholeResult:
        """Read the source as far as an errand and the budget go."""
        ...

    async def read(self, requests: int) -> WholeResult:
        """Read the source with up to so many requests."""
        ...

    def ease(self) -> None:
        """Begin nothing more."""
        ...

    def audit(self, result: WholeResult) -> None:
        """Give forecasts their outcomes, as far as what was seen tells them."""
        ...


class Alone:
    """Works at one source; it is held only while it is read."""

    def __init__(self, desk: Desk, source: SourceConfig, reader: SourceReader) -> None:
        self._desk, self._source, self._reader = desk, source, reader

    async def sync(self, errand: Errand) -> Report:
        """Read it as far as the budget goes."""
        return self._took(await self._reader.sync(errand))

    async def work(self, requests: int) -> Report:
        """Read it; that another does, or that all is spent, is no harm."""
        try:
            return self._took(await self._reader.read(requests))
        except (AlreadyRunning, BudgetSpent):
            return Report((self._source.name,))

    def _took(self, result: WholeResult) -> Report:
        """Keep what could not be handled, and score what was forecast."""
        name = self._source.name
        faults.note(self._desk.store, name, result.trouble)
        if self._desk.audits:
            self._reader.audit(result)
        return report_on(name, result)

    def ease(self) -> None:
        """Begin nothing more."""
        self._reader.ease()

    async def keep(self) -> None:
        """Wait: between two reads there is nothing to hold on to."""
        await asyncio.Event().wait()


@asynccontextmanager
async def _opened(worker: Worker) -> AsyncIterator[Worker]:
    yield worker


def report_on(name: str, result: WholeResult) -> Report:
    """Return the report on a read of one source."""
    trouble, lost = result.trouble, is_lost(result.trouble)
    return Report(
        (name,),
        result.requests,
        result,
        trouble,
        result.held,
        lost=lost,
        heard=not lost,
        partly=result.partly,
        mishandled={name: trouble} if is_mishandled(trouble) else {},
        failures={name: int(bool(trouble) and not lost)},
        section=result.section,
        troubles={name: _said(name, trouble)} if trouble else {},
        run=result.run if result.held else 0,
    )


def _said(name: str, trouble: str) -> str:
    """Say what went wrong, and what to do if the history of a source is wrong."""
    said = f"did not answer in full: {trouble}"
    if UNREADABLE not in trouble:
        return said
    return (
        f"{said}; if earlier answers were read wrongly too, mend its settings and "
        f"forget them with `halflife source reset {name}`"
    )


def learned(
    settled: Sequence[Issued],
    goal: Goal,
    now: Whole,
    memory: TargetMemory,
    rhythm: Rhythm,
) -> TargetMemory:
    """Return the memory with what came of forecasts since; of each look the latest.

    One that was made before the last look says nothing of the days since that look.
    """
    last: dict[float, Issued] = {}
    for one in settled:
        told = one.told or 0.0
        if told > memory.told and one.made >= last.get(told, one).made:
            last[told] = one
    past, before = memory.past, memory.told
    for told, one in sorted(last.items()):
        if one.made >= before:
            since = one.ahead if one.ahead > 0 else min(told - before, ROUND)
            past = _taught(past, one, since, goal, now, rhythm)
        before = told
    return replace(memory, past=past, told=before)


def _taught(
    past: Past, one: Issued, since: float, goal: Goal, now: Whole, rhythm: Rhythm
) -> Past:
    """Return the past with what came of a forecast, so many days after the last."""
    things = now.things if one.looks is None else min(now.things, one.looks)
    look = replace(now, things=max(things, 1.0), age=since)
    found = 1.0 - (one.found or 0.0)
    missed = _missed(rhythm, one.told or 0.0, since, found, goal)
    return target_rule.looked(past, look, found, 1.0 - one.mean, goal, missed=missed)


def _missed(
    rhythm: Rhythm, told: float, days: float, found: float, goal: Goal
) -> float | None:
    """Return the share of days that missed the level, if the loss went by a rhythm.

    For a mean it is the mean loss. None of even days.
    """
    if rhythm.flat or not days > 0:
        return None
    loss = found * rhythm.passed(*np.array([told - days, told]))
    return float(np.mean(loss if goal.confidence is None else loss > goal.loss))


def step_of(decay: Decay, goal: Goal, least: float) -> float:
    """Return the days until the next round: soon enough to keep the level.

    Half of the time in which a fresh copy loses what is allowed, but no less than
    the settings and politeness allow, and no more than ``AHEAD``.
    """
    least = min(least, AHEAD)
    moments = spread(least, 2.0 * AHEAD, 2 * POINTS)
    mean, low = decay.at(moments)
    kept = mean if goal.confidence is None else low
    lost = np.flatnonzero(1.0 - kept > goal.loss)
    holds = float(moments[max(lost[0] - 1, 0)]) if lost.size else np.inf
    return min(max(holds / 2.0, least), AHEAD)


def losses(
    decay: Decay, known: LearnedRhythm, seen: Floats, when: tuple[float, float]
) -> tuple[float, float, float]:
    """Return the age, the loss at the next round, and that of a copy made now.

    ``when`` is now, and how many days the next round is away. By effective days: none
    of a nightly job has passed until its hour has.
    """
    rhythm, (now, step) = known.rhythm, when
    moments = np.array([now, now + step])
    begun = np.minimum(seen, now)
    age, then = rhythm.between(begun[:, None], moments).T
    later = 1.0 - float(np.mean(decay.at(then)[0]))
    fresh = 1.0 - float(decay.at(rhythm.between(moments[:1], moments[1:]))[0][0])
    return float(np.median(age)), later, fresh


def together(known: LearnedRhythm) -> float:
    """Return how many records change together, where there is a rhythm."""
    return 1.0 if known.rhythm.flat else known.size
