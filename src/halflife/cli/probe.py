"""The verb that tests how a form behaves: probe."""

from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli import exits, show
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json, Sources, read_settings
from halflife.kinds.form import client

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflife.config import Config
    from halflife.core.forms import ResultPage
    from halflife.engine.signals import Stop
    from halflife.kinds.form.settings import FormConfig

Requests = Annotated[int, typer.Option(min=1, help="Requests to spend, at most.")]


@app.command()
def probe(
    sources: Sources = None,
    *,
    requests: Requests = 20,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Test how databases behind forms behave, where it differs from their claims."""
    import asyncio

    settings = read_settings(config)
    chosen = client.forms(settings, sources)
    results, stop = asyncio.run(_probe(settings, chosen, requests, json=json))
    if json:
        show.emit({"results": [result.row() for result in results]})
    else:
        for result in results:
            for line in result.words():
                show.say(show.plain(line))
    if stop.code:
        raise typer.Exit(stop.code)
    if not all(result.answered for result in results):
        raise typer.Exit(exits.SOME_FAILED)


async def _probe(
    config: "Config",
    chosen: "Sequence[FormConfig]",
    requests: int,
    *,
    json: bool,
) -> "tuple[list[client.ProbeOutcome], Stop]":
    """Probe one form after the other, as far as the budget goes."""
    from halflife.cli.in_turn import in_turn
    from halflife.engine import bootstrap
    from halflife.engine.signals import Stop

    stop = Stop()
    with bootstrap.writing(config) as store, stop.on_signals():
        form_client = client.FormClient(config, store)

        async def probe_one(source: "FormConfig") -> "client.ProbeOutcome":
            label = f"probing {source.name}"
            with show.progress(label, requests, quiet=json) as advance:

                def notify(page: "ResultPage") -> None:
                    advance(page.requests, "")

                return await form_client.probe(source, requests=requests, notify=notify)

        return await in_turn(chosen, stop, probe_one, form_client.ease), stop
