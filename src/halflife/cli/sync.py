"""The verb that fetches once: sync."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli.app import app
from halflife.cli.options import ConfigPath, DryRun, Json, Sources
from halflife.core.wording import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflife.config import Config, SourceConfig
    from halflife.core.change import Change
    from halflife.kinds.protocol import Errand, Report
    from halflife.stores import Store
    from halflife.stores.table_store import TableStore

MOST_CHANGES = 1000  # that an answer lists; ``halflife changes`` has them all
FIRST = 5  # that a line names


@app.command()
def sync(  # noqa: PLR0913  (each is an option)
    sources: Sources = None,
    *,
    max_requests: Annotated[
        int | None, typer.Option(min=1, help="Spend at most N requests.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Fetch every page once, budget permitting.")
    ] = False,
    accept: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="Believe what this run put aside; SOURCE=GROUP: a group has gone.",
        ),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(
            metavar="RUN",
            help="Do not believe the answer that this run put aside; the copy stays.",
        ),
    ] = None,
    dry_run: DryRun = False,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Spend the available requests on the fetches that gain most."""
    from halflife.cli import inspect
    from halflife.config import Config
    from halflife.engine import once

    settings = Config.load(Config.find(config))
    if accept is not None or keep is not None:
        _decide(settings, accept, keep, json=json)
        return
    chosen = once.fetched(settings, sources or ())
    if dry_run:
        inspect.show_plan(settings, chosen, most=max_requests, json=json)
    else:
        _sync_all(settings, chosen, max_requests, everything=everything, json=json)


def _sync_all(
    config: "Config",
    chosen: "Sequence[SourceConfig]",
    most: int | None,
    *,
    everything: bool,
    json: bool,
) -> None:
    """Fetch sources once; say what came of it."""
    import asyncio

    from halflife.kinds.protocol import Errand

    errand = Errand(most, everything)
    done, code, found = asyncio.run(_sync(config, chosen, errand, quiet=json))
    _tell(done, found, json=json)
    _say_undelivered(config)
    _end(code, done)
    _end_if_held(config, chosen)


async def _sync(
    config: "Config",
    chosen: "Sequence[SourceConfig]",
    errand: "Errand",
    *,
    quiet: bool,
) -> "tuple[list[Report], int, SyncChanges]":
    """Fetch sources once; return what came of it, a signal's code, and the changes."""
    from dataclasses import replace

    from halflife.cli import show
    from halflife.engine import bootstrap, once
    from halflife.engine.signals import Stop

    stop = Stop()
    with bootstrap.writing(config, _say) as store, stop.heard():
        _say_overlaps(config, store)
        before = store.changes.last()
        with show.progress("syncing", errand.most, quiet=quiet) as advance:
            asked = replace(errand, told=lambda items: advance(items, ""))
            done = await once.sync(config, store, chosen, asked, stop)
        names = [source.name for source in chosen]
        return done, stop.code, SyncChanges.since(store, before, names)


@dataclass(frozen=True, slots=True)
class SyncChanges:
    """What a sync changed: the first of them, and how many there are."""

    some: "Sequence[Change]" = ()
    total: int = 0

    @classmethod
    def since(cls, store: "Store", after: int, names: "Sequence[str]") -> "SyncChanges":
        """Return what was written after a number."""
        from itertools import islice

        from halflife.engine import change_feed

        found = change_feed.read(store, after, names)
        some = list(islice(found, MOST_CHANGES))
        return cls(some, len(some) + sum(1 for _ in found))

    def rows(self) -> dict[str, object]:
        """Return the same for programs."""
        from halflife.cli import show
        from halflife.engine import change_feed

        rows = [change_feed.row(one, show.date(one.at)) for one in self.some]
        return {"changes": rows, "changes_total": self.total}

    def words(self) -> str:
        """Return the same in a line; empty if nothing changed."""
        from halflife.cli import changes

        return changes.summary(self.some[:FIRST], self.total)


