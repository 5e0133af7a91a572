"""Scores of strategies on recorded histories."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from halflife.allocation import blind_bound, signal_bound
from halflife.belief import LengthAware
from halflife.core import notebook
from halflife.core.arrays import Floats, Ints
from halflife.core.observation import Observations
from halflife.core.view import View
from halflife.core.wording import number
from halflife.engine.loop import Allowance, Loop, LoopTurn
from halflife.metrics.bounds import Trace, best_in_hindsight
from halflife.metrics.copies import change_ratio
from halflife.metrics.sums import GroupSums
from halflife.policies import Strategy
from halflife.recordings.pages import NAME, RecordedPageSource, Recording
from halflife.replay.scorer import TrueCopy
from halflife.stores.memory import MemoryStore


@dataclass(frozen=True, slots=True)
class StrategyScore:
    """The score of a strategy in a replay, after the warm-up.

    Attributes:
        freshness: Weighted share of copies that are current, averaged over time.
        age: Weighted mean time that copies have been out of date, in days.
        harmonic: Weighted mean harmonic number of the changes missed.
        change_ratio: Share of fetches that found a change.
        cycle_ratio: The same for each tick, averaged over ticks with fetches.
        starved: Share of items never fetched after the warm-up.
        requests: Requests spent in all, warm-up included.
        peak: The most requests at one tick, warm-up included.
        over: The most requests by which a tick exceeded its grant.
        daily: Freshness of each day, warm-up included.
        warm_days: How many of these days are not scored.
        sums: The sums that the scores are made of, group by group.
        chance: Whether the strategy drew random numbers; if not, all seeds score alike.

    """

    freshness: float
    age: float
    harmonic: float
    change_ratio: float
    cycle_ratio: float
    starved: float
    requests: int
    peak: int
    over: int
    daily: Floats
    warm_days: int
    sums: GroupSums
    chance: bool

    def plot(self) -> str:
        """Return the freshness of each day as a stand-alone SVG."""
        days = self.daily.size
        warm = f"; {self.warm_days} days of warming up" if self.warm_days else ""
        title = f"freshness of each day{warm}"
        ends = ("day 1", f"day {days}")
        return notebook.line(title, np.arange(float(days)), self.daily, ends)

    def _repr_html_(self) -> str:
        """Return HTML for a notebook: freshness day by day, and the scores."""
        rows = [
            ("freshness", f"{self.freshness:.3f}"),
            ("age, in days", f"{number(self.age, 3)}"),
            ("fetches that found a change", f"{self.change_ratio:.3f}"),
            ("items never fetched", f"{self.starved:.3f}"),
            ("requests", self.requests),
        ]
        return self.plot() + notebook.table(["score", "value"], rows)


@dataclass(frozen=True, slots=True)
class Replay:
    """A recording, and the rules under which strategies are compared on it.

    Everything is fetched once at ``begin``, free of charge, as by a first crawl.
    Then requests are granted evenly, ``budget`` a day, and are spent at ``ticks``
    evenly spaced moments a day; what a tick does not use is lost. Hints cost nothing:
    those since the last tick are known at the next.

    Attributes:
        recording: The true history.
        budget: Requests a day.
        begin: When the replay begins, in days.
        end: When it ends.
        ticks: Moments a day at which the loop takes a turn.
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
    ) -> StrategyScore:
        """Run the strategy over the recording, exactly as it would have run live.

        ``watch`` gets the belief at each tick, before any request, and the true
        freshness of the copy.
        """
        rng = np.random.default_rng(seed)
        untouched = _state(rng)
        copy, spent = asyncio.run(self._run(strategy, rng, watch))
        chance = _state(rng) != untouched
        return _score(copy, spent, int(np.ceil(self.warm)), chance=chance)

    async def _run(
        self,
        strategy: Strategy,
        rng: np.random.Generator,
        watch: Callable[[View, float], None] | None,
    ) -> tuple[TrueCopy, "_Spent"]:
        store, copy, spent = MemoryStore(), self._copy(), _Spent()
        store.add(self.recording.items())
        run = store.begin((NAME,), self.begin, lease=np.inf)
        everything = np.arange(len(self.recording))
        store.append(run, self.recording.observe(everything, self.begin))
        source = RecordedPageSource(self.recording)
        belief = strategy.belief()
        if isinstance(belief, LengthAware):
            belief.measure(self.recording.lengths())
        loop = Loop(source, store, belief, strategy.policy)
        before = self.begin
        for now, requests in self._moments():
            copy.pass_time(now)
            store.append(run, self.recording.hints(before, now))
            before = now
            if watch is not None:
                watch(loop.view(run, now, now), copy.freshness)
            turn = await loop.turn(
                run,
                Allowance(requests),
                rng,
                clock=partial(float, now),
                on_batch=lambda observations: copy.refresh(self._rows(observations)),
            )
            spent.count(turn, requests, scored=copy.scoring)
        copy.pass_time(self.end)
        return copy, spent

    def _copy(self) -> TrueCopy:
        copy = TrueCopy(self.recording, self.begin, self.end)
        copy.score_from(self.begin + self.warm)
        return copy

    def _rows(self, observations: Observations) -> Ints:
        row = self.recording.row.__getitem__
        return np.fromiter(map(row, observations.keys), np.intp, len(observations))

    def _moments(self) -> Iterator[tuple[float, int]]:
        """Yield each tick and the requests granted since the one before."""
        ticks = np.arange(1, round((self.end - self.begin) * self.ticks))
        granted = np.floor(ticks * (self.budget / self.ticks) + 1e-9).astype(np.intp)
        moments = self.begin + ticks / self.ticks
        yield from zip(
            moments.tolist(), np.diff(granted, prepend=0).tolist(), strict=True
        )

    def hindsight(self) -> float:
        """Return bound B2: the best freshness of all, with knowledge of the future."""
        moments = list(self._moments())
        trace = Trace(
            *self._trace(),
            self.recording.weight,
            np.array([at for at, _ in moments]) - self.begin,
            np.array([granted for _, granted in moments], dtype=np.intp),
        )
        return best_in_hindsight(trace, self.warm, self.end - self.begin)

    def blind(self) -> float:
        """Return bound B0: the best without hints, if changes came at constant rates.

        Each item's rate is taken from the scored part of the recording itself,
        which no policy can know. Where changes come in bursts a policy may do
        better than this.
        """
        return blind_bound(self.rates(), self.budget, weight=self.recording.weight)

    def announced(self) -> float:
        """Return bound B1: the best if every change were announced at once.

        A fractional knapsack with the same rates: fetching at once after a share of
        an item's changes keeps it current for that share of the time. A policy that
        guesses which changes are followed by quiet can do better than this.
        """
        return signal_bound(self.rates(), self.budget, weight=self.recording.weight)

    def rates(self) -> Floats:
        """Return how often each item changed in the scored time, per day."""
        item, at = self._trace()
        counts = np.bincount(item[at > self.warm], minlength=len(self.recording))
        rates: Floats = counts / (self.end - self.begin - self.warm)
        return rates

    def _trace(self) -> tuple[Ints, Floats]:
        start, at = self.recording.moments
        item = np.repeat(np.arange(len(self.recording)), np.diff(start))
        inside = (at > self.begin) & (at < self.end)
        return item[inside], at[inside] - self.begin


