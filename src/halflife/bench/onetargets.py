"""What targets cost in the mixed world, against the best single interval.

Each source is to keep its quality at or above a level at 95 % of all days, judged at
the end of the day. Our rule looks only when it believes to need it, and at the units
that gain most per request; the rival looks at every unit in turn, once in T days,
with the T that keeps the target at the least requests, found in hindsight.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from halflife.arrays import Floats
from halflife.bench.onecopy import Copy
from halflife.bench.oneworld import DAYS, TRAIN, Part

LEVELS = {"freshness": 0.95, "recall": 0.9, "content": 0.95, "summary": 0.5}
KEPT = 0.95
INTERVALS = np.unique(np.round(np.geomspace(1.0, 120.0, 80), 1))
QUANTILE, LATEST = 0.75, 40  # of how far past beliefs were off
FEWEST, MOST = 0.25, 3.0  # times that beliefs are usually off
LENT = 0.002  # loss that is lent to the ratio of a day
LOTS, PROBES = 12, 0.08  # lots that a source is cut into, and share looked at daily
START = 0.8  # of the loss that a target allows, what is used up knowingly at first
STEP, MISSES = 0.6, 0.02  # how fast it becomes bolder, and days that may miss
FAILING = 0.06  # chance that a summary has failed at which it is renewed
LEAST = 1e-4


def rows(parts: Sequence[Part], seed: int) -> list[dict[str, Any]]:
    """Return for each source what our rule and the best interval spent and kept."""
    return [_row(part, seed) for part in parts]


def _row(part: Part, seed: int) -> dict[str, Any]:
    level = LEVELS[part.measure]
    spent, quality = ours(part, level)
    best = best_interval(part, level)
    return {
        "seed": seed,
        "source": part.name,
        "target": f"{part.measure} >= {level:g} with confidence {KEPT:g}",
        "kept": float(np.mean(quality >= level)),
        "reachable": _whole(part, level),
        "requests_a_day": spent,
        **best,
    }


def _whole(part: Part, level: float) -> bool:
    """Return whether a look at everything each day would keep the target."""
    _, quality = _in_turn(part, 1.0)
    return bool(np.mean(quality >= level) >= KEPT)


def ours(part: Part, level: float) -> tuple[float, Floats]:
    """Return the requests a day of our rule, and the quality at each day's end."""
    copy, spent, quality = Copy(part), 0.0, []
    keeper = Keeper(copy, level)
    for day in range(TRAIN, DAYS):
        if day > TRAIN:
            spent += keeper.renew(day)
        quality.append(copy.quality(day + 1))
    return spent / (DAYS - TRAIN), np.array(quality)


