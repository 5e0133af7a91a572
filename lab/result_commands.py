"""Figures of the book that a command of its own prints as JSON."""

import json
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class PrintedFigure:
    """What a command prints, as a figure.

    Attributes:
        command: As a reader would type it; PYTHON is a Python with Scrapy.
        part: What it measures.
        seed: Where its chance comes from.

    """

    command: str
    part: str
    seed: int | list[int] = 0

    def measure(self) -> dict[str, Any]:
        """Run the command here, and return what it printed with its origin."""
        done = subprocess.run(  # noqa: S603
            words(self.command), cwd=ROOT, check=True, capture_output=True, text=True
        )
        found = json.loads(done.stdout)
        rows = found.get("results") or found.get("rows") or [found]
        data = {"kind": "made", "part": self.part}
        return {"seed": self.seed, "data": data, "rows": rows}


def words(command: str) -> list[str]:
    """Return the words of a command, its programs those of this environment.

    >>> words("halflife bench x")[1:]
    ['-m', 'halflife', 'bench', 'x']
    """
    first, *rest = shlex.split(command.replace("PYTHON", sys.executable))
    ours = [sys.executable, *(["-m", "halflife"] if first == "halflife" else [])]
    return [*ours, *rest]


PRINTED = {
    "allocate": PrintedFigure(
        "halflife bench allocate --items 1000000 --json",
        "a million pages, lognormal rates and Pareto weights",
    ),
    "weibull": PrintedFigure(
        "halflife bench allocate --items 1000000 --shape weibull --json",
        "a million pages with Weibull lifetimes, lognormal rates and Pareto weights",
    ),
    "out-of-core": PrintedFigure(
        "halflife bench allocate --items 100000000 --out-of-core --json",
        "100 million items with rates, weights and costs in 100 Parquet files",
    ),
    "large-fit": PrintedFigure(
        "python lab/scale/fit.py --items 10000000 --json",
        "10 million items with 10 observations each, in files",
    ),
    "fit": PrintedFigure(
        "python -m lab.bench fit", "100 000 pages with 20 observations each"
    ),
    "lifetimes": PrintedFigure(
        "python -m lab.bench lifetimes",
        "50 000 lifetimes, of which 47 530 were seen by daily looks of a year",
    ),
    "index": PrintedFigure(
        "python -m lab.bench index", "10 000 pages whose rates are known"
    ),
    "learn": PrintedFigure(
        "python -m lab.bench learn --seeds 8",
        "8 populations of 2000 pages",
        list(range(8)),
    ),
    "fetch": PrintedFigure(
        "python lab/benchmarks/fetch.py --repeats 5 --scrapy PYTHON",
        "2000 pages of 19 kB from a local server",
    ),
    "changes": PrintedFigure(
        "python lab/benchmarks/changes.py --sync --records 1000000",
        "made-up pages and records, in memory and in a file",
    ),
    "scrapy-addon": PrintedFigure(
        "python lab/benchmarks/scrapy_addon.py", "150 pages of a local site", 1
    ),
    "first-minutes": PrintedFigure(
        "python -m lab.first_minutes", "a clone of this repository, a site of 12 pages"
    ),
    "kill9": PrintedFigure(
        "python lab/benchmarks/kill9.py --kills 100 --scrapy PYTHON",
        "500 pages of a local site, killed at random instants",
        1,
    ),
}