@dataclass(slots=True)
class _Spent:
    """Requests, tick by tick."""

    requests: int = 0
    peak: int = 0
    over: int = 0
    ratios: list[float] = field(default_factory=list)

    def count(self, turn: LoopTurn, granted: int, *, scored: bool) -> None:
        self.requests += turn.requests
        self.peak = max(self.peak, turn.requests)
        self.over = max(self.over, turn.requests - granted)
        if scored and turn.observations:
            self.ratios.append(change_ratio(turn.changed, turn.observations))


def _state(rng: np.random.Generator) -> tuple[object, object]:
    """Return the state that any draw, or a child that draws, would change."""
    source = rng.bit_generator
    return source.state, getattr(source.seed_seq, "n_children_spawned", 0)


def _score(
    copy: TrueCopy, spent: _Spent, warm_days: int, *, chance: bool
) -> StrategyScore:
    sums = copy.sums()
    return StrategyScore(
        freshness=sums.freshness,
        age=sums.mean_age,
        harmonic=sums.harmonic_delay,
        change_ratio=sums.change_ratio,
        cycle_ratio=float(np.mean(spent.ratios)) if spent.ratios else 0.0,
        starved=float(np.mean(~copy.fetched)) if copy.fetched.size else 0.0,
        requests=spent.requests,
        peak=spent.peak,
        over=spent.over,
        daily=copy.daily,
        warm_days=warm_days,
        sums=sums,
        chance=chance,
    )
