"""The verb that serves the web page and API: serve."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from halflife.cli import show
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json
from halflife.core.errors import UsageError

MISSING = (
    "the page needs packages that are not installed; "
    "install halflife with the extra: pip install 'halflife[serve]'"
)


Port = Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0: any.")]
Bind = Annotated[str, typer.Option(metavar="ADDR", help="The address to listen at.")]
Expose = Annotated[
    bool, typer.Option("--expose", help="ADDR may be one that other machines reach.")
]
Names = Annotated[
    list[str] | None,
    typer.Option(metavar="HOST", help="Another name it is reached by; repeatable."),
]
Browse = Annotated[bool, typer.Option("--open", help="Open a browser too.")]
League = Annotated[Path | None, typer.Option(metavar="FILE", help="A league to show.")]


@app.command()
def serve(  # noqa: PLR0913  (each is an option)
    *,
    port: Port = 8787,
    bind: Bind = "127.0.0.1",
    expose: Expose = False,
    name: Names = None,
    browse: Browse = False,
    league: League = None,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Show everything on a local page, until stopped."""
    from halflife.config import Config

    try:
        from halflife.web.server import ServeWish, is_loopback, prepare
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("halflife"):
            raise
        raise UsageError(MISSING) from None
    path = Config.find(config)
    if config is not None or path.exists():
        Config.load(path)  # report errors here, not on a page
    served = prepare(ServeWish(path, port, bind, expose, tuple(name or ()), league))
    address = served.address
    show.emit({"address": address}, one_line=True) if json else show.say(address)
    sys.stdout.flush()  # a program that reads it through a pipe waits for it
    show.note("Anyone with this address can see and sync everything. Ctrl-C ends it.")
    if not is_loopback(bind):
        show.note("Other machines can reach it, and nothing is encrypted on the way.")
    if browse:
        typer.launch(address)
    raise typer.Exit(served.run())
