"""The common part of kinds that are renewed whole: listings, forms, summaries.

The decay of the copy after a read determines the value of the next read, how often the
source is to be read, and how it stands to its target. The outcomes of its forecasts
decide how cautious the target rule is.
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
from halflife.market.target_rule import Goal, LossHistory, WholeCopy
from halflife.market.target_status import (
    ROUND,
    SOONEST,
    TURN,
    TargetMemory,
    TargetStatus,
)
from halflife.models.rhythm import LearnedRhythm, Rhythm
from halflife.readers.containment import is_mishandled
from halflife.readers.records import UNREADABLE
from halflife.stores.forecasts import IssuedForecast

AHEAD = 2.0 * TURN  # days until the next round, at most
SLACK = 1.5  # factor by which a source may have grown since it was read


class Renewed(Protocol):
    """The least that the state of such a source has."""

    @property
    def source(self) -> SourceConfig:
        """The settings of the source."""
        ...

    @property
    def now(self) -> float:
        """When the state was read, in days."""
        ...

    @property
    def habit(self) -> LearnedRhythm:
        """The learned hours at which the source changes."""
        ...


WholeState = TypeVar("WholeState", bound=Renewed)


class WholeResult(Result, Protocol):
    """The outcome of a read."""

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
        """Whether some of the read succeeded although not all did."""
        ...

    @property
    def section(self) -> str:
        """The key of such results in a program's answer."""
        ...


class WholeKind(Kind[Source, WholeState]):
    """A kind of source that is renewed whole."""

    @abstractmethod
    def decay(self, state: WholeState) -> Decay | None:
        """Return how the copy decays after a read; None if not enough is known."""

    @abstractmethod
    def whole(self, state: WholeState) -> float:
        """Return the requests of a full read."""

    @abstractmethod
    def shortest(self, state: WholeState) -> float:
        """Return the days between two reads that settings and politeness allow."""

    @abstractmethod
    def standing(self, state: WholeState, goal: Goal) -> tuple[WholeCopy, float] | None:
        """Return how the source stands now, and how many days it may wait at most."""

    def least(self, state: WholeState) -> float:
        """Return the shortest time between two reads, in days.

        It is minutes as long as nothing is known of how the source changes.
        """
        return SOONEST if self.decay(state) is None else self.shortest(state)

    def cost(self, state: WholeState) -> float:
        """Return the requests of the next read."""
        return self.whole(state)

    def is_due(self, now: WholeCopy, *, late: bool) -> bool:
        """Say whether a source that is late is to be read now."""
        del now
        return late

    def way(self, state: WholeState) -> str:
        """Return how it is read next, in words; empty if there is only one way."""
        del state
        return ""

    def prospects(self, state: WholeState) -> Prospects | None:
        """Return the gain of a read, by the age of the copy."""
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
        settled: Sequence[IssuedForecast],
    ) -> tuple[TargetStatus, TargetMemory] | None:
        """Return how the source stands to a goal, and the memory for the next time."""
        standing = self.standing(state, goal)
        if standing is None:
            return None
        now, most = standing
        memory = update_memory(settled, goal, now, memory, state.habit.rhythm)
        latest = min(target_rule.longest_interval(memory.past, goal, now), most)
        late = now.age + now.step > most or target_rule.is_due(memory.past, now, goal)
        requests = self.cost(state) if self.is_due(now, late=late) else 0.0
        chance = now.chance(memory.past, goal.level)
        text = (
            f"{max(chance, 0.0):.1%} likely to fall below {number(goal.level, 4)}, read"
            f" {span(now.age)} ago, to be read every {span(latest)} at least"
        )
        way = self.way(state) if requests else ""
        text = f"{text}; {way}" if way else text
        name, again = state.source.name, now.step / 2.0
        return TargetStatus(name, requests, memory.needed, text, again), memory

    @abstractmethod
    def reader(self, desk: Desk, source: Source) -> "SourceReader":
        """Return the reader of a source."""

    def open(
        self, desk: Desk, group: Sequence[Source]
    ) -> AbstractAsyncContextManager[Worker]:
        """Hold all that the work at a source needs during the block."""
        (source,) = group
        return _opened(SingleSourceWorker(desk, source, self.reader(desk, source)))


class SourceReader(Protocol):
    """Reads one source."""

    async def sync(self, errand: Errand) -> WholeResult:
        """Read the source as far as the errand and the budget allow."""
        ...

    async def read(self, requests: int) -> WholeResult:
        """Read the source with at most ``requests`` requests."""
        ...

    def ease(self) -> None:
        """Start nothing more."""
        ...

    def audit(self, result: WholeResult) -> None:
        """Settle the forecasts that a read verifies."""
        ...


