"""Verbs that show changes and write copies: changes, diff, export."""

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflife.cli import show, words
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json, OfSource, Sources, read_settings
from halflife.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflife.config import Config
    from halflife.core.change import Change
    from halflife.engine.page_stories import PageStories
    from halflife.engine.versions import ItemVersion, VersionChoice
    from halflife.stores import Store

POLL = 0.3  # seconds between two reads of the change log
USUAL = 7.0  # days of changes that are shown by default
MOST_FIELDS = 4  # fields of a change that a line shows
LONGEST = 40  # letters of a value that a line shows

Item = Annotated[
    str, typer.Argument(metavar="KEY", help="A page's URL or part of it, a record.")
]


@app.command()
def changes(
    sources: Sources = None,
    *,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="CURSOR|TIME",
            help="After this number, or since 2026-11-01, 2h, 7d [default: 7d].",
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for more, until stopped.")
    ] = False,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """List changes of pages and records: new, changed, gone, returned, held."""
    import asyncio

    from halflife.engine import bootstrap, change_feed, page_stories, stored_sources

    settings, names = read_settings(config), sources or []
    if names:
        with bootstrap.reading(settings) as store:
            stored_sources.named(settings, store, names)
    if follow:
        raise typer.Exit(asyncio.run(_follow(settings, names, since, json=json)))
    with bootstrap.reading(settings) as store:
        after = _cursor(store, since or f"{USUAL:g}d")
        stories = None if json else page_stories.PageStories(store)
        for change in change_feed.read(store, after, names):
            _say(change, stories)


def _cursor(store: "Store", since: str) -> int:
    """Return the number after which the requested changes come."""
    from halflife.engine import bootstrap

    word, removed = since.strip(), store.changes.removed()
    if word.isdecimal():
        after = int(word)
    else:
        try:
            at = bootstrap.clock() - words.days("--since", word)
        except UsageError:
            at = _date(word)
        after = max(store.changes.before(at), removed)
    if removed and after in {0, removed}:
        show.note(f"halflife: changes up to {removed} are no longer kept")
    return after


def _date(word: str) -> float:
    """Return a date in days since the epoch; raise ``UsageError``."""
    try:
        return words.moment("--since", word)
    except UsageError:
        what = f"--since: {word!r} is no span of time, date or number of a change"
        raise UsageError(f"{what}; write 7d, 2024-01-31 or 120") from None


async def _follow(
    settings: "Config", names: "Sequence[str]", since: str | None, *, json: bool
) -> int:
    """Write changes as they come; return the exit code of the signal that ended it."""
    from halflife.engine import bootstrap, change_feed, page_stories
    from halflife.engine.signals import Stop
    from halflife.stores import location

    stop, after = Stop(), None
    with stop.on_signals():
        while not stop.asked.is_set():
            # The state file may be created while this waits.
            with bootstrap.reading(settings) as store:
                if after is None:
                    after = _cursor(store, since) if since else store.changes.last()
                is_file = location.is_there(settings.store_place)
                while not stop.asked.is_set():
                    end = store.changes.last()  # more may come while these are read
                    stories = None if json else page_stories.PageStories(store)
                    for change in change_feed.read(store, after, names, end):
                        _say(change, stories)
                    after = end
                    sys.stdout.flush()
                    await stop.sleep(POLL)
                    if not is_file:
                        break
    return stop.code


def _say(change: "Change", stories: "PageStories | None") -> None:
    """Write a change as a line of text; without stories as JSON."""
    from halflife.engine import change_feed

    if stories is None:
        show.emit(change_feed.row(change, show.date(change.at)), one_line=True)
        return
    about = [show.date(change.at), change.source, change.kind, change.key]
    head = "  ".join(str(part) for part in about if part)
    story = stories.describe(change)
    fields = _fields(change.fields) if story is None else story
    show.say(show.plain(f"{head}  {fields}" if fields else head))


def _fields(fields: "Any") -> str:  # noqa: ANN401  (values of any kind)
    first = list(fields.items())[:MOST_FIELDS]
    more = len(fields) - len(first)
    parts = [f"{name}: {_short(old)} → {_short(new)}" for name, (old, new) in first]
    return ", ".join([*parts, f"and {more} more"] if more else parts)


