"""The figures of the book, measured again and written down: ``make league``.

``python -m lab.results [--data DIR] [--only A,B]`` measures every figure that it can
and writes ``results/NAME.json``: the rows, and beside them the command, the seed,
versions, the SHA-256 of what was read and which part of the data it is. DIR is a folder
of recorded histories (``sites/`` and ``objects/``); figures that need it are left alone
without it. ``--pages`` writes the tables of the book from these files. Long figures go
on where they were cut short.
"""

import argparse
import io
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from halflife.bench import league
from halflife.cli import main as halflife
from halflife.recordings import histories
from halflife.study.league import picture
from halflife.worlds.make import make
from lab import (
    demo_seeds,
    independent_pages,
    result_histories,
    resumed_league,
    world_summary,
    world_tolerances,
)
from lab.entries import ENTRIES, EntryRules, table
from lab.result_commands import PRINTED, PrintedFigure
from lab.result_pages import MEASURED, rendered
from lab.result_tables import TABLES

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/league.md", "docs/figures.md", "docs/comparison.md",
         "docs/worlds.md", "docs/neighbours.md", "docs/objects-study.md",
         "docs/one-budget.md", "docs/scrapy.md")  # fmt: skip
# Pages of which every table is checked for figures that no result file has.
CHECKED = ("README.md", "docs/league.md", "docs/figures.md", "docs/comparison.md")
PICTURE = "docs/league.svg"
WORK = ROOT / "out"
MADE_SEED, MADE_SIZE = 1, 0.2
LIKE = ((("sites", "texts", "jobs", "cars", "papers"), 1.0),
        (("vacancies", "prices", "outages", "ranking"), 0.3))  # fmt: skip
DEMO_SEEDS = range(1, 101)
CRAWLED = ((4, "site01", 20), (3, "site00", 8), (6, "site01", 24))  # a day
SOME = ("champion", "uniform", "nutch-adaptive", "age", "freshness", "oracle")
Payload: TypeAlias = dict[str, Any]


class Errand(NamedTuple):
    """What a figure is measured with: recorded data, if any, and which policies."""

    data: Path | None
    policies: Sequence[str] = ()


@dataclass(frozen=True)
class BookFigure:
    """A figure of the book.

    Attributes:
        command: What measures it.
        measure: Returns its rows, and what they were measured on.
        needs: The folder of recorded histories that it needs; empty if none.

    """

    command: str
    measure: Callable[[Errand], Payload]
    needs: str = ""


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def about(folder: Path, rules: league.LeagueRules) -> str:
    """Return what scores of a league depend on, in a few characters."""
    read = resumed_league.digest([folder / n for n in resumed_league.PAGE_FILES])
    return f"{read[:12]}-s{rules.seeds}t{rules.ticks}w{rules.warm:g}"


def _league(
    folder: Path, names: Sequence[str], rules: league.LeagueRules
) -> list[Payload]:
    recorded = histories.load(folder, days=league.DAYS)
    memory = resumed_league.Memory(WORK / "league", about(folder, rules))
    return resumed_league.rows(recorded, names, rules, memory, _say)


def recorded_league(errand: Errand) -> Payload:
    """Play every policy on the recorded sites."""
    folder = _folder(errand) / "sites"
    rules = league.LeagueRules(seeds=2)
    rows = _league(folder, errand.policies or league.all_policies(), rules)
    return {
        "seed": list(range(rules.seeds)),
        "data": {
            "kind": "recorded",
            "part": "all 73 sites; the champion's settings were chosen on them",
            "sha256": _hashes([folder / n for n in resumed_league.PAGE_FILES]),
        },
        "rows": rows,
    }


def made_league(errand: Errand) -> Payload:
    """Play some policies on a made-up world, which needs no recorded data."""
    folder = made(("sites",), MADE_SEED, MADE_SIZE) / "sites"
    rules = league.LeagueRules((0.005, 0.02), seeds=1)
    rows = _league(folder, errand.policies or SOME, rules)
    return {
        "seed": MADE_SEED,
        "data": {
            "kind": "made",
            "part": f"world of seed {MADE_SEED}, size {MADE_SIZE}: sites",
            "sha256": _hashes([folder / n for n in resumed_league.PAGE_FILES]),
        },
        "rows": rows,
    }


