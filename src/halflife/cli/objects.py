"""Verbs about set sources: import, since, when, backtest, study."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli import show, words
from halflife.cli.app import app
from halflife.cli.options import (
    Confidence,
    ConfigPath,
    DryRun,
    Json,
    Since,
    Where,
)
from halflife.core.errors import UsageError
from halflife.core.wording import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflife.cli.imports import ImportWish


Name = Annotated[str, typer.Argument(metavar="NAME", help="A set source.")]


Form = Annotated[
    str,
    typer.Argument(
        metavar="FORM",
        help="A history: parquet, git, snapshots, scrapy. What others watch: "
        "changedetection, urlwatch, opml, distill, urls.",
    ),
]
Place = Annotated[Path, typer.Argument(metavar="PLACE", help="A folder or file.")]
Within = Annotated[
    str | None,
    typer.Argument(metavar="[PATH]", help="git: the file within the repository."),
]
As = Annotated[
    str | None, typer.Option("--as", metavar="NAME", help="What to call the source.")
]
Key = Annotated[
    str | None,
    typer.Option(
        metavar="FIELD",
        help="git, snapshots, scrapy: the field that identifies an object.",
    ),
]
Records = Annotated[
    str | None,
    typer.Option(metavar="WHERE", help="git, snapshots: where the records are."),
]


@app.command("import")
def import_(  # noqa: PLR0913  (each is an option)
    form: Form,
    place: Place,
    path: Within = None,
    *,
    name: As = None,
    key: Key = None,
    records: Records = None,
    dry_run: DryRun = False,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Import a recorded history, or what another program watches."""
    from halflife.cli import imports

    if form not in imports.FORMS:
        given = {"PATH": path, "--key": key, "--records": records}
        _import_watches(
            config, (form, place, name), given, write=not dry_run, json=json
        )
        return
    if name is None:
        raise UsageError("give the source a name, with --as")
    imports.check_name(name)
    wish = imports.ImportWish(form, place, path, key, records, name)
    _import_history(config, wish, write=not dry_run, json=json)


def _import_history(
    config: Path | None, wish: "ImportWish", *, write: bool, json: bool
) -> None:
    """Read the history of a set source into the store, in place of what it had."""
    from halflife.cli import imports, sets

    settings = sets.load_settings(config, verbose=True)
    history = imports.read(wish)
    if write:
        imports.save(settings, history)
    row = sets.summary(history)
    if json:
        show.emit({"store": settings.store_name, **row, "results": [row]})
    else:
        show.table([show.flat(row)])
        show.say(f"next: halflife forecast {wish.name} --at 7d")


def _import_watches(
    config: Path | None,
    what: tuple[str, Path, str | None],
    given: "Mapping[str, str | None]",
    *,
    write: bool,
    json: bool,
) -> None:
    """Add what another program watches to the settings."""
    from halflife.cli import imports, watchlists
    from halflife.config import Config

    form, place, name = what
    if form not in watchlists.READERS:
        known = ", ".join((*imports.FORMS, *watchlists.READERS))
        raise UsageError(f"{form!r} cannot be imported; there are {known}")
    for option, value in given.items():
        if value is not None:
            raise UsageError(f"{option} has no meaning with import {form}")
    if name is not None:
        imports.check_name(name)
    path = Config.find(config)
    watchlist = watchlists.read(form, place)
    sources = watchlists.take_over(path, watchlist, name, write=write)
    watchlists.report(path, watchlist, sources, json=json)


