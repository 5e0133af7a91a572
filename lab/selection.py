"""What fresh summaries buy a metasearcher, on recorded text databases.

``python -m lab.selection FOLDER`` asks known-item queries of the last
weeks of a folder of weekly recordings, has each method of selection choose by
summaries of every age, and prints how good the choice is: against that by fresh
summaries, and against where the documents are.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.random import default_rng

from halflife.bench.textbuys import ratio_of
from halflife.core.arrays import Floats, Ints
from halflife.core.errors import UsageError
from halflife.metrics.intervals import cluster_interval, draws
from halflife.recordings.textdb import load
from halflife.selection.trial import METHODS, SAMPLE, Trial, known_items
from halflife.summary.weekly import RECENT, Weekly

AGES = (0, 1, 4, 13, 26, 39, 52)
BACK = (0, 2, 4, 6)  # the weeks before the last in which queries are asked
EACH = 3  # queries a database and week
NEW = 4  # weeks that a document counts as new

Found: TypeAlias = dict[tuple[str, int], list[Mapping[str, Floats]]]


def run(
    weekly: Weekly, *, each: int = EACH, seed: int = 0, complete: bool = True
) -> list[dict[str, Any]]:
    """Return the quality by view, what is asked for, method and age of summaries."""
    if weekly.weeks <= RECENT:
        raise UsageError(f"{weekly.weeks} weeks are recorded; {RECENT + 1} are needed")
    recent, last = weekly.recent(), weekly.weeks - 1
    weeks = [last - b for b in BACK if last - b >= recent.since]
    cases = (
        ("all", "any", weekly, None),
        ("all", "new", weekly, NEW),
        ("recent", "any", recent, None),
    )
    found: list[dict[str, Any]] = []
    for view, about, source, newest in cases:
        rng = default_rng(seed)
        asked = [known_items(source, w, each, rng, newest=newest) for w in weeks]
        pairs = zip(weeks, asked, strict=True)
        rows = _rows([Trial.of(source, w, q) for w, q in pairs], complete=complete)
        found += [{"view": view, "about": about} | row for row in rows]
    return found


def _rows(trials: Sequence[Trial], *, complete: bool) -> Iterator[dict[str, Any]]:
    """Yield one row for each method and age, over the trials of several weeks."""
    first, weekly = min(t.week for t in trials), trials[0].weekly
    ages = [age for age in AGES if first - age >= weekly.since]
    found: Found = defaultdict(list)
    for trial in trials:
        _try(trial, ages, found, complete=complete)
    home = np.array([q.home for t in trials for q in t.queries], np.intp)
    if home.size == 0:
        return
    for (method, age), parts in found.items():
        row = _told(parts, found[method, 0], home, len(weekly.sites))
        yield {"method": method, "age": age} | row


def _try(trial: Trial, ages: Sequence[int], found: Found, *, complete: bool) -> None:
    """Add the measures of one week by every method and age."""
    fresh: dict[str, list[Ints]] = {}
    for age in ages:
        every = np.full(len(trial.weekly.sites), age)
        known = trial.knowledge(every, complete=complete)
        for method in METHODS:
            orders = trial.orders(known, method)
            fresh.setdefault(method, orders)
            found[method, age].append(trial.measures(orders, fresh[method]))


def _told(
    parts: Sequence[Mapping[str, Floats]],
    fresh: Sequence[Mapping[str, Floats]],
    home: Ints,
    databases: int,
) -> dict[str, Any]:
    """Return means with intervals over databases, and what is lost to fresh.

    Intervals are by resampling whole databases with all queries for their
    documents. A measure that no query has is left out.
    """
    counts = draws(databases, default_rng(0), resamples=1000)
    row: dict[str, Any] = {"queries": home.size}
    for name in parts[0]:
        mine, new = (
            ratio_of(np.concatenate([p[name] for p in each]), home, databases)
            for each in (parts, fresh)
        )
        if mine.bottom.sum() == 0:
            continue
        row[name] = [round(x, 4) for x in cluster_interval(counts, mine)]
        if name != "overlap_5":
            lost = cluster_interval(counts, new, mine)
            row[f"{name}_lost"] = [round(x, 4) for x in lost]
    return row


def main(arguments: list[str] | None = None) -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m lab.selection")
    parser.add_argument("folder", type=Path, help="weekly recordings of databases")
    parser.add_argument("--each", type=int, default=EACH, help="queries a database")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--sampled", action="store_true", help="summaries by samples, not complete"
    )
    asked = parser.parse_args(arguments)
    weekly = load(asked.folder)
    report = {
        "databases": len(weekly.sites),
        "sample": SAMPLE,
        "seed": asked.seed,
        "complete": not asked.sampled,
        "results": run(
            weekly, each=asked.each, seed=asked.seed, complete=not asked.sampled
        ),
    }
    sys.stdout.write(json.dumps(report, indent=1, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
