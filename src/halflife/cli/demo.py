"""The verb that demonstrates the program on a generated site: demo."""

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli import show
from halflife.cli.app import app
from halflife.cli.options import Json
from halflife.core.wording import count

if TYPE_CHECKING:
    from halflife.demo.run import DemoReport

NAMES = {"champion": "halflife-replay"}
ABOUT = {
    "champion": "halflife's rule, replayed without the network",
    "harmonic": "the plain index: each page by itself",
    "uniform": "every page equally often",
    "round-robin": "one page after the other",
    "proportional": "as often as a page changes",
    "nutch-adaptive": "Apache Nutch's AdaptiveFetchSchedule",
    "stormcrawler-adaptive": "Apache StormCrawler's AdaptiveScheduler",
}


@app.command()
def demo(
    *,
    pages: Annotated[int, typer.Option(min=10, max=5000, help="Pages.")] = 300,
    days: Annotated[int, typer.Option(min=4, max=400, help="Days of its life.")] = 40,
    budget: Annotated[
        float, typer.Option(min=0.01, max=5, help="Requests a day, a share of pages.")
    ] = 0.2,
    seed: Annotated[int, typer.Option(min=0, help="Which generated site.")] = 1,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keep the settings and the state in this folder."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Keep a generated web site fresh, offline, and compare with other policies."""
    from halflife.demo.run import Options, run, steps

    options = Options(pages, days, budget, seed, folder=keep)
    with show.progress("demo", steps(options), quiet=json) as advance:
        report = run(options, advance)
    if json:
        show.emit(_answer(report))
    else:
        _print(report)


def _answer(report: "DemoReport") -> dict[str, object]:
    kept = report.kept
    replayed = {NAMES.get(name, name): v for name, v in report.rivals.items()}
    fresh = {"halflife": kept.freshness, **replayed}
    return {
        "freshness": fresh,
        "bound": report.blind,
        "bounds": {"blind": report.blind, "hindsight": report.hindsight},
        "believed": show.figure(*kept.believed),
        "true": kept.now,
        "requests": kept.requests,
        "budget": report.granted,
        "born": kept.born,
        "found": kept.found,
        "store": str(report.store),
        "config": str(report.config),
        "seconds": report.seconds,
        "results": [{"policy": n, "freshness": v} for n, v in fresh.items()],
    }


def _print(report: "DemoReport") -> None:
    from halflife.cli.answers import plan_rows
    from halflife.config import Config
    from halflife.engine import bootstrap

    options, kept = report.options, report.kept
    show.say(
        f"A site of {count(options.pages, 'page')}, kept for "
        f"{count(options.days, 'day')} over HTTP on "
        f"{count(options.daily, 'request')} a day."
    )
    show.say("Freshness: how much of the copy was current, by weight, over time.\n")
    show.table(_rows(report))
    show.say()
    show.say(
        f"Right now {kept.now:.3f} of the copy is current; halflife believes "
        f"{show.interval(*kept.believed)}."
    )
    show.say(
        f"{kept.requests} of {report.granted} requests spent;"
        f" {kept.found} of {kept.born} new pages found."
    )
    show.say("\nWhat it would fetch next, and why:\n")
    config = Config.load(report.config)
    with bootstrap.reading(config) as store:
        seen = bootstrap.outlook(config, store, config.source)
    show.table([show.flat(row) for row in plan_rows(seen, 5)])
    show.say(f"\nEverything it knows is in {report.store}")
    show.say("Go on with:")
    for verb in ("status", "plan", "explain 0001", "forecast --target 0.7"):
        show.say(f"  {_program()} {verb} --config {report.config}")
    show.say(
        "\nOr see it in your browser, with listings, a form, a search and an answer "
        "that waits for you:"
    )
    show.say(f"  {_program()} serve --config {_shown_world(report)}")


def _shown_world(report: "DemoReport") -> Path:
    """Copy the demo's state and add more sources for the page; return its settings."""
    from halflife.web import showcase

    folder = report.config.parent / "page"
    folder.mkdir()
    for file in (report.config, report.store):
        shutil.copy(file, folder / file.name)
    return showcase.extend(folder / report.config.name)


def _program() -> str:
    """Return the command that runs halflife from here."""
    called = sys.argv[0]
    if shutil.which("halflife") or Path(called).name != "halflife":
        return "halflife"
    return os.path.relpath(called)


def _rows(report: "DemoReport") -> list[dict[str, str | float | int | None]]:
    best = sorted(report.rivals.items(), key=lambda pair: -pair[1])
    lines = [
        ("(with hindsight)", report.hindsight, "nobody can do better"),
        ("(bound)", report.blind, "the best without news of changes, all rates known"),
        ("halflife", report.kept.freshness, "this run: HTTP, errors and new pages too"),
        *((NAMES.get(name, name), fresh, ABOUT[name]) for name, fresh in best),
    ]
    return [{"policy": n, "freshness": f"{f:.3f}", "": a} for n, f, a in lines]
