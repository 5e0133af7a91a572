"""One budget over sources of every kind, live: the real service over real HTTP.

``python -m lab.mixedlive DIR OUT [--quick] [--days N] [--budget N]`` takes a
folder with ``objects`` and ``sites``, serves worlds of it on the loopback
(``lab.mixedworld``), lets the service keep them under one budget and under fixed
splits of it, and writes ``mixedlive.json`` to the folder OUT, and to stdout.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.value_curve import Worth
from halflife.market import share
from halflife.metrics.intervals import mean_interval
from halflife.stores.sqlite import SqliteStore
from lab.mixedkept import audits
from lab.mixedparts import Part
from lab.mixedtime import Passing
from lab.mixedworld import (
    BEGAN,
    DAYS,
    TRAIN,
    Played,
    Stage,
    Truth,
    Wanted,
    Worlds,
    opened,
    total,
)

BUDGETS = (15.0, 40.0)
SEEDS = (31, 32, 33)  # 1 to 3 were looked at while the service was mended
GRID = (1.0, 2.5)  # equal shares times these are points of a true curve
EVERY = 0.125  # days between two looks at the truth
BLOCKS = 4  # stretches of time of each world
OURS = "one price"


class Alone:
    """Each source in a service of its own, at whatever budget; played once each.

    Args:
        stage: The world.
        taught: What the service has learned before.
        passing: How long it is kept.

    """

    def __init__(self, stage: Stage, taught: Path, passing: Passing) -> None:
        self.stage, self._taught, self.passing = stage, taught, passing
        self._played: dict[str, dict[float, Floats]] = {}
        self.spent: dict[tuple[str, float], int] = {}
        for part in stage.parts:
            self._played[part.name] = {0.0: self._left_alone(part)}

    def _left_alone(self, part: Part) -> Floats:
        """Return the quality of a source of which nobody takes care any more."""
        hands, passing = self.stage.hands, self.passing
        truth = Truth([part], hands)
        with SqliteStore.open(self._taught) as store:
            for i in range(round(passing.days / passing.every)):
                hands.now = BEGAN + TRAIN + (i + 1) * passing.every
                truth.look(store)
        return np.array(truth.quality[part.name])

    def play(self, part: Part, requests: float) -> Floats:
        """Return the quality of a source over time with so many requests a day."""
        week = round(7.0 * requests)  # the settings count whole requests a week
        known = self._played[part.name]
        if week / 7.0 not in known:
            wanted = Wanted(week / 7.0, only=(part.name,))
            name = f"{part.name}-{week}"
            played = self.stage.play(name, wanted, self._taught, self.passing)
            known[week / 7.0] = played.quality[part.name]
            self.spent[part.name, week / 7.0] = played.spent
        return known[week / 7.0]

    def worths(self) -> list[Worth]:
        """Return the true curves as far as they were measured."""
        found = []
        for part in self.stage.parts:
            played = self._played[part.name]
            x = np.array(sorted(played))
            y = np.array([played[k].mean() for k in x.tolist()])
            found.append(Worth(part.name, part.measure, part.weight, x, y, y, y))
        return found

    def split(self, shares: Sequence[float]) -> dict[str, Floats]:
        """Return the quality of all sources with a fixed share each."""
        some = zip(self.stage.parts, shares, strict=True)
        return {part.name: self.play(part, x) for part, x in some}

    def cost(self, shares: Sequence[float]) -> int:
        """Return the requests that were sent with a fixed share each."""
        some = zip(self.stage.parts, shares, strict=True)
        return sum(self.spent.get((p.name, round(7.0 * x) / 7.0), 0) for p, x in some)

    def best(self, budget: float) -> tuple[list[float], dict[str, Floats]]:
        """Return the best split that hindsight finds, and what it comes to.

        It is found on the true curves as far as they were measured, and played; so are
        equal shares. The better one is told.
        """
        parts, tried = self.stage.parts, []
        tried.append([budget / len(parts)] * len(parts))
        tried.append(share(self.worths(), budget).requests.tolist())
        totals = [float(total(parts, self.split(each)).mean()) for each in tried]
        best = tried[int(np.argmax(totals))]
        return best, self.split(best)


def world_rows(
    stage: Stage, seed: int, budgets: Sequence[float], passing: Passing
) -> list[dict[str, Any]]:
    """Return how the rules did in one world, a row a budget."""
    parts, taught = stage.parts, stage.learn()
    alone = Alone(stage, taught, passing)
    rows = []
    for budget in budgets:
        ours = stage.play(f"one-{budget:g}", Wanted(budget), taught, passing)
        for part in parts:
            for times in GRID:
                alone.play(part, times * budget / len(parts))
        rows.append(_row(ours, seed, budget, alone))
        sys.stderr.write(f"world {seed}, {budget:g} a day: {rows[-1]['quality']}\n")
    return rows


def _row(ours: Played, seed: int, budget: float, alone: Alone) -> dict[str, Any]:
    parts, passing = alone.stage.parts, alone.passing
    best, fixed = alone.best(budget)
    whole = np.array([part.whole for part in parts])
    found = {
        OURS: dict(ours.quality),
        "best split": fixed,
        "equal shares": alone.split([budget / len(parts)] * len(parts)),
        "one interval": alone.split((budget * whole / whole.sum()).tolist()),
    }
    sums = {name: total(parts, each) for name, each in found.items()}
    return {
        "seed": seed,
        "budget": budget,
        "quality": {name: float(each.mean()) for name, each in sums.items()},
        "spent": _spent(ours, passing),
        "best_split_spent": alone.cost(best),
        "sources": [
            {
                "source": part.name,
                "measure": part.measure,
                "weight": part.weight,
                "whole": part.whole,
                "best_split_requests": x,
                **{name: float(each[part.name].mean()) for name, each in found.items()},
            }
            for part, x in zip(parts, best, strict=True)
        ],
        "audits": audits(ours, TRAIN),
        "_sums": sums,
    }


def _spent(played: Played, passing: Passing) -> dict[str, Any]:
    """Return what the ledger says: requests a day by source, and the fullest week."""
    each = {name: n / passing.days for name, n in played.requests.items()}
    return {"a_day": each, "fullest_week": played.fullest, "all": played.spent}


def pooled(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the same over all worlds, by budget.

    Differences are paired; their intervals go over stretches of time of all worlds.
    """
    told = []
    for budget in sorted({row["budget"] for row in rows}):
        mine = [row["_sums"] for row in rows if row["budget"] == budget]
        names = list(mine[0])
        row: dict[str, Any] = {"budget": budget, "worlds": len(mine)}
        row["quality"] = {
            name: float(np.mean([each[name].mean() for each in mine])) for name in names
        }
        for name in names[1:]:
            apart = [_stretches(each[OURS] - each[name]) for each in mine]
            found = mean_interval(np.concatenate(apart))
            row[f"less {name}"] = dict(found._asdict())
        told.append(row)
    return told