def made(kinds: Sequence[str], seed: int, size: float) -> Path:
    """Return a made-up world; it is made once."""
    folder = WORK / "worlds" / f"{'-'.join(kinds)}-{seed}-{size:g}"
    if not (folder / "world.json").is_file():
        make(folder, kinds, seed, size)
    return folder


def worlds(_: Errand) -> Payload:
    """Compare worlds with the histories that they are like."""
    rows = []
    for kinds, size in LIKE:
        report = world_summary.world_summary(made(kinds, MADE_SEED, size))
        rows += [row._asdict() for row in world_tolerances.compared(report)]
    return {"seed": MADE_SEED, "data": {"kind": "made"}, "rows": rows}


def independent(_: Errand) -> Payload:
    """Play the champion where pages have nothing in common, where it loses."""
    output = io.StringIO()
    with redirect_stdout(output):
        independent_pages.main([])
    rows: list[dict[str, Any]] = []
    for line in output.getvalue().splitlines():
        rule, _colon, told = line.partition(": ")
        figures, _semicolon, gain = told.partition("; ")
        ahead, _comma, error = gain.partition(", standard error ")
        values = [float(word) for word in figures.split(",")]
        mean = float(np.mean(values))
        row = {"freshness": mean, "ahead": float(ahead), "error": float(error)}
        rows.append({"rule": rule, **row})
    (champion,) = (row for row in rows if row["rule"] == "champion")
    data = {"kind": "made", "part": "1200 pages that change independently, 8 times"}
    behind = {"champion_behind": -champion["ahead"], "error": champion["error"]}
    return {"seed": 0, "data": data, **behind, "rows": rows}


def demo(_: Errand) -> Payload:
    """Run the demo and keep what it prints, up to the requests spent."""
    output = io.StringIO()
    with redirect_stdout(output):
        halflife(["demo", "--seed", "1"])
    printed = output.getvalue().partition("\n\nWhat it would fetch next")[0]
    lines = [line.rstrip() for line in printed.splitlines()]
    kept = [line for line in lines if "requests spent" not in line]
    data = {"kind": "made", "part": "the demo's site of 300 pages"}
    return {"seed": 1, "data": data, "printed": "\n".join(kept), "rows": []}


def demo_bounds(_: Errand) -> Payload:
    """Keep the demo's site for a hundred seeds, and hold its bounds to the truth."""
    WORK.mkdir(parents=True, exist_ok=True)
    rows = demo_seeds.play_all(DEMO_SEEDS, WORK / "demo-seeds.jsonl")
    data = {"kind": "made", "part": f"{len(rows)} sites of the demo"}
    return {"seed": [*DEMO_SEEDS], "data": data, "rows": [demo_seeds.summary(rows)]}


def crawlers(_: Errand) -> Payload:
    """Let crawlers of several makes keep the same sites, each for 20 days."""
    rows = []
    for seed, site, requests in CRAWLED:
        rules = EntryRules(site=site, requests=requests)
        memory = resumed_league.Memory(WORK / "entries", f"{seed}-{site}-{requests}")
        for name in ENTRIES:
            _say(f"{name} on {site} of seed {seed}")
            (row,) = memory.recall(name, partial(table, [name], rules, seed))
            del row["sources"]
            rows.append({"world": f"seed {seed}, {site}", **row})
    data = {
        "kind": "made",
        "part": "sites of worlds of size 0.03, 20 days, two turns a day",
        "worlds": [{"seed": n, "site": site, "requests": r} for n, site, r in CRAWLED],
    }
    return {"seed": [seed for seed, _, _ in CRAWLED], "data": data, "rows": rows}


def _printed(figure: PrintedFigure, _: Errand) -> Payload:
    return figure.measure()


def listings(errand: Errand) -> Payload:
    """Hold forecasts of recorded listings to what came."""
    return result_histories.listings(_folder(errand))


def forecasts(errand: Errand) -> Payload:
    """Hold the bounds of recorded listings to what came, by days ahead."""
    return result_histories.forecasts(_folder(errand), sys.stderr.write)


def one_budget(errand: Errand) -> Payload:
    """Share one budget between recorded sources of every kind."""
    kept = WORK / "one"
    return result_histories.one_budget(_folder(errand), kept, sys.stderr.write)


def halved_pages(errand: Errand) -> Payload:
    """Play page policies on halves of the recorded sites."""
    WORK.mkdir(parents=True, exist_ok=True)
    return result_histories.halved_pages(_folder(errand), WORK)


