"""How far estimated change rates are off, by estimator and number of looks.

``python -m lab.estimators`` draws pages whose rates are known, looks at
them at even, random or very uneven moments, and prints the root mean square error of
ln(rate) of each estimator as JSON. Rates are kept within ``SLOWEST`` .. ``FASTEST``
on both sides, so that an item which never changes costs a finite error. With
``--table`` the same is printed for the docs.

``python -m lab.estimators FOLDER`` replays the recorded sites in a folder
under each strategy of ``halflife.policies.index_estimators`` instead, and under the
freshness index on the usual belief, and prints the freshness that each reached, with
pages in three orders.
"""

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.metrics.intervals import mean_interval
from halflife.models.rates import RateEstimator
from halflife.models.rates.counts import (
    Counted,
    bias_reduced,
    law_of_large_numbers,
    naive,
    smoothed,
)
from halflife.models.rates.drift import Forgetting
from halflife.models.rates.gamma import GammaPoisson
from halflife.models.rates.likelihood import MaximumLikelihood, Moment
from halflife.models.rates.pool import PooledRates
from halflife.models.rates.tree import Tree
from halflife.policies import Strategy, index_estimators
from halflife.policies.index import freshness
from halflife.recordings.histories import load
from halflife.recordings.pages import Recording
from halflife.replay.pages import Replay
from lab.rates.last_modified import LastModified
from lab.rates.restarts import Restarting
from lab.rates.stochastic import StochasticApproximation

SLOWEST, FASTEST = 1e-3, 20.0
HOSTS, ITEMS, SEEDS = 20, 400, 20
LOOKS = (5, 20, 100)
LAWS: Mapping[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "regular": lambda _, size: np.ones(size),
    "exponential": lambda rng, size: rng.exponential(1.0, size),
    "lognormal": lambda rng, size: np.exp(rng.normal(-0.5, 1.0, size)),
}
POPULATIONS = {  # median and sigma of the rates
    "lognormal": (0.1, 1.8),
    "bimodal": (0.1, 1.8),
    "fast": (3.0, 0.8),
}
ESTIMATORS: Mapping[str, Callable[[], RateEstimator]] = {
    "naive": partial(Counted, naive),
    "smoothed": partial(Counted, smoothed),
    "bias-reduced": partial(Counted, bias_reduced),
    "maximum likelihood": MaximumLikelihood,
    "pseudo-likelihood": partial(MaximumLikelihood, pretend=0.5),
    "moment": Moment,
    "large numbers": partial(Counted, law_of_large_numbers),
    "stochastic": StochasticApproximation,
    "stochastic, momentum": partial(StochasticApproximation, momentum=0.3),
    "last modified": LastModified,
    "gamma": GammaPoisson,
    "population": PooledRates,
    "pooled": PooledRates,
    "forgetting": Forgetting,
    "restarting": Restarting,
}


