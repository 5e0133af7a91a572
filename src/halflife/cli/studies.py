"""Verbs that study policies: replay and bench."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli.app import app
from halflife.cli.options import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflife.cli.comparing import Trial
    from halflife.lives import Collection

RIVALS = "index,uniform,round-robin,nutch-adaptive,stormcrawler-adaptive"


@app.command()
def replay(  # noqa: PLR0913  (each is an option)
    history: Annotated[
        Path,
        typer.Argument(
            help="A .csv (key, at), a folder of Parquet files, or a set source."
        ),
    ],
    *,
    policies: Annotated[
        str, typer.Option(metavar="A,B,...", help="Policies to compare.")
    ] = RIVALS,
    budgets: Annotated[
        str,
        typer.Option(metavar="X,Y,...", help="Looks a day, as shares of the items."),
    ] = "0.1,0.2",
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Repetitions.")] = 1,
    days: Annotated[
        float | None, typer.Option(min=1, help="Replay only the last so many days.")
    ] = None,
    ticks: Annotated[int, typer.Option(min=1, max=1440, help="Syncs a day.")] = 4,
    json: Json = False,
) -> None:
    """Score policies on a recorded history, under equal budgets."""
    from halflife.cli import sets
    from halflife.cli.comparing import Trial
    from halflife.cli.words import listed, positive

    known = None if history.exists() else sets.stored(str(history))
    if known is not None:
        _replay_set(known, json=json)
        return
    shares = [positive("--budgets", word) for word in listed(budgets)]
    trial = Trial(shares, seeds=seeds, ticks=ticks)
    _replay_pages(history, listed(policies), trial, days=days, json=json)


def _replay_pages(
    history: Path,
    policies: "Sequence[str]",
    trial: "Trial",
    *,
    days: float | None,
    json: bool,
) -> None:
    """Score policies on a recording of pages."""
    from halflife import parts
    from halflife.cli import show
    from halflife.cli.comparing import compare
    from halflife.sources import histories

    rivals = {name: parts.strategy(name) for name in policies}
    recorded = histories.load(history, days=days)
    steps = len(rivals) * len(trial.shares)
    with show.progress("replaying", steps, quiet=json) as advance:
        rows = compare(recorded, rivals, trial, advance)
    if json:
        items, length = len(recorded.recording), recorded.end - recorded.begin
        head = {"history": str(history), "items": items, "days": length}
        show.emit({**head, "seeds": trial.seeds, "results": rows})
    else:
        show.table([show.flat(row) for row in rows])


def _replay_set(known: "Collection", *, json: bool) -> None:
    """Score schedules on the later part of a set source's history."""
    from halflife.bench.setpolicies import FEWEST, schedules
    from halflife.cli import show
    from halflife.errors import UsageError

    if known.looks.size < FEWEST:
        raise UsageError(
            f"{known.name} has {known.looks.size} looks; a replay needs {FEWEST}"
        )
    rows = schedules(known)
    if json:
        show.emit({"source": known.name, "target": 0.9, "results": rows})
        return
    told = [row for row in rows if row["figure"] == "schedule"]
    show.table(
        [{n: v for n, v in show.flat(row).items() if n != "figure"} for row in told]
    )


@app.command()
def bench(
    name: Annotated[
        str,
        typer.Argument(help="What to measure: allocate, fit, index, learn, lifetimes."),
    ],
    *,
    items: Annotated[int | None, typer.Option(min=10, help="Pages.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions (learn).")] = 20,
    json: Json = False,
) -> None:
    """Measure a figure that the documentation claims."""
    from halflife.cli import show
    from halflife.cli.measuring import measure

    rows = measure(name, items, seeds)
    if json:
        only = rows[0] if len(rows) == 1 else {}
        show.emit({"bench": name, **only, "results": rows})
    else:
        for row in rows:
            show.table([{"figure": n, "value": v} for n, v in show.flat(row).items()])
