"""The verb that manages sinks, the receivers of changes: sinks."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli import exits, show
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json, read_settings
from halflife.core.errors import UsageError
from halflife.core.wording import count

if TYPE_CHECKING:
    from halflife.config import Config
    from halflife.engine.deliveries import SinkReport
    from halflife.stores import Store

LETTERS = 20  # dead letters of a sink that are shown


class SinkAction(StrEnum):
    """What is done with a sink."""

    LIST = "list"
    RETRY = "retry"
    SKIP = "skip"


What = Annotated[
    SinkAction,
    typer.Argument(
        metavar="list|retry|skip",
        help="list: how far each sink is. retry NAME: deliver again what failed. "
        "skip NAME: give up what failed.",
    ),
]
Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="The sink.")]


@app.command()
def sinks(
    what: What = SinkAction.LIST,
    name: Name = None,
    *,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Show how far each sink has come; deliver again, or give up, what failed."""
    settings = read_settings(config)
    if what is SinkAction.LIST:
        if name is not None:
            raise UsageError(f"sinks list takes no name; got {name!r}")
        _list(settings, json=json)
        return
    if name is None:
        raise UsageError(f"sinks {what} takes the name of a sink")
    known = [sink.name for sink in settings.sink]
    if name not in known:
        raise UsageError(
            f"no sink is named {name!r} in {settings.path}; "
            f"it has {', '.join(known) or 'none'}"
        )
    if what is SinkAction.SKIP:
        _skip(settings, name, json=json)
    elif _retry(settings, name, json=json):
        raise typer.Exit(exits.SOME_FAILED)


def row(report: "SinkReport") -> dict[str, object]:
    """Return the state of a sink as plain values, for JSON."""
    state = report.state
    last = state.delivered_at
    return {
        "name": report.settings.name,
        "kind": report.settings.kind,
        "cursor": state.cursor,
        "behind": report.behind,
        "delivered": state.delivered,
        "delivered_at": None if last is None else show.date(last),
        "dead": report.dead,
        "missed": state.missed,
        "skipped": state.skipped,
        "halted": state.halted,
        "trouble": report.trouble(),
    }


def _list(config: "Config", *, json: bool) -> None:
    from halflife.engine import bootstrap, deliveries

    with bootstrap.reading(config) as store:
        reports = deliveries.reports(config, store)
        dead = {report.settings.name: _dead(store, report) for report in reports}
    rows = [row(report) for report in reports]
    if json:
        show.emit({"results": [r | {"letters": dead[str(r["name"])]} for r in rows]})
        return
    shown = ("name", "kind", "cursor", "behind", "delivered", "dead", "trouble")
    show.table([show.flat({n: state[n] for n in shown}) for state in rows])
    if not rows:
        show.say("no sinks configured; add [[sink]] to the settings")
    for report in reports:
        if report.trouble():
            show.note(show.plain(f"{report.settings.name}: {report.advice}"))


def _dead(store: "Store", report: "SinkReport") -> list[dict[str, object]]:
    """Return the first dead letters of a sink."""
    letters = store.sinks.dead(report.settings.name, LETTERS) if report.dead else []
    return [
        {
            "seq": letter.change.seq,
            "source": letter.change.source,
            "key": letter.change.key,
            "kind": letter.change.kind,
            "at": show.date(letter.at),
            "trouble": letter.trouble,
        }
        for letter in letters
    ]


def _skip(config: "Config", name: str, *, json: bool) -> None:
    from halflife.engine import bootstrap

    with bootstrap.writing(config) as store:
        gone = store.sinks.skip(name, bootstrap.clock())
    if json:
        show.emit({"sink": name, "skipped": gone})
    else:
        show.say(f"{name}: {count(gone, 'change')} given up")


def _retry(config: "Config", name: str, *, json: bool) -> bool:
    """Deliver failed changes again; return whether something is still wrong."""
    import asyncio

    from halflife.engine import bootstrap, deliveries

    with bootstrap.writing(config) as store:
        before = store.sinks.retry(name, bootstrap.clock())
        report = asyncio.run(deliveries.retry(config, store, name))
    trouble, got = report.trouble(), report.state.delivered - before.delivered
    if json:
        show.emit(row(report))
    else:
        failure = f"; {trouble}; {report.advice}" if trouble else ""
        show.say(show.plain(f"{name}: {count(got, 'change')} delivered{failure}"))
    return bool(trouble)
