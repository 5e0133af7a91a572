"""The verb that keeps everything: run."""

from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli.app import app
from halflife.cli.options import ConfigPath, DryRun, Json, Sources

if TYPE_CHECKING:
    from halflife.config import Config
    from halflife.engine.service import Service
    from halflife.engine.signals import Stop
    from halflife.engine.workers import Result
    from halflife.kinds.form.runner import Turned
    from halflife.kinds.listing.runner import Looked
    from halflife.kinds.search.check import Checked
    from halflife.kinds.search.runner import Summarized
    from halflife.stores.sqlite import SqliteStore

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
    """Keep everything, evenly over time, until told to stop."""
    import asyncio

    from halflife.cli import inspect
    from halflife.config import Config

    settings = Config.load(Config.find(config))
    chosen = settings.named(sources or ())
    if dry_run:
        kept = [source for source in chosen if source.kind != "search"]
        inspect.show_plan(settings, kept or chosen, most=None, json=json)
        return
    raise typer.Exit(asyncio.run(_run(settings, sources or [], health, json=json)))


async def _run(
    config: "Config", names: list[str], port: int | None, *, json: bool
) -> int:
    """Run the service; return the exit code."""
    from halflife.cli import show
    from halflife.engine import bootstrap
    from halflife.engine.signals import Stop

    def say(words: str) -> None:
        show.note(show.plain(f"halflife: {words}"))

    stop = Stop()
    kept = bootstrap.names(config.named(names))
    with bootstrap.writing(config, say) as store, stop.heard():
        store.read_ahead(kept)  # while all that the service takes is imported
        await _serve(config, names, port, store, stop, json=json)
    return stop.code


async def _serve(
    config: "Config",
    names: list[str],
    port: int | None,
    store: "SqliteStore",
    stop: "Stop",
    *,
    json: bool,
) -> None:
    """Run the service until it is told to stop."""
    import sys

    from halflife.engine import logs
    from halflife.engine.reload import Settings
    from halflife.engine.service import Outside, Service
    from halflife.kinds.pages import audit as pages_audit

    def told(result: "Result") -> None:
        _tell(result, json=json)

    outside = Outside(told=told, extra=pages_audit.check)
    service = Service(Settings(config, names), store, stop, outside)
    handler = logs.set_up(as_json=json or not sys.stderr.isatty())
    try:
        await _watched(service, port)
    finally:
        logs.end(handler)


async def _watched(service: "Service", port: int | None) -> None:
    """Run the service, with an endpoint for those who watch it if one is wanted."""
    if port is None:
        await service.run()
        return

    from halflife.core.errors import UsageError
    from halflife.engine import logs
    from halflife.engine.endpoint import watched

    try:
        async with watched(service.status, port, service.clock) as used:
            logs.event("watched", fields={"port": used})
            await service.run()
    except OSError as error:
        if error.errno is None or service.status.turns:
            raise
        raise UsageError(
            f"--health {port}: the port cannot be used: {error.strerror}"
        ) from None


def _tell(result: "Result", *, json: bool) -> None:
    """Print what came of a piece of work."""
    from halflife.cli import show
    from halflife.cli.sync import answer_of, words_of
    from halflife.kinds.pages.runner import Outcome
    from halflife.kinds.search import check as search_check, runner as search_runner

    if isinstance(result, Outcome):
        row, words = answer_of(result), words_of(result)
    else:
        kinds = search_runner.Summarized, search_check.Checked
        searched = isinstance(result, kinds)
        key = "summaries" if searched else "listings"
        row, words = {key: [result.row()]}, _words(result)
    if json:
        show.emit(row, one_line=True)
    elif words:
        show.say(show.plain(words))


def _words(result: "Looked | Turned | Summarized | Checked") -> str:
    """Return a line about a result; the log has told already what went wrong."""
    from halflife.kinds.form.runner import Turned
    from halflife.kinds.listing.runner import Looked

    if isinstance(result, Looked | Turned):
        return result.words(trouble=False)
    return result.words()
