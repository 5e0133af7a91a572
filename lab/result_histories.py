"""Figures of the book that are measured on recorded listings and mixed sources."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from halflife.bench import league
from halflife.recordings import histories
from lab import forecast_halves, objects, one, page_halves, resumed_league
from lab.oneworld import Worlds

Payload: TypeAlias = dict[str, Any]

CONFIDENCE = 0.95
CHOSEN = "settings were chosen while looking at them"
SPLITS = 10  # of sites into halves
HALVED = ("before", "these and lengths")
HALVED_BUDGETS = (0.005, 0.02)
PAPER = "exponential"  # the model of the paper, with bounds of its own


def listings(data: Path) -> Payload:
    """Return how often forecasts of recorded listings came true, source by source.

    ``paper`` is the range of coverage, over sources, of the bounds for precision that
    the paper's own model has.
    """
    found = objects.study(data / "objects", [CONFIDENCE])
    rows = objects.summary(found["results"], found["rivals"])
    return {
        "seed": 0,
        "data": {
            "kind": "recorded",
            "part": f"all {len({row['source'] for row in rows})} listings; {CHOSEN}",
            "sha256": hashes(data, "objects/*/lifetimes.parquet"),
        },
        "within": within(rows),
        "paper": _range(
            row["coverage"] for row in _paper(found["results"], "precision")
        ),
        "rows": rows,
    }


def _paper(rows: Sequence[Payload], metric: str) -> list[Payload]:
    """Return how the paper's model covers each source, its horizons pooled."""
    own = [r for r in rows if r["model"] == PAPER and r["metric"] == metric]
    told = []
    for source in dict.fromkeys(row["source"] for row in own):
        some = [row for row in own if row["source"] == source]
        count = sum(row["n"] for row in some)
        held = sum(row["n"] * row["coverage"] for row in some) / count
        told.append({"source": source, "coverage": held})
    return told


def within(rows: Sequence[Payload]) -> Payload:
    """Return on how many sources coverage is within two points of what is meant.

    Sources that lose nothing are left out: no bound could be wrong there.
    """
    told: Payload = {}
    for metric in ("precision", "recall"):
        own = [r for r in rows if r["metric"] == metric and r["mae"] > _NOTHING]
        off = [row["coverage"] - CONFIDENCE for row in own]
        told[metric] = {
            "sources": len(own),
            "within": sum(abs(one) <= _NEAR for one in off),
            "above": sum(one > _NEAR for one in off),
        }
    return told


_NOTHING, _NEAR = 1e-4, 0.02 + 1e-9


def forecasts(data: Path, note: Callable[[str], object]) -> Payload:
    """Return how often bounds of listings hold, by days ahead, and how sharp they are.

    ``daily`` and ``hourly`` are ranges over horizons and measures of the mean coverage
    of listings that are read once a day, and more often.
    """
    found = forecast_halves.study(data / "objects", 10, note)
    own = [r for r in found["horizons"] if r["variant"] == forecast_halves.SHIPPED]
    rows = [row for row in own if row["days"] is not None]
    (whole,) = (row for row in own if row["days"] is None)
    held = found["held_out"]
    return {
        "seed": 0,
        "data": {
            "kind": "recorded",
            "part": f"all {whole['sources']} listings; {CHOSEN}",
            "sha256": hashes(data, "objects/*/lifetimes.parquet"),
        },
        "daily": _range(row["coverage"] for row in rows if row["days"] >= 1.0),
        "hourly": _range(row["coverage"] for row in rows if row["days"] < 1.0),
        "coverage": whole["coverage"],
        "of_before": dict(
            zip(("mean", "low", "high"), whole["of_before"], strict=True)
        ),
        "held_out": float(np.mean([row["winkler_of_before"] for row in held])),
        "rows": rows,
    }


def halved_pages(data: Path, work: Path) -> Payload:
    """Return how page policies do on the half of the sites they were not chosen on.

    Replays are kept in ``work``, so a measurement that was cut short goes on.
    """
    rules = league.LeagueRules(HALVED_BUDGETS, 1)
    recorded = histories.load(data / "sites", days=league.DAYS)
    log = page_halves.Log.read(work / "page-halves.jsonl")
    everybody = [*page_halves.RIVALS, "bounds", *HALVED]
    page_halves.fill(recorded, rules, everybody, SPLITS, log)
    rows = [
        {
            "variant": row.name.replace(" ", "_"),
            "budget": share,
            "of_uniform": row.ratio,
            "wins": row.wins,
            "gain": dict(
                zip(("mean", "low", "high"), row.gain or (0.0,) * 3, strict=True)
            ),
        }
        for share in HALVED_BUDGETS
        for row in page_halves.table(log, HALVED, SPLITS, HALVED_BUDGETS, share)
    ]
    rows += [
        {
            "variant": name,
            "kind": "bound" if name in page_halves.BOUNDS else "rival",
            "budget": share,
            "of_uniform": ratio,
        }
        for share in HALVED_BUDGETS
        for name, ratio in page_halves.others(log, SPLITS, share).items()
    ]
    files = [f"sites/{name}" for name in resumed_league.PAGE_FILES]
    return {
        "seed": 0,
        "data": {
            "kind": "recorded",
            "part": f"both halves of {SPLITS} random splits of 73 sites",
            "sha256": hashes(data, *files),
        },
        "rows": rows,
    }


def one_budget(data: Path, work: Path, note: Callable[[str], object]) -> Payload:
    """Return what one price does with the budget of sources of every kind.

    A world takes two minutes of the processor. Each is kept in a folder as it is done,
    so a measurement that was cut short goes on where it was.
    """
    read = hashes(data, "objects/*/*.parquet", "sites/*.parquet")
    about = hashlib.sha256("".join(read.values()).encode()).hexdigest()[:12]
    memory, worlds, rows = resumed_league.Memory(work, about), Worlds(data), []
    for seed in one.SEEDS:
        rows += memory.recall(f"world {seed}", partial(_world, worlds, seed))
        note(f"world {seed}\n")
    return {
        "seed": list(one.SEEDS),
        "data": {
            "kind": "recorded",
            "part": "worlds of eleven sources; rules were written on an earlier time",
            "sha256": read,
        },
        "rows": [plain(row) for row in one.pooled(rows)],
    }


def _world(worlds: Worlds, seed: int) -> list[Payload]:
    """Return how the rules did in one world."""
    return one.world_rows(worlds.draw(np.random.default_rng(seed)), seed)


def plain(row: Payload) -> Payload:
    """Return a row with names that a page can point at."""
    return {
        name.replace(" ", "_"): plain(value) if isinstance(value, dict) else value
        for name, value in row.items()
    }


def _range(values: Any) -> Payload:  # noqa: ANN401  (any numbers)
    known = list(values)
    return {"low": min(known), "high": max(known)} if known else {}


def hashes(data: Path, *patterns: str) -> dict[str, str]:
    """Return the SHA-256 of the files that were read, by their place in the folder."""
    paths = sorted(path for one in patterns for path in data.glob(one))
    return {str(path.relative_to(data)): file_hash(path) for path in paths}


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, as ``sha256sum`` prints it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
