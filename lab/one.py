"""One budget over sources of every kind, on recorded histories.

``python -m lab.one DIR OUT [--quick]`` takes a folder with ``objects`` and
``sites``, makes worlds of pages, listings, a form, known tuples and summaries
(``lab.oneworld``), and writes ``one.json`` to the folder OUT, and to stdout: the
weighted quality under one price, under the best fixed split found in hindsight, under
equal shares and under one interval for all, at three budgets; and what targets cost.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.random import default_rng

from halflife.core.arrays import Floats
from halflife.core.value_curve import Offers, Worth
from halflife.market import price as market_price, share, take
from halflife.market.offers import OfferTurn
from halflife.metrics.intervals import Interval, series_interval
from lab import onetargets
from lab.onecopy import Copy
from lab.oneworld import DAYS, PER_PAGE, SUMMARY, TRAIN, Part, Worlds

BUDGETS = (30.0, 60.0, 120.0)
SEEDS = (60, 61, 62, 63, 64, 65)  # others were looked at while rules were written
PHASES = (-0.3, 0.0, 0.3)  # shares of the dearest unit in hand at first
GRID = 12  # points of a true curve
ROUNDS = 2  # times that the search for the best split looks closer
FLOOR = 0.05  # of the budget, for what waited longest
SAVED = 10.0  # days of income that are saved at most
BLOCKS = 8
REPLAYED = DAYS - TRAIN


def offers(copies: Sequence[Copy], day: int) -> Offers:
    """Return what could be done on a day at all sources."""
    sizes = [len(copy.part) for copy in copies]
    gains = [copy.part.weight * copy.gains(day) for copy in copies]
    return Offers(
        tuple(copy.part.name for copy in copies),
        np.repeat(np.arange(len(copies)), sizes),
        np.concatenate([copy.part.cost for copy in copies]),
        np.concatenate(gains),
    )


def replay(taught: Sequence[Copy], budget: float) -> Floats:
    """Return the quality of each source day by day (sources x days) at one price.

    The mean over several first payments, some in debt and some in hand, which sum to
    nothing: with a few refreshes of a summary in all, the day of the first one would
    otherwise decide.
    """
    dearest = max(float(copy.part.cost.max()) for copy in taught)
    few = all(len(copy.part) > 1 for copy in taught)
    firsts = (0.0,) if few else PHASES
    runs = [_replay(taught, budget, first * dearest) for first in firsts]
    return np.asarray(np.mean(runs, axis=0))


def _replay(taught: Sequence[Copy], budget: float, purse: float) -> Floats:
    """Return the same with so much in the purse.

    Each day the requests that came in are spent on what gains most per request, and
    more than a request is believed to gain in the long run; what is left is saved. A
    fixed split is this with one source.
    """
    copies = [copy.again() for copy in taught]
    quality = np.empty((len(copies), REPLAYED))
    for day in range(TRAIN, DAYS):
        purse += budget
        if day > TRAIN:
            purse = _spend(copies, day, purse, budget)
        quality[:, day - TRAIN] = [
            (copy.quality(day) + copy.quality(day + 1)) / 2.0 for copy in copies
        ]
    return quality


def _longest(copies: Sequence[Copy], day: int, budget: float) -> OfferTurn:
    """Return the turn in which the units that waited longest must not wait more.

    A share of the budget is for them, or a source that was once busier than requests
    could follow would never be found calm again. Those that waited alike come as
    chance has it: neighbours change together, and would all tell the same.
    """
    many = max(sum(len(copy.part) > 1 for copy in copies), 1)
    found = []
    for copy in copies:
        urgent = np.zeros(len(copy.part), dtype=np.bool_)
        each = FLOOR * budget / many / float(copy.part.cost.mean())
        count = int(each * (day + 1)) - int(each * day)
        if len(copy.part) > 1:
            urgent[np.lexsort((copy.mixed, copy.made))[:count]] = True
        found.append(urgent)
    urgent = np.concatenate(found)
    return OfferTurn(np.ones(urgent.size, dtype=np.bool_), urgent)


def _spend(copies: Sequence[Copy], day: int, purse: float, budget: float) -> float:
    """Spend a day's requests in two rounds; return what is left.

    What the first half shows tells where the second goes, as the program does it.
    """
    ends = np.cumsum([0, *(len(copy.part) for copy in copies)])
    turn = _longest(copies, day, budget)
    price = _price(copies, day, budget)
    for part, first in ((0.5, turn), (1.0, None)):
        offered, room = offers(copies, day), max(part * purse, 0.0)
        least = market_price.reserve_price(price, purse - budget, SAVED * budget)
        taken = take(offered, room, turn=first, price=least, patient=True)
        purse -= taken.requests
        for copy, low, high in zip(copies, ends, ends[1:], strict=False):
            mine = taken.rows[(taken.rows >= low) & (taken.rows < high)] - low
            copy.sync(mine, day)
    return purse


def _price(copies: Sequence[Copy], day: int, budget: float) -> float:
    """Return what a request is believed to buy in the long run.

    One unit alone has nothing to save for but itself.
    """
    if len(copies) == len(copies[0].part) == 1:
        return 0.0
    gain = [copy.part.weight * copy.prospects(day) for copy in copies]
    cost = np.concatenate([copy.part.cost for copy in copies])
    return market_price.long_run(np.concatenate(gain), cost, budget, np.ones(cost.size))


def _alone(part: Part, requests: float) -> Floats:
    """Return what ``replay`` does for one source of one unit, without its beliefs.

    With a budget of its own it is renewed as soon as there is enough for it.
    """
    cost, runs = float(part.cost[0]), []
    for first in PHASES:
        purse, made, quality = first * cost, TRAIN, []
        for day in range(TRAIN, DAYS):
            purse += requests
            if day > TRAIN and purse >= cost - 1e-9:
                purse, made = purse - cost, day
            quality.append(part.kept[0, made, day : day + 2])
        days = np.arange(TRAIN, DAYS)
        there = part.kept[0, [days, days + 1], [days, days + 1]].T
        runs.append((np.array(quality) / np.maximum(there, 1)).mean(axis=1))
    return np.asarray(np.mean(runs, axis=0))


class Hindsight:
    """The best fixed split, found with the true curves of each source.

    A curve is what a source truly reached in the replay with so many requests a day
    of its own, spent by the same rule within it. The best split is found on the
    curves; they are then measured again around it, and at last it is played.
    """

    def __init__(self, taught: Sequence[Copy]) -> None:
        self.taught = taught
        self.played: list[dict[float, Floats]] = [{} for _ in taught]
        for i, copy in enumerate(taught):
            most = 2.0 * float(copy.part.cost.sum())
            for x in [0.0, *np.geomspace(most / 1000.0, most, GRID).tolist()]:
                self.play(i, x)

    def play(self, i: int, requests: float) -> Floats:
        """Return the quality of a source day by day with so many requests a day."""
        if requests not in self.played[i]:
            part = self.taught[i].part
            self.played[i][requests] = (
                _alone(part, requests)
                if len(part) == 1
                else replay([self.taught[i]], requests)[0]
            )
        return self.played[i][requests]

    def worths(self) -> list[Worth]:
        """Return the true curves as far as they were measured."""
        found = []
        for copy, played in zip(self.taught, self.played, strict=True):
            x = np.array(sorted(played))
            y = np.array([played[k].mean() for k in x.tolist()])
            part = copy.part
            found.append(Worth(part.name, part.measure, part.weight, x, y, y, y))
        return found

    def best(self, budget: float) -> tuple[Floats, Floats]:
        """Return the best split, and the quality of each source day by day."""
        for _ in range(ROUNDS):
            for i, x in enumerate(share(self.worths(), budget).requests.tolist()):
                for near in (0.8 * x, x, 1.25 * x):
                    self.play(i, round(near, 6))
        weight = np.array([copy.part.weight for copy in self.taught])
        equal = np.full(len(self.taught), budget / len(self.taught))
        splits = [share(self.worths(), budget).requests, equal]
        played = [
            np.stack([self.play(i, x) for i, x in enumerate(split.tolist())])
            for split in splits
        ]
        totals = [float(weight @ each.mean(axis=1)) for each in played]
        at = int(np.argmax(totals))
        return splits[at], played[at]


def world_rows(parts: Sequence[Part], seed: int) -> list[dict[str, Any]]:
    """Return how the rules did in one world, a row a budget."""
    taught = [Copy(part) for part in parts]
    weight = np.array([part.weight for part in parts])
    weight = weight / weight.sum()
    hindsight, rows = Hindsight(taught), []
    whole = np.array([float(part.cost.sum()) for part in parts])
    for budget in BUDGETS:
        ours = replay(taught, budget)
        split, fixed = hindsight.best(budget)
        splits = {
            "equal shares": np.full(len(parts), budget / len(parts)),
            "one interval": budget * whole / whole.sum(),
        }
        found = {"one price": ours, "hindsight split": fixed} | {
            name: np.stack([hindsight.play(i, x) for i, x in enumerate(each.tolist())])
            for name, each in splits.items()
        }
        total = {name: weight @ each for name, each in found.items()}
        row: dict[str, Any] = {"seed": seed, "budget": budget}
        row["quality"] = {name: float(each.mean()) for name, each in total.items()}
        row["ours_less"] = {
            name: _bounds(series_interval(total["one price"] - each, blocks=BLOCKS))
            for name, each in total.items()
            if name != "one price"
        }
        row["sources"] = [
            {
                "source": part.name,
                "measure": part.measure,
                "weight": part.weight,
                "hindsight_requests": float(split[i]),
                **{name: float(each[i].mean()) for name, each in found.items()},
            }
            for i, part in enumerate(parts)
        ]
        row["_daily"] = total
        rows.append(row)
    return rows


def pooled(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the same over all worlds, by budget; blocks of time of all worlds."""
    told = []
    for budget in BUDGETS:
        mine = [row["_daily"] for row in rows if row["budget"] == budget]
        row: dict[str, Any] = {"budget": budget, "worlds": len(mine)}
        row["quality"] = {
            name: float(np.mean([each[name] for each in mine])) for name in mine[0]
        }
        for name in mine[0]:
            if name != "one price":
                apart = np.mean([one["one price"] - one[name] for one in mine], axis=0)
                row[f"less {name}"] = _bounds(series_interval(apart, blocks=BLOCKS))
                each = [float((one["one price"] - one[name]).mean()) for one in mine]
                row[f"less {name} by world"] = [min(each), max(each)]
        told.append(row)
    return told


