"""Verbs that read the state and never send: status, plan, explain, forecast, get."""

import math
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflife.cli import exits, show, words
from halflife.cli.app import app
from halflife.cli.options import (
    Confidence,
    ConfigPath,
    Json,
    OfSource,
    Since,
    Sources,
    Where,
    read_settings,
)
from halflife.core.errors import UsageError
from halflife.core.wording import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from halflife.config import Config, SourceConfig
    from halflife.core.arrays import Ints
    from halflife.engine.bootstrap import Outlook
    from halflife.engine.versions import ItemVersion
    from halflife.stores import Store

Explained = Annotated[
    str | None,
    typer.Argument(metavar="ITEM", help="A URL, a part of one, or a source."),
]


# Keys of the answer of ``status`` that are no table of one kind.
_SECTIONS = {"sites", "sets", "waiting", "mishandled", "results"}


@app.command()
def status(
    sources: Sources = None,
    *,
    gone: Annotated[
        bool, typer.Option("--gone", help="List the pages that are gone instead.")
    ] = False,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Show how good the copy is estimated to be, and what the budget has left."""
    from halflife.cli import gone_pages

    settings = read_settings(config)
    if gone:
        gone_pages.print_gone_pages(settings, settings.named(sources or ()), json=json)
        return
    _warn_if_lost(settings)
    _status(settings, sources or [], json=json)


def _status(settings: "Config", sources: list[str], *, json: bool) -> None:
    """Print how good the copy of sources is estimated to be."""
    from halflife.cli import fleet_status, sets
    from halflife.cli.answers import budget_left, own_tables
    from halflife.engine import bootstrap, faults, stored_sources
    from halflife.engine.groups import by_item
    from halflife.kinds.pages.crawl import progress, sites
    from halflife.kinds.pages.map_discovery import full
    from halflife.kinds.protocol import Reading

    now = bootstrap.clock()
    with bootstrap.reading(settings) as store:
        known = stored_sources.named(settings, store, sources)
        chosen = tuple(filter(stored_sources.has_address, known))
        pages = by_item(chosen)
        names = sets.stored_names(store, known, everything=not sources)
        others = [source for source in chosen if source not in pages]
        tables, rest = own_tables(Reading(settings, store, now), others)
        listed = sets.status_rows(settings, store, names, rest, now)
        left = budget_left(settings.budget, store, now)
        rows: list[dict[str, object]] = []
        fresh = None
        if pages or not (listed or any(tables.values())):
            rows, fresh = _of_all_pages(settings, store, pages, now)
        crawls = [progress(store, site) for site in sites(pages)]
        broken, waiting = faults.found(store, chosen), sets.waiting_rows(store)
        sinks, work = _sinks(settings, store), fleet_status.rows(store)
        notes = [crawl.words() for crawl in crawls] + full(store, pages)
    sections: dict[str, Sequence[Mapping[str, Any]]] = {
        "sites": [crawl.row() for crawl in crawls],
        "sets": listed,
        "waiting": waiting,
        "mishandled": [fault.row() for fault in broken],
        "results": rows,
    }
    if json:
        head = {"store": settings.store_name, "at": show.date(now), "freshness": fresh}
        show.emit({**head, "budget": left, **work, **tables, **sections, **sinks})
        return
    notes += [fault.words() for fault in broken] + _undelivered(sinks)
    _print({**tables, **sections}, fresh, left, notes + fleet_status.words(work))


def _warn_if_lost(config: "Config") -> None:
    """Warn that the state that these settings used before is missing."""
    from halflife.engine import state_record

    lost = state_record.missing(config)
    if lost:
        show.note(show.plain(f"halflife: {lost}"))


def _of_all_pages(
    config: "Config", store: "Store", pages: "Sequence[SourceConfig]", now: float
) -> "tuple[list[dict[str, object]], dict[str, float] | None]":
    """Return the status of each source of pages, and the freshness of all together.

    The freshness is None before any page was fetched.

    The estimates of pages depend on one another, so they are computed for all pages,
    even if only some sources are named.
    """
    from halflife.cli.answers import freshness_of, source_row
    from halflife.engine import bootstrap
    from halflife.engine.audit_report import factor

    seen, owned = _owned_pages(config, store, now, pages)
    rows = [source_row(seen, store, page.name, owned[page.name]) for page in pages]
    mine = _rows_of(owned, pages)
    if not seen.view.held[mine].any():
        return rows, None
    trust = factor(store, bootstrap.names(pages), seen.now)
    return rows, freshness_of(seen.view, mine, trust)


def _owned_pages(
    config: "Config", store: "Store", now: float, chosen: "Sequence[SourceConfig]"
) -> "tuple[Outlook, Mapping[str, Ints]]":
    """Return the estimates of pages, and which rows belong to each source.

    Of all pages, or of those under the only policy of the chosen sources.
    """
    from halflife.engine import bootstrap
    from halflife.engine.groups import by_item
    from halflife.kinds.pages.source_rows import rows_of

    everything = by_item(config.source)
    policies = {bootstrap.policy_of(config, source) for source in chosen}
    if len(policies) == 1:  # others have beliefs of their own
        policy = policies.pop()
        everything = [s for s in everything if bootstrap.policy_of(config, s) == policy]
    seen = bootstrap.outlook(config, store, everything, now)
    names = bootstrap.names(everything)
    items = lambda: bootstrap.items(everything)  # noqa: E731
    return seen, rows_of(store, names, seen.evidence, items)


def _rows_of(owned: "Mapping[str, Ints]", pages: "Sequence[SourceConfig]") -> "Ints":
    import numpy as np

    none = np.zeros(0, np.intp)
    return np.unique(np.concatenate([none, *(owned[page.name] for page in pages)]))


def _sinks(config: "Config", store: "Store") -> "dict[str, list[dict[str, object]]]":
    """Return the state of each sink under the key ``sinks``; empty without sinks."""
    if not config.sink:
        return {}
    from halflife.cli.sinks import row
    from halflife.engine.deliveries import reports

    return {"sinks": [row(report) for report in reports(config, store)]}


def _undelivered(sinks: "Mapping[str, Sequence[Mapping[str, object]]]") -> list[str]:
    """Return a line for each sink that fails to get changes."""
    failing = [row for rows in sinks.values() for row in rows if row["trouble"]]
    return [f"sink {row['name']}: {row['trouble']}" for row in failing]


def _print(
    sections: "Mapping[str, Sequence[Mapping[str, Any]]]",
    fresh: "Mapping[str, float] | None",
    left: "Mapping[str, object]",
    notes: list[str],
) -> None:
    """Print the answer of ``status``."""
    from halflife.cli import texts

    show.table([show.flat(row) for row in sections["results"]])
    for note in notes:
        show.say(show.plain(note))
    if fresh is not None:
        now = show.interval(**fresh)
        show.say(f"freshness of all pages now: {now}, at 95 % confidence")
    for _, alike in groupby(sorted(sections["sets"], key=tuple), key=tuple):
        show.table([show.flat(row) for row in alike])
    for name in sorted(sections.keys() - _SECTIONS):
        show.table([texts.status_cells(row) for row in sections[name]])
    for row in sections["waiting"]:
        show.say("{source} waits for you: {why}; {todo}".format(**row))
    budget = count(int(str(left["requests"])), "request")
    show.say("{spent} of {} spent in the last {per}".format(budget, **left))


@app.command()
def plan(
    sources: Sources = None,
    *,
    top: Annotated[int, typer.Option(min=1, help="How many fetches to show.")] = 10,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Show the next fetches, best first, what each gains and why; sends nothing."""
    settings = read_settings(config)
    show_plan(settings, settings.named(sources or ()), most=top, json=json)


def show_plan(
    config: "Config", chosen: "Sequence[SourceConfig]", *, most: int | None, json: bool
) -> None:
    """Show the next fetches of a sync, and how many requests it would send."""
    from halflife.cli.plans import plan_sync
    from halflife.engine import bootstrap

    with bootstrap.reading(config) as store:
        sync = plan_sync(config, store, chosen, most)
    for trouble in sync.troubles:
        show.note(show.plain(f"halflife: {trouble}"))
    if json:
        head = {"at": show.date(sync.at), "requests": sync.requests}
        show.emit({**head, "left": sync.room, **sync.sections})
        return
    for rows in (sync.sections["results"], *sync.others):
        show.table([show.flat(row) for row in rows])
    if sync.requests == 0 < sync.room:
        show.note(
            "a sync now would send no request; those that the budget has left "
            f"({sync.room}) become available evenly"
        )
        return
    show.note(
        f"a sync now would send {sync.about} {count(sync.requests, 'request')}; "
        f"the budget has {sync.room} left"
    )


@app.command()
def explain(
    item: Explained = None,
    *,
    run: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Show what this run did.")
    ] = None,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Explain why an item or a source is, or is not, fetched now; or what a run did."""
    from halflife.cli.runs import print_run

    if (item is None) == (run is None):
        raise UsageError("explain either an item or a run")
    settings = read_settings(config)
    if run is not None:
        print_run(settings, run, json=json)
    elif item is not None:
        _explain(settings, item, json=json)


def _explain(settings: "Config", item: str, *, json: bool) -> None:
    """Print why an item is, or is not, fetched now, and how far that is trusted."""
    from halflife.cli import audit, hint_trust, plans
    from halflife.cli.answers import find_row
    from halflife.cli.terms import find_place, rule_of, terms
    from halflife.engine import bootstrap, stored_sources
    from halflife.engine.audit_report import judge
    from halflife.engine.groups import by_item
    from halflife.policies.valuation import gain_policy

    with bootstrap.reading(settings) as store:
        if item in {one.name for one in stored_sources.everything(settings, store)}:
            plans.explain_source(settings, store, item, json=json)
            return
        paged = by_item(settings.source)
        seen = bootstrap.outlook(settings, store, paged or settings.source)
        key = seen.evidence.keys[find_row(seen.evidence, item)]
        seen = seen.part_of(key)
        source = store.source_of(key) or ""
        judged = judge(store, source, seen.now) if source else None
        rule, choice = rule_of(seen.policy, settings.policy.objective), None
        if gain_policy(seen.policy) is not rule:
            day = max(math.ceil(settings.budget.pace), 1)
            choice = find_place(seen.name, seen.plan(day), key, day)
        row = seen.evidence.row(key)
        assert row is not None  # the part was chosen by this key
        item_terms = terms(seen.view, row, rule, settings.budget.pace, choice)
        hints = hint_trust.hint_precision(seen, row)
    trust = judged.trust if judged is not None else None
    if json:
        factor = {"factor": trust.factor, "why": trust.why} if trust else None
        about = {"source": source or None, "trust": factor, "hints": hints}
        show.emit({**item_terms.row(seen.now), **about})
        return
    show.say(show.plain(item_terms.key))
    for line in [*item_terms.lines(), *hint_trust.lines(hints)]:
        show.say(f"  {line}")
    if judged is not None:
        show.say(show.plain(f"  {audit.describe_trust(judged)}"))


@app.command()
def forecast(  # noqa: PLR0913  (each is an option)
    sources: Sources = None,
    *,
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="+6h", help="Only at this time from then on; repeatable."),
    ] = None,
    days: Annotated[float, typer.Option(min=0.01, max=3650, help="How far.")] = 7.0,
    target: Annotated[
        float | None, typer.Option(min=0, max=1, help="Quality to keep up.")
    ] = None,
    since: Since = None,
    where: Where = None,
    confidence: Confidence = 0.95,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Forecast how good the copy will be if nothing more is fetched."""
    from halflife.cli import answers, plans, sets

    ahead = sorted({words.days("--at", word) for word in at or () if word})
    moments = [0.0, *ahead] if ahead else answers.moments(days)
    selects = since is not None or where is not None
    if not selects and (alone := plans.forecast_alone(sources or (), config)):
        words.refuse_set_options(since, where, confidence)
        plans.print_forecast(alone, config, moments, target=target, json=json)
        return
    collection = sets.chosen_collection(sources or (), config)
    if collection is None:
        words.refuse_set_options(since, where, confidence)
        _of_pages(sources, config, moments, target=target, json=json)
        return
    words.refuse_page_options(target)
    sure = words.share("--confidence", confidence)
    settings = sets.load_settings(config)
    question = sets.SetQuestion.of(collection, since, where, settings)
    ahead = ahead or answers.moments(days)[1:]
    rows = sets.forecast_rows(question, ahead, sure, fresh=True)
    sets.print_forecast(question, rows, sure, json=json)


def _of_pages(
    sources: list[str] | None,
    config: "Path | None",
    ahead: "Sequence[float]",
    *,
    target: float | None,
    json: bool,
) -> None:
    """Print the forecast freshness of pages."""
    from halflife.cli import answers
    from halflife.engine import bootstrap
    from halflife.engine.audit_report import factor
    from halflife.engine.groups import by_item

    settings = read_settings(config)
    chosen = by_item(settings.named(sources or ()))
    if settings.source and not chosen:
        raise UsageError("no source has pages; name the set source to forecast")
    with bootstrap.reading(settings) as store:
        seen, owned = _owned_pages(settings, store, bootstrap.clock(), chosen)
        trust = factor(store, bootstrap.names(chosen), seen.now)
    view = answers.restrict(seen.view, _rows_of(owned, chosen))
    rows, below = answers.forecast_rows(view, ahead, target, trust)
    if json:
        head = {"measure": "freshness", "confidence": 0.95, "target": target}
        show.emit({**head, "below_target": show.date(below), "results": rows})
    else:
        show.table([show.flat(row) for row in rows])
        if target is not None:
            show.say(answers.verdict(target, below - seen.now))
    if target is not None and answers.freshness_now(view)["mean"] < target:
        raise typer.Exit(exits.BELOW_TARGET)


@app.command()
def get(
    item: Annotated[
        str,
        typer.Argument(metavar="ITEM", help="A URL or part of it, a record, a source."),
    ],
    *,
    version: Annotated[
        str, typer.Option(metavar="V", help="Versions back, or a time: 1, 7d.")
    ] = "0",
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Of a source jsonl, json or csv; of a page body or text.",
        ),
    ] = None,
    source: OfSource = None,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Print the copy of an item, or all records of a source."""
    from halflife.cli import changes
    from halflife.engine import bootstrap

    settings = read_settings(config)
    names = {source.name for source in settings.source}
    with bootstrap.reading(settings) as store:
        if source is None and item in names | {*store.collections()}:
            _get_source(store, item, version, "json" if json else form or "jsonl")
            return
        chosen = changes.choice("--version", version)
        copy = changes.version_of(settings, store, item, chosen, source)
    _get_one(copy, form, json=json)


def _get_source(store: "Store", name: str, version: str, form: str) -> None:
    """Print the records or pages of a source."""
    from halflife.cli import changes
    from halflife.engine.export_files import TEXTS
    from halflife.engine.export_rows import ExportSelection

    changes.check_format(form, TEXTS)
    at = changes.choice("--version", version)
    if at.back:
        raise UsageError("--version: of a source name a time, such as 7d or 2026-11-01")
    changes.write(store, ExportSelection(name, at.at), form)


def _get_one(copy: "ItemVersion", form: str | None, *, json: bool) -> None:
    """Print a page or a record."""
    from halflife.cli import changes
    from halflife.readers.text import readable, to_text

    if copy.content is None:
        changes.check_format(form or "json", ("json",))
        show.emit({"key": copy.key, "fields": copy.fields})
        return
    content = copy.content
    changes.check_format(form or "body", ("body", "text"))
    text = to_text(content.media_type, content.body)
    if form == "text":
        plain = readable(content.media_type, content.body)
        if plain is None:
            raise UsageError(f"{copy.key} is no text but {content.media_type}")
        text = plain
    if json:
        show.emit({"key": copy.key, "media_type": content.media_type, "text": text})
    elif form == "text":
        show.body(text.encode("utf-8", "replace") + b"\n", text)
    else:
        show.body(content.body, text)