class Keeper:
    """Keeps a target with as few requests as it dares.

    What is believed to be lost counts times a factor: what all but a few of the past
    looks showed to be enough. Units are looked at in small lots, best first. Changes
    come in bursts, so a lot that had lost more than was believed tells that the rest
    has too, and the next lot follows at once. Each day a few units are looked at in
    any case, so that no burst goes unseen.
    """

    def __init__(self, copy: Copy, level: float) -> None:
        self.copy = copy
        self.level = level
        self.mixed = np.random.default_rng(0).permutation(len(copy.part))
        self.spare = START

    @property
    def allowed(self) -> float:
        """The loss that is knowingly used up."""
        if self.copy.part.measure == "summary":
            return FAILING
        return self.spare * (1.0 - self.level)

    def renew(self, day: int) -> float:
        """Look at as many units as it takes to believe in the level until tomorrow."""
        copy, spent = self.copy, 0.0
        before = len(copy.ratios)
        age, lost = float(day - copy.made.min()), float(copy.losses(day).sum())
        n = len(copy.part)
        probes = max(round(PROBES * n), 1) if n > 1 else 0
        lot = max(n // LOTS, 1)
        while True:
            losses = self._factor(before) * copy.losses(day + 1)
            over = float(losses.sum()) - self.allowed
            there = np.flatnonzero(copy.made < day)
            if there.size == 0 or (over <= 0 and probes <= 0):
                self._learn(copy.ratios[before:], lost, age)
                return spent
            if probes > 0:
                mixed = np.lexsort((self.mixed[there], copy.made[there]))
                some = there[mixed[:probes]]
            else:
                density = copy.gains(day)[there] / copy.part.cost[there]
                order = there[np.argsort(-density, kind="stable")]
                enough = int(np.searchsorted(np.cumsum(losses[order]), over)) + 1
                some = order[: min(enough, lot)]
            copy.sync(some, day)
            spent += float(copy.part.cost[some].sum())
            probes -= some.size

    def _learn(self, looks: list[tuple[float, float]], lost: float, age: float) -> None:
        """Be bolder after looks that found the target kept, and warier after others.

        Gibbs and Candes, "Adaptive conformal inference under distribution shift",
        NeurIPS 2021. A miss of a whole that is looked at once in several days lasts
        for a few of them only.
        """
        if not looks:
            return
        shown, believed = np.sum([(LENT, LENT), *looks], axis=0)
        whole = len(self.copy.part) == 1
        found = shown - LENT if whole else lost * shown / believed
        missed = found > 1.0 - self.level
        may = min(MISSES * age, 0.3) if whole else MISSES
        self.spare *= float(np.exp(STEP * (may - missed)))
        self.spare = min(max(self.spare, 0.3), 1.5)

    def _factor(self, before: int) -> float:
        """Return by how much more than believed may be lost now."""
        if self.copy.part.measure == "summary":
            return 1.0
        lost, believed = np.array(self.copy.ratios[-LATEST:]).T
        said = believed > LEAST
        usual = 1.5
        if said.sum() >= 3:
            usual = float(np.quantile(lost[said] / believed[said], QUANTILE))
        usual = min(max(usual, FEWEST), MOST)
        today = [(usual * LENT, LENT), *self.copy.ratios[before:]]
        lost, believed = np.sum(today, axis=0)
        return max(usual, float(lost / believed))


def best_interval(part: Part, level: float) -> dict[str, float]:
    """Return, in hindsight, the interval that keeps the target most cheaply."""
    best = {"interval": 1.0, "interval_requests_a_day": float(part.cost.sum())}
    for every in INTERVALS.tolist():
        spent, quality = _in_turn(part, every)
        if np.mean(quality >= level) >= KEPT:
            found = {"interval": every, "interval_requests_a_day": spent}
            better = spent < best["interval_requests_a_day"]
            best = found if better else best
    return best


def _in_turn(part: Part, every: float) -> tuple[float, Floats]:
    """Return requests a day and quality with each unit looked at every so often."""
    n = len(part)
    first = every * (np.arange(n) + 0.5) / n if n > 1 else np.zeros(1)
    days = np.arange(TRAIN, DAYS)
    passed = (days[:, None] - TRAIN - first) / every
    turns = np.floor(passed + 1e-9)
    made = np.ceil(TRAIN + first + turns * every - 1e-9).astype(np.intp)
    made = np.where(turns < 0, TRAIN, made)
    new = np.diff(made, axis=0, prepend=TRAIN) > 0
    spent = float((new * part.cost).sum()) / days.size
    kept = part.kept[np.arange(n), made, days[:, None] + 1].sum(axis=1, dtype=float)
    there = [part.total_on(day + 1) for day in days.tolist()]
    return spent, kept / np.array(there)


def pooled(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what the targets cost together that a look each day would keep."""
    some = [row for row in found if row["reachable"]]
    mine = sum(row["requests_a_day"] for row in some)
    other = sum(row["interval_requests_a_day"] for row in some)
    return {
        "targets": len(found),
        "reachable": len(some),
        "kept": sum(row["kept"] >= KEPT for row in some),
        "kept_mean": float(np.mean([row["kept"] for row in some])),
        "kept_least": min(row["kept"] for row in some),
        "requests_a_day": mine,
        "interval_requests_a_day": other,
        "saved": 1.0 - mine / other,
    }