class SingleSourceWorker:
    """Works at one source, whose lease is held only while it is read."""

    def __init__(self, desk: Desk, source: SourceConfig, reader: SourceReader) -> None:
        self._desk, self._source, self._reader = desk, source, reader

    async def sync(self, errand: Errand) -> Report:
        """Read the source as far as the budget allows."""
        return self._reported(await self._reader.sync(errand))

    async def work(self, requests: int) -> Report:
        """Read it; do nothing if it is leased elsewhere or the budget is spent."""
        try:
            return self._reported(await self._reader.read(requests))
        except (AlreadyRunning, BudgetSpent):
            return Report((self._source.name,))

    def _reported(self, result: WholeResult) -> Report:
        """Save what could not be handled, audit forecasts, and return the report."""
        name = self._source.name
        faults.note(self._desk.store, name, result.trouble)
        if self._desk.audits:
            self._reader.audit(result)
        return report_on(name, result)

    def ease(self) -> None:
        """Start nothing more."""
        self._reader.ease()

    async def keep(self) -> None:
        """Wait for ever: between two reads no lease is held."""
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
        troubles={name: _explain(name, trouble)} if trouble else {},
        run=result.run if result.held else 0,
        # Only results of listings have it.
        scheduled=bool(getattr(result, "scheduled", False)),
    )


def _explain(name: str, trouble: str) -> str:
    """Return what went wrong, and the remedy if the stored history is wrong."""
    text = f"did not answer in full: {trouble}"
    if UNREADABLE not in trouble:
        return text
    return (
        f"{text}; if earlier answers were read wrongly too, correct its settings and "
        f"forget them with `halflife source reset {name}`"
    )


def update_memory(
    settled: Sequence[IssuedForecast],
    goal: Goal,
    now: WholeCopy,
    memory: TargetMemory,
    rhythm: Rhythm,
) -> TargetMemory:
    """Return the memory with the latest outcome of a forecast at each fetch.

    A forecast made before the previous fetch says nothing of the days since that fetch.
    """
    last: dict[float, IssuedForecast] = {}
    for forecast in settled:
        at = forecast.told or 0.0
        if at > memory.told and forecast.made >= last.get(at, forecast).made:
            last[at] = forecast
    past, before = memory.past, memory.told
    for at, forecast in sorted(last.items()):
        if forecast.made >= before:
            since = forecast.ahead if forecast.ahead > 0 else min(at - before, ROUND)
            past = _with_outcome(past, forecast, since, goal, now, rhythm)
        before = at
    return replace(memory, past=past, told=before)


def _with_outcome(
    past: LossHistory,
    forecast: IssuedForecast,
    since: float,
    goal: Goal,
    now: WholeCopy,
    rhythm: Rhythm,
) -> LossHistory:
    """Return the past with the outcome of a forecast, ``since`` days after the last."""
    parts = forecast.looks
    things = now.things if parts is None else min(now.things, parts)
    renewed = replace(now, things=max(things, 1.0), age=since)
    loss, expected = 1.0 - (forecast.found or 0.0), 1.0 - forecast.mean
    missed = _missed(rhythm, forecast.told or 0.0, since, loss, goal)
    return target_rule.after_check(past, renewed, loss, expected, goal, missed=missed)


def _missed(
    rhythm: Rhythm, end: float, days: float, found: float, goal: Goal
) -> float | None:
    """Return the share of days that missed the level, if the loss follows a rhythm.

    The mean loss if the goal is on the mean. None without a rhythm.
    """
    if rhythm.flat or not days > 0:
        return None
    loss = found * rhythm.passed(*np.array([end - days, end]))
    return float(np.mean(loss if goal.confidence is None else loss > goal.loss))


def step_of(decay: Decay, goal: Goal, least: float) -> float:
    """Return the days until the next round: soon enough to keep the level.

    Half of the time in which a fresh copy loses what is allowed, but no less than
    settings and politeness allow, and no more than ``AHEAD``.
    """
    least = min(least, AHEAD)
    moments = spread(least, 2.0 * AHEAD, 2 * POINTS)
    mean, low = decay.at(moments)
    kept = mean if goal.confidence is None else low
    lost = np.flatnonzero(1.0 - kept > goal.loss)
    holds = float(moments[max(lost[0] - 1, 0)]) if lost.size else np.inf
    return min(max(holds / 2.0, least), AHEAD)


def losses(
    decay: Decay, learned: LearnedRhythm, seen: Floats, when: tuple[float, float]
) -> tuple[float, float, float]:
    """Return the age, the loss at the next round, and that of a copy made now.

    ``when`` is now, and the days until the next round. Days are effective days: for a
    nightly job no time passes until its hour.
    """
    rhythm, (now, step) = learned.rhythm, when
    moments = np.array([now, now + step])
    starts = np.minimum(seen, now)
    age, then = rhythm.between(starts[:, None], moments).T
    later = 1.0 - float(np.mean(decay.at(then)[0]))
    fresh = 1.0 - float(decay.at(rhythm.between(moments[:1], moments[1:]))[0][0])
    return float(np.median(age)), later, fresh


def records_per_change(learned: LearnedRhythm) -> float:
    """Return how many records change together; 1 without a rhythm."""
    return 1.0 if learned.rhythm.flat else learned.size
