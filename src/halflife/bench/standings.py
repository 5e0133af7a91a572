"""The table of a league: means, intervals, differences, and closeness to the bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

from halflife.core.arrays import Floats
from halflife.metrics.bounds import (
    closeness,
    headroom,
    requests_for,
    staleness_cut,
)
from halflife.metrics.intervals import (
    Interval,
    Ratio,
    cluster_interval,
    draws,
    mean_interval,
    series_interval,
)
from halflife.metrics.sums import GroupSums, average_runs
from halflife.replay.pages import StrategyScore

Row: TypeAlias = dict[str, Any]
Figure: TypeAlias = dict[str, float]

CHAMPION, UNIFORM = "champion", "uniform"
RIVALS = (UNIFORM, "nutch-adaptive", CHAMPION)  # compared with every policy
FEWEST_GROUPS = 5  # fewer groups give no interval
_SEED = 20030  # every row uses the same draws, so that rows can be compared


@dataclass(frozen=True, slots=True)
class Bounds:
    """Upper bounds of freshness at one budget.

    Attributes:
        blind: Without announcements, if changes came at random (B0).
        told: If every change were announced (B1).
        hindsight: With knowledge of the future; no policy exceeds it (B2).

    """

    blind: float
    told: float
    hindsight: float


def rows(
    scores: Mapping[tuple[str, float], Sequence[StrategyScore]],
    bounds: Mapping[float, Bounds],
) -> list[Row]:
    """Return one row for each policy and budget."""
    sums = {job: average_runs([s.sums for s in runs]) for job, runs in scores.items()}
    groups = max((len(s.names) for s in sums.values()), default=1)
    counts = draws(groups, np.random.default_rng(_SEED))
    rows = []
    for (name, share), runs in scores.items():
        mine, bound = sums[name, share], bounds[share]
        row: Row = {"policy": name, "budget": share, "runs": len(runs)}
        row |= _figures(runs, mine, counts) | _spent(runs) | asdict(bound)
        rivals = {r: sums[r, share] for r in RIVALS if (r, share) in sums}
        rows.append(row | _standing(mine, rivals, bound, counts))
    _add_savings(rows)
    return rows


def _figures(runs: Sequence[StrategyScore], mine: GroupSums, counts: Floats) -> Row:
    """Return the measures with their intervals: over groups, if there are enough."""
    if len(mine.names) >= FEWEST_GROUPS:
        pairs = {
            "freshness": Ratio(mine.fresh, mine.weight),
            "age": Ratio(mine.age, mine.weight),
            "harmonic": Ratio(mine.harmonic, mine.weight),
            "change_ratio": Ratio(mine.changed, mine.looks),
        }
        return {n: _figure(cluster_interval(counts, p)) for n, p in pairs.items()}
    names = ("age", "harmonic", "change_ratio")
    seeds = {n: mean_interval(np.array([getattr(s, n) for s in runs])) for n in names}
    return {
        "freshness": _figure(_over_time(runs)),
        **{name: _figure(interval) for name, interval in seeds.items()},
    }


def _over_time(runs: Sequence[StrategyScore]) -> Interval:
    """Return mean freshness with the interval of its daily series."""
    mean = float(np.mean([s.freshness for s in runs]))
    daily = np.mean([s.daily[s.warm_days :] for s in runs], axis=0)
    spread = series_interval(daily if daily.size else np.array([mean]))
    off = mean - spread.mean
    return Interval(mean, spread.low + off, spread.high + off)


def _spent(runs: Sequence[StrategyScore]) -> Row:
    return {
        "cycle_ratio": float(np.mean([s.cycle_ratio for s in runs])),
        "starved": float(np.mean([s.starved for s in runs])),
        "requests": round(float(np.mean([s.requests for s in runs]))),
        "peak": max(s.peak for s in runs),
        "over": max(s.over for s in runs),
    }


def _standing(
    mine: GroupSums, rivals: Mapping[str, GroupSums], bound: Bounds, counts: Floats
) -> Row:
    """Return a policy's differences to its rivals and to the bounds."""
    fresh, limits = mine.freshness, asdict(bound)
    row: Row = {"closeness": {n: closeness(fresh, b) for n, b in limits.items()}}
    if UNIFORM in rivals:
        even = rivals[UNIFORM].freshness
        row["headroom"] = {n: headroom(fresh, even, b) for n, b in limits.items()}
    ours = Ratio(mine.fresh, mine.weight)
    row["gain"] = {
        name: _figure(cluster_interval(counts, ours, Ratio(rival.fresh, rival.weight)))
        for name, rival in rivals.items()
    }
    row["staleness_cut"] = {
        name: staleness_cut(fresh, rival.freshness) for name, rival in rivals.items()
    }
    return row


def _add_savings(rows: Sequence[Row]) -> None:
    """Add the share of a rival's requests that would have reached its freshness."""
    names = dict.fromkeys(row["policy"] for row in rows)
    curves = {name: _curve(rows, name) for name in names}
    for row in rows:
        row["requests_share"] = {}
        for rival in row["gain"]:
            levels = dict(zip(*(c.tolist() for c in curves[rival]), strict=True))
            level = levels[row["budget"]]
            needed, known = requests_for(level, *curves[row["policy"]])
            share = needed / row["budget"] if known else None
            row["requests_share"][rival] = share


def _curve(rows: Sequence[Row], name: str) -> tuple[Floats, Floats]:
    mine = [r for r in rows if r["policy"] == name]
    shares = np.array([r["budget"] for r in mine])
    return shares, np.array([r["freshness"]["mean"] for r in mine])


def _figure(interval: Interval) -> Figure:
    return {"mean": interval.mean, "low": interval.low, "high": interval.high}
