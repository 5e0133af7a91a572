"""The verb that fetches once: sync."""

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli import exits, show
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, DryRun, Json, Sources, read_settings
from halflife.core.errors import UsageError
from halflife.core.wording import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflife.config import Config, SourceConfig
    from halflife.core.change import Change
    from halflife.kinds.protocol import Errand, Report
    from halflife.stores import Store
    from halflife.stores.table_store import TableStore

MOST_CHANGES = 1000  # in a JSON answer; ``halflife changes`` has them all
FIRST = 5  # changes that a line names


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
            help="Accept the answer this run held; SOURCE=GROUP: a group has gone.",
        ),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(
            metavar="RUN",
            help="Reject the answer this run held; the copy stays.",
        ),
    ] = None,
    dry_run: DryRun = False,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Spend the available requests on the fetches that gain most."""
    from halflife.cli import inspect
    from halflife.engine import once

    settings = read_settings(config)
    if accept is not None or keep is not None:
        _decide(settings, accept, keep, json=json)
        return
    chosen = once.sources_to_sync(settings, sources or ())
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
    """Fetch sources once; print the outcome."""
    import asyncio

    from halflife.kinds.protocol import Errand

    errand = Errand(most, everything)
    reports, code, changes = asyncio.run(_sync(config, chosen, errand, quiet=json))
    _print(reports, changes, json=json)
    _warn_undelivered(config)
    _end(code, reports)
    _end_if_held(config, chosen)


async def _sync(
    config: "Config",
    chosen: "Sequence[SourceConfig]",
    errand: "Errand",
    *,
    quiet: bool,
) -> "tuple[list[Report], int, SyncChanges]":
    """Fetch sources once; return their reports, a signal's code, and the changes."""
    from halflife.engine import bootstrap, once
    from halflife.engine.signals import Stop

    stop = Stop()
    with bootstrap.writing(config, _warn) as store, stop.on_signals():
        _warn_overlaps(config, store)
        before = store.changes.last()
        with show.progress("syncing", errand.most, quiet=quiet) as advance:
            errand = replace(errand, told=lambda items: advance(items, ""))
            reports = await once.sync(config, store, chosen, errand, stop)
        names = [source.name for source in chosen]
        return reports, stop.code, SyncChanges.since(store, before, names)


@dataclass(frozen=True, slots=True)
class SyncChanges:
    """The changes of a sync: the first of them, and the total number."""

    first: "Sequence[Change]" = ()
    total: int = 0

    @classmethod
    def since(cls, store: "Store", after: int, names: "Sequence[str]") -> "SyncChanges":
        """Return the changes written after a sequence number."""
        from halflife.engine import change_feed

        changes = change_feed.read(store, after, names)
        first = list(islice(changes, MOST_CHANGES))
        return cls(first, len(first) + sum(1 for _ in changes))

    def rows(self) -> dict[str, object]:
        """Return the changes as plain values, for JSON."""
        from halflife.engine import change_feed

        rows = [change_feed.row(c, show.date(c.at)) for c in self.first]
        return {"changes": rows, "changes_total": self.total}

    def words(self) -> str:
        """Return the changes in a line; empty if nothing changed."""
        from halflife.cli import changes

        return changes.summary(self.first[:FIRST], self.total)


def _print(reports: "Sequence[Report]", changes: SyncChanges, *, json: bool) -> None:
    for report in reports:
        if report.note:
            show.note(show.plain(report.note))
    if json:
        show.emit({**_answer(reports), **changes.rows()})
        return
    for report in reports:
        words = report.result.words(trouble=False) if report.result else ""
        if words:
            show.say(show.plain(words))
    if line := changes.words():
        show.say(show.plain(f"  {line}"))


def _answer(reports: "Sequence[Report]") -> dict[str, object]:
    """Return the outcome as JSON: that of pages first, then all else by section."""
    from halflife.kinds.pages.runner import SyncOutcome

    answer = SyncOutcome().row()
    sections: dict[str, list[dict[str, object]]] = {}
    for report in reports:
        if report.result is None:
            continue
        if report.section:
            sections.setdefault(report.section, []).append(report.result.row())
        else:
            answer = report.result.row()
    return {**answer, **sections}


def _end(code: int, reports: "Sequence[Report]") -> None:
    """Exit with the code of the outcome; return if all is well."""
    from halflife.engine import held_answers

    failed = False
    for report in reports:
        for failure in report.failed():
            show.note(f"halflife: {show.plain(failure)}")
        failed = failed or bool(report.trouble)
    if code:
        raise typer.Exit(code)
    waiting = [report for report in reports if report.held]
    if waiting:
        raise held_answers.held_error(waiting)
    if failed:
        raise typer.Exit(exits.SOME_FAILED)


def _end_if_held(config: "Config", chosen: "Sequence[SourceConfig]") -> None:
    """Raise ``HeldForDecision`` if answers of pages wait for a decision."""
    from halflife.engine import bootstrap, held_answers

    with bootstrap.reading(config) as store:
        error = held_answers.undecided(store, [source.name for source in chosen])
    if error is not None:
        raise error


def _decide(config: "Config", what: str | None, run: int | None, *, json: bool) -> None:
    """Accept or reject a held answer."""
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
    """Accept a held answer, or that a group has gone."""
    from halflife.engine import bootstrap, held_answers
    from halflife.kinds.listing.runner import accept_group

    name, equals, group = what.partition("=")
    if not equals and not what.isdecimal():
        raise UsageError(f"--accept: {what!r} is neither a run nor SOURCE=GROUP")
    with bootstrap.writing(config) as store:
        if equals:
            n = accept_group(config, store, name, group)
            answer: dict[str, object] = {"source": name, "group": group, "missing": n}
            line = f"{name}: {count(n, 'object')} of {group} counted as missing"
        else:
            done = held_answers.accept(config, store, int(what))
            answer, line = done.row, done.words
    show.emit(answer) if json else show.say(show.plain(line))


def _warn(words: str) -> None:
    """Write a warning to stderr."""
    show.note(show.plain(f"halflife: {words}"))


def _warn_undelivered(config: "Config") -> None:
    """Warn of sinks that did not get the changes."""
    if not config.sink:
        return
    from halflife.engine import bootstrap, deliveries

    with bootstrap.reading(config) as store:
        for report in deliveries.reports(config, store):
            if trouble := report.trouble():
                _warn(f"sink {report.settings.name}: {trouble}; {report.advice}")
            elif report.behind:
                behind = count(report.behind, "change")
                _warn(
                    f"sink {report.settings.name} has not taken {behind} yet; the next "
                    "sync or `halflife run` delivers again"
                )


def _warn_overlaps(config: "Config", store: "TableStore") -> None:
    """Warn of sources that name pages of others, and so do not keep them."""
    from halflife.engine import ownership

    for overlap in ownership.overlaps(config, store):
        _warn(f"{overlap.words()}; {overlap.advice}")
