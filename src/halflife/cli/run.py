"""The verb that runs the service: run."""

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli import show
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, DryRun, Json, Sources, read_settings
from halflife.core.errors import UsageError

if TYPE_CHECKING:
    from halflife.config import Config
    from halflife.engine.fleet.worker import FleetWorker
    from halflife.engine.loop import Clock
    from halflife.engine.service import Service
    from halflife.engine.signals import Stop
    from halflife.kinds.protocol import Report
    from halflife.stores.table_store import TableStore

Port = Annotated[
    int | None,
    typer.Option(
        "--health",
        metavar="PORT",
        min=0,
        max=65535,
        help="Answer /health and /metrics on this port of 127.0.0.1.",
    ),
]


@app.command()
def run(
    sources: Sources = None,
    *,
    dry_run: DryRun = False,
    health: Port = None,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Keep all sources fresh, evenly over time, until stopped."""
    import asyncio

    settings = read_settings(config)
    chosen = settings.named(sources or ())
    if dry_run:
        from halflife.cli import inspect
        from halflife.engine import once

        kept = once.syncable(chosen) or chosen
        inspect.show_plan(settings, kept, most=None, json=json)
        return
    raise typer.Exit(asyncio.run(_run(settings, sources or [], health, json=json)))


async def _run(
    config: "Config", names: list[str], port: int | None, *, json: bool
) -> int:
    """Run the service; return the exit code."""
    from halflife.engine import bootstrap, logs
    from halflife.engine.fleet import presence
    from halflife.engine.signals import Stop

    def say(words: str) -> None:
        show.note(show.plain(f"halflife: {words}"))

    stop = Stop()
    kept = bootstrap.names(config.named(names))
    as_json = json or not sys.stderr.isatty()
    phrase = partial(logs.line, as_json=as_json)
    with bootstrap.writing(config, say) as store, stop.on_signals(phrase):
        presence.refuse_beside_workers(store, even_paused=True)
        store.read_ahead(kept)  # while the modules of the service are imported
        handler = logs.set_up(as_json=as_json)
        try:
            await _serve(config, names, port, store, stop, json=json)
        finally:
            logs.end(handler)
    return stop.code


async def _serve(
    config: "Config",
    names: list[str],
    port: int | None,
    store: "TableStore",
    stop: "Stop",
    *,
    json: bool,
) -> None:
    """Run the service until it is told to stop."""
    from halflife.engine import heartbeat, targets
    from halflife.engine.reload import Settings
    from halflife.engine.service import Service, ServiceEnvironment

    def report(report: "Report") -> None:
        _print(report, json=json)

    outside = ServiceEnvironment(on_report=report, audits=True)
    service = Service(Settings(config, names), store, stop, outside)
    targets.get_ready(config.named(names))  # while a thread reads the store
    async with heartbeat.beating(service.status, store, service.clock):
        await run_watched(service, port, service.clock)


async def run_watched(
    work: "Service | FleetWorker", port: int | None, clock: "Clock"
) -> None:
    """Run a service or worker, with a health endpoint if a port is given."""
    if port is None:
        await work.run()
        return

    from halflife.engine import logs
    from halflife.engine.endpoint import serve_status

    try:
        async with serve_status(work.status, port, clock) as used:
            logs.event("watched", fields={"port": used})
            await work.run()
    except OSError as error:
        if error.errno is None or work.status.turns:
            raise
        raise UsageError(
            f"--health {port}: the port cannot be used: {error.strerror}"
        ) from None


def _print(report: "Report", *, json: bool) -> None:
    """Print the result of a job; its errors are in the log."""
    result, section = report.result, report.section
    if result is None:
        return
    if json:
        row = result.row()
        show.emit({section: [row]} if section else row, one_line=True)
    elif words := result.words(trouble=False):
        show.say(show.plain(words))
