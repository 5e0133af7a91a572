"""The ageing of the summaries of recorded text databases, and their lifetimes.

``python -m halflife.bench.textdrift FOLDER`` reads a folder with
``docs_weekly.parquet``, ``vocab.parquet`` and ``sites.parquet`` and prints, for all
documents and for the view of recent ones, the five metrics of complete summaries by
age, and lifetimes by threshold. ``--qbs N`` adds samples of N databases, spread evenly
over the list: by queries, by focused probes, and drawn evenly; five in every eighth
week. ``--pictures DIR`` writes the curves as SVG and CSV. ``--speed`` only prints the
time for the complete summaries and the metrics of all pairs of weeks, of 40 databases
over 52 weeks.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.spells import Spells
from halflife.models.survival_curves import KaplanMeier
from halflife.probing.focused_probe import focused_sample
from halflife.probing.hierarchy import Hierarchy
from halflife.probing.memory import InMemoryDatabase
from halflife.probing.query_sampling import query_based_sample
from halflife.probing.rules import TopicProbes, learn_probes
from halflife.recordings.textdb import load
from halflife.study.textdrift import PUBLISHED, figures, files, lifetimes_figure
from halflife.summary import Summary
from halflife.summary.age_curves import YEAR, AgeCurves, age_curves
from halflife.summary.drift import (
    Maker,
    SummaryDrift,
    drifts,
    sampled_drifts,
    sampling_maker,
)
from halflife.summary.metrics import METRICS
from halflife.summary.survival import lifetimes
from halflife.summary.weekly import Weekly

AGES = (0, 1, 2, 4, 8, 13, 25, 36, 46, 48, 52)
FEW = 20  # documents without which a summary is too noisy
SHOWN = (0.005, 0.1)  # thresholds of the pictures: all documents, recent items
TAUS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5)
DICTIONARY = 20_000  # words that a sample may start with
EVERY = 8  # weeks between samples
TAUGHT = 30  # documents of each site from which probes are learned


class QueryBased:
    """Makes summaries by query-based sampling of 300 documents."""

    def __init__(self, weekly: Weekly) -> None:
        self.dictionary: list[str] = weekly.words[:DICTIONARY].tolist()
        self.at: tuple[str, int] = ("", -1)
        self.shelf = InMemoryDatabase(())

    def __call__(self, weekly: Weekly, site: str, week: int, rng: Generator) -> Summary:
        """Return the summary of one sample; it is scaled to the true size."""
        if self.at != (site, week):
            self.at, self.shelf = (
                (site, week),
                InMemoryDatabase(weekly.documents(site, week)),
            )
        found = query_based_sample(self.shelf, self.dictionary, rng)
        if not found.documents:
            return Summary((), np.zeros(0), 0.0, 0)
        return found.summary(float(len(self.shelf.documents)))


class FocusedSummaries:
    """Makes summaries by probes that a classifier over the domains chooses.

    The domains (com, org, ...) are the only labels that recorded sites have. Probes
    for a site are learned from documents of the others, in the first week.
    """

    def __init__(self, weekly: Weekly, rng: Generator) -> None:
        self.at: tuple[str, int] = ("", -1)
        self.shelf = InMemoryDatabase(())
        self.probes: dict[str, TopicProbes] = {}
        self.taught = {site: _taught(weekly, site, rng) for site in weekly.sites}

    def __call__(self, weekly: Weekly, site: str, week: int, rng: Generator) -> Summary:
        """Return the summary of one sample; it is scaled to the true size."""
        if self.at != (site, week):
            self.at, self.shelf = (
                (site, week),
                InMemoryDatabase(weekly.documents(site, week)),
            )
        if site not in self.probes:
            self.probes[site] = self._learn(site, rng)
        found = focused_sample(self.shelf, self.probes[site]).sample
        if not found.documents:
            return Summary((), np.zeros(0), 0.0, 0)
        return found.summary(float(len(self.shelf.documents)))

    def _learn(self, site: str, rng: Generator) -> TopicProbes:
        """Return probes learned from all other sites."""
        others = [
            pair for name, docs in self.taught.items() if name != site for pair in docs
        ]
        labels = [label for _, label in others]
        hierarchy = Hierarchy.of(sorted(set(labels)))
        return learn_probes(hierarchy, [words for words, _ in others], labels, rng)


def _taught(
    weekly: Weekly, site: str, rng: Generator
) -> list[tuple[tuple[str, ...], str]]:
    """Return the words of some documents of a site, and its domain."""
    domain = weekly.stratum[weekly.place(site)]
    shelf = weekly.documents(site, 0)
    chosen = rng.permutation(len(shelf))[:TAUGHT]
    return [(shelf[int(i)].words, domain) for i in chosen]


def rows(name: str, found: AgeCurves) -> list[dict[str, Any]]:
    """Return the curves at the ages ``AGES``, a row each."""
    rows = []
    for metric in METRICS:
        curve = found.curves[metric]
        for k, age in enumerate(found.age.tolist()):
            if age in AGES and curve.databases[k]:
                rows.append(
                    {
                        "summaries": name,
                        "metric": metric,
                        "age": age,
                        "mean": round(float(curve.mean[k]), 5),
                        "low": round(float(curve.low[k]), 5),
                        "high": round(float(curve.high[k]), 5),
                        "databases": int(curve.databases[k]),
                    }
                )
    return rows


def survival(name: str, found: tuple[SummaryDrift, ...]) -> list[dict[str, Any]]:
    """Return how many lifetimes there are at each threshold, and their median."""
    rows = []
    for tau in TAUS:
        lives = lifetimes(found, (tau,))
        rows.append(
            {
                "summaries": name,
                "tau": tau,
                "lifetimes": lives.length.size,
                "events": int(lives.event.sum()),
                "median_weeks": median(lives.length, lives.event),
            }
        )
    return rows


def median(length: Floats, event: Bools) -> float | None:
    """Return the Kaplan-Meier median of lifetimes; None if it is not reached."""
    if not event.any():
        return None
    spells = Spells.of(np.zeros(length.size), length, np.where(event, length, np.inf))
    curve = KaplanMeier().fit(spells)
    low = np.flatnonzero(curve.survival_ <= 0.5)
    return float(curve.time_[low[0]]) if low.size else None


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


def sample_ageing(weekly: Weekly, number: int, rng: Generator) -> dict[str, AgeCurves]:
    """Return the ageing of sampled and of complete summaries of some databases."""
    places = np.linspace(0, len(weekly.sites) - 1, number).round().astype(int)
    selected = weekly.select(tuple(weekly.sites[k] for k in np.unique(places)))
    ages: Ints = np.arange(min(YEAR + 1, weekly.weeks))
    makers: dict[str, Maker] = {
        "query-based sample": QueryBased(weekly),
        "focused probes": FocusedSummaries(weekly, rng),
        "even sample": sampling_maker(300),
    }
    found = {"complete, same databases": list(drifts(selected))} | {
        name: [
            drift
            for site in selected.sites
            for drift in sampled_drifts(selected, site, maker, rng, every=EVERY)
        ]
        for name, maker in makers.items()
    }
    return {name: age_curves(each, rng, ages=ages) for name, each in found.items()}


def main(words: list[str]) -> dict[str, Any]:
    """Return the results that the command line requests."""
    parser = argparse.ArgumentParser(prog="python -m halflife.bench.textdrift")
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
