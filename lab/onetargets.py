"""What targets cost in the mixed world, against single intervals.

``python -m lab.onetargets DIR OUT [--quick]`` takes a folder that has
``objects`` and ``sites``; ``onetargets.json`` goes to the folder OUT, and to stdout.

Each source is to keep its quality at or above a level at 95 % of all days, judged at
the end of the day. The rule is the service's (``market.target_rule``): a round is a
day, and units are looked at in lots, best first, as long as the rule wants it. A
summary is checked by match counts before it is made anew, as the service does it. The
rivals look at every unit in turn, once in T days: with the T that keeps the target at
the least requests, found in hindsight; and with the one that the days of learning name.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng

from halflife.core.arrays import Floats, Ints
from halflife.market import target_rule
from halflife.market.target_rule import Goal, LossHistory, TargetRound, WholeCopy
from halflife.summary.count_check import FEW, counted_divergence, safe_share
from lab.onecopy import Copy
from lab.oneworld import DAYS, TAU, TRAIN, Part, Worlds

SEEDS = (40, 41, 42, 43, 44, 45)
SEEN = tuple(range(1, 13))  # worlds that were looked at while the rule was written
LEVELS = {"freshness": 0.95, "recall": 0.9, "content": 0.95, "summary": 0.5}
KEPT = 0.95
INTERVALS = np.unique(np.round(np.geomspace(1.0, 120.0, 80), 1))
LATEST = 60  # looks by which it is told how many things go together


def rows(parts: Sequence[Part], seed: int) -> list[dict[str, Any]]:
    """Return for each source what our rule and the intervals spent and kept."""
    return [_row(part, seed) for part in parts]


def _row(part: Part, seed: int) -> dict[str, Any]:
    level = LEVELS[part.measure]
    spent, quality = ours(part, level)
    kept = {"kept": _share(quality, level), "requests_a_day": spent}
    return {"seed": seed, **rivals(part), **kept}


def rivals(part: Part) -> dict[str, Any]:
    """Return the target of a source, and what single intervals spend and keep."""
    level = LEVELS[part.measure]
    _, daily = in_turn(part, 1.0)
    foreseen = learned_interval(part, level)
    cost, other = in_turn(part, foreseen)
    return {
        "source": part.name,
        "units": len(part),
        "target": f"{part.measure} >= {level:g} with confidence {KEPT:g}",
        "kept_daily": _share(daily, level),
        "reachable": _share(daily, level) >= KEPT,
        **best_interval(part, level),
        "learned_interval": foreseen,
        "learned_kept": _share(other, level),
        "learned_requests_a_day": cost,
    }


def _share(quality: Floats, level: float) -> float:
    return float(np.mean(quality >= level))


def ours(part: Part, level: float) -> tuple[float, Floats]:
    """Return the requests a day of our rule, and the quality at each day's end."""
    copy, spent, quality = Copy(part), 0.0, []
    goal = Goal(level, KEPT)
    keeper = Single(copy, goal) if len(part) == 1 else Many(copy, goal)
    for day in range(TRAIN, DAYS):
        if day > TRAIN:
            spent += keeper.renew(day)
        quality.append(copy.quality(day + 1))
    return spent / (DAYS - TRAIN), np.array(quality)


def _lacked(part: Part, rows: Ints, made: Ints, day: int) -> Floats:
    """Return the things that looks on a day find lost, unit by unit."""
    kept = part.kept[rows, made, day].astype(np.float64)
    there = (np.full(rows.size, day), made)[not part.flows]
    return np.asarray(part.kept[rows, there, there] - kept)


