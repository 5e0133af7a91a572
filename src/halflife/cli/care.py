"""Verbs that maintain the state file: doctor, verify, backup, restore, gc."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli import exits, show
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json, read_settings
from halflife.core import wording
from halflife.core.errors import Damaged, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflife.config import Config
    from halflife.engine.diagnosis import Complaint

_COUNTED = (
    "looks",
    "charges",
    "runs",
    "messages",
    "summaries",
    "forecasts",
    "changes",
    "versions",
)
File = Annotated[Path, typer.Argument(metavar="FILE", help="A copy of the state file.")]


@app.command()
def doctor(*, config: ConfigPath = None, json: Json = False) -> None:
    """Check everything that could be wrong, and advise what to do about it."""
    from halflife.engine import bootstrap, diagnosis

    settings = read_settings(config)
    complaints = diagnosis.examine(settings, bootstrap.clock())
    bad = sum(complaint.level == diagnosis.PROBLEM for complaint in complaints)
    if json:
        show.emit({"problems": bad, "results": [asdict(c) for c in complaints]})
    else:
        _print(complaints)
    if bad:
        raise typer.Exit(exits.FAILURE)


def _print(complaints: "Sequence[Complaint]") -> None:
    for complaint in complaints:
        line = f"{complaint.level}: {complaint.about}: {complaint.text}"
        show.say(show.plain(line))
        show.say(show.plain(f"    {complaint.advice}"))
    if not complaints:
        show.say("nothing is wrong")


@app.command()
def verify(*, config: ConfigPath = None, json: Json = False) -> None:
    """Check that the state file is intact and adds up; works while a sync runs."""
    from halflife.stores import location

    settings = read_settings(config)
    path = settings.store_name
    try:
        with location.open_store(settings.store_place, readonly=True) as store:
            wrong = store.verify()
    except Damaged as error:
        wrong = [str(error)]
    if json:
        show.emit({"store": path, "fine": not wrong, "results": wrong})
    else:
        for problem in wrong:
            show.say(show.plain(problem))
        show.say(
            f"{path} is damaged" if wrong else f"{path} is complete and consistent"
        )
    if wrong:
        raise typer.Exit(exits.FAILURE)


def _file(config: "Config") -> Path:
    """Return the state file; raise ``UsageError`` if the state lies in a database."""
    from halflife.core.store_address import is_address

    if is_address(config.store):
        raise UsageError(
            f"the state is in {config.store_name}, not in a file; copy it with"
            " pg_dump and bring it back with pg_restore (docs/postgres.md), or copy it"
            " to a file with `halflife store copy`"
        )
    return config.store_path


@app.command()
def backup(file: File, *, config: ConfigPath = None, json: Json = False) -> None:
    """Copy the state file, while a sync may run; never overwrites."""
    from halflife.stores import backup as copies
    from halflife.stores.sqlite import SqliteStore

    path = _file(read_settings(config))
    with SqliteStore.open(path, readonly=True) as store:
        size = copies.back_up(store, file)
    seal = copies.checksum_path(file)
    if json:
        show.emit({"backup": str(file), "bytes": size, "sha256": str(seal)})
    else:
        show.say(f"wrote {file} ({size} bytes, checked) and {seal}")


@app.command()
def restore(file: File, *, config: ConfigPath = None, json: Json = False) -> None:
    """Put a copy in the place of the state file, which is kept aside."""
    from halflife.engine import bootstrap
    from halflife.stores import backup as copies

    path = _file(read_settings(config))
    done = copies.restore(file, path, bootstrap.clock())
    if json:
        aside = None if done.aside is None else str(done.aside)
        show.emit({"store": str(path), "aside": aside, "carried": done.carried})
        return
    show.say(f"{path} is now as {file} was")
    if done.aside is not None:
        show.say(f"the previous file is {done.aside}; restore it to undo this")
    if done.carried:
        sent = wording.count(done.carried, "request")
        show.say(f"{sent} sent since then still counted as spent")


@app.command()
def gc(
    *,
    compact: Annotated[
        bool, typer.Option(help="Free the space on disk; no other process may write.")
    ] = False,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Remove what is older than [keep] says; no forecast or plan changes."""
    from halflife.engine import bootstrap, housekeeping
    from halflife.stores import location, retention

    settings = read_settings(config)
    place, limits = settings.store_place, housekeeping.limits(settings)
    before = location.stamp(place)[-1]
    with location.open_store(place) as store:
        removed = asdict(retention.clear(store, limits, bootstrap.clock()))
        if compact:
            store.compact()
    sizes = {"bytes_before": before, "bytes": location.stamp(place)[-1]}
    if json:
        show.emit({"removed": removed, **sizes})
        return
    named = {**removed, "looks": removed["observations"], "charges": removed["ledger"]}
    named["versions"] = removed["page_versions"]
    words = [f"{named[name]} {name}" for name in _COUNTED if named[name]]
    done = f"removed {', '.join(words)}" if words else "nothing is old enough to remove"
    show.say(
        f"{done}; {settings.store_name} takes {sizes['bytes']} bytes, was {before}"
    )
