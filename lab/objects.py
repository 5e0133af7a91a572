"""How the forecasts do on recorded set sources.

``python -m lab.objects FOLDER`` prints the study as JSON.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from halflife.models.census import METRICS, Census
from halflife.recordings.objects import load_parquet
from halflife.replay.backtest import backtest
from lab.forecast_rivals import adaptive_gain, backtest_new, compare

Rows: TypeAlias = list[dict[str, Any]]

DAILY = (1.0, 7.0, 14.0, 30.0)
HOURLY = (1 / 24, 3 / 24, 6 / 24, 12 / 24)
CYCLES = 12.0  # usual steps between two syncs in the comparison of the paper


def horizons(step: float) -> tuple[float, ...]:
    """Return the horizons to study: hours where looks come by the minute."""
    return HOURLY if step < 0.25 else DAILY


def sources(folder: Path) -> list[Path]:
    """Return the folders of recorded sources in a folder, or one level deeper."""
    found = {*folder.glob("*/lifetimes.parquet"), *folder.glob("*/*/lifetimes.parquet")}
    return sorted(path.parent for path in found)


def study(folder: Path, confidences: Sequence[float]) -> dict[str, Rows]:
    """Return all that is measured on the sources under a folder.

    ``results``: each model's forecasts held to what came. ``rivals``: by how much
    the default errs more than each rival. ``new``: how well arrivals are foreseen.
    ``adaptive``: what adapting the autoregression gains.
    """
    rows: dict[str, Rows] = {n: [] for n in ("results", "rivals", "new", "adaptive")}
    for path in sources(folder):
        collection = load_parquet(path, path.name)
        step = Census.of(collection).step
        ahead = horizons(step)
        for confidence in confidences:
            rows["results"] += backtest(collection, ahead, confidence)
        rows["rivals"] += compare(collection, ahead)
        rows["new"] += backtest_new(collection, ahead)
        for metric in METRICS:
            gain = adaptive_gain(collection, CYCLES * step, metric)
            named = {"source": path.name, "metric": metric, "days": CYCLES * step}
            rows["adaptive"].append({**named, **gain})
    return rows


def summary(results: Rows, against: Rows) -> Rows:
    """Return how the default did on each source, horizons pooled.

    ``coverage`` is over all forecasts, ``mae`` and ``width`` the mean of the
    horizons; ``more`` is by how much it errs more than the best rival, with bounds.
    """
    rows: Rows = []
    own = [row for row in results if row["default"]]
    for source, metric in dict.fromkeys((r["source"], r["metric"]) for r in own):
        some = [r for r in own if (r["source"], r["metric"]) == (source, metric)]
        rivals = [r for r in against if (r["source"], r["metric"]) == (source, metric)]
        best = min(rivals, key=lambda r: float(r["rival_mae"]), default={})
        count = sum(r["n"] for r in some)
        held = sum(r["n"] * r["coverage"] for r in some) / count
        row = {"source": source, "metric": metric, "n": count, "coverage": held}
        for field in ("mae", "width"):
            row[field] = sum(r[field] for r in some) / len(some)
        names = ("rival", "rival_mae", "more", "low", "high")
        rows.append({**row, **{name: best.get(name) for name in names}})
    return rows


def main(arguments: list[str] | None = None) -> None:
    """Print the study as JSON."""
    parser = argparse.ArgumentParser(prog="python -m lab.objects")
    parser.add_argument("folder", type=Path, help="holds one folder for each source")
    parser.add_argument(
        "--confidence", type=float, nargs="+", default=[0.95, 0.9], metavar="C"
    )
    asked = parser.parse_args(arguments)
    found = study(asked.folder, asked.confidence)
    pooled: Rows = []
    for confidence in asked.confidence:
        rows = [r for r in found["results"] if r["confidence"] == confidence]
        told = summary(rows, found["rivals"])
        pooled += [{"confidence": confidence, **row} for row in told]
    whole = {"results": found.pop("results"), "summary": pooled, **found}
    sys.stdout.write(json.dumps(whole, indent=1, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