def _stretches(values: Floats) -> Floats:
    """Return the means of stretches of time of equal length."""
    blocks = min(BLOCKS, values.size)
    whole = values[values.size % blocks :]
    return np.asarray(whole.reshape(blocks, -1).mean(axis=1))


def run(
    folder: Path,
    *,
    seeds: Sequence[int] = SEEDS,
    budgets: Sequence[float] = BUDGETS,
    days: float = DAYS,
) -> dict[str, Any]:
    """Return all figures; each world is played in a process of its own."""
    with ProcessPoolExecutor(len(seeds), get_context("spawn")) as pool:
        played = [pool.submit(world, folder, seed, budgets, days) for seed in seeds]
        found = [each.result() for each in played]
    rows = [row for mine, _ in found for row in mine]
    return {
        "days": days,
        "train": TRAIN,
        "pooled": pooled(rows),
        "worlds": [{k: v for k, v in row.items() if k != "_sums"} for row in rows],
        "processor_seconds": sum(seconds for _, seconds in found),
    }


def world(
    folder: Path, seed: int, budgets: Sequence[float], days: float
) -> tuple[list[dict[str, Any]], float]:
    """Return the rows of one world, and the seconds of the processor they took."""
    began, worlds = process_time(), Worlds(folder, TRAIN + days)
    with (
        tempfile.TemporaryDirectory() as place,
        opened(worlds.draw(seed), Path(place)) as stage,
    ):
        rows = world_rows(stage, seed, budgets, Passing(days, EVERY))
    return rows, process_time() - began


def main(argv: Sequence[str] | None = None) -> None:
    """Run, write and print."""
    parser = argparse.ArgumentParser(prog="python -m lab.mixedlive")
    parser.add_argument("folder", type=Path, help="with objects/ and sites/")
    parser.add_argument("out", type=Path, help="where mixedlive.json goes")
    parser.add_argument("--quick", action="store_true", help="one world, one budget")
    parser.add_argument("--days", type=float, default=DAYS)
    parser.add_argument("--budget", type=float, action="append")
    parser.add_argument("--seed", type=int, action="append")
    given = parser.parse_args(argv)
    few = slice(1 if given.quick else None)
    found = run(
        given.folder,
        seeds=tuple(given.seed or SEEDS)[few],
        budgets=tuple(given.budget or BUDGETS)[few],
        days=given.days,
    )
    text = json.dumps(found, indent=1)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "mixedlive.json").write_text(text + "\n")
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
