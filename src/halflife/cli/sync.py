"""The verb that fetches once: sync."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflife.cli.app import app
from halflife.cli.options import ConfigPath, DryRun, Json, Sources
from halflife.core.wording import count

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from halflife.config import Config, SourceConfig
    from halflife.core.observation import Looks
    from halflife.engine.signals import Stop
    from halflife.kinds.form.client import Former
    from halflife.kinds.form.runner import Turned
    from halflife.kinds.listing.runner import Looked
    from halflife.kinds.pages.runner import Keeper, Outcome
    from halflife.kinds.pages.settings import PagesConfig
    from halflife.stores.sqlite import SqliteStore


@app.command()
def sync(  # noqa: PLR0913  (each is an option)
    sources: Sources = None,
    *,
    max_requests: Annotated[
        int | None, typer.Option(min=1, help="Spend at most so many requests.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Look at every page once, as the budget goes.")
    ] = False,
    accept: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="Believe the answer that this run put aside; SOURCE=GROUP: believe "
            "that a group which is not seen any more has gone.",
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
    """Spend what has come in on the looks that buy most."""
    from halflife.cli import inspect
    from halflife.config import Config

    settings = Config.load(Config.find(config))
    if accept is not None or keep is not None:
        _decide(settings, accept, keep, json=json)
        return
    chosen = _kept(settings, sources or ())
    if dry_run:
        inspect.show_plan(settings, chosen, most=max_requests, json=json)
        return
    _sync_all(settings, chosen, max_requests, everything=everything, json=json)


def _kept(config: "Config", names: "Sequence[str]") -> "list[SourceConfig]":
    """Return the sources of which copies are kept; naming another is a mistake."""
    from halflife.core.errors import UsageError

    chosen = config.named(names)
    kept = [source for source in chosen if source.kind != "search"]
    if len(kept) < len(chosen) and (names or not kept):
        searched = next(s.name for s in chosen if s.kind == "search")
        raise UsageError(
            f"{searched} is a search, of which no copy is kept; "
            f"run `halflife summarize {searched}`"
        )
    return kept


def _sync_all(
    config: "Config",
    chosen: "Sequence[SourceConfig]",
    most: int | None,
    *,
    everything: bool,
    json: bool,
) -> None:
    """Sync pages, then set sources; say what came of it."""
    import asyncio

    from halflife.kinds.pages.runner import Outcome
    from halflife.kinds.pages.settings import PagesConfig

    sets = [s for s in chosen if s.kind in {"listing", "form"}]
    pages = PagesConfig.among(chosen)
    outcome: Outcome | None = Outcome()
    code = 0
    if pages or not sets:
        work = _sync(config, pages, most, everything=everything, quiet=json)
        outcome, stop = asyncio.run(work)
        code = stop.code
    looked: Sequence[Looked | Turned] = []
    left = None if most is None or outcome is None else most - outcome.requests
    if sets and not code and left != 0:
        looked, stop = asyncio.run(_look(config, sets, left))
        code = stop.code
    _tell(outcome if pages or not sets else None, looked, json=json)
    _end(code, outcome, looked)
    _end_if_held(config, pages)


async def _look(
    config: "Config", sets: "Sequence[SourceConfig]", most: int | None
) -> "tuple[list[Looked | Turned], Stop]":
    """Look at set sources, one after the other, as far as the budget goes."""
    from halflife.cli.in_turn import in_turn
    from halflife.engine import bootstrap, faults
    from halflife.engine.signals import Stop
    from halflife.kinds.form.client import Former

    stop = Stop()
    spent = 0
    with bootstrap.writing(config, _say) as store, stop.heard():
        former = Former(config, store)

        async def looked(source: "SourceConfig", left: int | None) -> "Looked | Turned":
            nonlocal spent
            found = await _at(config, former, source, left)
            faults.note(store, source.name, found.trouble)
            spent += found.requests
            return found

        def work(
            source: "SourceConfig",
        ) -> "Coroutine[Any, Any, Looked | Turned] | None":
            left = None if most is None else most - spent
            return None if left == 0 else looked(source, left)

        return await in_turn(sets, stop, work, former.ease), stop


async def _at(
    config: "Config", former: "Former", source: "SourceConfig", most: int | None
) -> "Looked | Turned":
    """Look at a set source, or ask a form; an error of ours is its trouble alone."""
    from halflife.core.errors import SourceError
    from halflife.engine import audit
    from halflife.kinds.form import audit as form_audit
    from halflife.kinds.form.settings import FormConfig
    from halflife.kinds.listing import runner as listing_runner
    from halflife.kinds.listing.settings import ListingConfig
    from halflife.readers.containment import contained

    looked = listing_runner.Looked(source.name, 0)
    try:
        with contained(source.where):
            if isinstance(source, FormConfig):
                checks = form_audit.usual(former, source, most, config.audit.share)
                return (await form_audit.turn(former, source, most, checks))[0]
            listing = ListingConfig.of(source)
            looked = await listing_runner.sync(config, former.store, listing, most=most)
            audit.score(former.store, source, looked)
    except SourceError as error:
        return replace(looked, trouble=looked.trouble or str(error))
    return looked


def _tell(
    outcome: "Outcome | None", looked: "Sequence[Looked | Turned]", *, json: bool
) -> None:
    from halflife.cli import show
    from halflife.kinds.pages.runner import Outcome

    if json:
        answer = answer_of(outcome or Outcome())
        if looked:
            answer["listings"] = [one.row() for one in looked]
        show.emit(answer)
        return
    if outcome is not None:
        show.say(words_of(outcome))
    for one in looked:
        if words := one.words(trouble=False):
            show.say(show.plain(words))


def _end(
    code: int, outcome: "Outcome | None", looked: "Sequence[Looked | Turned]"
) -> None:
    """End with the code that says what happened."""
    from halflife.cli import exits, show
    from halflife.kinds.listing import runner as listing_runner

    silent = outcome.silent if outcome is not None else []
    for name in silent:
        trouble = show.plain(outcome.sources[name].trouble) if outcome else ""
        show.note(f"halflife: source {name} did not answer: {trouble}")
    for name, tally in outcome.sources.items() if outcome is not None else ():
        if tally.mishandled and name not in silent:
            show.note(f"halflife: source {name}: {show.plain(tally.mishandled)}")
    failed = [one for one in looked if one.trouble]
    for one in failed:
        show.note(f"halflife: {show.plain(_failure(one))}")
    if code:
        raise typer.Exit(code)
    if any(one.held for one in looked):
        raise listing_runner.held_error(looked)
    if silent or failed:
        raise typer.Exit(exits.SOME_FAILED)


def _end_if_held(config: "Config", pages: "Sequence[SourceConfig]") -> None:
    """Raise ``HeldForDecision`` if answers of pages wait for somebody."""
    from halflife.engine import bootstrap
    from halflife.kinds.pages import guard as pages_guard

    if pages:
        with bootstrap.reading(config) as store:
            waiting = pages_guard.held(store, [source.name for source in pages])
        if waiting:
            raise pages_guard.held_error(waiting)


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


def _failure(one: "Looked | Turned") -> str:
    """Say what went wrong with a source, and what to do if its history is wrong."""
    from halflife.readers.records import UNREADABLE

    said = f"source {one.source} did not answer in full: {one.trouble}"
    if UNREADABLE not in one.trouble:
        return said
    return (
        f"{said}; if earlier answers were read wrongly too, mend its settings and "
        f"forget them with `halflife source reset {one.source}`"
    )


def _accept(config: "Config", what: str, *, json: bool) -> None:
    """Believe what was put aside, or that a group has gone."""
    from halflife.cli import show
    from halflife.core.errors import UsageError
    from halflife.engine import bootstrap, held_answers
    from halflife.kinds.listing import runner as listing_runner

    name, equals, group = what.partition("=")
    if not equals and not what.isdecimal():
        raise UsageError(f"--accept: {what!r} is neither a run nor SOURCE=GROUP")
    with bootstrap.writing(config) as store:
        if equals:
            n = listing_runner.accept_group(config, store, name, group)
            answer: dict[str, object] = {"source": name, "group": group, "missing": n}
            said = f"{name}: {count(n, 'object')} of {group} counted as missing"
        else:
            done = held_answers.accept(config, store, int(what))
            answer, said = done.row, done.words
    show.emit(answer) if json else show.say(show.plain(said))


async def _sync(
    config: "Config",
    chosen: "Sequence[PagesConfig]",
    most: int | None,
    *,
    everything: bool,
    quiet: bool,
) -> "tuple[Outcome | None, Stop]":
    from halflife.cli import show
    from halflife.engine import bootstrap
    from halflife.engine.signals import Stop, until_stopped
    from halflife.kinds.pages.runner import keeping

    stop = Stop()
    with bootstrap.writing(config, _say) as store, stop.heard():
        _say_overlaps(config, store)
        async with keeping(config, store, chosen) as keeper:
            requests = keeper.allowance(everything=everything)
            if not requests:
                _say_why_not(keeper)
            requests = min(requests, most or requests)
            with show.progress("syncing", requests, quiet=quiet) as advance:

                def told(looks: "Looks") -> None:
                    advance(len(looks), "")

                share = 0.0 if everything else config.audit.share
                work = _turned(keeper, (requests, most), share, told)
                outcome = await until_stopped(work, stop, keeper.ease)
            if requests and outcome is not None and not outcome.sources:
                _say_who_waits(keeper)
            return outcome, stop


async def _turned(
    keeper: "Keeper",
    limits: "tuple[int, int | None]",
    share: float,
    told: "Callable[[Looks], None]",
) -> "Outcome":
    """Check some pages drawn at random, then look where it buys most."""
    from halflife.kinds.pages import audit as pages_audit, crawl as pages_crawl

    requests, most = limits
    spent = await pages_audit.check_share(keeper, share, requests)
    if keeper.crawls:
        rest = None if most is None else most - spent
        outcome = await pages_crawl.turns(keeper, requests - spent, rest, told)
    else:
        outcome = await keeper.turn(requests - spent, told)
    outcome.requests += spent
    return outcome


def _say_who_waits(keeper: "Keeper") -> None:
    """Say that pages wait because they failed, if any do."""
    from halflife.cli import show

    waiting, days = keeper.paused()
    if waiting:
        pages = (
            "1 page failed and is"
            if waiting == 1
            else f"{waiting} pages failed and are"
        )
        show.note(f"{pages} not asked for again yet; the next one in {show.span(days)}")


def _say(words: str) -> None:
    """Say on stderr what a person should know of."""
    from halflife.cli import show

    show.note(show.plain(f"halflife: {words}"))


def _say_overlaps(config: "Config", store: "SqliteStore") -> None:
    """Say which sources want pages that others own, and so do not keep them."""
    from halflife.engine import ownership

    for one in ownership.overlaps(config, store):
        _say(f"{one.words()}; {one.advice}")


def _say_why_not(keeper: "Keeper") -> None:
    """Say why there is nothing to spend; raise ``BudgetSpent`` if all is spent."""
    from halflife.cli import show
    from halflife.engine.wallet import spent

    now = keeper.clock()
    if not keeper.wallet.room(now):
        raise spent(keeper.wallet.budget)
    wait = show.span(keeper.wallet.next_income(now))
    show.note(f"nothing to spend yet: the next request comes in in {wait}")


def words_of(outcome: "Outcome") -> str:
    """Return what a sync of pages did, in a line."""
    total = outcome.total
    return (
        f"{count(outcome.requests, 'request')}: {count(total('looks'), 'look')}, "
        f"{total('changed')} found a change, {total('failed')} failed, "
        f"{count(outcome.found, 'new item')}"
    )


def answer_of(outcome: "Outcome") -> dict[str, object]:
    """Return the same for programs."""
    totals = {name: outcome.total(name) for name in ("looks", "changed", "failed")}
    rows = [
        {
            "source": name,
            "looks": tally.looks,
            "changed": tally.changed,
            "failed": tally.failed,
            "trouble": tally.trouble,
        }
        for name, tally in sorted(outcome.sources.items())
    ]
    head = {"requests": outcome.requests, "found": outcome.found}
    return {**head, **totals, "results": rows}
