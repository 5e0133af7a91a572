"""The verb that adds pages: add."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli.app import app
from halflife.cli.options import ConfigPath, DryRun, Json

if TYPE_CHECKING:
    from halflife.live.probing import Added


@app.command()
def add(  # noqa: PLR0913  (each is an option)
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="[URL]...", help="Pages or maps.")
    ] = None,
    *,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="Source [default: the host].")
    ] = None,
    weight: Annotated[
        float | None, typer.Option(help="How much fresh copies of the source matter.")
    ] = None,
    listed: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="A file with one URL a line."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Look at each URL once first.")
    ] = True,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="CIDR", help="A network that need not be public."),
    ] = None,
    dry_run: DryRun = False,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Add pages, sitemaps or feeds to the settings, and look at each once."""
    from halflife.config import Config
    from halflife.live import probing

    found = probing.gathered(urls or [], listed)
    wish = probing.Wish(found, source, weight, tuple(allow or ()))
    path = Config.find(config)
    if dry_run:
        added = probing.preview(path, wish)
    else:
        added = probing.add(path, wish, check=check)
    _report(path, added, json=json)


def _report(path: Path, added: "list[Added]", *, json: bool) -> None:
    from halflife.cli import exits, show

    if json:
        show.emit({"config": str(path), "results": [row.row() for row in added]})
    else:
        _tell(added)
    if any(row.trouble for row in added):
        every = all(row.trouble for row in added)
        raise typer.Exit(exits.FAILURE if every else exits.SOME_FAILED)


def _tell(added: "list[Added]") -> None:
    from halflife.cli import show

    for row in added:
        if row.trouble:
            show.note(f"halflife: not added: {show.plain(row.trouble)}")
    show.table([row.row() for row in added if not row.trouble])
