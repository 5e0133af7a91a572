"""How often the demo's bounds hold: believed freshness against the truth, many seeds.

``python -m lab.demo_seeds --seeds 100`` keeps the demo's site once for every seed, as
``halflife demo --seed N`` does, and holds the believed freshness at the end against the
true one. It prints the share of seeds whose bounds hold the truth, with the interval of
Clopper and Pearson, how far the belief is off on average, and the interval score. Every
seed is written to ``--log`` as it ends and is not played twice, so a run that was cut
short goes on; the log is of one version of the code.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from halflife.demo.run import Options, keep_site
from halflife.models.calibration import interval_score
from halflife.models.fractions import clopper_pearson

Row: TypeAlias = dict[str, Any]


def play(options: Options) -> Row:
    """Return what is believed of the demo's copy at the end, and what is true."""
    _, config, kept = keep_site(options, lambda _number, _words: None)
    shutil.rmtree(config.path.parent)
    mean, low, high = kept.believed
    return {
        "seed": options.seed,
        "true": kept.now,
        "believed": {"mean": mean, "low": low, "high": high},
        "freshness": kept.freshness,
    }


def played(path: Path | None) -> dict[int, Row]:
    """Return the rows of a log, by seed."""
    lines = path.read_text("utf-8").splitlines() if path and path.exists() else []
    return {row["seed"]: row for row in map(json.loads, lines)}


def play_all(
    seeds: Sequence[int], log: Path | None, options: Options | None = None
) -> list[Row]:
    """Keep the site for every seed that the log lacks; return the rows of all."""
    known, rows = played(log), []
    for seed in seeds:
        row = known.get(seed) or play(replace(options or Options(), seed=seed))
        rows.append(row)
        if log and seed not in known:
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    return rows


def summary(rows: Sequence[Row]) -> Row:
    """Return how often the bounds held, and how far off the means were."""
    true = np.array([row["true"] for row in rows])
    mean, low, high = (
        np.array([row["believed"][name] for row in rows])
        for name in ("mean", "low", "high")
    )
    inside = (low <= true) & (true <= high)
    held = np.array([inside.sum()], dtype=np.float64)
    share = clopper_pearson(held, np.array([float(len(rows))]))
    off = true - mean
    spread = float(off.std(ddof=1)) if len(rows) > 1 else 0.0
    return {
        "seeds": len(rows),
        "held": int(held[0]),
        "coverage": {
            name: float(part[0])
            for name, part in zip(("share", "low", "high"), share, strict=True)
        },
        "above": int((true > high).sum()),
        "below": int((true < low).sum()),
        "off": float(off.mean()),
        "off_error": spread / np.sqrt(len(rows)),
        "width": float((high - low).mean()),
        "score": float(interval_score(low, high, true).mean()),
        "true": float(true.mean()),
        "freshness": float(np.mean([row["freshness"] for row in rows])),
    }


def words(found: Row) -> str:
    """Return a summary as a sentence or two."""
    part = found["coverage"]
    return (
        f"The bounds held on {found['held']} of {found['seeds']} seeds: "
        f"{part['share']:.3f} [{part['low']:.3f}, {part['high']:.3f}]; the truth was "
        f"above them {found['above']} times, below {found['below']}.\n"
        f"True minus believed: {found['off']:+.4f} (standard error "
        f"{found['off_error']:.4f}); width of the bounds {found['width']:.3f}, their "
        f"interval score {found['score']:.3f}; freshness {found['freshness']:.4f}.\n"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Keep the site for every seed that the log lacks, and print what came of it."""
    parser = argparse.ArgumentParser(prog="lab.demo_seeds")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--pages", type=int, default=Options().pages)
    parser.add_argument("--days", type=int, default=Options().days)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    seeds = range(given.first, given.first + given.seeds)
    rows = play_all(seeds, given.log, Options(pages=given.pages, days=given.days))
    found = summary(rows)
    said = json.dumps({**found, "rows": rows}) + "\n" if given.json else words(found)
    sys.stdout.write(said)


if __name__ == "__main__":
    main()