def population(kind: str, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Return rates and the host of each item; hosts make half the spread of ln(rate).

    In ``bimodal`` half of the items never change.
    """
    host = np.arange(ITEMS) % HOSTS
    median, sigma = POPULATIONS[kind]
    spread = sigma / np.sqrt(2.0)
    about = rng.normal(np.log(median), spread, HOSTS)[host]
    rate = np.exp(about + rng.normal(0.0, spread, ITEMS))
    if kind == "bimodal":
        rate[rng.permutation(ITEMS)[: ITEMS // 2]] = 0.0
    return rate, host


def looks(
    rate: Floats, length: Floats, rng: np.random.Generator
) -> tuple[Bools, Floats]:
    """Return which gaps see a change, and the days from the last change to the look."""
    with np.errstate(divide="ignore"):
        since = rng.exponential(1.0, length.shape) / rate[:, None]
    return since < length, since


def estimate(
    name: str, length: Floats, changed: Bools, since: Floats, host: Ints
) -> Floats:
    """Return the rates that an estimator learns, look after look."""
    model = ESTIMATORS[name]()
    items, n = length.shape
    model.grow(items)
    if isinstance(model, PooledRates) and name == "pooled":
        model.place(Tree(host, host, np.arange(HOSTS)))
    item = np.arange(items)
    for k in range(n):
        if isinstance(model, LastModified):
            model.add(item, length[:, k], changed[:, k], since=since[:, k])
        else:
            model.add(item, length[:, k], changed[:, k])
    return model.rate()


def error(rate: Floats, truth: Floats) -> float:
    """Return the root mean square error of ln(rate), both kept within limits."""
    off = np.log(np.clip(rate, SLOWEST, FASTEST) / np.clip(truth, SLOWEST, FASTEST))
    return float(np.sqrt(np.mean(off**2)))


def trial(kind: str, law: str, n: int, seed: int) -> dict[str, float]:
    """Return the error of every estimator on one drawn population."""
    rng = np.random.default_rng(seed)
    truth, host = population(kind, rng)
    length = LAWS[law](rng, (ITEMS, n))
    changed, since = looks(truth, length, rng)
    return {
        name: error(estimate(name, length, changed, since, host), truth)
        for name in ESTIMATORS
    }


def run(seeds: int = SEEDS) -> list[dict[str, Any]]:
    """Return the mean error and its 95 % interval over seeds, cell by cell."""
    rows = []
    for kind in POPULATIONS:
        for law in LAWS:
            for n in LOOKS:
                trials = [trial(kind, law, n, seed) for seed in range(seeds)]
                rows += [
                    {
                        "population": kind,
                        "law": law,
                        "looks": n,
                        "estimator": name,
                        "rmse": mean_interval(
                            np.array([t[name] for t in trials])
                        )._asdict(),
                    }
                    for name in ESTIMATORS
                ]
    return rows


def table(rows: list[dict[str, Any]], kind: str) -> str:
    """Return the errors of one population as a Markdown table."""
    cells = [(law, n) for law in LAWS for n in LOOKS]
    head = "| estimator | " + " | ".join(f"{law} {n}" for law, n in cells) + " |"
    lines = [head, "|---" * (len(cells) + 1) + "|"]
    for name in ESTIMATORS:
        told = [
            f"{r['rmse']['mean']:.2f} ±{r['rmse']['high'] - r['rmse']['mean']:.2f}"
            for r in rows
            if (r["population"], r["estimator"]) == (kind, name)
        ]
        lines.append(f"| {name} | " + " | ".join(told) + " |")
    return "\n".join(lines)


def shuffled(recording: Recording, rng: np.random.Generator) -> Recording:
    """Return the same items in another order, without their hints.

    Equal gains fall to the earlier row, so which pages are tried first depends on it.
    """
    order = rng.permutation(len(recording))
    count = np.diff(recording.start)[order]
    start = np.concatenate([[0], np.cumsum(count)])
    moved = np.repeat(recording.start[order] - start[:-1], count)
    names, groups = np.array(recording.keys), np.array(recording.group)
    return Recording(
        keys=tuple(names[order].tolist()),
        start=start,
        at=recording.at[moved + np.arange(moved.size)],
        weight=recording.weight[order],
        born=recording.born[order],
        died=recording.died[order],
        group=tuple(groups[order].tolist()) if groups.size else (),
    )


def replayed(
    folder: Path, shares: tuple[float, ...] = (0.01, 0.02), orders: int = 3
) -> list[dict[str, Any]]:
    """Return how each strategy did on recorded sites, by budget as a share of pages.

    One tick a day over 360 days, of which the first 60 are not scored; each of
    ``orders`` replays has the pages in an order of its own.
    """
    history = load(folder, days=360.0)
    rivals = {"freshness": freshness} | {
        name.replace("_", "-"): strategy
        for name, strategy in vars(index_estimators).items()
        if isinstance(strategy, Strategy)
    }
    rows = []
    for share in shares:
        replays = [
            Replay(
                shuffled(history.recording, np.random.default_rng(1 + order)),
                share * len(history.recording),
                history.begin,
                history.end,
                ticks=1,
                warm=60.0,
            )
            for order in range(orders)
        ]
        for name, strategy in rivals.items():
            reached = np.array([r.score(strategy).freshness for r in replays])
            told = mean_interval(reached)._asdict()
            rows.append({"policy": name, "budget": share, "freshness": told})
    return rows


if __name__ == "__main__":
    folders = [Path(word) for word in sys.argv[1:] if not word.startswith("-")]
    found = replayed(folders[0]) if folders else run()
    if "--table" in sys.argv[1:]:
        told = "\n\n".join(f"{kind}\n\n{table(found, kind)}" for kind in POPULATIONS)
        sys.stdout.write(told + "\n")
    else:
        sys.stdout.write(json.dumps(found, indent=1))
