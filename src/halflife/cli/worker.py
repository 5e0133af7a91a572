"""The verbs of several workers on one store: worker, pause, resume, drain."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli import show
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json, read_settings
from halflife.cli.run import Port, run_watched
from halflife.core.errors import UsageError

if TYPE_CHECKING:
    from halflife.config import Config
    from halflife.engine.fleet.planner import PlannerTerms
    from halflife.engine.fleet.worker import WorkerTerms
    from halflife.engine.signals import Stop
    from halflife.stores.table_store import TableStore

Project = Annotated[
    Path | None,
    typer.Argument(
        metavar="[PROJECT]",
        help="Settings file, or the folder it lies in [default: as --config].",
    ),
]
Name = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Its name [default: machine and process]."),
]
Once = Annotated[bool, typer.Option("--once", help="End when there is nothing to do.")]
Duration = Annotated[
    str | None,
    typer.Option("--for", metavar="TIME", help="End after so long: 90s, 10m, 2h."),
]
Lease = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        min=1.0,
        max=600.0,
        help="After so long, what a dead worker held goes to others.",
    ),
]


@app.command()
def worker(  # noqa: PLR0913  (options of the command line)
    project: Project = None,
    *,
    name: Name = None,
    once: Once = False,
    duration: Duration = None,
    lease: Lease = 30.0,
    health: Port = None,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Share the work with other workers on one PostgreSQL store."""
    import asyncio

    from halflife.config import Config
    from halflife.core.store_address import is_address
    from halflife.engine.fleet.worker import WorkerTerms

    settings = Config.load(Config.find(_settings_of(project) or config))
    if not is_address(str(settings.store_place)):
        raise UsageError(
            f"worker: {settings.store_name} is a file, which one machine uses alone; "
            "name a PostgreSQL database in store, or run `halflife run`"
        )
    called = name or f"{os.uname().nodename}-{os.getpid()}"
    terms = WorkerTerms(called, lease, once=once, seconds=_seconds(duration))
    raise typer.Exit(asyncio.run(_work(settings, terms, health, json=json)))


def _settings_of(project: Path | None) -> Path | None:
    if project is None or not project.is_dir():
        return project
    return project / "halflife.toml"


def _seconds(text: str | None) -> float | None:
    """Return a time such as 90s, 10m or 2h in seconds."""
    if text is None:
        return None
    number, unit = text[:-1], text[-1:]
    sizes = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    try:
        found = float(number) * sizes[unit]
    except (ValueError, KeyError):
        found = 0.0
    if not 0.0 < found < 1e9:
        raise UsageError(f"--for: {text!r} is no time; write 90s, 10m, 2h or 1d")
    return found


async def _work(
    config: "Config", terms: "WorkerTerms", port: int | None, *, json: bool
) -> int:
    """Work until told to stop; return the exit code."""
    from halflife.engine import bootstrap, logs, state_record
    from halflife.engine.fleet.planner import PlannerTerms
    from halflife.engine.fleet.worker import ENDED
    from halflife.engine.signals import Stop

    bootstrap.names(config.source)
    stop = Stop()
    as_json = json or not sys.stderr.isatty()
    phrase = partial(logs.line, as_json=as_json)
    store, lost = state_record.open_store(config)
    if lost:
        show.note(show.plain(f"halflife: {lost}"))
    with store, stop.on_signals(phrase, ENDED):
        handler = logs.set_up(as_json=as_json)
        try:
            planner = PlannerTerms(config, (), terms.name, terms.lease, lambda _: None)
            await _share(config, store, stop, (terms, planner), port)
        finally:
            logs.end(handler)
    return 0


async def _share(
    config: "Config",
    store: "TableStore",
    stop: "Stop",
    terms: "tuple[WorkerTerms, PlannerTerms]",
    port: int | None,
) -> None:
    """Fetch, and stand for election as the planner, until told to stop."""
    from halflife.engine import bootstrap
    from halflife.engine.fleet.planner import FleetPlanner
    from halflife.engine.fleet.worker import FleetWorker
    from halflife.engine.reload import Settings
    from halflife.stores.location import work_queue

    queue = work_queue(config.store_place, terms[0].lease)
    planner = FleetPlanner(terms[1])
    terms[0].is_well = planner.is_well
    terms[0].decides = lambda: planner.status
    one = FleetWorker(Settings(config), store, queue, stop, terms[0])
    planner.start()
    try:
        await run_watched(one, port, bootstrap.clock)
    finally:
        await planner.ended(drains=one.is_drained)
        queue.close()


@app.command()
def pause(*, config: ConfigPath = None, json: Json = False) -> None:
    """Let no process of this project send anything, until resumed."""
    _say("paused", config, json=json)


@app.command()
def resume(*, config: ConfigPath = None, json: Json = False) -> None:
    """Let work go on after pause or drain."""
    _say("running", config, json=json)


@app.command()
def drain(*, config: ConfigPath = None, json: Json = False) -> None:
    """Let workers finish what they are at, and end; so does the service."""
    _say("draining", config, json=json)


def _say(state: str, config: Path | None, *, json: bool) -> None:
    from halflife.engine import bootstrap, control
    from halflife.stores import location

    settings = read_settings(config)
    with location.open_store(settings.store_place, create=True) as store:
        before = control.set_state(store, state, bootstrap.clock())
    if json:
        show.emit({"state": state, "before": before.state})
        return
    words = {
        "paused": "paused: nothing is sent until `halflife resume`",
        "running": "running",
        "draining": "draining: processes end when what they are at is done; "
        "run `halflife resume` before you start any again",
    }
    same = " (it was already)" if before.state == state else ""
    show.say(f"{words[state]}{same}")
