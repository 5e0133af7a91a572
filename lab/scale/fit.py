"""The empirical-Bayes fit of 10^7 items with 10 observations each, part by part.

    python lab/scale/fit.py --items 10000000 --looks 10 --json
    python lab/scale/fit.py --items 1000000 --compare --json

Gaps are made up first and written to files, which is not counted; reading them is.
With ``--compare`` the same gaps are also fitted at once in this process, which holds
320 bytes an item, and the largest differences are printed.
"""

import argparse
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from halflife.bench.out_of_core import MeasuredProcess
from halflife.bench.population import rates_and_weights
from halflife.core.history import Gaps
from halflife.executors import executor_named
from halflife.models.empirical_bayes import Posterior
from lab.rates.empirical_bayes import EmpiricalBayesRate

sys.path.insert(0, str(Path(__file__).parents[2]))

from lab.rates.rates_in_parts import fit_prior_in_parts, fit_rates

ITEMS = 32 * 8192  # in a part


@dataclass(frozen=True)
class FilePart:
    """Items whose gaps lie in a file."""

    folder: Path
    start: int
    items: int

    def gaps(self) -> Gaps:
        """Return the gaps, sorted by item."""
        with np.load(self.folder / f"{self.start}.npz") as file:
            length, changed = file["length"], file["changed"]
        item = np.repeat(np.arange(self.items), length.size // self.items)
        return Gaps(item, length, changed, np.ones(item.size))

    def write(self, believed: Posterior) -> None:
        """Keep the posteriors beside the gaps."""
        np.save(self.folder / f"{self.start}-rates.npy", np.stack(believed))


def make(looks: int, part: FilePart) -> None:
    """Make up the gaps of a part, the same every time."""
    rng = np.random.default_rng([part.start, 7])
    rate = np.repeat(rates_and_weights(part.items, part.start)[0], looks)
    length = rng.lognormal(0.5, 1.0, rate.size)
    changed = rng.random(rate.size) < -np.expm1(-rate * length)
    np.savez(part.folder / f"{part.start}.npz", length=length, changed=changed)


def main() -> None:
    """Measure, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--looks", type=int, default=10)
    parser.add_argument("--executor", default="local")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--json", action="store_true", help="(it always is)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="halflife-") as made:
        parts = [
            FilePart(Path(made), start, min(ITEMS, given.items - start))
            for start in range(0, given.items, ITEMS)
        ]
        answer = measured(parts, given)
        if given.compare:
            answer |= compared(parts)
    print(json.dumps(answer, indent=1))


def measured(parts: list[FilePart], given: argparse.Namespace) -> dict[str, Any]:
    """Return the time and memory of the fit part by part."""
    with executor_named(given.executor) as opened:
        list(opened.map(partial(make, given.looks), parts))
        workers = MeasuredProcess(opened)
        began = perf_counter()
        fit_prior_in_parts(parts, workers)
        prior_seconds = perf_counter() - began
        prior_processor = workers.processor
        workers = MeasuredProcess(opened)
        began = perf_counter()
        fit_rates(parts, workers)
        seconds = perf_counter() - began
    return {
        "items": given.items,
        "observations": given.items * given.looks,
        "parts": len(parts),
        "executor": given.executor,
        "seconds": seconds,
        "processor_seconds": workers.processor,
        "prior_seconds": prior_seconds,
        "prior_processor_seconds": prior_processor,
        "peak_mb": workers.peak / 1e6,
        "load": os.getloadavg()[0],
    }


def compared(parts: list[FilePart]) -> dict[str, Any]:
    """Return how far the fit of all gaps at once is from that part by part."""
    with executor_named("in-process") as executor:
        prior = fit_prior_in_parts(parts, executor)
    some = [part.gaps() for part in parts]
    item = [gaps.item + p.start for gaps, p in zip(some, parts, strict=True)]
    length = np.concatenate([gaps.length for gaps in some])
    changed = np.concatenate([gaps.changed for gaps in some])
    began = perf_counter()
    whole = EmpiricalBayesRate().fit(np.concatenate(item), length, changed)
    seconds = perf_counter() - began
    files = [np.load(p.folder / f"{p.start}-rates.npy") for p in parts]
    rate = np.concatenate([posterior[2] for posterior in files])
    return {
        "single_process_seconds": seconds,
        "largest_prior_difference": float(np.abs(prior - whole.prior_).max()),
        "largest_rate_difference": float(np.abs(rate / whole.rate_ - 1.0).max()),
    }


if __name__ == "__main__":
    sys.exit(main())
