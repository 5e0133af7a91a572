"""The verb that finds out what a form really does: probe."""

from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json, Sources
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
    """Find out what databases behind forms do, where it is not what they claim."""
    import asyncio

    from halflife.cli import exits, show
    from halflife.config import Config

    settings = Config.load(Config.find(config))
    chosen = client.forms(settings, sources)
    done, stop = asyncio.run(_probe(settings, chosen, requests, json=json))
    if json:
        show.emit({"results": [one.row() for one in done]})
    else:
        for one in done:
            for line in one.words():
                show.say(show.plain(line))
    if stop.code:
        raise typer.Exit(stop.code)
    if not all(one.answered for one in done):
        raise typer.Exit(exits.SOME_FAILED)


async def _probe(
    config: "Config",
    chosen: "Sequence[FormConfig]",
    requests: int,
    *,
    json: bool,
) -> "tuple[list[client.ProbeOutcome], Stop]":
    """Probe one form after the other, as far as the budget goes."""
    from halflife.cli import show
    from halflife.cli.in_turn import in_turn
    from halflife.engine import bootstrap
    from halflife.engine.signals import Stop

    stop = Stop()
    with bootstrap.writing(config) as store, stop.heard():
        form_client = client.FormClient(config, store)

        async def probed(source: "FormConfig") -> "client.ProbeOutcome":
            label = f"probing {source.name}"
            with show.progress(label, requests, quiet=json) as advance:

                def notify(page: "ResultPage") -> None:
                    advance(page.requests, "")

                return await form_client.probe(source, requests=requests, notify=notify)

        return await in_turn(chosen, stop, probed, form_client.ease), stop
