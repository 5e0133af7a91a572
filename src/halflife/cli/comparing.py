"""Policies side by side on one recording."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from halflife.metrics.intervals import mean_interval
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
    """Return one row for each budget and policy, with the hindsight bound beside it."""
    rows = []
    for share in trial.shares:
        replay = trial.replay(recorded, share)
        bound = replay.hindsight()
        for name, strategy in rivals.items():
            score = _score(replay, strategy, trial.seeds)
            rows.append({"policy": name, "budget": share, **score, "bound": bound})
            advance(1, name)
    return rows


def _score(replay: Replay, strategy: Strategy, seeds: int) -> dict[str, object]:
    """Return the means of a policy's scores over all seeds."""
    scores = [replay.score(strategy, seed) for seed in range(seeds)]
    fresh = mean_interval(np.array([s.freshness for s in scores]))
    return {
        "freshness": fresh._asdict(),
        "age": float(np.mean([s.age for s in scores])),
        "change_ratio": float(np.mean([s.change_ratio for s in scores])),
        "starved": float(np.mean([s.starved for s in scores])),
        "requests": round(np.mean([s.requests for s in scores])),
    }
