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
        store, copy = MemoryStore(), _Copy(self)
        store.add(self.recording.items())
        run = store.begin((NAME,), self.begin, lease=np.inf)
        everything = np.arange(len(self.recording))
        store.append(run, self.recording.looks(everything, self.begin))
        source = RecordedSource(self.recording)
        loop = Loop(source, store, strategy.belief(), strategy.policy)
        for now, requests in self._moments():
            copy.pass_time(now)
            if watch is not None:
                watch(loop.view(run, now, now), copy.freshness_at(now))
            turn = await loop.turn(
                run,
                Allowance(requests),
                rng,
                clock=partial(float, now),
                told=copy.refresh,
            )
            copy.count(turn)
        copy.pass_time(self.end)
        return copy.score()

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


class _Copy:
    """Our copy as it truly is: when each part of it went, or will go, out of date."""

    def __init__(self, replay: Replay) -> None:
        self._replay, self._now = replay, replay.begin
        every = np.arange(len(replay.recording))
        self._until = replay.recording.next_change(every, replay.begin)
        total = float(replay.recording.weight.sum())
        self._share = replay.recording.weight / (total if total > 0 else 1.0)
        days = max(int(np.ceil(replay.end - replay.begin)), 1)
        self._daily = np.zeros(days)
        self._fresh = self._age = self._scored = 0.0
        self._looked = np.zeros(len(every), dtype=np.bool_)
        self._looks = self._changed = self._requests = 0

    def freshness_at(self, now: float) -> float:
        """Return the weighted share of copies that are current."""
        return float(self._share @ (self._until > now))

    def pass_time(self, until: float) -> None:
        """Let time go by with nothing asked; add up what the copy was worth."""
        a, b, since = self._now, until, self._now - self._replay.begin
        fresh = float(self._share @ np.clip(self._until - a, 0.0, b - a))
        self._daily[min(int(since + 1e-9), self._daily.size - 1)] += fresh
        if self._scoring:
            late_a = np.maximum(a - self._until, 0.0)
            late_b = np.maximum(b - self._until, 0.0)
            self._age += float(self._share @ (late_b**2 - late_a**2)) / 2.0
            self._fresh += fresh
            self._scored += b - a
        self._now = until

    @property
    def _scoring(self) -> bool:
        """Whether the warm-up is over."""
        return self._now >= self._replay.begin + self._replay.warm - 1e-9

    def refresh(self, looks: Looks) -> None:
        """Make the copies of the items looked at current."""
        row = self._replay.recording.row
        rows = np.array([row[key] for key in looks.keys], dtype=np.intp)
        self._until[rows] = self._replay.recording.next_change(rows, self._now)
        if self._scoring:
            self._looked[rows] = True

    def count(self, turn: Turn) -> None:
        """Add what a turn of the loop did."""
        self._requests += turn.requests
        if self._scoring:
            self._looks += turn.looks
            self._changed += turn.changed

    def score(self) -> Score:
        """Return how it went."""
        scored = max(self._scored, 1e-12)
        return Score(
            freshness=self._fresh / scored,
            age=self._age / scored,
            change_ratio=change_ratio(self._changed, self._looks),
            starved=float(np.mean(~self._looked)) if self._looked.size else 0.0,
            requests=self._requests,
            daily=self._daily,
        )
