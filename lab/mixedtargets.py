"""Targets kept live: the real service over real HTTP, beside single intervals.

``python -m lab.mixedtargets DIR OUT [--seed N] [--only SOURCE]`` serves worlds of
recorded histories on the loopback (``lab.mixedworld``), lets the service spend no more
than targets ask for, from the first day on, and judges it after two weeks. To the
folder OUT goes ``mixedtargets.json``, and to stdout: the share of moments at which each
target was kept (in these days, and in all since it was set), what its audits said
beside the truth, and the requests beside those of the best single interval, which looks
at the same sources in replay and is found in hindsight. ``needed_at_first`` is what the
plan says that a target needs when it is first judged; none, or more than the budget,
and it is out of reach. With ``--only`` a world has this source alone, such as
``site1``.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halflife.core.arrays import Floats
from halflife.engine.service import ServiceRhythm
from lab.mixedkept import kept
from lab.mixedparts import Desk, Library, Part, Site, Stock
from lab.mixedtime import Passing
from lab.mixedworld import TRAIN, Worlds, opened

SEEDS = (56, 58)  # 51, 53 to 55 and 57 were looked at while the service was mended
DAYS = 20.0
LEVELS = {"freshness": 0.95, "recall": 0.9, "content": 0.95, "summary": 0.5}
KEPT = 0.95
REQUESTS = 2400.0  # a day, at most
INTERVALS = np.geomspace(1.0 / 24.0, DAYS, 60)
QUARTERS = ServiceRhythm(900.0, 900.0, 900.0, 900.0, judged=21600.0)  # as in earnest
EVERY = 0.11  # days between moments at which it is judged: at all hours of the day
PHASES = (0.0, 0.25, 0.5, 0.75)  # of an interval, when the first look comes


def in_turn(part: Part, every: float, at: Floats, phase: float = 0.0) -> Floats:
    """Return the quality at moments if all of it is looked at every so many days.

    The first look after the beginning comes ``phase`` intervals later.
    """
    begin = float(at[0])
    if isinstance(part, Site):
        page = np.arange(len(part.recording))
        first = every * ((page + 0.5) / page.size + phase)
        turns = np.floor((at[:, None] - begin - first) / every + 1e-9)
        seen = np.where(turns < 0, begin, begin + first + turns * every)
        each = zip(seen, at.tolist(), strict=True)
        return np.array([part.quality((page, looked), now) for looked, now in each])
    turns = np.floor((at - begin) / every - phase + 1e-9)
    made = np.where(turns < 0, begin, begin + (turns + phase) * every)
    pairs = zip(made.tolist(), at.tolist(), strict=True)
    return np.array([_quality(part, then, now) for then, now in pairs])


def _quality(part: Part, made: float, now: float) -> float:
    if isinstance(part, Library):
        return part.quality(made, now)
    if isinstance(part, Stock):
        return part.quality(frozenset(part.table.at(made)), now)
    assert isinstance(part, Desk)
    return part.quality(part.table.at(made), now)


def best_interval(part: Part, level: float, at: Floats) -> dict[str, Any]:
    """Return the longest interval that keeps a target, found in hindsight.

    It must do so in the mean over ``PHASES``: that looks come just before the moments
    at which they are judged is no merit.
    """
    fine = [
        every
        for every in INTERVALS.tolist()
        if np.mean([in_turn(part, every, at, p) >= level for p in PHASES]) >= KEPT
    ]
    every = max(fine, default=float(INTERVALS[0]))
    return {
        "reachable": bool(fine),
        "interval": every,
        "interval_requests_a_day": part.whole / every,
    }


def world(
    worlds: Worlds, seed: int, days: float = DAYS, only: str = ""
) -> dict[str, Any]:
    """Return how the targets of one world, or of one source of it, were kept."""
    parts = [p for p in worlds.draw(seed) if only in ("", p.name)]
    if not parts:
        raise SystemExit(f"world {seed} has no source {only!r}")
    with tempfile.TemporaryDirectory() as place, opened(parts, Path(place)) as stage:
        targets = {
            p.name: f"{p.measure} >= {LEVELS[p.measure]} with confidence {KEPT}"
            for p in stage.parts
        }
        played, rows = kept(
            stage, targets, REQUESTS, passing=Passing(days, EVERY, QUARTERS)
        )
        for row, part in zip(rows, stage.parts, strict=True):
            spent = played.requests.get(json.dumps([part.name]), 0)
            row["requests_a_day"] = spent / days
            row.update(best_interval(part, LEVELS[part.measure], played.at))
    return {"seed": seed, "requests_a_day": played.spent / days, "sources": rows}


def run(folder: Path, seeds: Sequence[int] = SEEDS, only: str = "") -> dict[str, Any]:
    """Return all figures, or those of one source of each world."""
    worlds = Worlds(folder, TRAIN + DAYS)
    found = [world(worlds, seed, only=only) for seed in seeds]
    return {"days": DAYS, "train": TRAIN, "worlds": found}


def main(argv: Sequence[str] | None = None) -> None:
    """Run, write and print."""
    parser = argparse.ArgumentParser(prog="python -m lab.mixedtargets")
    parser.add_argument("folder", type=Path, help="with objects/ and sites/")
    parser.add_argument("out", type=Path, help="where mixedtargets.json goes")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--only", default="", help="the one source to serve")
    given = parser.parse_args(argv)
    seeds = tuple(given.seed or SEEDS)
    text = json.dumps(run(given.folder, seeds, given.only), indent=1)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "mixedtargets.json").write_text(text + "\n")
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