def _short(value: object) -> str:
    text = _value(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def summary(first: "Sequence[Change]", total: int) -> str:
    """Return changes in a line: the first few, and how many more."""
    parts = [f"{change.kind} {change.key or change.source}" for change in first]
    more = total - len(parts)
    return ", ".join([*parts, f"and {more} more"] if more else parts)


@app.command()
def diff(  # noqa: PLR0913  (each is an option)
    key: Item,
    *,
    old: Annotated[
        str, typer.Option("--from", metavar="V", help="The older version.")
    ] = "1",
    new: Annotated[
        str, typer.Option("--to", metavar="V", help="The newer version.")
    ] = "0",
    words: Annotated[
        bool, typer.Option("--words", help="Mark the words that differ.")
    ] = False,
    source: OfSource = None,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Show what differs between two versions of a page or a record.

    V counts versions back from the current one (0, 1, 2), or is a time such as
    2026-11-01, 2h or 7d: the version that was current then.
    """
    from halflife.engine import bootstrap, versions

    settings = read_settings(config)
    with bootstrap.reading(settings) as store:
        before, after = (
            version_of(settings, store, key, choice(option, word), source)
            for option, word in (("--from", old), ("--to", new))
        )
    difference = versions.compare(before, after, words=words)
    if json:
        show.emit(versions.row(before, after, difference))
        return
    _show_diff(before, after, difference)


def _show_diff(
    before: "ItemVersion",
    after: "ItemVersion",
    difference: "Any",  # noqa: ANN401
) -> None:
    if difference.note:
        show.say(show.plain(f"{before.key}: {difference.note}"))
        return
    if difference.fields is not None:
        for name, (was, now) in difference.fields.items():
            show.say(show.plain(f"{name}: {_value(was)} → {_value(now)}"))
    elif difference.lines:
        show.say(show.plain(f"--- {before.key}\t{show.date(before.begins)}"))
        show.say(show.plain(f"+++ {after.key}\t{show.date(after.begins)}"))
        for line in difference.lines:
            show.say(show.plain(line))
    if not (difference.fields or difference.lines):
        show.note(show.plain(f"the text of {before.key} does not differ"))


def _value(value: object) -> str:
    return "-" if value is None else str(value)


def choice(option: str, word: str) -> "VersionChoice":
    """Parse a version: so many back, or as of a time."""
    from halflife.engine import bootstrap
    from halflife.engine.versions import VersionChoice

    if word.strip().isdecimal():
        return VersionChoice(int(word))
    try:
        at = bootstrap.clock() - words.days(option, word)
    except UsageError:
        at = words.moment(option, word)
    return VersionChoice(at=at)


def version_of(
    config: "Config",
    store: "Store",
    key: str,
    chosen: "VersionChoice",
    source: str | None = None,
) -> "ItemVersion":
    """Return a version of the page or record with this key, or part of it.

    With ``source`` that of this source: several may have a record of the same key.
    """
    from halflife.cli.answers import find_row
    from halflife.engine import bootstrap, stored_sources, versions

    if source is not None:
        stored_sources.named(config, store, [source])
    is_page = source is None and store.source_of(key) is not None
    names = [] if is_page else store.holdings.sources_of(key)
    if source is not None:
        names = [name for name in names if name == source]
    if len(names) == 1:
        return versions.record(store, names[0], key, chosen)
    if names:
        each = f"{', '.join(names)} have a record {key!r} each"
        raise UsageError(f"{each}; name one with --source")
    if source is not None and source in store.collections():
        raise UsageError(f"{source} has no record {key!r}")
    evidence = store.evidence([source] if source else bootstrap.names(config.source))
    page = evidence.keys[find_row(evidence, key)]
    return versions.page(store, page, chosen)


@app.command()
def export(  # noqa: PLR0913  (each is an option)
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Of this source.")],
    *,
    form: Annotated[
        str,
        typer.Option("--format", help="jsonl, json, csv, parquet, warc or folder."),
    ] = "jsonl",
    as_of: Annotated[
        str | None, typer.Option(metavar="TIME", help="As it was then: 2026-11-01, 7d.")
    ] = None,
    history: Annotated[
        bool, typer.Option("--history", help="All versions, and when each was true.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Where to [default: stdout].")
    ] = None,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Write the copy of a source for other programs."""
    from halflife.engine import bootstrap, export_files
    from halflife.engine.export_rows import ExportSelection

    settings = read_settings(config)
    check_format(form, export_files.FORMATS)
    at = None if as_of is None else _moment("--as-of", as_of)
    wanted = ExportSelection(_source(settings, source), at, history)
    _check(form, wanted.history and at is not None, out, json=json)
    with bootstrap.reading(settings) as store:
        if out is None:
            write(store, wanted, form)
            return
        n = export_files.save(store, wanted, form, out)
    if json:
        show.emit({"source": source, "format": form, "rows": n, "out": str(out)})
    else:
        show.note(show.plain(f"wrote {n} rows of {source} to {out}"))


def _source(config: "Config", name: str) -> str:
    """Check that the settings or the state file have a source; return its name."""
    from halflife.engine import bootstrap

    if name not in {source.name for source in config.source}:
        with bootstrap.reading(config) as store:
            if name not in store.collections():
                config.named([name])  # raises, and lists the names
    return name


def _moment(option: str, word: str) -> float:
    from halflife.engine import bootstrap

    at = choice(option, f"{word}d" if word.strip().isdecimal() else word).at
    return bootstrap.clock() if at is None else at


def check_format(form: str, known: "Sequence[str]") -> None:
    """Raise ``UsageError`` unless this format can be written."""
    from halflife.engine.export_files import EXTRA

    if form not in known:
        raise UsageError(f"--format: {form!r} is none of {', '.join(known)}")
    package, extra = EXTRA.get(form, ("", ""))
    if package and importlib.util.find_spec(package) is None:
        raise UsageError(
            f"--format {form} needs a package that is not installed; install halflife "
            f"with the extra: pip install 'halflife[{extra}]'"
        )


def _check(form: str, both: bool, out: Path | None, *, json: bool) -> None:  # noqa: FBT001
    from halflife.engine.export_files import FILES

    if both:
        raise UsageError("give --as-of or --history, not both")
    if out is None and form in FILES:
        raise UsageError(f"--format {form} needs --out, the place to write to")
    if out is None and json:
        raise UsageError("--json says what was written to --out; give --out too")


def write(store: "Store", wanted: "Any", form: str) -> None:  # noqa: ANN401
    """Write a selection to stdout."""
    from halflife.engine import export_files

    sys.stdout.flush()
    if hasattr(sys.stdout, "buffer"):
        export_files.write(store, wanted, form, sys.stdout.buffer.write)
        sys.stdout.buffer.flush()
    else:  # a text stream has replaced stdout
        export_files.write(store, wanted, form, lambda b: sys.stdout.write(b.decode()))