def _folder(errand: Errand) -> Path:
    if errand.data is None:
        raise ValueError("this figure needs recorded histories")
    return errand.data


def _hashes(paths: Sequence[Path]) -> dict[str, str]:
    return {path.name: result_histories.file_hash(path) for path in paths}


FIGURES: dict[str, BookFigure] = {
    "demo": BookFigure("halflife demo --seed 1", demo),
    "demo-seeds": BookFigure("python -m lab.demo_seeds --seeds 100", demo_bounds),
    "worlds": BookFigure("python -m lab.world_tolerances DIR", worlds),
    "independent-pages": BookFigure("python -m lab.independent_pages", independent),
    "made-league": BookFigure("make league ONLY=made-league", made_league),
    "entries": BookFigure("python -m lab.entries", crawlers),
    "league": BookFigure("make league ONLY=league DATA=DIR", recorded_league, "sites"),
    "objects": BookFigure("python -m lab.objects DIR/objects", listings, "objects"),
    "forecasts": BookFigure(
        "python -m lab.forecast_halves DIR/objects", forecasts, "objects"
    ),
    "page-halves": BookFigure(
        "python -m lab.page_halves DIR/sites --splits 10", halved_pages, "sites"
    ),
    "one": BookFigure("python -m lab.one DIR OUT", one_budget, "objects"),
    **{
        name: BookFigure(one.command, partial(_printed, one))
        for name, one in PRINTED.items()
    },
}


def envelope(name: str, found: Payload) -> Payload:
    """Return rows with all that is needed to measure them again."""
    return {
        "figure": name,
        "status": MEASURED,
        "command": FIGURES[name].command,
        "made_by": {
            "halflife": version("halflife"),
            "commit": _commit(),
            "python": platform.python_version(),
            **{package: version(package) for package in ("numpy", "scipy")},
        },
        **found,
    }


def _commit() -> str:
    """Return which version of the code this is; empty outside of a clone."""
    words = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def write(path: Path, report: Mapping[str, Any]) -> None:
    """Write a result file; numbers to six digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rounded(report), indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(f"{text}\n", encoding="utf-8")


def rounded(value: Any) -> Any:  # noqa: ANN401  (any JSON)
    """Return the same with numbers to six digits."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def measure(out: Path, only: Sequence[str], errand: Errand) -> None:
    """Measure figures, one after the other, and write each down as it is there."""
    for name in only or FIGURES:
        figure = FIGURES[name]
        if figure.needs and (
            errand.data is None or not (errand.data / figure.needs).is_dir()
        ):
            _say(f"{name}: needs recorded histories; left alone (DATA=DIR)")
            continue
        _say(f"{name}: {figure.command}")
        write(out / f"{name}.json", envelope(name, figure.measure(errand)))


def league_picture(out: Path) -> str:
    """Return the picture of the league as its result file has it."""
    report = json.loads((out / "league.json").read_text(encoding="utf-8"))
    return picture(report["rows"])


def write_pages(out: Path, root: Path = ROOT) -> None:
    """Write the tables and the picture of the book from the result files."""
    (root / PICTURE).write_text(league_picture(out), encoding="utf-8")
    for page in PAGES:
        path = root / page
        text = path.read_text(encoding="utf-8")
        made_again = rendered(text, out, TABLES)
        if made_again != text:
            path.write_text(made_again, encoding="utf-8")
            _say(f"wrote {page}")


@dataclass
class _Given:
    data: Path | None = None
    only: str = ""
    policies: str = ""
    out: Path = field(default_factory=lambda: ROOT / "results")
    pages: bool = False
    measure_only: bool = False


def main(words: Sequence[str] | None = None) -> int:
    """Measure what is asked for, or write the pages."""
    parser = argparse.ArgumentParser(prog="lab.results")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", help="figures, separated by commas")
    parser.add_argument("--policies", help="of the leagues")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--pages", action="store_true", help="measure nothing")
    parser.add_argument("--measure-only", action="store_true", help="write no page")
    given = parser.parse_args(words, _Given())
    only = [name for name in given.only.split(",") if name]
    unknown = [name for name in only if name not in FIGURES]
    if unknown:
        _say(f"no figure {unknown[0]!r}; there is {', '.join(FIGURES)}")
        return 2
    policies = [name for name in given.policies.split(",") if name]
    if not given.pages:
        measure(given.out, only, Errand(given.data, policies))
    if not given.measure_only:
        write_pages(given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