class Many:
    """Keeps the target of a source of many units.

    Things that go together count as one: of n things, n sum(l) / sum(l^2) with the
    losses l of the units that were looked at.
    """

    def __init__(self, copy: Copy, goal: Goal) -> None:
        self.copy, self.goal, self.past = copy, goal, LossHistory()
        self.rng = default_rng(0)
        part, everyone = copy.part, np.arange(len(copy.part))
        days = [0, *range(part.every, TRAIN, part.every), TRAIN]
        lost = [
            _lacked(part, everyone, np.full(len(part), a), b) for a, b in pairwise(days)
        ]
        self.lumps = [(float(each.sum()), float(each @ each)) for each in lost]
        for found, believed in copy.ratios[1:]:
            told = TargetRound(self.things, believed, 0.0, found, 0.0, 0.0, 0.0)
            self.past = self.past.with_round(told, part.every)

    @property
    def things(self) -> float:
        """How many things are lost one by one."""
        one, two = np.sum(self.lumps[-LATEST:], axis=0)
        made = self.copy.made
        size = self.copy.part.kept[np.arange(made.size), made, made].sum(dtype=float)
        together = max(float((two + 1.0) / (one + 1.0)), 1.0)
        return max(float(size), 1.0) / together

    def renew(self, day: int) -> float:
        """Look at lots until the rule wants no more; return the requests."""
        copy, part, spent, found = self.copy, self.copy.part, 0.0, 0.0
        copy.today, things = day, self.things
        began = copy.losses(day)
        lot = max(int(len(part) * target_rule.LOT), 1)
        while True:
            now = self._round(day, began, found, things)
            first = now.unseen == 1.0
            if not first and not target_rule.wants_more(self.past, now, self.goal):
                self.past = target_rule.after_round(self.past, now, self.goal, 1.0)
                return spent
            there = np.flatnonzero(copy.made < day)
            density = copy.gains(day)[there] / part.cost[there]
            best = there[np.argsort(-density, kind="stable")]
            some = self._lot(best, lot)
            lost = _lacked(part, some, copy.made[some], day)
            self.lumps.append((float(lost.sum()), float(lost @ lost)))
            copy.sync(some, day)
            spent += float(part.cost[some].sum())
            found += copy.ratios[-1][0]

    def _lot(self, best: Ints, lot: int) -> Ints:
        """Return the next units, half of them the best and half drawn by lot."""
        half = min((lot + 1) // 2, best.size)
        drawn = self.rng.permutation(best[half:])[: lot - half]
        return np.concatenate([best[:half], drawn])

    def _round(
        self, day: int, began: Floats, found: float, things: float
    ) -> TargetRound:
        unseen = self.copy.made < day
        now, later = self.copy.losses(day), self.copy.losses(day + 1)
        return TargetRound(
            things=things,
            began=float(began.sum()),
            left=float(began[unseen].sum()),
            found=found,
            now=float(now[unseen].sum()),
            coming=max(float(later.sum() - now[unseen].sum()), 0.0),
            unseen=float(unseen.mean()),
        )


class Single:
    """Keeps the target of a source of one unit.

    A summary is checked first, by the match counts that its database told, and is made
    anew only if these do not show that it holds: as the service does it.
    """

    def __init__(self, copy: Copy, goal: Goal) -> None:
        self.copy, self.goal, self.past = copy, goal, LossHistory()
        self.looked = int(copy.made[0])  # when it was made, or last found to hold
        self.rng = default_rng(0)
        for found, believed in copy.ratios[1:]:
            self._learn(found, believed, float(copy.part.every))

    def _learn(self, found: float, believed: float, age: float) -> None:
        made = int(self.copy.made[0])
        things = float(self.copy.part.kept[0, made, made])
        whole = WholeCopy(things, age, 0.0, 0.0, 1.0)
        self.past = target_rule.after_check(
            self.past, whole, found, believed, self.goal
        )

    def renew(self, day: int) -> float:
        """Look if it is due; return the requests."""
        made = int(self.copy.made[0])
        things, age = (
            float(self.copy.part.kept[0, made, made]),
            float(day - self.looked),
        )
        fresh = float(self.copy.losses(made + 1).sum())
        whole = WholeCopy(things, age, self._loss(day + 1), fresh, 1.0)
        if not target_rule.is_due(self.past, whole, self.goal):
            return 0.0
        believed, self.looked = self._loss(day), day
        asked = 0.0 if self.copy.part.counts is None else float(FEW)
        if asked and self._holds(made, day):
            self._learn(0.0, believed, age)
            return asked
        self.copy.sync(np.zeros(1, dtype=np.intp), day)
        self._learn(self.copy.ratios[-1][0], believed, age)
        return float(self.copy.part.cost[0]) + asked

    def _loss(self, day: int) -> float:
        """Return the loss on a day, of a summary the chance: it held when checked."""
        copy, lost = self.copy, float(self.copy.losses(day).sum())
        if copy.part.counts is None:
            return lost
        held = 1.0 - float(copy.losses(self.looked).sum())
        return 1.0 - min((1.0 - lost) / max(held, 1e-9), 1.0)

    def _holds(self, made: int, day: int) -> bool:
        """Say whether a summary holds, by the match counts of a few words."""
        part = self.copy.part
        assert part.counts is not None
        then, now = int(part.weeks[made]), int(part.weeks[day])
        old, new = part.counts.ask(0, then, now, FEW, self.rng)
        return counted_divergence(old, new) <= safe_share(FEW) * TAU


def best_interval(part: Part, level: float) -> dict[str, float]:
    """Return, in hindsight, the interval that keeps the target most cheaply."""
    best = {"interval": 1.0, "interval_requests_a_day": float(part.cost.sum())}
    for every in INTERVALS.tolist():
        spent, quality = in_turn(part, every)
        if _share(quality, level) >= KEPT:
            found = {"interval": every, "interval_requests_a_day": spent}
            better = spent < best["interval_requests_a_day"]
            best = found if better else best
    return best


def learned_interval(part: Part, level: float) -> float:
    """Return the longest interval that would have kept the target while learning."""
    kept = [
        every
        for every in INTERVALS[INTERVALS <= TRAIN].tolist()
        if _share(in_turn(part, every, 0, TRAIN)[1], level) >= KEPT
    ]
    return max(kept, default=1.0)


def in_turn(
    part: Part, every: float, begin: int = TRAIN, end: int = DAYS
) -> tuple[float, Floats]:
    """Return requests a day and quality with each unit looked at every so often."""
    n = len(part)
    first = every * (np.arange(n) + 0.5) / n if n > 1 else np.zeros(1)
    days = np.arange(begin, end)
    passed = (days[:, None] - begin - first) / every
    turns = np.floor(passed + 1e-9)
    made = np.ceil(begin + first + turns * every - 1e-9).astype(np.intp)
    made = np.where(turns < 0, begin, made)
    new = np.diff(made, axis=0, prepend=begin) > 0
    spent = float((new * part.cost).sum()) / days.size
    kept = part.kept[np.arange(n), made, days[:, None] + 1].sum(axis=1, dtype=float)
    there = [part.total_on(day + 1) for day in days.tolist()]
    return spent, kept / np.array(there)


def pooled(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what the targets cost together that a look each day would keep."""
    some = [row for row in found if row["reachable"]]
    kinds = {
        "many_units": [row for row in some if row["units"] > 1],
        "one_unit": [row for row in some if row["units"] == 1],
    }
    told = {name: _pooled(each) for name, each in kinds.items() if each}
    return {"targets": len(found), **_pooled(some), **told}


def _pooled(some: Sequence[dict[str, Any]]) -> dict[str, Any]:
    mine = sum(row["requests_a_day"] for row in some)
    other = sum(row["interval_requests_a_day"] for row in some)
    return {
        "reachable": len(some),
        "kept": sum(row["kept"] >= KEPT for row in some),
        "kept_mean": float(np.mean([row["kept"] for row in some])),
        "kept_least": min(row["kept"] for row in some),
        "kept_daily": float(np.mean([row["kept_daily"] for row in some])),
        "requests_a_day": mine,
        "interval_requests_a_day": other,
        "saved": 1.0 - mine / other,
        "learned_kept": sum(row["learned_kept"] >= KEPT for row in some),
        "learned_kept_least": min(row["learned_kept"] for row in some),
        "learned_requests_a_day": sum(row["learned_requests_a_day"] for row in some),
    }


def run(folder: Path, *, quick: bool = False) -> dict[str, Any]:
    """Return all figures; sources that were looked at before are told apart."""
    worlds = Worlds(folder, quick=quick)
    known = {part.name for seed in SEEN for part in worlds.draw(default_rng(seed))}
    found: list[dict[str, Any]] = []
    for seed in SEEDS[:1] if quick else SEEDS:
        found += rows(worlds.draw(default_rng(seed)), seed)
    new = [row for row in found if row["source"] not in known]
    several = {"all": found, "never_seen_before": new}
    told = {name: pooled(each) for name, each in several.items() if each}
    return {"days": DAYS - TRAIN, "train": TRAIN, "pooled": told, "targets": found}


def main(argv: Sequence[str] | None = None) -> None:
    """Run, write and print."""
    parser = argparse.ArgumentParser(prog="python -m lab.onetargets")
    parser.add_argument("folder", type=Path, help="with objects/ and sites/")
    parser.add_argument("out", type=Path, help="where onetargets.json goes")
    parser.add_argument("--quick", action="store_true", help="one small world")
    given = parser.parse_args(argv)
    text = json.dumps(run(given.folder, quick=given.quick), indent=1)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "onetargets.json").write_text(text + "\n")
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
