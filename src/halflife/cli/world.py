"""The verb that makes worlds to try crawlers against: world."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from halflife.cli.app import app
from halflife.cli.options import Json


class WorldAction(StrEnum):
    """What is done with a world."""

    MAKE = "make"


What = Annotated[
    WorldAction,
    typer.Argument(metavar="make", help="make [KIND]...: write made-up histories."),
]
Names = Annotated[
    list[str] | None, typer.Argument(metavar="[KIND]...", help="What to make.")
]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="make: the new folder.")]
Seed = Annotated[int, typer.Option(min=0, help="Where all chance comes from.")]
Size = Annotated[
    float,
    typer.Option(min=0.01, max=4.0, help="make: share of the real sites and objects."),
]


@app.command()
def world(
    what: What,
    names: Names = None,
    *,
    out: Out = None,
    seed: Seed = 1,
    size: Size = 0.1,
    json: Json = False,
) -> None:
    """Make a world of histories like real ones."""
    del what  # there is one
    _make(names or [], out, seed, size, json=json)


def _make(
    kinds: list[str], out: Path | None, seed: int, size: float, *, json: bool
) -> None:
    from halflife.cli import show
    from halflife.core.errors import UsageError
    from halflife.worlds.make import make

    if out is None:
        raise UsageError("world make writes to a folder; name one with --out DIR")
    written = make(out, kinds, seed, size)
    if json:
        show.emit({"folder": str(out), "histories": [str(p) for p in written]})
        return
    for place in written:
        show.say(f"wrote {place}")
    show.say(f"next: halflife replay {out} --policies champion,uniform --days 30")