def run(folder: Path, *, quick: bool = False) -> dict[str, Any]:
    """Return all figures."""
    began = process_time()
    worlds = Worlds(folder, quick=quick)
    rows: list[dict[str, Any]] = []
    kept: list[dict[str, Any]] = []
    for seed in SEEDS[:1] if quick else SEEDS:
        parts = worlds.draw(default_rng(seed))
        rows += world_rows(parts, seed)
        kept += onetargets.rows(parts, seed)
    answer = {
        "days": REPLAYED,
        "train": TRAIN,
        "per_page": PER_PAGE,
        "summary_requests": SUMMARY,
        "pooled": pooled(rows),
        "targets": kept,
        "targets_pooled": onetargets.pooled(kept),
        "worlds": [{k: v for k, v in row.items() if k != "_daily"} for row in rows],
    }
    return answer | {"processor_seconds": process_time() - began}


def _bounds(found: Interval) -> dict[str, float]:
    return dict(found._asdict())


def main(argv: Sequence[str] | None = None) -> None:
    """Run, write and print."""
    parser = argparse.ArgumentParser(prog="python -m lab.one")
    parser.add_argument("folder", type=Path, help="with objects/ and sites/")
    parser.add_argument("out", type=Path, help="where one.json goes")
    parser.add_argument("--quick", action="store_true", help="one small world")
    given = parser.parse_args(argv)
    text = json.dumps(run(given.folder, quick=given.quick), indent=1)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "one.json").write_text(text + "\n")
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
