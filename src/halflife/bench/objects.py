"""How the forecasts do on recorded set sources.

``python -m halflife.bench.objects FOLDER`` prints the study as JSON.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from halflife.backtest import adaptive_gain, backtest, backtest_new, compare
from halflife.models.census import METRICS, Census
from halflife.sources.objects import load_parquet

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


def run(folder: Path, confidence: float = 0.95) -> list[dict[str, object]]:
    """Return the rows of the back-test of every source under a folder."""
    rows: list[dict[str, object]] = []
    for path in sources(folder):
        collection = load_parquet(path, path.name)
        step = Census.of(collection).step
        rows += backtest(collection, horizons(step), confidence)
    return rows


def rivals(folder: Path) -> list[dict[str, object]]:
    """Return by how much the default errs more than each rival on every source."""
    rows: list[dict[str, object]] = []
    for path in sources(folder):
        collection = load_parquet(path, path.name)
        rows += compare(collection, horizons(Census.of(collection).step))
    return rows


def newcomers(folder: Path) -> list[dict[str, object]]:
    """Return how well new objects are foreseen on every source."""
    rows: list[dict[str, object]] = []
    for path in sources(folder):
        collection = load_parquet(path, path.name)
        rows += backtest_new(collection, horizons(Census.of(collection).step))
    return rows


def gains(folder: Path) -> list[dict[str, object]]:
    """Return what adapting the autoregression gains on every source."""
    rows: list[dict[str, object]] = []
    for path in sources(folder):
        collection = load_parquet(path, path.name)
        cycle = CYCLES * Census.of(collection).step
        for metric in METRICS:
            gain = adaptive_gain(collection, cycle, metric)
            rows.append({"source": path.name, "metric": metric, "days": cycle, **gain})
    return rows


def summary(
    results: list[dict[str, Any]], against: list[dict[str, Any]]
) -> list[dict[str, object]]:
    """Return how the default did on each source, horizons pooled.

    ``coverage`` is over all forecasts, ``mae`` and ``width`` the mean of the
    horizons; ``more`` is by how much it errs more than the best rival, with bounds.
    """
    rows: list[dict[str, object]] = []
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
    parser = argparse.ArgumentParser(prog="python -m halflife.bench.objects")
    parser.add_argument("folder", type=Path, help="holds one folder for each source")
    parser.add_argument(
        "--confidence", type=float, nargs="+", default=[0.95, 0.9], metavar="C"
    )
    asked = parser.parse_args(arguments)
    against = rivals(asked.folder)
    results, pooled = [], []
    for confidence in asked.confidence:
        rows = run(asked.folder, confidence)
        results += rows
        pooled += [{"confidence": confidence, **row} for row in summary(rows, against)]
    study = {
        "results": results,
        "summary": pooled,
        "rivals": against,
        "new": newcomers(asked.folder),
        "adaptive": gains(asked.folder),
    }
    sys.stdout.write(json.dumps(study, indent=1, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
