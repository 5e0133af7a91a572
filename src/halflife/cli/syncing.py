"""Verbs that fetch: sync, run."""

from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli.app import app
from halflife.cli.options import ConfigPath, DryRun, Json, Sources

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from halflife.config import Config, SourceConfig
    from halflife.live.keeping import Keeper, Outcome
    from halflife.live.signals import Stop


@app.command()
def sync(
    sources: Sources = None,
    *,
    max_requests: Annotated[
        int | None, typer.Option(min=1, help="Spend at most so many requests.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Look at every page once, as the budget goes.")
    ] = False,
    dry_run: DryRun = False,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Spend what has come in on the looks that buy most."""
    import asyncio

    from halflife.cli import asking, exits, show
    from halflife.config import Config

    settings = Config.load(Config.find(config))
    chosen = settings.named(sources or ())
    if dry_run:
        asking.show_plan(settings, chosen, most=max_requests, json=json)
        return
    work = _sync(settings, chosen, max_requests, everything=everything, quiet=json)
    outcome, stop = asyncio.run(work)
    if outcome is not None:
        show.emit(_answer(outcome)) if json else show.say(_words(outcome))
        for name in outcome.silent:
            trouble = show.plain(outcome.sources[name].trouble)
            show.note(f"halflife: source {name} did not answer: {trouble}")
    if stop.code:
        raise typer.Exit(stop.code)
    if outcome is not None and outcome.silent:
        raise typer.Exit(exits.SOME_FAILED)


async def _sync(
    config: "Config",
    chosen: "Sequence[SourceConfig]",
    most: int | None,
    *,
    everything: bool,
    quiet: bool,
) -> "tuple[Outcome | None, Stop]":
    from halflife.cli import show
    from halflife.live import wiring
    from halflife.live.keeping import keeping
    from halflife.live.signals import Stop, until_stopped

    stop = Stop()
    with wiring.writing(config) as store, stop.heard():
        async with keeping(config, store, chosen) as keeper:
            requests = keeper.allowance(everything=everything)
            if not requests:
                _say_why_not(keeper)
            requests = min(requests, most or requests)
            with show.progress("syncing", requests, quiet=quiet) as advance:
                work = keeper.turn(requests, lambda looks: advance(len(looks), ""))
                return await until_stopped(work, stop, keeper.ease), stop


def _say_why_not(keeper: "Keeper") -> None:
    """Say why there is nothing to spend; raise ``BudgetSpent`` if all is spent."""
    from halflife.cli import show
    from halflife.live.spending import spent

    now = keeper.clock()
    if not keeper.wallet.room(now):
        raise spent(keeper.wallet.budget)
    wait = show.span(keeper.wallet.next_income(now))
    show.note(f"nothing to spend yet: the next request comes in in {wait}")


@app.command()
def run(
    sources: Sources = None,
    *,
    dry_run: DryRun = False,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Sync again and again, evenly over time, until told to stop."""
    import asyncio

    from halflife.cli import asking, show
    from halflife.config import Config

    settings = Config.load(Config.find(config))
    if dry_run:
        chosen = settings.named(sources or ())
        asking.show_plan(settings, chosen, most=None, json=json)
        return

    def told(outcome: "Outcome") -> None:
        show.emit(_answer(outcome), one_line=True) if json else show.say(
            _words(outcome)
        )

    code = asyncio.run(_run(settings, settings.named(sources or ()), told))
    raise typer.Exit(code)


async def _run(
    config: "Config",
    chosen: "Sequence[SourceConfig]",
    told: "Callable[[Outcome], None]",
) -> int:
    from halflife.live import wiring
    from halflife.live.keeping import keeping, run_until_stopped
    from halflife.live.signals import Stop

    stop = Stop()
    with wiring.writing(config) as store, stop.heard():
        async with keeping(config, store, chosen) as keeper:
            await run_until_stopped(keeper, stop, told)
    return stop.code


def _words(outcome: "Outcome") -> str:
    total = outcome.total
    return (
        f"{outcome.requests} requests: {total('looks')} looks, "
        f"{total('changed')} found a change, {total('failed')} failed, "
        f"{outcome.found} new items"
    )


def _answer(outcome: "Outcome") -> dict[str, object]:
    totals = {name: outcome.total(name) for name in ("looks", "changed", "failed")}
    rows = [
        {
            "source": name,
            "looks": tally.looks,
            "changed": tally.changed,
            "failed": tally.failed,
            "trouble": tally.trouble,
        }
        for name, tally in sorted(outcome.sources.items())
    ]
    head = {"requests": outcome.requests, "found": outcome.found}
    return {**head, **totals, "results": rows}
