"""What it is worth to know the hour at which a source changes.

``python -m lab.rhythms DIR [--only A,B]`` plays the rule for targets over recorded
daily changes, once by effective and once by plain days, with a turn each hour.
``nightly``: all changes of a day come at one hour, which is drawn for each world.
``anytime``: they come together at another moment each day. ``one by one``: each at a
moment of its own, so that there is nothing to know. The rival looks at one interval,
found in hindsight.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, exp
from pathlib import Path

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats
from halflife.market import target_rule
from halflife.market.target_rule import Goal, LossHistory, WholeCopy
from halflife.models.rhythm import FLAT, LearnedRhythm, ObservedRecords, Rhythm
from halflife.recordings.relations import Relation
from lab.mixedparts import rounded
from lab.tables import listed, tables

LEVEL, COUNTER_LEVEL = 0.9, 0.95  # of what is new, and of numbers that keep moving
KINDS = ("nightly", "anytime", "one by one")
SEEDS = (201, 202, 203, 204, 205, 206)
RECORDS = 200
TRAIN, DAYS = 14, 40
SURE = 0.95
SLOW, TURN, AHEAD = 0.25, 1.0 / 24.0, 1.0 / 48.0  # days
MOMENTS = 96  # a day


@dataclass(frozen=True, slots=True)
class World:
    """When each change comes, in days, and how many records there are."""

    at: Floats
    level: float

    def lost(self, since: float, until: float) -> float:
        """Return the share of a copy that is out of date; no record changes twice."""
        first, last = np.searchsorted(self.at, [since, until], side="right")
        return min(float(last - first) / RECORDS, 1.0)


def shares(relation: Relation, column: str) -> Floats:
    """Return the share of records that each day changed, or that is new."""
    found, before = [], relation.at(float(relation.looks[0]))
    for look in relation.looks[1:].tolist():
        now = relation.at(look)
        if column:
            both = [key for key in now if key in before]
            moved = sum(
                _shown(now[k][column]) != _shown(before[k][column]) for k in both
            )
            found.append(moved / max(len(both), 1))
        else:
            found.append(len(now.keys() - before.keys()) / max(len(now), 1))
        before = now
    return np.array(found)


def _shown(value: object) -> int:
    return rounded(float(str(value))) if value is not None else 0


def draw(daily: Floats, level: float, kind: str, rng: Generator) -> World:
    """Return a world of days that follow each other in the record."""
    days = TRAIN + DAYS
    begin = int(rng.integers(0, daily.size - days))
    count = rng.binomial(RECORDS, daily[begin : begin + days])
    hour = np.full(days, rng.random()) if kind == "nightly" else rng.random(days)
    at = np.repeat(np.arange(days) + hour, count)
    if kind == "one by one":
        at = np.repeat(np.arange(days), count) + rng.random(int(count.sum()))
    return World(np.sort(at), level)


class Keeper:
    """Looks at a world as the rule for targets has it.

    Args:
        world: The world.
        by_hours: Whether days count as the rhythm has them.

    """

    def __init__(self, world: World, *, by_hours: bool) -> None:
        self.world, self.by_hours = world, by_hours
        self.goal, self.past = Goal(world.level, SURE), LossHistory()
        self.known, self.last, self.looks = LearnedRhythm(), 0.0, [0.0]
        self._found = 0.5 / RECORDS

    @property
    def rhythm(self) -> Rhythm:
        """How days count."""
        return self.known.rhythm if self.by_hours else FLAT

    def look(self, now: float) -> None:
        """Renew the copy, and learn from what had changed, how it is kept as well."""
        self._judge(now)
        self.learn(now)

    def _judge(self, now: float) -> None:
        lost, days = self.world.lost(self.last, now), now - self.last
        whole, rhythm = self.whole(now), self.rhythm
        believed, missed = self._loss(self.last, now), None
        if not rhythm.flat:
            grown = lost * rhythm.passed(*np.array([self.last, now]))
            missed = float(np.mean(grown > self.goal.loss))
        told = WholeCopy(whole.things, days, whole.later, whole.fresh, AHEAD)
        self.past = target_rule.after_check(
            self.past, told, lost, believed, self.goal, missed=missed
        )

    def learn(self, now: float) -> None:
        """Renew the copy, and learn from what had changed."""
        lost = self.world.lost(self.last, now)
        row = np.array([[self.last], [RECORDS], [lost * RECORDS]])
        self.known = self.known.after(ObservedRecords(now, *row))
        self._found += lost
        self.last = now
        self.looks.append(now)

    def whole(self, now: float) -> WholeCopy:
        """Return how the copy stands."""
        rhythm = self.rhythm
        things = RECORDS / (1.0 if rhythm.flat else self.known.size)
        age = float(rhythm.between(*np.array([self.last, now])))
        later, fresh = (self._loss(t, now + AHEAD) for t in (self.last, now))
        return WholeCopy(max(things, 1.0), age, later, fresh, AHEAD)

    def _loss(self, since: float, until: float) -> float:
        """Return the loss that is believed, at the rate seen so far."""
        days = float(self.rhythm.between(*np.array([since, until])))
        return 1.0 - exp(-self._found / max(self.last, 1.0) * days)

    def play(self) -> tuple[float, float]:
        """Return the share of time at which the level was kept, and looks a day."""
        for k in range(1, round(TRAIN / SLOW) + 1):
            self.learn(k * SLOW)  # there is no target yet
        before = len(self.looks)
        for k in range(1, round(DAYS / TURN) + 1):
            now = TRAIN + k * TURN
            if target_rule.is_due(self.past, self.whole(now), self.goal):
                self.look(now)
        return kept(self.world, np.array(self.looks)), (len(self.looks) - before) / DAYS


def kept(world: World, looks: Floats) -> float:
    """Return the share of moments after learning at which the level was kept."""
    at = TRAIN + (np.arange(DAYS * MOMENTS) + 0.5) / MOMENTS
    last = looks[np.searchsorted(looks, at, side="right") - 1]
    first, then = (np.searchsorted(world.at, t, side="right") for t in (last, at))
    return float(np.mean((then - first) / RECORDS <= 1.0 - world.level))


def hindsight(world: World) -> float:
    """Return the looks a day of the longest interval that keeps the level."""
    for turns in range(24 * DAYS, 0, -1):
        every = turns * TURN
        looks = TRAIN + every * np.arange(ceil(DAYS / every) + 1.0)
        if kept(world, looks) >= SURE:
            return 1.0 / every
    return 1.0 / TURN


def sources(
    folder: Path, only: Sequence[str] = ()
) -> Iterator[tuple[str, Floats, float]]:
    """Return the tables looked at daily: what changes each day, and the level to keep.

    What is new; or the number that moves most, if it moves nearly every day.
    """
    for table in tables(folder, only):
        if not table.is_daily or table.relation.looks.size <= TRAIN + DAYS + 1:
            continue
        level = COUNTER_LEVEL if table.counter else LEVEL
        yield table.name, shares(table.relation, table.counter), level


def run(
    folder: Path, seeds: Sequence[int] = SEEDS, only: Sequence[str] = ()
) -> list[dict[str, object]]:
    """Return a row for each source and kind of world, in the mean over worlds."""
    rows: list[dict[str, object]] = []
    for name, daily, level in sources(folder / "objects", only):
        for kind in KINDS:
            worlds = [draw(daily, level, kind, np.random.default_rng(s)) for s in seeds]
            rows.append({"source": name, "changes": kind, **_played(worlds)})
    return rows


def _played(worlds: Sequence[World]) -> dict[str, object]:
    hours = [Keeper(world, by_hours=True) for world in worlds]
    plain = [Keeper(world, by_hours=False) for world in worlds]
    found = np.array([[one.play() for one in some] for some in (hours, plain)])
    kept_, looks = found.mean(axis=1).T
    return {
        "kept": round(float(kept_[0]), 4),
        "kept_least": round(float(found[0, :, 0].min()), 4),
        "looks": round(float(looks[0]), 2),
        "kept_by_age": round(float(kept_[1]), 4),
        "kept_least_by_age": round(float(found[1, :, 0].min()), 4),
        "looks_by_age": round(float(looks[1]), 2),
        "looks_in_hindsight": round(float(np.mean([hindsight(w) for w in worlds])), 2),
        "rhythms": sum(not one.known.rhythm.flat for one in hours),
        "worlds": len(worlds),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m lab.rhythms")
    parser.add_argument("folder", type=Path, help="with objects/")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--only", metavar="A,B,...", help="some of the tables")
    given = parser.parse_args(argv)
    for row in run(given.folder, tuple(given.seed or SEEDS), listed(given.only)):
        sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
