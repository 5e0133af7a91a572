"""The ageing of summaries of recorded text databases, printed as JSON.

``python -m lab.text_ageing FOLDER`` reads a folder with ``docs_weekly.parquet``,
``vocab.parquet`` and ``sites.parquet`` and prints, for all documents and for the view
of recent ones, the five metrics of complete summaries by age, and lifetimes by
threshold. ``--qbs N`` adds samples of N databases, spread evenly over the list: by
queries, by focused probes, and drawn evenly; five in every eighth week. ``--pictures
DIR`` writes the curves as SVG and CSV. ``--speed`` only prints the time for the
complete summaries and the metrics of all pairs of weeks, of 40 databases over 52 weeks.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from halflife.bench.textdrift import rows, sample_ageing, survival
from halflife.recordings.textdb import load
from halflife.study.textdrift import PUBLISHED, figures, files, lifetimes_figure
from halflife.summary.age_curves import age_curves
from halflife.summary.drift import drifts
from halflife.summary.weekly import Weekly

FEW = 20  # documents without which a summary is too noisy
SHOWN = (0.005, 0.1)  # thresholds of the pictures: all documents, recent items


def speed(folder: Path, databases: int = 40, weeks: int = 52) -> dict[str, Any]:
    """Return seconds for complete summaries and divergences of all pairs of weeks."""
    began = time.perf_counter()
    weekly = load(folder)
    loaded = time.perf_counter()
    found = drifts(_part(weekly, databases, weeks))
    done = time.perf_counter()
    return {
        "databases": min(databases, len(weekly.sites)),
        "weeks": min(weeks, weekly.weeks),
        "pairs": sum(drift.change.kl.size for drift in found),
        "load_s": round(loaded - began, 2),
        "summaries_and_metrics_s": round(done - loaded, 2),
    }


def _part(weekly: Weekly, databases: int, weeks: int) -> Weekly:
    """Return the first databases in the first weeks."""
    return weekly.select(weekly.sites[:databases]).until(min(weeks, weekly.weeks))


def run(
    folder: Path, *, sampled: int = 0, out: Path | None = None, seed: int = 0
) -> dict[str, Any]:
    """Return ageing and lifetimes in both views; write pictures if requested."""
    weekly = load(folder)
    rng = np.random.default_rng(seed)
    found = {"all documents": drifts(weekly), "recent items": drifts(weekly.recent())}
    views = {name: age_curves(drift, rng) for name, drift in found.items()}
    if sampled:
        views |= sample_ageing(weekly, sampled, rng)
    if out is not None:
        lives = zip(found.items(), SHOWN, strict=True)
        shown = [lifetimes_figure(name, drift, tau) for (name, drift), tau in lives]
        _write(out, files([*figures(views), *shown]))
    large = [drift for drift in found["recent items"] if drift.size.min() >= FEW]
    if large:
        views[f"recent items, {FEW} or more"] = age_curves(large, rng)
    return {
        "databases": len(weekly.sites),
        "weeks": weekly.weeks,
        "published": [{"metric": m, "age": a, "mean": v} for m, a, v in PUBLISHED],
        "ageing": [row for name, age in views.items() for row in rows(name, age)],
        "lifetimes": [r for name, each in found.items() for r in survival(name, each)],
    }


def _write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def main(words: list[str]) -> dict[str, Any]:
    """Return the results that the command line requests."""
    parser = argparse.ArgumentParser(prog="python -m lab.text_ageing")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--qbs", type=int, default=0, metavar="N")
    parser.add_argument("--pictures", type=Path, metavar="DIR")
    given = parser.parse_args(words)
    if given.speed:
        return speed(given.folder)
    return run(given.folder, sampled=given.qbs, out=given.pictures)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1:]), indent=1) + "\n")
