"""The verb that manages sources: source."""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli import show
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json, read_settings
from halflife.core.errors import UsageError

if TYPE_CHECKING:
    from halflife.config import Config
    from halflife.engine.ownership import Overlap
    from halflife.stores.ownership import SourceHoldings


class Action(StrEnum):
    """What is done to a source."""

    LIST = "list"
    RENAME = "rename"
    REMOVE = "remove"
    RESET = "reset"


What = Annotated[
    Action,
    typer.Argument(
        metavar="list|rename|remove|reset",
        help="list: who owns what. rename OLD NEW. remove NAME: from the settings. "
        "reset NAME: forget all that was observed.",
    ),
]
Names = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="The source.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Data = Annotated[
    bool, typer.Option("--data", help="remove: forget all that was observed, too.")
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="opml|urls", help="list: the addresses, for other programs."
    ),
]


@app.command()
def source(  # noqa: PLR0913  (each is an option)
    what: What = Action.LIST,
    names: Names = None,
    *,
    form: Format = None,
    data: Data = False,
    yes: Yes = False,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """List, rename, remove or reset sources, in settings and state together."""
    given = names or []
    wanted = {Action.LIST: 0, Action.RENAME: 2}.get(what, 1)
    if len(given) != wanted:
        needs = ("no name", "one name: NAME", "two names: OLD NEW")[wanted]
        raise UsageError(f"source {what} takes {needs}; got {len(given)}")
    if data and what is not Action.REMOVE:
        raise UsageError(f"--data has no meaning with source {what}")
    if form is not None and (what is not Action.LIST or json):
        raise UsageError("--format has a meaning only with source list, without --json")
    settings = read_settings(config)
    if form is not None:
        _export(settings, form)
    elif what is Action.LIST:
        _list(settings, json=json)
    elif what is Action.RENAME:
        _rename(settings, *given, yes=yes, json=json)
    elif what is Action.REMOVE:
        _remove(settings, given[0], data=data, yes=yes, json=json)
    else:
        _reset(settings, given[0], yes=yes, json=json)


def _export(config: "Config", form: str) -> None:
    """Write the addresses of all sources in the format of other programs."""
    from halflife.cli import watchlists

    sys.stdout.write(watchlists.export_text(config, form))


def _list(config: "Config", *, json: bool) -> None:
    """Print what each source owns, and where sources overlap."""
    owned, overlaps = _read(config)
    rows = _rows(config, owned)
    if json:
        shared = [
            {"source": overlap.wants, "owner": overlap.owner, "urls": [*overlap.keys]}
            for overlap in overlaps
        ]
        show.emit({"overlaps": shared, "results": rows})
        return
    show.table(rows)
    for overlap in overlaps:
        show.say(show.plain(f"{overlap.words()}; {overlap.advice}"))


def _read(config: "Config") -> "tuple[list[SourceHoldings], list[Overlap]]":
    from halflife.engine import bootstrap, ownership

    with bootstrap.state_file(config) as store:
        if store is None:
            return [], []
        return store.reports.owners(), ownership.overlaps(config, store)


def _rows(
    config: "Config", owned: "list[SourceHoldings]"
) -> list[dict[str, str | int]]:
    from halflife.stores.ownership import SourceHoldings

    kinds = {source.name: source.kind for source in config.source}
    known = {holdings.name: holdings for holdings in owned}
    return [
        {
            "source": name,
            "kind": kinds.get(name, ""),
            "in settings": "yes" if name in kinds else "no",
            "pages": known.get(name, SourceHoldings(name)).items,
            "gone": known.get(name, SourceHoldings(name)).gone,
            "objects": known.get(name, SourceHoldings(name)).objects,
        }
        for name in sorted({*kinds, *known})
    ]


def _rename(config: "Config", old: str, new: str, *, yes: bool, json: bool) -> None:
    from halflife.engine import bootstrap, ownership

    names = {source.name for source in config.source}
    if old != new and {old, new} <= names:
        _confirm(f"join {old} and {new} into {new}?", yes=yes)
    done = ownership.rename(config, old, new, bootstrap.clock())
    if json:
        show.emit({"source": new, "was": old, "pages": done.pages})
    else:
        show.say(f"{old} is now {new}; its observations were kept")


def _remove(config: "Config", name: str, *, data: bool, yes: bool, json: bool) -> None:
    from halflife.engine import bootstrap, ownership

    what = " and forget all that was observed" if data else ""
    _confirm(f"remove {name} from {config.path}{what}?", yes=yes)
    done = ownership.remove(config, name, bootstrap.clock(), data=data)
    if json:
        kept = done.history and not data
        show.emit({"source": name, "pages": done.items, "data_kept": kept})
        return
    show.say(f"{name} is no longer in {config.path}")
    if data:
        show.say(f"all that was observed of it is forgotten ({_size(done)})")
    elif done.history:
        again = f"halflife source remove {name} --data"
        show.say(
            f"what was observed of it is kept ({_size(done)}); to forget: `{again}`"
        )


def _reset(config: "Config", name: str, *, yes: bool, json: bool) -> None:
    from halflife.engine import bootstrap, ownership

    _confirm(f"forget all that was observed of {name}?", yes=yes)
    done = ownership.reset(config, name, bootstrap.clock())
    if json:
        show.emit({"source": name, "pages": done.items, "objects": done.objects})
    else:
        show.say(f"{name}: forgotten ({_size(done)}); its settings stay as they are")


def _size(owned: "SourceHoldings") -> str:
    parts = [(owned.items, "page"), (owned.objects, "object")]
    counts = [f"{n} {what}{'' if n == 1 else 's'}" for n, what in parts if n]
    return ", ".join(counts) or "no page or object"


def _confirm(question: str, *, yes: bool) -> None:
    """Ask the user to confirm; without a terminal --yes is needed."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{question.rstrip('?')}: give --yes to do so")
    typer.confirm(question, abort=True, err=True)
