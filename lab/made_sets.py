"""How often bounds of set sources hold on made-up sources, short and changing ones.

``python -m lab.made_sets`` makes sources whose objects go at a known pace each day,
makes the forecasts again that could have been made, and prints JSON: for each kind, way
of making bounds and confidence the share of outcomes within the bounds, their width and
their interval score, means over sources, measures and horizons.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.lifetimes import Collection, Lives
from halflife.models.calibration import interval_score
from halflife.models.census import METRICS
from halflife.models.conformal import inside
from halflife.models.setquality import quality_band
from halflife.replay.backtest import past_horizons
from lab.forecast_halves import MIXED

AHEAD = (1.0, 7.0, 14.0, 30.0)
CONFIDENCES = (0.95, 0.9, 0.8)
SEED = 1000  # of the first source of each kind


@dataclass(frozen=True)
class MadeKind:
    """A kind of made-up sources.

    Attributes:
        pace: Returns the rate at which objects go on each day.
        days: Days of history.
        held: Objects at first.
        come: New objects a day, on average.

    """

    pace: Callable[[np.random.Generator, int], Floats]
    days: int
    held: int = 500
    come: float = 15.0

    def source(self, seed: int) -> Collection:
        """Return one source, read once a day."""
        rng = np.random.default_rng(seed)
        pace = self.pace(rng, self.days)
        come = rng.uniform(0.0, self.days, rng.poisson(self.come * self.days))
        born = np.concatenate([np.zeros(self.held), come])
        used = np.concatenate([[0.0], np.cumsum(pace)])
        day = np.arange(self.days + 1.0)
        due = np.interp(born, day, used) + rng.exponential(1.0, born.size)
        died = np.where(due >= used[-1], np.inf, np.interp(due, used, day))
        return observed(day, born, died)


def observed(looks: Floats, born: Floats, died: Floats) -> Collection:
    """Return what such looks show of objects there from birth to death.

    >>> one = observed(np.arange(4.0), np.array([0.5, 1.2]), np.array([2.5, 1.8]))
    >>> one.lives.first_seen, one.lives.last_seen, one.lives.gone_by
    (array([1.]), array([2.]), array([3.]))
    """
    start = np.searchsorted(looks, born, side="left")
    stop = np.searchsorted(looks, died, side="left") - 1
    seen = np.flatnonzero(stop >= start)
    start, stop = start[seen], stop[seen]
    lives = Lives(
        keys=tuple(map(str, seen.tolist())),
        absent_before=np.where(start > 0, looks[np.maximum(start - 1, 0)], -np.inf),
        first_seen=looks[start],
        last_seen=looks[stop],
        gone_by=np.append(looks, np.inf)[stop + 1],
        attributes={},
    )
    none = np.zeros(0)
    return Collection("made", looks, lives, none.astype(np.intp), none)


def _steady(_: np.random.Generator, days: int) -> Floats:
    return np.full(days, 0.03)


def _uneven(rng: np.random.Generator, days: int) -> Floats:
    return 0.02 * rng.gamma(0.5, 2.0, days)


def _weekly(_: np.random.Generator, days: int) -> Floats:
    return np.where(np.arange(days) % 7 < 5, 0.04, 0.002)


def _drifting(rng: np.random.Generator, days: int) -> Floats:
    log, noise = np.zeros(days), rng.normal(0.0, 0.2, days)
    for day in range(1, days):
        log[day] = 0.98 * log[day - 1] + noise[day]
    return 0.02 * np.exp(log)


def _changing(rng: np.random.Generator, days: int) -> Floats:
    lengths = rng.uniform(25.0, 60.0, days).astype(np.intp)
    busy = np.repeat((np.arange(days) + rng.integers(2)) % 2, lengths)[:days]
    return np.where(busy, 0.05, 0.002)


KINDS = {
    "steady": MadeKind(_steady, 200),
    "steady, two months": MadeKind(_steady, 60),
    "uneven days, two months": MadeKind(_uneven, 60, come=10.0),
    "weekly": MadeKind(_weekly, 250, 800, 20.0),
    "drifting pace": MadeKind(_drifting, 250, 800, 16.0),
    "calm and busy months": MadeKind(_changing, 250, 1500, 30.0),
}


def scores(collection: Collection) -> Iterator[tuple[str, float, Floats]]:
    """Yield coverage, width and score by way of making bounds and confidence."""
    for days, horizon, at in past_horizons(collection, AHEAD):
        if days > float(np.ptp(collection.looks)) / 3.0:
            continue
        for m in range(len(METRICS)):
            ready, truth = horizon.ready[m], horizon.outcome.quality[m][at]
            guess, size = ready.scored.guess[at], ready.scored.size[at]
            for name, made in MIXED.items():
                one = made(ready)
                for confidence in CONFIDENCES:
                    band = quality_band(one.bounds(at, guess, confidence), size)
                    ends = band.low, band.high, truth
                    score = interval_score(*ends, confidence=confidence)
                    parts = inside(*ends), band.high - band.low, score
                    yield name, confidence, np.array([x.mean() for x in parts])


def study(sources: int) -> list[dict[str, Any]]:
    """Return the means over so many sources of each kind."""
    rows = []
    for kind, made in KINDS.items():
        found: dict[tuple[str, float], list[Floats]] = {}
        for seed in range(SEED, SEED + sources):
            for name, confidence, one in scores(made.source(seed)):
                found.setdefault((name, confidence), []).append(one)
        for (name, confidence), some in found.items():
            means = np.mean(some, axis=0).tolist()
            row = dict(zip(("coverage", "width", "winkler"), means, strict=True))
            rows.append({"kind": kind, "variant": name, "meant": confidence, **row})
    return rows


def main(arguments: list[str] | None = None) -> None:
    """Print the study as JSON."""
    parser = argparse.ArgumentParser(prog="python -m lab.made_sets")
    parser.add_argument("--sources", type=int, default=10, help="of each kind")
    rows = study(parser.parse_args(arguments).sources)
    sys.stdout.write(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
