"""Score strategies on recorded histories."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from halflife.allocation import blind_bound, hindsight_bound_on_trace
from halflife.arrays import Floats, Ints
from halflife.loop import Allowance, Loop, Turn
from halflife.metrics.copies import change_ratio
from halflife.observation import Looks
from halflife.policies import Strategy
from halflife.sources.recorded import NAME, RecordedSource, Recording
from halflife.stores.memory import MemoryStore
from halflife.truth import TrueCopy
from halflife.view import View


@dataclass(frozen=True, slots=True)
class Score:
    """How a strategy did over a replay, after the warm-up.

    Attributes:
        freshness: Weighted share of copies that are current, averaged over time.
        age: Weighted mean time that copies have been out of date, in days.
        change_ratio: Share of looks that found a change.
        starved: Share of items never looked at after the warm-up.
        requests: Requests spent in all, warm-up included.
        daily: Freshness of each whole day, warm-up included.

    """

    freshness: float
    age: float
    change_ratio: float
    starved: float
    requests: int
    daily: Floats


@dataclass(frozen=True, slots=True)
class Replay:
    """A recording, and the rules under which strategies are compared on it.

    Everything is looked at once at ``begin``, free of charge, as after a first
    crawl. Then requests come in evenly, ``budget`` a day, and are spent at
    ``ticks`` evenly spaced moments a day; what a tick leaves over is lost.

    Attributes:
        recording: What really happened.
        budget: Requests a day.
        begin: When the replay begins, in days.
        end: When it ends.
        ticks: Moments a day at which the loop is turned.
        warm: Days at the beginning that are not scored.

    """

    recording: Recording
    budget: float
    begin: float
    end: float
    ticks: int = 4
    warm: float = 0.0

    def score(
        self,
        strategy: Strategy,
        seed: int = 0,
        watch: Callable[[View, float], None] | None = None,
    ) -> Score:
        """Run the strategy over the recording, exactly as it would have run live.

        ``watch`` is shown what was believed at each tick, before anything is
        asked, and how fresh the copy truly was.
        """
        return asyncio.run(self._score(strategy, np.random.default_rng(seed), watch))

    async def _score(
        self,
        strategy: Strategy,
        rng: np.random.Generator,
        watch: Callable[[View, float], None] | None,
    ) -> Score:
        store, copy, done = MemoryStore(), self._copy(), Turn()
        store.add(self.recording.items())
        run = store.begin((NAME,), self.begin, lease=np.inf)
        everything = np.arange(len(self.recording))
        store.append(run, self.recording.looks(everything, self.begin))
        source = RecordedSource(self.recording)
        loop = Loop(source, store, strategy.belief(), strategy.policy)
        for now, requests in self._moments():
            copy.pass_time(now)
            if watch is not None:
                watch(loop.view(run, now, now), copy.freshness)
            turn = await loop.turn(
                run,
                Allowance(requests),
                rng,
                clock=partial(float, now),
                told=lambda looks: copy.refresh(self._rows(looks)),
            )
            done.requests += turn.requests
            if copy.scoring:
                done.looks += turn.looks
                done.changed += turn.changed
        copy.pass_time(self.end)
        return _score(copy, done)

    def _copy(self) -> TrueCopy:
        copy = TrueCopy(self.recording, self.begin, self.end)
        copy.score_from(self.begin + self.warm)
        return copy

    def _rows(self, looks: Looks) -> Ints:
        row = self.recording.row
        return np.array([row[key] for key in looks.keys], dtype=np.intp)

    def _moments(self) -> Iterator[tuple[float, int]]:
        """Yield each tick and the requests that have come in by then."""
        ticks = np.arange(1, round((self.end - self.begin) * self.ticks))
        granted = np.floor(ticks * (self.budget / self.ticks) + 1e-9).astype(np.intp)
        moments = self.begin + ticks / self.ticks
        yield from zip(
            moments.tolist(), np.diff(granted, prepend=0).tolist(), strict=True
        )

    def hindsight(self) -> float:
        """Return bound B2: the freshness nobody can exceed, knowing the future."""
        return hindsight_bound_on_trace(
            *self._trace(),
            self.end - self.begin,
            self.budget * (self.end - self.begin),
            weight=self.recording.weight,
        )

    def blind(self) -> float:
        """Return bound B0: the best without hints, if changes came at even odds.

        Each item's rate is taken from the recording itself, which no policy can
        know. Where changes come in bursts a policy may do better than this.
        """
        start, _ = self._trace()
        rate = np.diff(start) / (self.end - self.begin)
        return blind_bound(rate, self.budget, weight=self.recording.weight)

    def _trace(self) -> tuple[Ints, Floats]:
        start, at = self.recording.moments
        item = np.repeat(np.arange(len(self.recording)), np.diff(start))
        inside = (at > self.begin) & (at < self.end)
        counts = np.bincount(item[inside], minlength=len(self.recording))
        return np.concatenate([[0], np.cumsum(counts)]), at[inside] - self.begin


def _score(copy: TrueCopy, done: Turn) -> Score:
    return Score(
        freshness=copy.mean_freshness,
        age=copy.mean_age,
        change_ratio=change_ratio(done.changed, done.looks),
        starved=float(np.mean(~copy.looked)) if copy.looked.size else 0.0,
        requests=done.requests,
        daily=copy.daily,
    )