def _tell(done: "Sequence[Report]", found: SyncChanges, *, json: bool) -> None:
    from halflife.cli import show

    for report in done:
        if report.note:
            show.note(show.plain(report.note))
    if json:
        show.emit({**_answer(done), **found.rows()})
        return
    for report in done:
        words = report.result.words(trouble=False) if report.result else ""
        if words:
            show.say(show.plain(words))
    if said := found.words():
        show.say(show.plain(f"  {said}"))


def _answer(done: "Sequence[Report]") -> dict[str, object]:
    """Return what came of it for programs: pages first, then all else by section."""
    from halflife.kinds.pages.runner import SyncOutcome

    answer = SyncOutcome().row()
    sections: dict[str, list[dict[str, object]]] = {}
    for report in done:
        if report.result is None:
            continue
        if report.section:
            sections.setdefault(report.section, []).append(report.result.row())
        else:
            answer = report.result.row()
    return {**answer, **sections}


def _end(code: int, done: "Sequence[Report]") -> None:
    """End with the code that says what happened."""
    from halflife.cli import exits, show
    from halflife.engine import held_answers

    failed = False
    for report in done:
        for said in report.failed():
            show.note(f"halflife: {show.plain(said)}")
        failed = failed or bool(report.trouble)
    if code:
        raise typer.Exit(code)
    waiting = [report for report in done if report.held]
    if waiting:
        raise held_answers.held_error(waiting)
    if failed:
        raise typer.Exit(exits.SOME_FAILED)


def _end_if_held(config: "Config", chosen: "Sequence[SourceConfig]") -> None:
    """Raise ``HeldForDecision`` if answers of pages wait for somebody."""
    from halflife.engine import bootstrap, held_answers

    with bootstrap.reading(config) as store:
        error = held_answers.undecided(store, [source.name for source in chosen])
    if error is not None:
        raise error


def _decide(config: "Config", what: str | None, run: int | None, *, json: bool) -> None:
    """Carry out what somebody decides about what was put aside."""
    from halflife.cli import show
    from halflife.core.errors import UsageError
    from halflife.engine import bootstrap, held_answers

    if what is not None and run is not None:
        raise UsageError("give --accept or --keep, not both")
    if what is not None:
        _accept(config, what, json=json)
    elif run is not None:
        with bootstrap.writing(config) as store:
            done = held_answers.keep(config, store, run)
        show.emit(done.row) if json else show.say(show.plain(done.words))


def _accept(config: "Config", what: str, *, json: bool) -> None:
    """Believe what was put aside, or that a group has gone."""
    from halflife.cli import show
    from halflife.core.errors import UsageError
    from halflife.engine import bootstrap, held_answers

    name, equals, group = what.partition("=")
    if not equals and not what.isdecimal():
        raise UsageError(f"--accept: {what!r} is neither a run nor SOURCE=GROUP")
    with bootstrap.writing(config) as store:
        if equals:
            n = held_answers.accept_group(config, store, name, group)
            answer: dict[str, object] = {"source": name, "group": group, "missing": n}
            said = f"{name}: {count(n, 'object')} of {group} counted as missing"
        else:
            done = held_answers.accept(config, store, int(what))
            answer, said = done.row, done.words
    show.emit(answer) if json else show.say(show.plain(said))


def _say(words: str) -> None:
    """Say on stderr what a person should know of."""
    from halflife.cli import show

    show.note(show.plain(f"halflife: {words}"))


def _say_undelivered(config: "Config") -> None:
    """Say which sinks did not get what changed."""
    if not config.sink:
        return
    from halflife.engine import bootstrap, deliveries

    with bootstrap.reading(config) as store:
        for one in deliveries.reports(config, store):
            if said := one.trouble():
                _say(f"sink {one.settings.name}: {said}; {one.advice}")


def _say_overlaps(config: "Config", store: "TableStore") -> None:
    """Say which sources want pages that others own, and so do not keep them."""
    from halflife.engine import ownership

    for one in ownership.overlaps(config, store):
        _say(f"{one.words()}; {one.advice}")
