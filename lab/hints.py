"""What hints of change are worth: in theory, on made-up pages and on real sites.

``python -m lab.hints [FOLDER]`` prints the bound for each recall and
precision of hints, the freshness reached on made-up pages, and, given a folder with
the histories of sites (``pages.parquet``, ``changes.parquet``), the freshness on
these when the true moments of change are told for a share of the pages.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from halflife.allocation import blind_bound, signal_bound
from halflife.belief.hints import HintedBelief
from halflife.belief.plain import KnownRates
from halflife.belief.poisson import PoissonBelief
from halflife.bench.population import poisson_recording, rates_and_weights
from halflife.core.arrays import Ints
from halflife.metrics.intervals import (
    Ratio,
    cluster_interval,
    draws,
    mean_interval,
)
from halflife.models.signals import MOST_WORTH
from halflife.policies import Strategy
from halflife.policies.index import freshness
from halflife.policies.ncis import HintedIndex, greedy_ncis, index_hinted, ncis
from halflife.recordings.histories import load
from halflife.recordings.pages import Recording
from halflife.replay.pages import Replay, StrategyScore
from lab.hinted_bound import hinted_bound
from lab.revealed_hints import reveal

RECALLS = (0.3, 0.6, 0.9)
PRECISIONS = (1.0, 0.8, 0.5, 0.2)
MADE_UP = ((0.3, 1.0), (0.6, 0.5), (0.9, 0.8), (0.6, 0.2), (0.02, 0.02))
REAL = (
    (0.1, 0.9, 0.8),
    (0.5, 0.9, 0.8),
    (1.0, 0.9, 1.0),
    (1.0, 0.9, 0.2),
    (1.0, 0.6, 0.8),
    (1.0, 0.6, 0.2),
    (1.0, 0.3, 0.5),
)  # share of pages told of, recall, precision
EVERY = 24  # of the real pages one in so many is replayed
BUDGET = 0.01  # requests a day for each page


def bounds(items: int = 1500, share: float = 0.2, seed: int = 0) -> dict[str, Any]:
    """Return the most freshness that hints allow, by recall and precision."""
    rate, weight = rates_and_weights(items, seed)
    budget = share * items
    return {
        "items": items,
        "budget": share,
        "blind": blind_bound(rate, budget, weight=weight),
        "perfect": signal_bound(rate, budget, weight=weight),
        "rows": [
            {
                "recall": recall,
                "bounds": {
                    str(p): hinted_bound(rate, budget, recall, p, weight=weight)
                    for p in PRECISIONS
                },
            }
            for recall in RECALLS
        ],
    }


def worth(precision: float) -> float:
    """Return what a hint of this precision is worth, at most what can be learned."""
    return min(-float(np.log(max(1.0 - precision, 1e-12))), MOST_WORTH)


def made_up(items: int = 300, seeds: int = 3, days: float = 75.0) -> list[Any]:
    """Return freshness on Poisson pages, rates and trust learned from nothing."""
    rows = []
    for recall, precision in MADE_UP:
        found: dict[str, list[float]] = {}
        limits = []
        for seed in range(seeds):
            rate, weight = rates_and_weights(items, seed)
            plain = poisson_recording(rate, weight, days, seed + 1000)
            rng = np.random.default_rng(seed)
            recording = reveal(plain, 1.0, recall, precision, rng)
            replay = Replay(recording, 0.2 * items, 0.0, days, warm=30.0)
            known = partial(KnownRates, (1.0 - recall) * rate)
            for name, strategy in _rivals(known, precision).items():
                reached = replay.score(strategy, seed).freshness
                found.setdefault(name, []).append(reached)
            limits.append(
                hinted_bound(rate, 0.2 * items, recall, precision, weight=weight)
            )
        rows.append(_told(recall, precision, found, limits))
    return rows


def _rivals(known: Callable[[], KnownRates], precision: float) -> dict[str, Strategy]:
    k = worth(precision)
    return {
        "index": freshness,
        "index-hinted": index_hinted,
        "ncis": ncis,
        "index-hinted, trust given": _given(k),
        "ncis, all given": Strategy(
            greedy_ncis, lambda: HintedBelief(known(), worth=k, plug_in=True)
        ),
    }


def _given(k: float) -> Strategy:
    return Strategy(HintedIndex(), lambda: HintedBelief(PoissonBelief(), worth=k))


def _told(
    recall: float, precision: float, found: dict[str, list[float]], limits: list[float]
) -> dict[str, Any]:
    plain = np.array(found["index"])
    row: dict[str, Any] = {"recall": recall, "precision": precision}
    row["bound"] = float(np.mean(limits))
    for name, values in found.items():
        gain = mean_interval(np.array(values) - plain)
        row[name] = {"freshness": float(np.mean(values)), "gain": gain._asdict()}
    return row


def thinned(recording: Recording, every: int) -> Recording:
    """Return one page in so many, evenly over the sites."""
    rows = np.arange(0, len(recording), every)
    item = np.repeat(np.arange(len(recording)), np.diff(recording.start))
    kept = np.isin(item, rows)
    start = np.zeros(rows.size + 1, dtype=np.intp)
    np.cumsum(np.diff(recording.start)[rows], out=start[1:])
    return replace(
        recording,
        keys=_some(recording.keys, rows),
        start=start,
        at=recording.at[kept],
        weight=recording.weight[rows],
        born=recording.born[rows],
        died=recording.died[rows],
        group=_some(recording.group, rows),
    )


def _some(names: tuple[str, ...], rows: Ints) -> tuple[str, ...]:
    return tuple(names[i] for i in rows.tolist())


def on_sites(folder: Path, every: int = EVERY) -> dict[str, Any]:
    """Return the gain by hints on real sites, paired, over sites resampled."""
    recorded = load(folder)
    plain = thinned(recorded.recording, every)
    budget = BUDGET * len(plain)
    base = Replay(plain, budget, recorded.begin, recorded.end, ticks=1, warm=60.0)
    before = base.score(freshness)
    rows = []
    for share, recall, precision in REAL:
        rng = np.random.default_rng(int(1000 * share + 100 * recall + 10 * precision))
        told = replace(base, recording=reveal(plain, share, recall, precision, rng))
        row: dict[str, Any] = {"share": share, "recall": recall, "precision": precision}
        rivals = {
            "index-hinted": index_hinted,
            "ncis": ncis,
            "trust given": _given(worth(precision)),
        }
        for name, strategy in rivals.items():
            row[name] = _gain(told.score(strategy), before)
        rows.append(row)
    return {
        "pages": len(plain),
        "budget": BUDGET,
        "without": before.freshness,
        "rows": rows,
    }


def _gain(score: StrategyScore, before: StrategyScore) -> dict[str, Any]:
    """Return freshness, and the gain with its interval over sites."""
    counts = draws(len(score.sums.names), np.random.default_rng(0))
    gain = cluster_interval(counts, _fresh(score), _fresh(before))
    return {"freshness": score.freshness, "gain": gain._asdict()}


def _fresh(score: StrategyScore) -> Ratio:
    return Ratio(score.sums.fresh, score.sums.weight)


if __name__ == "__main__":
    told: dict[str, Any] = {"bounds": bounds(), "made_up": made_up()}
    if len(sys.argv) > 1:
        told["sites"] = on_sites(Path(sys.argv[1]))
    sys.stdout.write(json.dumps(told, indent=1))
