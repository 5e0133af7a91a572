"""Policies side by side on one recording."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from halflife.metrics.intervals import series_interval
from halflife.policies import Strategy
from halflife.replay import Replay
from halflife.sources.histories import Recorded


@dataclass(frozen=True, slots=True)
class Trial:
    """How policies are compared.

    Attributes:
        shares: Budgets to try, in looks a day as a share of the items.
        seeds: Repetitions; they differ only for policies that leave things to chance.
        ticks: Syncs a day.
        warm: Share of the time, at the beginning, that is not scored.

    """

    shares: Sequence[float]
    seeds: int = 1
    ticks: int = 4
    warm: float = 0.25

    def replay(self, recorded: Recorded, share: float) -> Replay:
        """Return the replay of a recording under one of the budgets."""
        return Replay(
            recorded.recording,
            share * len(recorded.recording),
            recorded.begin,
            recorded.end,
            ticks=self.ticks,
            warm=self.warm * (recorded.end - recorded.begin),
        )


def compare(
    recorded: Recorded,
    rivals: Mapping[str, Strategy],
    trial: Trial,
    advance: Callable[[int, str], None],
) -> list[dict[str, object]]:
    """Return one row for each budget and policy, with the bounds beside it."""
    rows = []
    for share in trial.shares:
        replay = trial.replay(recorded, share)
        bounds = {"blind": replay.blind(), "hindsight": replay.hindsight()}
        for name, strategy in rivals.items():
            score = _score(replay, strategy, trial.seeds)
            rows.append({"policy": name, "budget": share, **score, **bounds})
            advance(1, name)
    return rows


def _score(replay: Replay, strategy: Strategy, seeds: int) -> dict[str, object]:
    """Return the means of a policy's scores over all seeds.

    The interval of freshness is that over time: one recording is one draw, and
    seeds change little.
    """
    scores = [replay.score(strategy, seed) for seed in range(seeds)]
    daily = np.mean([s.daily for s in scores], axis=0)[int(np.ceil(replay.warm)) :]
    mean = float(np.mean([s.freshness for s in scores]))
    spread = series_interval(daily if daily.size else np.array([mean]))
    off = mean - spread.mean
    return {
        "freshness": {"mean": mean, "low": spread.low + off, "high": spread.high + off},
        "age": float(np.mean([s.age for s in scores])),
        "change_ratio": float(np.mean([s.change_ratio for s in scores])),
        "starved": float(np.mean([s.starved for s in scores])),
        "requests": round(np.mean([s.requests for s in scores])),
    }
