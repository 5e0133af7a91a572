"""The verb that copies whole stores: store."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from halflife.cli import show
from halflife.cli.app import app
from halflife.cli.options import Json


class StoreAction(StrEnum):
    """What is done with a store."""

    COPY = "copy"


What = Annotated[
    StoreAction, typer.Argument(metavar="copy", help="copy FROM TO: all that is kept.")
]
From = Annotated[
    str, typer.Argument(metavar="FROM", help="A state file, or postgresql://…")
]
To = Annotated[
    str, typer.Argument(metavar="TO", help="Where there is none yet: either, too.")
]


@app.command()
def store(what: What, source: From, target: To, *, json: Json = False) -> None:
    """Copy a store between SQLite and PostgreSQL, and check it on both sides."""
    from halflife.core.store_address import is_address
    from halflife.engine import bootstrap
    from halflife.stores import location
    from halflife.stores.store_copy import copy_store

    del what  # there is one
    old, new = (t if is_address(t) else Path(t) for t in (source, target))
    rows = copy_store(old, new, bootstrap.clock())
    names = [location.display_name(place) for place in (old, new)]
    total = sum(rows.values())
    if json:
        show.emit({"from": names[0], "to": names[1], "rows": total, "tables": rows})
    else:
        show.say(f"copied {total} rows from {names[0]} to {names[1]}; both add up")
        show.say("next: set store in halflife.toml")