@app.command()
def since(  # noqa: PLR0913  (each is an option)
    name: Name,
    *,
    since: Since = None,
    until: Annotated[
        str | None, typer.Option("--to", metavar="DATE", help="[default: now]")
    ] = None,
    where: Where = None,
    confidence: Confidence = 0.95,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Show how many objects have gone and come since a copy was made."""
    from halflife.cli import sets
    from halflife.engine import bootstrap

    question = sets.read_question(name, config, since, where)
    end = words.moment("--to", until) if until else bootstrap.clock()
    if end < question.now:
        begin = show.date(question.now)
        if until is None:
            raise UsageError(
                f"--from: {begin} is not past yet; say with --to until when"
            )
        raise UsageError(f"--to: {show.date(end)} is before {begin}")
    sure = words.share("--confidence", confidence)
    (row,) = sets.forecast_rows(question, [end - question.now], sure)
    if json:
        show.emit({**question.head, "confidence": sure, **row, "results": [row]})
        return
    held = int(str(question.head["held"]))
    gone, new = sets.object_count(row["gone"]), sets.object_count(row["new"])
    show.say(
        f"{name}, copied {show.date(question.copied)}: of {count(held, 'object')} "
        f"{gone} have gone by {row['at']}, and {new} are new"
    )


@app.command()
def when(  # noqa: PLR0913  (each is an option)
    name: Name,
    *,
    precision: Annotated[
        float | None, typer.Option(metavar="Q", help="Keep precision at least so.")
    ] = None,
    recall: Annotated[
        float | None, typer.Option(metavar="Q", help="Keep recall at least so.")
    ] = None,
    confidence: Confidence = 0.95,
    since: Since = None,
    where: Where = None,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Show how soon to sync so that a copy stays good enough."""
    from halflife.cli import sets

    metric, level = sets.parse_target(precision, recall)
    sure = words.share("--confidence", confidence)
    question = sets.read_question(name, config, since, where)
    row = sets.when_row(question, metric, level, sure)
    if json:
        show.emit({**question.head, **row, "results": [row]})
    else:
        show.say(sets.verdict(question, metric, level, row))


@app.command()
def backtest(  # noqa: PLR0913  (each is an option)
    name: Name,
    *,
    horizons: Annotated[
        str, typer.Option(metavar="1d,7d,...", help="How far ahead.")
    ] = "1d,7d,14d,30d",
    confidence: Confidence = 0.95,
    since: Annotated[
        str | None,
        typer.Option("--from", metavar="DATE", help="Use no later observation."),
    ] = None,
    where: Where = None,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Show how well past forecasts of this source would have come true."""
    from halflife.cli import sets

    ahead = words.spans("--horizons", horizons)
    sure = words.share("--confidence", confidence)
    question = sets.read_question(name, config, since, where)
    rows = sets.backtest_rows(question, ahead, sure)
    scored = {row["horizon"] for row in rows}
    unscored = [days for days in ahead if days not in scored]
    if json:
        head = {**question.head, "confidence": sure, "horizons_without_looks": unscored}
        show.emit({**head, "results": rows})
        return
    show.table([show.flat(row) for row in rows])
    if unscored:
        show.note(sets.explain_unscored(question, unscored))


@app.command()
def study(  # noqa: PLR0913  (each is an option)
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A set source.")
    ] = None,
    *,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where to put the page and its tables.")
    ],
    by: Annotated[
        str | None,
        typer.Option(metavar="ATTRIBUTE", help="Categories [default: the most varied]"),
    ] = None,
    where: Where = None,
    text: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Recorded text databases instead."),
    ] = None,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Draw the history of a set source and its forecasts on one page with tables."""
    from halflife.cli import sets
    from halflife.study import run

    if (name is None) == (text is None):
        raise UsageError("name one thing to study: a set source NAME, or --text DIR")
    if name is None:
        _study_texts(text or Path(), out, json=json)
        return
    history = sets.load_collection(sets.load_settings(config), name)
    history = sets.select_objects(history, where)
    with show.progress("studying", run.STEPS, quiet=json) as advance:
        files = run.study(history, out, by=by, advance=advance)
    rows = [{"file": str(path), "about": about} for path, about in files]
    if json:
        show.emit({"source": name, "page": rows[0]["file"], "results": rows})
    else:
        show.table(rows)


def _study_texts(folder: Path, out: Path, *, json: bool) -> None:
    """Study how summaries of recorded text databases age, and rules to renew them."""
    from halflife.bench import texts
    from halflife.recordings.textdb import load

    with show.progress("studying", texts.STEPS, quiet=json) as advance:
        files = texts.write(load(folder), out, lambda what: advance(1, what))
    rows = [{"file": str(out / name)} for name in files]
    if json:
        show.emit({"source": str(folder), "results": rows})
    else:
        show.table(rows)
